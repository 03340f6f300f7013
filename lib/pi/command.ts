/** What `/cursor` shows: how things stand, without any secret. */
import { tokenEnd } from "../account/index.ts";
import { readConfig } from "../driver/config.ts";
import { VARIABLES, type Environment } from "../driver/variables.ts";
import { cursorError } from "../session/errors.ts";
import { thrownText } from "../session/failures.ts";
import { tokenOf } from "./credentials.ts";
import type { ModelList } from "./list.ts";
import type { ModelTable } from "./models.ts";
import type { PiSessionContext } from "./pi.ts";
import type { Sessions } from "./sessions.ts";

/** What the status is read from. */
export interface StatusSources {
  env: Environment;
  sessions: Sessions;
  list: ModelList;
  models: ModelTable;
}

/** The status as lines of `name: value`. Never throws. */
export async function statusText(context: PiSessionContext, { env, sessions, list, models }: StatusSources, now: number = Date.now()): Promise<string> {
  const sessionId = context.sessionManager?.getSessionId();
  const rows: [name: string, value: string | undefined][] = [
    ["channel", env["CURSOR_PROVIDER_CHANNEL"] || VARIABLES.CURSOR_PROVIDER_CHANNEL.initial],
    ["origin", originText(env)],
    ["login", await loginText(context, env, now)],
    ["models", `${models.size}, ${list.catalog.source}${list.catalog.checkedAt === undefined ? "" : `, asked ${ago(list.catalog.checkedAt, now)}`}`],
    ["models warning", list.warning],
    ["handles", env["CURSOR_PROVIDER_HANDLE_DIR"] || VARIABLES.CURSOR_PROVIDER_HANDLE_DIR.initial],
    ["this session", sessionId === undefined ? "none" : await handleText(sessionId, sessions, env)],
    ["parked Run", parkedText(sessionId, sessions, now)],
    ...sessions.diagnostics.map((diagnostic): [string, string] => ["note", `${diagnostic.type}: ${diagnostic.message}`]),
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : `${name}: ${value}`)).join("\n");
}

function originText(env: Environment): string {
  try {
    return readConfig(env).origin.origin;
  } catch (error) {
    return cursorError(error)?.message ?? "cannot be read";
  }
}

async function loginText(context: PiSessionContext, env: Environment, now: number): Promise<string> {
  try {
    const token = tokenOf(await context.modelRegistry?.getApiKeyForProvider?.("cursor"), env);
    const end = tokenEnd(token);
    if (end === undefined) return "logged in, no expiry in the token";
    return end > now ? `logged in, the token ends in ${span(end - now)}` : `the token ended ${ago(end, now)}`;
  } catch (error) {
    const failure = cursorError(error);
    return failure === undefined ? "cannot be read" : `${failure.message} ${failure.nextStep}`;
  }
}

async function handleText(sessionId: string, sessions: Sessions, env: Environment): Promise<string> {
  try {
    const handle = await sessions.handlesOf(sessionId, env).load(sessionId);
    if (handle === undefined) return "no handle: the next turn opens a new remote conversation";
    const bytes = [...handle.blobs.values()].reduce((sum, blob) => sum + blob.length, handle.checkpoint.length);
    return `remote conversation ${handle.conversationId}, ${handle.blobs.size} blobs, ${bytes} bytes`;
  } catch (error) {
    return cursorError(error)?.message ?? `a handle that cannot be used, so the next turn starts anew: ${thrownText(error)}`;
  }
}

function parkedText(sessionId: string | undefined, sessions: Sessions, now: number): string {
  const parked = sessionId === undefined ? undefined : sessions.find(sessionId)?.parked;
  return parked === undefined ? "none" : `waits for ${parked.calls.length} tool results since ${span(now - parked.since)}`;
}

function ago(time: number, now: number): string {
  return `${span(now - time)} ago`;
}

/** A span of ms in its largest unit. */
function span(ms: number): string {
  const units: [size: number, name: string][] = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1_000, "s"]];
  const [size, name] = units.find(([length]) => ms >= length) ?? [1_000, "s"];
  return `${Math.max(0, Math.floor(ms / size))} ${name}`;
}
