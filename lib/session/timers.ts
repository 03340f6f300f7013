/**
 * The clocks of a Run, as one table. The core only asks for them (`arm`, `disarm`); the driver owns the time and says
 * which one fired (DESIGN D1).
 */
import { LIMITS } from "../agent/limits.ts";
import type { Failure } from "./errors.ts";
import type { Phase } from "./session.ts";

interface TimerRow {
  /** ms, where the session's {@link Clocks} say nothing else. */
  readonly ms: number;
  /** When it runs. */
  readonly runs: string;
  /** The phases that it may run in: the entry of any other stops it. */
  readonly phases: readonly Phase[];
  /** What its firing means: a word for the core's switch. */
  readonly fires: "fail" | "heartbeat" | "execHeartbeat" | "ping" | "burst" | "drained";
  /** For `fail`: the error's code and what it says. */
  readonly code?: string;
  readonly words?: string;
}

/** PROTOCOL §1, §5.1, §8; DESIGN D1, D2, D14. */
export const TIMERS = {
  first: { ms: LIMITS.first, runs: "from the opening of a Run and after every result we write, to the first work frame", phases: ["connecting", "running"], fires: "fail", code: "first_token_timeout", words: "no work arrived" },
  idle: { ms: LIMITS.idle, runs: "between two work frames", phases: ["running"], fires: "fail", code: "idle_timeout", words: "no work arrived since the last" },
  toolUse: { ms: LIMITS.toolUse, runs: "while a call is parked with the host", phases: ["parked"], fires: "fail", code: "tool_timeout", words: "the host gave no result" },
  pong: { ms: LIMITS.pingAnswer, runs: "from a PING to its answer or any byte", phases: ["running", "parked"], fires: "fail", code: "connection_lost", words: "the connection was lost: no answer to a PING" },
  ping: { ms: LIMITS.ping, runs: "between two PINGs", phases: ["running", "parked"], fires: "ping" },
  heartbeat: { ms: LIMITS.heartbeat, runs: "between two client heartbeats", phases: ["running", "parked"], fires: "heartbeat" },
  execHeartbeat: { ms: LIMITS.execHeartbeat, runs: "between two heartbeats of the execs that the host has", phases: ["running", "parked"], fires: "execHeartbeat" },
  burst: { ms: LIMITS.burst, runs: "from the last tool call of a burst", phases: ["running"], fires: "burst" },
  drain: { ms: LIMITS.drain, runs: "from turn_ended to done", phases: ["draining"], fires: "drained" },
} as const satisfies Record<string, TimerRow>;

/** The name of a clock. */
export type Timer = keyof typeof TIMERS;

/** ms of the clocks that run otherwise than their rows say. */
export type Clocks = Readonly<Partial<Record<Timer, number>>>;

/** How long a clock runs, in ms. */
export function duration(timer: Timer, clocks: Clocks): number {
  return clocks[timer] ?? TIMERS[timer].ms;
}

/** What the firing of a `fail` clock means to the host. Worded so that it may be retried: nothing else is wrong. */
export function timerFailure(timer: Timer, clocks: Clocks): Failure {
  const row: TimerRow = TIMERS[timer];
  return {
    kind: "network",
    code: row.code!,
    message: `The turn timed out: ${row.words} within ${duration(timer, clocks)} ms.`,
    nextStep: timer === "toolUse" ? "Send the message again; CURSOR_PROVIDER_TOOLUSE_WATCHDOG_MS sets the limit." : "Try again; if it stays, check the connection to the service.",
  };
}
