/** The ways a leg or a Run ends, and the way a Run starts over. */
import { LIMITS } from "../agent/limits.ts";
import { CursorError, type Failure, type Partial } from "./errors.ts";
import { emptyResponse, type Circumstances } from "./failures.ts";
import { fingerprint, toolsetKey } from "./fingerprint.ts";
import { rebuild } from "./open.ts";
import { arm, enter, note, type Session } from "./session.ts";

/** What this leg has said so far, from its start and up to §11's limit. */
export function partial({ text, thinking, input, output }: Session): Partial {
  return { text: text.join(""), thinking: thinking.join(""), usage: { input, output } };
}

/** What decides the meaning of a bare error code: this leg's request, and whether anything of its answer has come. */
export function circumstances({ request, spoke, thinking, input }: Session): Circumstances {
  return { model: request.model.id, output: spoke || thinking.length > 0, fullness: input / (request.model.contextWindow ?? LIMITS.contextWindow) };
}

/** Ends the Run with an error. */
export function fail(session: Session, failure: Failure): void {
  const error = new CursorError(failure, partial(session));
  enter(session, "over");
  session.out.push({ type: "fail", error }, { type: "close", cancel: true });
}

/** Ends the Run well: the handle is kept before the host hears of it (DESIGN D3). */
export function complete(session: Session): void {
  const { request, checkpoint, conversationId, catalog } = session;
  if (!session.productive) {
    fail(session, emptyResponse());
    return;
  }
  enter(session, "over");
  if (request.sessionId !== undefined && checkpoint !== undefined)
    session.out.push({ type: "save", handle: { conversationId, checkpoint, blobs: session.blobs.all(), fingerprint: fingerprint(request.messages), toolsetKey: toolsetKey(catalog) } });
  usage(session);
  session.out.push({ type: "emit", event: { type: "done", reason: "stop" }, size: 0 }, { type: "close", cancel: false });
}

/** Ends a leg with its tool calls; the stream stays open (PROTOCOL §8). */
export function park(session: Session): void {
  enter(session, "parked");
  for (const call of session.pending.values()) call.delivered = true;
  session.liftedSize = session.announced = 0;
  arm(session, "toolUse");
  usage(session);
  session.out.push({ type: "emit", event: { type: "done", reason: "tool_use" }, size: 0 }, { type: "park" });
}

/** Opens a new connection for the same request: nothing was heard on the last one (DESIGN D10). */
export function reconnect(session: Session): void {
  enter(session, "connecting");
  session.heard = false;
  session.out.push({ type: "connect" });
}

/**
 * Rebuilds the conversation where a resumed one turns out to be stale before this leg has said anything binding (DESIGN
 * D9). False where it is no resume, or too late; the handle that led there is forgotten all the same (PROTOCOL §10).
 */
export function recover(session: Session, why: string): boolean {
  if (!session.resumed) return false;
  if (session.phase !== "running" || session.spoke) {
    session.out.push({ type: "drop" });
    return false;
  }
  note(session, "stale", `The remote conversation is stale (${why}): the turn starts again from the transcript.`);
  if (session.thinking.length > 0) session.out.push({ type: "emit", event: { type: "reset" }, size: 0 });
  session.thinking = [];
  session.kept = 0;
  session.output = session.announced = session.misses = 0;
  session.productive = false;
  reconnect(session);
  arm(session, "first");
  session.out.push({ type: "drop" });
  rebuild(session);
  return true;
}

function usage({ out, input, output }: Session): void {
  out.push({ type: "emit", event: { type: "usage", input, output }, size: 0 });
}
