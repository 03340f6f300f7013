/**
 * The clocks of a Run, as one table. The core only asks for them (`arm`, `disarm`); the driver owns the time and says
 * which one fired (DESIGN D1).
 */
import { LIMITS } from "../agent/limits.ts";
import type { Failure } from "./errors.ts";

/** The clocks that an embedder may set, in ms. */
export interface Clocks {
  readonly first: number;
  readonly idle: number;
  readonly toolUse: number;
}

interface TimerRow {
  /** ms; `clocks` overrides it by name. */
  readonly ms: number;
  /** When it runs. */
  readonly runs: string;
  /** What its firing means: a word for the core's switch. */
  readonly fires: "fail" | "heartbeat" | "execHeartbeat" | "ping" | "burst" | "drained";
  /** For `fail`: the error's code and what it says. */
  readonly code?: string;
  readonly words?: string;
}

/** PROTOCOL §1, §5.1, §8; DESIGN D1, D2, D14. */
export const TIMERS = {
  first: { ms: LIMITS.first, runs: "from the opening of a Run and after every result we write, to the first work frame", fires: "fail", code: "first_token_timeout", words: "no work arrived" },
  idle: { ms: LIMITS.idle, runs: "between two work frames", fires: "fail", code: "idle_timeout", words: "no work arrived since the last" },
  toolUse: { ms: LIMITS.toolUse, runs: "while a call is parked with the host", fires: "fail", code: "tool_timeout", words: "the host gave no result" },
  pong: { ms: LIMITS.pingAnswer, runs: "from a PING to its answer or any byte", fires: "fail", code: "connection_lost", words: "the connection was lost: no answer to a PING" },
  ping: { ms: LIMITS.ping, runs: "between two PINGs", fires: "ping" },
  heartbeat: { ms: LIMITS.heartbeat, runs: "between two client heartbeats", fires: "heartbeat" },
  execHeartbeat: { ms: LIMITS.execHeartbeat, runs: "between two heartbeats of the execs that the host has", fires: "execHeartbeat" },
  burst: { ms: LIMITS.burst, runs: "from the last tool call of a burst", fires: "burst" },
  drain: { ms: LIMITS.drain, runs: "from turn_ended to done", fires: "drained" },
} as const satisfies Record<string, TimerRow>;

/** The name of a clock. */
export type Timer = keyof typeof TIMERS;

/** How long a clock runs, in ms. */
export function duration(timer: Timer, clocks: Clocks): number {
  return (clocks as unknown as Readonly<Record<string, number | undefined>>)[timer] ?? TIMERS[timer].ms;
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
