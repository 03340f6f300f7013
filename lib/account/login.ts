/** Login by PKCE and polling: the person opens an address, we ask until the service has tokens for us. */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { CursorError } from "../session/errors.ts";
import { withConnection, type UnaryAnswer } from "./connection.ts";
import { asCursorError, failed, refused, scrubbed, stopped } from "./failures.ts";
import { unaryHeaders } from "./headers.ts";
import { jsonObject, textField } from "./json.ts";
import { accountOrigin, type OriginOptions } from "./origin.ts";
import { newCredentials, type Credentials } from "./token.ts";

/** The page that the person opens; it is never fetched by us. */
const LOGIN_PAGE = "https://cursor.com/loginDeepControl";
/** Polling: the pause in ms, its growth and its most; the tries; the failures in a row that end it. */
const POLL = { firstMs: 1_000, growth: 1.2, mostMs: 10_000, tries: 150, failures: 3, timeoutMs: 10_000 } as const;

/** How to log in. */
export interface LoginOptions extends OriginOptions {
  /** Told the address that the person must open. */
  onAddress: (address: string) => void;
  signal?: AbortSignal;
  /** Waits between two polls; rejects at the signal. Default: the clock. */
  wait?: (ms: number, signal: AbortSignal | undefined) => Promise<unknown>;
  /** ms since 1970. Default: the clock. */
  now?: () => number;
}

/**
 * Logs in: gives `onAddress` the page to open and polls until the person is through.
 * @throws CursorError `auth` where the service refuses or nobody logs in, `network` where it cannot be reached three
 *   times in a row, `aborted` at the signal, `local` for an origin that is not allowed
 */
export async function login(options: LoginOptions): Promise<Credentials> {
  const { signal, wait = pause, now = Date.now } = options;
  const origin = accountOrigin(options);
  const verifier = randomBytes(32).toString("base64url");
  const uuid = randomUUID();
  options.onAddress(loginAddress(verifier, uuid));
  let delay: number = POLL.firstMs;
  let failures = 0;
  for (let tries = 0; tries < POLL.tries; tries++) {
    try {
      await wait(delay, signal);
    } catch {
      throw stopped();
    }
    delay = Math.min(delay * POLL.growth, POLL.mostMs);
    const outcome = await poll(origin, verifier, uuid, options);
    switch (outcome.type) {
      case "tokens":
        return newCredentials(outcome.access, outcome.refresh, now(), "login_without_tokens");
      case "pending":
        failures = 0;
        break;
      case "failure":
        if (++failures >= POLL.failures) throw outcome.error;
        break;
      case "final":
        throw outcome.error;
      default:
        outcome satisfies never;
    }
  }
  throw failed("auth", "login_expired", "Nobody finished the login in the browser.");
}

/** The address of the login page for a verifier and an id. */
function loginAddress(verifier: string, uuid: string): string {
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  return `${LOGIN_PAGE}?${new URLSearchParams({ challenge, uuid, mode: "login", redirectTarget: "cli" })}`;
}

type Outcome =
  | { type: "tokens"; access: string; refresh: string }
  | { type: "pending" }
  /** Worth another try. */
  | { type: "failure"; error: CursorError }
  | { type: "final"; error: CursorError };

async function poll(origin: URL, verifier: string, uuid: string, { signal, env = process.env }: LoginOptions): Promise<Outcome> {
  let answer: UnaryAnswer;
  try {
    const path = `/auth/poll?${new URLSearchParams({ uuid, verifier })}`;
    answer = await withConnection(origin, signal, (call) => call({ method: "GET", path, headers: unaryHeaders(env), timeoutMs: POLL.timeoutMs }));
  } catch (thrown) {
    const error = asCursorError(thrown);
    return { type: error.kind === "network" ? "failure" : "final", error };
  }
  if (answer.status === 404) return { type: "pending" };
  if (answer.status === 200) {
    const body = jsonObject(answer.body);
    const [access, refresh] = [textField(body, "accessToken"), textField(body, "refreshToken")];
    if (access !== "" && refresh !== "") return { type: "tokens", access, refresh };
    return { type: "final", error: failed("auth", "login_without_tokens", "The service ended the login without tokens.") };
  }
  if (answer.status === 403) {
    const why = scrubbed(textField(jsonObject(answer.body), "error"), [verifier]);
    return { type: "final", error: failed("auth", "login_refused", `The service refused the login${why && `: ${why}`}`) };
  }
  const error = refused(answer, [verifier]);
  return { type: error.kind === "network" ? "failure" : "final", error };
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<unknown> {
  return sleep(ms, undefined, signal && { signal });
}
