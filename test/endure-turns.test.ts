/** Many turns: heap and sockets stay flat, parked Runs are cheap, and a long history costs a resume nothing. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createProvider, memoryHandleStore, type Message, type Provider } from "../lib/index.ts";
import { startLoopback, type Loopback, type Script } from "../lib/loopback/index.ts";
import { TOOLS } from "./endure.ts";
import { ask, outcome } from "./raw-host.ts";

const test = suite("endure-turns");
setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

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
    for (let round = 0; round < 20; round++) least = Math.min(least, await time());
    return least;
  };
  await best();
  const short = await best();
  for (let index = 0; index < 2000; index++) messages.push({ role: "user", content: `question ${index} ${"x".repeat(500)}` }, { role: "assistant", content: [{ type: "text", text: "y".repeat(2000) }] });
  const long = await best();
  assert.equal(host.received.at(-1)!.request!.conversationState!.rootPromptMessagesJson ?? [], [], "a resume holds no history");
  // A comparison of each message is left, and no reading of it; coverage makes it several times slower.
  assert.ok(long < short + 10, `${short} ms with a short history, ${long} ms with 2,000 more turns`);
  await provider.close();
  await host.close();
});

test.run();
