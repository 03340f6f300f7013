/**
 * The core: `step(session, event) → actions`. Every Run goes through the phases of TRANSITIONS, and what an event does
 * in each is one word there:
 *
 *     connecting ──opened──▶ running ──burst──▶ parked
 *         ▲                  │    ▲               │
 *         │ retry, rebuild   │    └───continue────┘
 *         └──────────────────┤
 *                            └──turn_ended──▶ draining ──▶ over
 *
 * and from anywhere to `over` by an error or an abort. An event without a word in its phase is ignored: after the end
 * nothing changes any more.
 */
import { WireError } from "../../wire/index.ts";
import { aborted, CursorError, type Failure } from "./errors.ts";
import type { Action, Event } from "./events.ts";
import { defectFailure, wireFailure } from "./failures.ts";
import { fail } from "./finish.ts";
import { onContinue } from "./on-continue.ts";
import { onClosed, onEndStream } from "./on-end.ts";
import { onFrame } from "./on-frame.ts";
import { onTimer } from "./on-timer.ts";
import { arm, disarm, type Phase, type Session } from "./session.ts";
import { duration } from "./timers.ts";

/** What an event makes the core do. */
type Handler = "start" | "prove" | "read" | "end" | "refuse" | "close" | "fire" | "resume" | "abort";

const anywhere = { timer: "fire", closed: "close", abort: "abort" } as const;
const open = { ...anywhere, alive: "prove", frame: "read", endStream: "end", malformed: "refuse" } as const;

/** (phase, event) → what is done. */
export const TRANSITIONS: Readonly<Record<Phase, Partial<Readonly<Record<Event["type"], Handler>>>>> = {
  connecting: { ...anywhere, opened: "start" },
  running: open,
  parked: { ...open, continue: "resume" },
  draining: open,
  over: {},
};

/**
 * Tells the session what happened and returns what is to be done, in order. Changes only `session`. Never throws,
 * whatever a peer or a host hands in: what cannot be handled becomes one `fail`.
 */
export function step(session: Session, event: Event): Action[] {
  const handler = TRANSITIONS[session.phase][event.type];
  if (handler !== undefined)
    try {
      handle(session, handler, event);
    } catch (error) {
      fail(session, failureOf(error));
    }
  return take(session);
}

/** What the session asks for and has not been given yet: after {@link open}, the first actions. */
export function take(session: Session): Action[] {
  const { out } = session;
  if (out.length > 0) session.out = [];
  return out;
}

function handle(session: Session, handler: Handler, event: Event): void {
  switch (handler) {
    case "start":
      session.phase = "running";
      session.out.push({ type: "send", payload: session.opener });
      for (const timer of ["heartbeat", "ping"] as const) arm(session, timer, duration(timer, session.settings.clocks));
      return;
    case "prove":
      disarm(session, "pong");
      return;
    case "read":
      if (event.type === "frame") onFrame(session, event.payload);
      return;
    case "end":
      if (event.type === "endStream") onEndStream(session, event.payload);
      return;
    case "refuse":
      if (event.type === "malformed") fail(session, wireFailure(event.error));
      return;
    case "close":
      if (event.type === "closed") onClosed(session, event.end);
      return;
    case "fire":
      if (event.type === "timer") onTimer(session, event.timer);
      return;
    case "resume":
      if (event.type === "continue") onContinue(session, event.request);
      return;
    default:
      handler satisfies "abort";
      fail(session, aborted());
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof WireError) return wireFailure(error);
  if (error instanceof CursorError) return error;
  return defectFailure(error);
}
