/** A new access token for a refresh token. There is never a new refresh token: the old one stays. */
import { unlessAborted } from "../driver/settle.ts";
import type { CursorError } from "../session/errors.ts";
import { withConnection } from "./connection.ts";
import { asCursorError, failed, refused, stopped } from "./failures.ts";
import { unaryHeaders } from "./headers.ts";
import { jsonObject, textField } from "./json.ts";
import { accountOrigin, type OriginOptions } from "./origin.ts";
import { newCredentials, type Credentials } from "./token.ts";

const PATH = "/oauth/token";
const CLIENT_ID = "KbZUR41cY7W6zRSdpSUJ7I7mLYBKOCmB";
/** A host gives a refresh 15 s in all. */
const TIMEOUT_MS = 12_000;

/** How to refresh. */
export interface RefreshOptions extends OriginOptions {
  /** The refresh token of the login. */
  refresh: string;
  signal?: AbortSignal;
  /** ms since 1970. Default: the clock. */
  now?: () => number;
}

/** A refresh under way, which every caller with the same token and origin shares. */
interface Flight {
  readonly result: Promise<Credentials>;
  /** Nobody waits any more: stops it, if it still flies, and makes room for the next. */
  readonly end: () => void;
  waiting: number;
}
const flights = new Map<string, Flight>();

/**
 * Exchanges the refresh token for a new access token. One exchange at a time per token and origin: callers in between
 * share it, and it stops when the last of them has aborted. The stored credentials are the host's and stay untouched.
 * @throws CursorError `auth` where the service refuses or answers without a token that a header can hold, `network` where it cannot be reached,
 *   `aborted` at the signal, `local` for an origin that is not allowed
 */
export async function refresh(options: RefreshOptions): Promise<Credentials> {
  const { signal } = options;
  const origin = accountOrigin(options);
  if (signal?.aborted) throw stopped();
  const key = `${origin.origin} ${options.refresh}`;
  const flight = flights.get(key) ?? start(key, origin, options);
  flight.waiting++;
  try {
    return { ...(await unlessAborted(flight.result, signal, stopped)) };
  } finally {
    if (--flight.waiting === 0) flight.end();
  }
}

function start(key: string, origin: URL, options: RefreshOptions): Flight {
  const stop = new AbortController();
  const result = exchange(origin, options, stop.signal);
  result.catch(() => {}); // Its last caller may have gone.
  const end = () => {
    stop.abort();
    flights.delete(key);
  };
  const flight = { result, end, waiting: 0 };
  flights.set(key, flight);
  return flight;
}

async function exchange(origin: URL, { refresh, env = process.env, now = Date.now }: RefreshOptions, signal: AbortSignal): Promise<Credentials> {
  const body = new TextEncoder().encode(JSON.stringify({ grant_type: "refresh_token", client_id: CLIENT_ID, refresh_token: refresh }));
  const headers = unaryHeaders(env, { contentType: "application/json", length: body.length });
  const answer = await withConnection(origin, signal, (call) => call({ method: "POST", path: PATH, headers, body, timeoutMs: TIMEOUT_MS })).catch((error: unknown) => {
    throw asCursorError(error);
  });
  if (answer.status !== 200) {
    const error = refused(answer, [refresh]);
    throw error.kind === "network" ? error : refusedRefresh(error);
  }
  // A refusal comes with status 200 too.
  const fields = jsonObject(answer.body);
  const access = textField(fields, "access_token");
  if (access === "" || fields?.["shouldLogout"] === true) throw refusedRefresh();
  return newCredentials(access, refresh, now(), "refresh_refused");
}

function refusedRefresh(cause?: unknown): CursorError {
  return failed("auth", "refresh_refused", "The service gave no new access token for this login.", cause);
}
