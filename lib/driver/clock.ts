import type { Timer } from "../session/timers.ts";

/** Runs the clocks that the core arms. One that is armed again starts anew. */
export interface Clock {
  arm(timer: Timer, ms: number): void;
  disarm(timer: Timer): void;
  /** Stops all of them. */
  clear(): void;
}

/** A clock for one Run. */
export type ClockFactory = (onTimer: (timer: Timer) => void) => Clock;

/** A clock that runs, or that has run out and is not told of yet. */
interface Running {
  readonly ms: number;
  readonly timeout: NodeJS.Timeout;
  out: boolean;
}

/**
 * Real time. Its timers never keep the process alive: the socket of a leg that is being read does (DESIGN D23). One that
 * runs out is told of behind what the sockets have: a process that was stopped or busy for long finds its timers run out
 * before it reads what came in time.
 */
export const systemClock: ClockFactory = (onTimer) => {
  const running = new Map<Timer, Running>();
  const start = (timer: Timer, ms: number): void => {
    const onOut = (): void => {
      clock.out = true;
      // Behind the poll for sockets, which comes between timers and immediates.
      setImmediate(() => {
        if (running.get(timer) !== clock || !clock.out) return;
        running.delete(timer);
        onTimer(timer);
      });
    };
    const clock: Running = { ms, timeout: setTimeout(onOut, ms).unref(), out: false };
    running.set(timer, clock);
  };
  return {
    arm(timer, ms) {
      const clock = running.get(timer);
      if (clock?.ms === ms) {
        clock.out = false;
        clock.timeout.refresh();
        return;
      }
      clearTimeout(clock?.timeout);
      start(timer, ms);
    },
    disarm(timer) {
      clearTimeout(running.get(timer)?.timeout);
      running.delete(timer);
    },
    clear() {
      for (const { timeout } of running.values()) clearTimeout(timeout);
      running.clear();
    },
  };
};
