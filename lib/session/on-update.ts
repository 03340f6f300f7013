/** What the model is doing (PROTOCOL §4.1). */
import type { Decoded } from "../../wire/index.ts";
import { LIMITS, updateByName, type InteractionUpdate } from "../agent/index.ts";
import { park } from "./finish.ts";
import { arm, disarm, enter, note, type Session } from "./session.ts";
import type { TurnEvent } from "./turn.ts";

/** Bytes of a UTF-16 unit. */
const UNIT = 2;
/** Bytes that an event takes beside what it says (measured: 95 for a delta of one letter). */
const EVENT = 96;

/** Text, thinking, tokens, the end of a turn: what an update means is its row of UPDATES (PROTOCOL §4.1). */
export function onUpdate(session: Session, update: Decoded<typeof InteractionUpdate>): void {
  const name = Object.keys(update).find((key) => key !== "unknown");
  const row = name === undefined ? undefined : updateByName.get(name);
  if (row === undefined) return;
  if (row.work) work(session);
  switch (row.meaning) {
    case "text":
      sayDelta(session, "text", update.textDelta!.text);
      return;
    case "thinking":
      sayDelta(session, "thinking", update.thinkingDelta!.text);
      return;
    case "tokens":
      session[session.phase === "parked" ? "heldOutput" : "output"] += Math.max(0, update.tokenDelta!.tokens ?? 0);
      return;
    case "turnEnded":
      onTurnEnded(session, update.turnEnded!);
      return;
    case "burst":
      session.announced = update.toolRequestsListed!.callCount ?? 0;
      settleBurst(session);
      return;
    default:
      row.meaning satisfies "heartbeat" | "toolCall" | "none";
  }
}

/** Keeps a delta for an error of this leg. */
function keep(session: Session, kind: "text" | "thinking", delta: string): void {
  session.kept += delta.length;
  if (session.kept <= LIMITS.partial) session[kind].push(delta);
}

/** Tells the host, now or with the next leg where none is being read (DESIGN D5). `bytes`: of what the event says. */
export function say(session: Session, event: TurnEvent, bytes: number): void {
  const size = bytes + EVENT;
  session.productive = true;
  if (session.phase === "parked") {
    session.held.push({ event, size });
    session.heldSize += size;
    return;
  }
  if (event.type === "text" || event.type === "thinking") keep(session, event.type, event.delta);
  // Thinking can be taken back, a text or a tool call cannot (DESIGN D9).
  if (event.type !== "thinking") session.spoke = true;
  session.out.push({ type: "emit", event, size });
}

function sayDelta(session: Session, type: "text" | "thinking", delta = ""): void {
  if (delta !== "") say(session, { type, delta }, delta.length * UNIT);
}

/** A work frame: the service is doing something (DESIGN D1). */
export function work(session: Session): void {
  if (session.phase !== "running") return;
  disarm(session, "first");
  arm(session, "idle");
}

/**
 * Ends the burst at once where as many calls came as were announced (DESIGN D14), or as one leg takes: a service that never
 * stops calling must not keep the host from its tools. Else some time after the last.
 */
export function settleBurst(session: Session): void {
  // While it runs, no pending call has been delivered: a leg begins by answering those that were.
  const { phase, pending, announced, liftedSize } = session;
  if (pending.size === 0 || phase !== "running") return;
  const isWhole = announced > 0 && pending.size >= announced;
  if (isWhole || pending.size >= LIMITS.calls || liftedSize >= LIMITS.undelivered) park(session);
  else arm(session, "burst");
}

function onTurnEnded(session: Session, { unknown: _, ...tokens }: NonNullable<Decoded<typeof InteractionUpdate>["turnEnded"]>): void {
  if (tokens.inputTokens !== undefined || tokens.outputTokens !== undefined)
    note(session, "billing", "The service's own count of the turn, summed over its internal calls; not the size of the context.", tokens);
  if (session.pending.size > 0 || session.phase !== "running") return;
  enter(session, "draining");
  arm(session, "drain");
}
