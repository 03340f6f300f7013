/** What the tests of lasting share: fast clocks, and a watch over what nobody caught. */
import * as assert from "uvu/assert";
import { systemClock, type ClockFactory } from "../lib/driver/clock.ts";

/** All clocks fifty times faster: what waits for silence need not wait long. */
export const fast: ClockFactory = (onTimer) => {
  const clock = systemClock(onTimer);
  return { ...clock, arm: (timer, ms) => clock.arm(timer, Math.max(1, ms / 50)) };
};

/** The tools that a host of these tests offers. */
export const TOOLS = ["calculator", "clock", "look"].map((name) => ({ name, description: "", inputSchema: { type: "object" } }));

/** Runs `body` and fails where anything reached the process uncaught. */
export async function spied(body: () => Promise<void>): Promise<void> {
  const uncaught: unknown[] = [];
  const spy = (error: unknown): void => void uncaught.push(error);
  process.on("uncaughtException", spy);
  process.on("unhandledRejection", spy);
  try {
    await body();
    assert.equal(uncaught, []);
  } finally {
    process.off("uncaughtException", spy);
    process.off("unhandledRejection", spy);
  }
}

/** Runs tasks, a few at a time. */
export async function each<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  const queue = items.entries();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const [, item] of queue) await task(item);
    }),
  );
}

