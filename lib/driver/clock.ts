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

/** Real time. Its timers never keep the process alive: the socket of a leg that is being read does (DESIGN D23). */
export const systemClock: ClockFactory = (onTimer) => {
  const running = new Map<Timer, { timeout: NodeJS.Timeout; ms: number }>();
  return {
    arm(timer, ms) {
      const current = running.get(timer);
      if (current?.ms === ms) {
        current.timeout.refresh();
        return;
      }
      if (current) clearTimeout(current.timeout);
      const timeout = setTimeout(() => {
        running.delete(timer);
        onTimer(timer);
      }, ms).unref();
      running.set(timer, { timeout, ms });
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
