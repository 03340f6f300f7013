/** What lasts: every place where a stream can be cut, many turns, many random peers. One terminal event each, no leak. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { list, root } from "../fixtures/load.ts";
import { systemClock, type ClockFactory } from "../lib/driver/clock.ts";
import { createProviderOn } from "../lib/driver/provider.ts";
import { createProvider, memoryHandleStore, type Message, type Provider, type TurnRequest } from "../lib/index.ts";
import { startLoopback, type Fault, type Loopback, type Script } from "../lib/loopback/index.ts";
import { readCapture } from "../lib/loopback/capture.ts";
import { fileURLToPath } from "node:url";
import { ask, outcome, until, type Outcome } from "./raw-host.ts";

const test = suite("endurance");
setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

/** All clocks fifty times faster: what waits for silence need not wait long. */
const fast: ClockFactory = (onTimer) => {
  const clock = systemClock(onTimer);
  return { ...clock, arm: (timer, ms) => clock.arm(timer, Math.max(1, ms / 50)) };
};

const TOOLS = ["calculator", "clock", "look"].map((name) => ({ name, description: "", inputSchema: { type: "object" } }));

/** Runs a turn to its very end: every leg, with a result for every call. Counts what ends it. */
async function turn(provider: Provider, request: TurnRequest): Promise<{ legs: Outcome[]; endings: number }> {
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

async function spied(body: () => Promise<void>): Promise<void> {
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

async function cutAt(capture: string, fault: Fault): Promise<void> {
  const host = await startLoopback({ capture, faults: [fault] });
  const provider = createProviderOn(fast, { accessToken: "t", origin: host.origin, handles: null, env: {} });
  const { legs } = await turn(provider, ask("hi", { sessionId: "s", tools: TOOLS }));
  await provider.close();
  await until(() => host.connections.open === 0, "no socket stays");
  await host.close();
  const last = legs.at(-1)!;
  assert.ok(last.took < 3000, `took ${last.took} ms`);
}

/** Runs tasks, a few at a time. */
async function each<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  const queue = items.entries();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const [, item] of queue) await task(item);
    }),
  );
}

for (const name of list("fixtures/captures").filter((file) => file.endsWith(".jsonl")))
  test(`${name} cut at every frame and at every 97th byte ends once`, () =>
    spied(async () => {
      const path = fileURLToPath(new URL(`fixtures/captures/${name}`, root));
      const server = (await readCapture(path)).filter(({ from }) => from === "server");
      const size = server.reduce((sum, { envelope }) => sum + envelope.length, 0);
      const bytes = Array.from({ length: Math.ceil(size / 97) }, (_, index) => index * 97);
      // A large frame is cut in its first and last kilobytes at every 97th byte, and in between at every 50th of those.
      const chosen = bytes.filter((at, index) => size < 20_000 || at < 2000 || at > size - 2000 || index % 50 === 0);
      await each(server.map((_, frame) => ({ frame })), (at) => cutAt(path, { type: "cut", at }));
      await each(chosen, (byte) => cutAt(path, { type: "cut", at: { byte } }));
    }));

