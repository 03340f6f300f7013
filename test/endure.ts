/** What the tests of lasting share: whole turns, fast clocks, and a watch over what nobody caught. */
import * as assert from "uvu/assert";
import { systemClock, type ClockFactory } from "../lib/driver/clock.ts";
import type { Message, Provider, TurnRequest } from "../lib/index.ts";
import { outcome, type Outcome } from "./raw-host.ts";

/** All clocks fifty times faster: what waits for silence need not wait long. */
export const fast: ClockFactory = (onTimer) => {
  const clock = systemClock(onTimer);
  return { ...clock, arm: (timer, ms) => clock.arm(timer, Math.max(1, ms / 50)) };
};

/** The tools that a host of these tests offers. */
export const TOOLS = ["calculator", "clock", "look"].map((name) => ({ name, description: "", inputSchema: { type: "object" } }));

/** Runs a turn to its very end: every leg, with a result for every call. Counts what ends it. */
export async function turn(provider: Provider, request: TurnRequest): Promise<{ legs: Outcome[]; endings: number }> {
  const legs: Outcome[] = [];
  let next = request;
  for (let leg = 0; leg < 20; leg++) {
    const result = await outcome(provider.stream(next));
    legs.push(result);
    const done = result.events.filter(({ type }) => type === "done");
    assert.is(done.length + (result.error ? 1 : 0), 1, "one terminal event a leg");
    const calls = result.events.filter((event) => event.type === "tool_call");
    if (result.error || calls.length === 0) break;
    const answers: Message[] = calls.map(({ id, name }) => ({ role: "tool", toolCallId: id, toolName: name, content: [{ type: "text", text: "42" }] }));
    next = { ...next, messages: [...next.messages, { role: "assistant", content: calls.map(({ id, name, arguments: args }) => ({ type: "tool_call", id, name, arguments: args })) }, ...answers] };
  }
  return { legs, endings: legs.length };
}

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

