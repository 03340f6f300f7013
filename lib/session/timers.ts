/**
 * The clocks of a Run, as one table. The core only asks for them (`arm`, `disarm`); the driver owns the time and says
 * which one fired (DESIGN D1).
 */
import { LIMITS } from "../agent/limits.ts";
import type { Failure } from "./errors.ts";
import type { Phase } from "./session.ts";

interface TimerRow {
  /** ms, where the session's {@link Clocks} say nothing else. What it measures is said in LIMIT_ROWS. */
  readonly ms: number;
  /** The phases that it may run in: the entry of any other stops it. */
  readonly phases: readonly Phase[];
}

/** A clock whose firing ends the Run: the error's code, and what it says. */
interface FailRow extends TimerRow {
  readonly fires: "fail";
  readonly code: string;
  readonly words: string;
  readonly nextStep: string;
}

/** A clock whose firing means something else: a word for the core's switch. */
interface WorkRow extends TimerRow {
  readonly fires: "heartbeat" | "execHeartbeat" | "ping" | "burst" | "drained";
}

const AGAIN = "Try again; if it stays, check the connection to the service.";

/** PROTOCOL §1, §5.1, §8; DESIGN D1, D2, D14. */
export const TIMERS = {
  first: { ms: LIMITS.first, phases: ["connecting", "running"], fires: "fail", code: "first_token_timeout", words: "no work arrived", nextStep: AGAIN },
  idle: { ms: LIMITS.idle, phases: ["running"], fires: "fail", code: "idle_timeout", words: "no work arrived since the last", nextStep: AGAIN },
  toolUse: { ms: LIMITS.toolUse, phases: ["parked"], fires: "fail", code: "tool_timeout", words: "the host gave no result", nextStep: "Send the message again; CURSOR_PROVIDER_TOOLUSE_WATCHDOG_MS sets the limit." },
  pong: { ms: LIMITS.pingAnswer, phases: ["running", "parked"], fires: "fail", code: "connection_lost", words: "the connection was lost: no answer to a PING", nextStep: AGAIN },
  ping: { ms: LIMITS.ping, phases: ["running", "parked"], fires: "ping" },
  heartbeat: { ms: LIMITS.heartbeat, phases: ["running", "parked"], fires: "heartbeat" },
  execHeartbeat: { ms: LIMITS.execHeartbeat, phases: ["running", "parked"], fires: "execHeartbeat" },
  burst: { ms: LIMITS.burst, phases: ["running"], fires: "burst" },
  drain: { ms: LIMITS.drain, phases: ["draining"], fires: "drained" },
} as const satisfies Record<string, FailRow | WorkRow>;

/** The name of a clock. */
export type Timer = keyof typeof TIMERS;

/** ms of the clocks that run otherwise than their rows say. */
export type Clocks = Readonly<Partial<Record<Timer, number>>>;

/** How long a clock runs, in ms. */
export function duration(timer: Timer, clocks: Clocks): number {
  return clocks[timer] ?? TIMERS[timer].ms;
}

/** What the firing of a `fail` clock after `ms` means to the host. Worded so that it may be retried: nothing else is wrong. */
export function timerFailure({ code, words, nextStep }: FailRow, ms: number): Failure {
  return { kind: "network", code, message: `The turn timed out: ${words} within ${ms} ms.`, nextStep };
}
