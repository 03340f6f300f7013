/**
 * The core: `step(session, event) → actions`. Every Run goes through the phases of TRANSITIONS:
 *
 *     connecting ──opened──▶ running ──burst──▶ parked
 *         ▲                  │    ▲               │
 *         │ retry, rebuild   │    └───continue────┘
 *         └──────────────────┤
 *                            └──turn_ended──▶ draining ──▶ over
 *
 * and from anywhere to `over` by an error or an abort. What an event does is its case in `handle`.
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
import { arm, disarm, enter, type Phase, type Session } from "./session.ts";

/**
 * (phase, event) → the phases that may follow. An event that its phase does not name is ignored: after the end nothing
 * changes any more.
 */
export const TRANSITIONS: Readonly<Record<Phase, Partial<Readonly<Record<Event["type"], readonly Phase[]>>>>> = {
  connecting: {
    opened: ["running"],
    timer: ["connecting", "over"],
    closed: ["connecting", "over"],
    abort: ["over"],
  },
  running: {
    alive: ["running"],
    frame: ["running", "parked", "draining", "connecting", "over"],
    timer: ["running", "parked", "over"],
    endStream: ["connecting", "over"],
    malformed: ["over"],
    closed: ["connecting", "over"],
    abort: ["over"],
  },
  parked: {
    continue: ["running", "parked", "over"],
    alive: ["parked"],
    frame: ["parked", "over"],
    timer: ["parked", "over"],
    endStream: ["over"],
    malformed: ["over"],
    closed: ["over"],
    abort: ["over"],
  },
  draining: {
    alive: ["draining"],
    frame: ["draining", "over"],
    timer: ["draining", "over"],
    endStream: ["over"],
    malformed: ["over"],
    closed: ["over"],
    abort: ["over"],
  },
  over: {},
};

/**
 * Tells the session what happened and returns what is to be done, in order. Changes only `session`. Never throws,
 * whatever a peer or a host hands in: what cannot be handled becomes one `fail`.
 */
export function step(session: Session, event: Event): Action[] {
  if (TRANSITIONS[session.phase][event.type] !== undefined)
    try {
      handle(session, event);
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

function handle(session: Session, event: Event): void {
  switch (event.type) {
    case "opened":
      onOpened(session);
      return;
    case "alive":
      disarm(session, "pong");
      return;
    case "frame":
      onFrame(session, event.payload);
      return;
    case "endStream":
      onEndStream(session, event.payload);
      return;
    case "malformed":
      fail(session, wireFailure(event.error));
      return;
    case "closed":
      onClosed(session, event.end);
      return;
    case "timer":
      onTimer(session, event.timer);
      return;
    case "continue":
      onContinue(session, event.request);
      return;
    default:
      event.type satisfies "abort";
      fail(session, aborted());
  }
}

function onOpened(session: Session): void {
  enter(session, "running");
  session.out.push({ type: "send", payload: session.opener });
  for (const timer of ["heartbeat", "ping"] as const) arm(session, timer);
}

function failureOf(error: unknown): Failure {
  if (error instanceof WireError) return wireFailure(error);
  if (error instanceof CursorError) return error;
  return defectFailure(error);
}