/** The same numbers for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const STEPS: readonly ((pick: (below: number) => number) => Script[number])[] = [
  () => ({ text: "some words" }),
  () => ({ thinking: "hm" }),
  (pick) => ({ tokens: pick(50) }),
  (pick) => ({ mcp: { tool: pick(3) === 0 ? "nobody" : "look", args: { n: pick(9) } } }),
  (pick) => ({ exec: { case: ["shellArgs", "readArgs", "grepArgs", "diagnosticsArgs", "setupVmEnvironmentArgs"][pick(5)]!, args: {}, wait: false } }),
  (pick) => ({ query: { case: ["webSearchRequestQuery", "switchModeRequestQuery"][pick(2)]!, wait: false } }),
  () => ({ getBlob: "root", wait: false }),
  (pick) => ({ setBlob: { size: pick(3000) }, wait: false }),
  () => ({ requestContext: true, wait: false }),
  (pick) => ({ checkpoint: { size: 10 + pick(500) } }),
  (pick) => ({ heartbeats: pick(3) }),
  (pick) => ({ raw: Array.from({ length: pick(12) }, () => pick(256).toString(16).padStart(2, "0")).join("") }),
  (pick) => ({ bytes: Array.from({ length: pick(7) }, () => pick(256).toString(16).padStart(2, "0")).join("") }),
  () => ({ turnEnded: true }),
  () => ({ awaitResults: true }),
  (pick) => ({ fault: { type: "reset", code: pick(14) } }),
  () => ({ fault: { type: "cut" } }),
  () => ({ fault: { type: "stall" } }),
  (pick) => ({ fault: { type: "goaway", code: pick(3), cut: pick(2) === 0 } }),
];

test("random scripts of a peer each end every leg once", () =>
  spied(async () => {
    const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
    console.log(`  seed ${seed}`);
    const pick = random(seed);
    const scripts = Array.from({ length: 2000 }, (): Script => Array.from({ length: 1 + pick(8) }, () => STEPS[pick(STEPS.length)]!(pick)));
    await each(
      Array.from({ length: 20 }, (_, index) => scripts.slice(index * 100, index * 100 + 100)),
      async (hundred) => {
        const host = await startLoopback({ script: hundred });
        const provider = createProviderOn(fast, { accessToken: "t", origin: host.origin, handles: null, env: { CURSOR_PROVIDER_FIRST_TOKEN_MS: "5000", CURSOR_PROVIDER_IDLE_MS: "5000" } });
        for (let index = 0; index < hundred.length; index++) {
          const { legs } = await turn(provider, ask("hi", { sessionId: `s${index}`, tools: TOOLS }));
          assert.ok(legs.at(-1)!.took < 3000, `seed ${seed}: took ${legs.at(-1)!.took} ms over ${JSON.stringify(hundred[index])}`);
        }
        await provider.close();
        await until(() => host.connections.open === 0, "no socket stays");
        await host.close();
      },
    );
  }));

async function heap(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function withHost(script: Script, body: (provider: Provider, host: Loopback) => Promise<void>): Promise<void> {
  const host = await startLoopback({ script });
  const provider = createProvider({ accessToken: "t", origin: host.origin, handles: memoryHandleStore(), env: {} });
  try {
    await body(provider, host);
    await provider.close();
  } finally {
    await host.close();
  }
}

test("heap and sockets stay flat over a thousand turns", () =>
  withHost([{ text: "hello" }, { checkpoint: { bytes: "5001" } }, { turnEnded: true }, { end: true }], async (provider, host) => {
    const run = async (turns: number): Promise<void> => {
      for (let index = 0; index < turns; index++) {
        const result = await outcome(provider.stream(ask("hi", { sessionId: `s${index % 10}` })));
        assert.is(result.error, undefined);
        assert.is(result.text, "hello");
        // The host remembers every Run: that is its job, and not what is measured here.
        (host.received as unknown[]).length = 0;
      }
    };
    await run(200);
    const before = await heap();
    await run(800);
    const grown = (await heap()) - before;
    assert.ok(grown < 3 * 1024 * 1024, `${Math.round(grown / 1024)} KiB more after 800 turns`);
    assert.ok(host.connections.open <= 1);
  }));

test("a parked Run costs less than 64 KiB", () =>
  withHost([{ mcp: { tool: "look", args: {} } }, { awaitResults: true }], async (provider, host) => {
    const park = async (from: number, to: number): Promise<void> => {
      await Promise.all(Array.from({ length: to - from }, (_, index) => outcome(provider.stream(ask("hi", { sessionId: `s${from + index}`, tools: TOOLS })))));
    };
    await park(0, 100);
    const before = await heap();
    await park(100, 300);
    // Both ends of each stream live in this process, so this is more than the provider's share.
    const each = ((await heap()) - before) / 200;
    assert.ok(each < 64 * 1024, `${Math.round(each / 1024)} KiB each`);
    assert.is(host.connections.open, 300);
  }));

test("the time to resume does not grow with the length of the history", async () => {
  const store = memoryHandleStore();
  const host = await startLoopback({ script: [{ text: "ok" }, { checkpoint: { bytes: "5001" } }, { turnEnded: true }, { end: true }] });
  const provider = createProvider({ accessToken: "t", origin: host.origin, handles: store, env: {} });
  const messages: Message[] = [];
  /** ms of processor time: the tests beside this one do not count. */
  const time = async (): Promise<number> => {
    messages.push({ role: "user", content: "again" });
    const before = process.cpuUsage();
    const { error, text } = await outcome(provider.stream(ask("", { sessionId: "s", messages })));
    assert.is(error, undefined);
    const { user, system } = process.cpuUsage(before);
    messages.push({ role: "assistant", content: [{ type: "text", text }] });
    return (user + system) / 1000;
  };
  const best = async (): Promise<number> => {
    let least = Infinity;
    for (let round = 0; round < 8; round++) least = Math.min(least, await time());
    return least;
  };
  await best();
  const short = await best();
  for (let index = 0; index < 2000; index++) messages.push({ role: "user", content: `question ${index} ${"x".repeat(500)}` }, { role: "assistant", content: [{ type: "text", text: "y".repeat(2000) }] });
  const long = await best();
  assert.equal(host.received.at(-1)!.request!.conversationState!.rootPromptMessagesJson ?? [], [], "a resume holds no history");
  assert.ok(long < short + 10, `${short} ms with a short history, ${long} ms with 2,000 more turns`);
  await provider.close();
  await host.close();
});

test.run();
