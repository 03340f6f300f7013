/** How a Run's stream ends (DESIGN D2, D8–D11). */
import { connectCode, decodeEndStream, type ConnectCode } from "../../wire/index.ts";
import { connectFailure, endedEarly, endsWell, isConnectionFailure, transportFailure, type TransportEnd } from "./failures.ts";
import { circumstances, complete, fail, reconnect, recover } from "./finish.ts";
import { note, type Session } from "./session.ts";

/** @throws WireError where the end-stream is not the JSON that Connect describes */
export function onEndStream(session: Session, payload: Uint8Array): void {
  const { error } = decodeEndStream(payload);
  if (error !== undefined) onConnectError(session, error);
  else if (session.phase === "draining") complete(session);
  else fail(session, endedEarly());
}

/** The transport is over: a complete turn, a retry, or an error by its table (DESIGN D2, D11). */
export function onClosed(session: Session, end: TransportEnd): void {
  if (session.phase === "draining" && endsWell(end)) complete(session);
  else if (end.type === "trailer" && end.status !== "0") onConnectError(session, { code: connectCode(end.status), message: end.message });
  else if (!session.heard && !session.reconnected && isConnectionFailure(end)) {
    session.reconnected = true;
    note(session, "retry", "The connection failed before anything was heard: the request goes out once more on a new one.", { end: end.type });
    reconnect(session);
  } else fail(session, transportFailure(end, circumstances(session)));
}

/** Codes that say a resumed conversation is gone: always, or only where the words name the conversation (DESIGN D9). */
const STALE: Partial<Record<ConnectCode, "always" | "named">> = { not_found: "always", invalid_argument: "named", failed_precondition: "named" };

function onConnectError(session: Session, error: { code: ConnectCode; message: string }): void {
  const stale = STALE[error.code];
  const named = /conversation/i.test(error.message) || error.message.includes(session.conversationId);
  if ((stale === "always" || (stale === "named" && named)) && recover(session, error.code)) return;
  fail(session, connectFailure(error, circumstances(session)));
}
