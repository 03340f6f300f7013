/** The models of an account: asked of the service, else the last list it gave, else a small one of ours. */
import { createHash } from "node:crypto";
import { WireError, type Message } from "../../wire/index.ts";
import type { Environment } from "../driver/variables.ts";
import { CursorError } from "../session/errors.ts";
import { BUILT_IN_ROWS } from "./built-in.ts";
import { withConnection, type Call } from "./connection.ts";
import { asCursorError, failed, refused, scrubbed, stopped, timedOut } from "./failures.ts";
import { unaryHeaders } from "./headers.ts";
import { readLastKnown, writeLastKnown } from "./last-known.ts";
import { AvailableModelsRequest, AvailableModelsResponse, GetDefaultModelForCliResponse, GetUsableModelsRequest, GetUsableModelsResponse } from "./messages.ts";
import { accountOrigin, type OriginOptions } from "./origin.ts";
import { MOST_ROWS, rowsOf, type ModelRow } from "./rows.ts";
import { tokenSubject } from "./token.ts";

/** How long a list counts as current, in ms. */
export const CATALOG_LIFETIME_MS = 10 * 60_000;
/** For all calls together, in ms, where the caller says nothing. */
const TIMEOUT_MS = 10_000;
/** For the answers that only add to the list, in ms. */
const METADATA_MS = 2_000;
/** The most bytes of a list that are read. */
const LIST_BYTES = 8 * 1024 * 1024;
const SERVICE = "/aiserver.v1.AiService";

/** Where to get the list. */
export interface CatalogOptions extends OriginOptions {
  /** Absent: the service is not asked. */
  accessToken?: string | undefined;
  signal?: AbortSignal;
  /** For all calls together, in ms; default 10,000. */
  timeoutMs?: number;
  /** Keeps the last list of the service; absent: nothing is kept. */
  file?: string | undefined;
  /** Ask even where the kept list is still current. */
  force?: boolean;
  /** Told, in words, when the list is not the service's current one, or not all of it, and why. */
  onWarning?: (warning: string) => void;
  /** ms since 1970. Default: the clock. */
  now?: () => number;
}

/** A list and where it is from. */
export interface Catalog {
  rows: ModelRow[];
  /** `service`: just asked. `current`: kept, not older than ten minutes. `last-known`: kept, older. */
  source: "service" | "current" | "last-known" | "built-in";
  /** When the service gave it, in ms since 1970; absent for `built-in`. */
  checkedAt?: number;
}

/**
 * The models of an account. Never without a list: what went wrong is a warning.
 * @throws CursorError `aborted` at the signal, `local` for an origin that is not allowed
 */
export async function catalog(options: CatalogOptions): Promise<ModelRow[]> {
  return (await readCatalog(options)).rows;
}

/** {@link catalog} with the source of the list. */
export async function readCatalog(options: CatalogOptions): Promise<Catalog> {
  const { accessToken, file, force = false, signal, onWarning, now = Date.now } = options;
  const origin = accountOrigin(options);
  if (signal?.aborted) throw stopped();
  const found = file === undefined ? undefined : await readLastKnown(file);
  // Without a token nobody can tell whose list it should be: the kept one is as good as any.
  const account = accessToken === undefined ? found?.account : accountKey(origin, accessToken);
  const kept = found?.account === account ? found : undefined;
  const age = kept === undefined ? Infinity : now() - kept.checkedAt;
  if (kept !== undefined && !force && age >= 0 && age < CATALOG_LIFETIME_MS) return { rows: kept.rows, source: "current", checkedAt: kept.checkedAt };
  let why = "nobody is logged in";
  if (accessToken !== undefined && account !== undefined) {
    try {
      const rows = await ask(origin, accessToken, options);
      const known = { checkedAt: now(), account, rows };
      if (file !== undefined) await writeLastKnown(file, known).catch((error: unknown) => onWarning?.(`The model list could not be kept: ${(error as Error).message}`));
      return { rows, source: "service", checkedAt: known.checkedAt };
    } catch (thrown) {
      const error = asCursorError(thrown);
      if (error.kind === "aborted") throw error;
      why = `${error.message.replace(/(?<![.!?…])$/, ".")} ${error.nextStep}`;
    }
  }
  if (kept === undefined) {
    onWarning?.(`Using the built-in model list: ${why}`);
    return { rows: [...BUILT_IN_ROWS], source: "built-in" };
  }
  onWarning?.(`Using the last known model list, of ${new Date(kept.checkedAt).toISOString()}: ${why}`);
  return { rows: kept.rows, source: "last-known", checkedAt: kept.checkedAt };
}

/** Asks the three calls at once. Only the usable models are a must; the others are waited for two seconds at most. */
async function ask(origin: URL, accessToken: string, { env = process.env, signal, timeoutMs = TIMEOUT_MS, onWarning }: CatalogOptions): Promise<ModelRow[]> {
  return withConnection(origin, signal, async (call) => {
    const unary = <Q, A>(name: string, request: Message<Q> | undefined, value: Q, response: Message<A>, limit: number) =>
      proto(call, env, accessToken, `${SERVICE}/${name}`, request?.encode(value) ?? new Uint8Array(0), response, limit);
    const extra = Math.min(METADATA_MS, timeoutMs);
    const [usable, available, chosen] = await Promise.all([
      unary("GetUsableModels", GetUsableModelsRequest, {}, GetUsableModelsResponse, timeoutMs),
      unary("AvailableModels", AvailableModelsRequest, { useModelParameters: true, doNotUseMarkdown: true }, AvailableModelsResponse, extra).catch(absent),
      unary("GetDefaultModelForCli", undefined, {}, GetDefaultModelForCliResponse, extra).catch(absent),
    ]);
    const { rows, leftOut } = rowsOf({ usable: usable.models ?? [], available: available?.models, defaultSlug: chosen?.model?.modelId });
    if (rows.length === 0) throw failed("remote", "no_models", "The service lists no model for this account.");
    if (leftOut > 0) onWarning?.(`The model list lacks ${leftOut} of the account's models: their slugs cannot be used, or they are more than ${MOST_ROWS}.`);
    return rows;
  });
}

/** What only adds to the list may be missing; an abort may not pass as that. */
function absent(error: unknown): undefined {
  if (error instanceof CursorError && error.kind === "aborted") throw error;
  return undefined;
}

async function proto<A>(call: Call, env: Environment, accessToken: string, path: string, body: Uint8Array, response: Message<A>, timeoutMs: number): Promise<A> {
  if (timeoutMs <= 0) throw timedOut(timeoutMs);
  const headers = unaryHeaders(env, { contentType: "application/proto", length: body.length }, accessToken);
  const answer = await call({ method: "POST", path, headers: { ...headers, "connect-protocol-version": "1" }, body, timeoutMs, answerBytes: LIST_BYTES });
  if (answer.status !== 200) throw refused(answer, [accessToken]);
  if (answer.contentType !== "application/proto") throw failed("protocol-drift", "content_type", `The service answered ${path} with ${scrubbed(answer.contentType, [accessToken]) || "no content type"} instead of application/proto.`);
  try {
    return response.decode(answer.body);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw failed("protocol-drift", error.code, `The service answered ${path} with bytes that cannot be read: ${error.message}.`, error);
  }
}

/** Whose list: a digest of origin and account, of which the token's subject is the steady part. */
function accountKey(origin: URL, accessToken: string): string {
  return createHash("sha256").update(`${origin.origin} ${tokenSubject(accessToken) ?? accessToken}`).digest("hex").slice(0, 16);
}
