/** What the host's own callbacks, stores and readers do to the order of a Run: nothing is done after it was called off. */
import { constants } from "node:http2";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createProvider, type Diagnostic, type HandleStore, type Message, type Provider, type ProviderOptions, type Tool } from "../lib/index.ts";
import { LIMITS } from "../lib/agent/limits.ts";
import { systemClock, type ClockFactory } from "../lib/driver/clock.ts";
import { createProviderOn } from "../lib/driver/provider.ts";
import { fingerprint } from "../lib/session/fingerprint.ts";
import type { Timer } from "../lib/session/timers.ts";
import { encodeValue } from "../wire/index.ts";
import { handleOf } from "./handles.ts";
import { ask, outcome, rawHost, until, type Host, type Outcome, type Peer } from "./raw-host.ts";
import { waiting } from "./waiting.ts";

const test = suite("driver-order");

const TOOL: Tool = { name: "look", description: "", inputSchema: { type: "object", properties: {} } };
/** A handle that nothing in these tests fits. */
const OTHER = handleOf("another", "x");
/** The handle of a conversation that has not begun: it fits a first message. */
const FITTING = { ...handleOf("kept", "x"), checkpoint: Uint8Array.of(0x50, 1), fingerprint: fingerprint([]) };

interface Stage {
  readonly host: Host;
  readonly provider: Provider;
  readonly diagnostics: Diagnostic[];
}

async function onStage(play: (peer: Peer, index: number) => void, work: (stage: Stage) => Promise<void>, options: Partial<ProviderOptions> = {}): Promise<void> {
  const host = await rawHost(play);
  const diagnostics: Diagnostic[] = [];
  const provider = createProvider({ accessToken: "planted-token-0123456789", origin: host.origin, env: {}, handles: null, onDiagnostic: (one) => void diagnostics.push(one), ...options });
  try {
    await work({ host, provider, diagnostics });
  } finally {
    await provider.close();
    await host.close();
  }
}

/** A store whose writes settle when the test says so. */
function slowStore(handle = OTHER): HandleStore & { asked: string[]; settle(): void } {
  const waiting: (() => void)[] = [];
  const asked: string[] = [];
  const wait = (what: string): Promise<void> => {
    asked.push(what);
    return new Promise((resolve) => waiting.push(resolve));
  };
  return {
    asked,
    settle: () => {
      for (const resolve of waiting.splice(0)) resolve();
    },
    load: async () => {
      asked.push("load");
      return handle;
    },
    save: () => wait("save"),
    remove: () => wait("remove"),
  };
}

/** A turn that is complete, with a checkpoint to keep. */
function complete(peer: Peer): void {
  peer.respond().text("a").send({ conversationCheckpointUpdate: Uint8Array.of(0x50, 1) }).turnEnded().endStream().stream.end();
}

function call(peer: Peer): void {
  peer.respond().send({ execServerMessage: { id: 1, execId: "e1", mcpArgs: { name: "look", toolName: "look", toolCallId: "t1", providerIdentifier: "pi", args: new Map([["path", encodeValue("x")]]) } } });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function ended({ events, error }: Outcome): string {
  return error?.code ?? events.map((event) => (event.type === "done" ? event.reason : "")).join("");
}

test("what the model says does not wait for an old handle to be forgotten", async () => {
  const store = slowStore();
  store.save = async () => {};
  await onStage(
    complete,
    async ({ provider }) => {
      const events = provider.stream(ask("hi", { sessionId: "s" }))[Symbol.asyncIterator]();
      const { result, waited } = await waiting(events.next());
      assert.equal(result.value, { type: "text", delta: "a" });
      assert.ok(waited < 300, `${waited} ms`);
      assert.equal(store.asked, ["load", "remove"]);
      store.settle();
      const types: string[] = [];
      for (let next = await events.next(); !next.done; next = await events.next()) types.push(next.value.type);
      assert.equal(types, ["usage", "done"]);
    },
    { handles: store },
  );
});

test("a failure does not wait for the handle to be forgotten", async () => {
  const store = slowStore(FITTING);
  await onStage(
    (peer) => peer.respond().text("a").send({ kvServerMessage: { id: 1, getBlobArgs: { blobId: Uint8Array.of(1, 2) } } }),
    async ({ provider }) => {
      const result = await outcome(provider.stream(ask("hi", { sessionId: "s" })));
      assert.is(ended(result), "blob_not_found");
      assert.ok(result.waited < 300, `${result.waited} ms`);
      assert.equal(store.asked, ["load", "remove"]);
      store.settle();
    },
    { handles: store },
  );
});

test("the next turn of a session loads its handle after the last one was forgotten", async () => {
  const store = slowStore(FITTING);
  await onStage(
    (peer, index) => (index === 0 ? peer.respond().text("a").send({ kvServerMessage: { id: 1, getBlobArgs: { blobId: Uint8Array.of(1, 2) } } }) : complete(peer)),
    async ({ provider, host }) => {
      assert.is(ended(await outcome(provider.stream(ask("hi", { sessionId: "s" })))), "blob_not_found");
      const next = outcome(provider.stream(ask("again", { sessionId: "s" })));
      await pause(30);
      assert.equal([store.asked, host.accepted], [["load", "remove"], 1]);
      store.save = async () => {};
      store.settle();
      assert.is(ended(await next), "stop");
      assert.equal(store.asked, ["load", "remove", "load"]);
    },
    { handles: store },
  );
});

test("close waits for a handle that is being kept, and not with its socket", async () => {
  const store = slowStore();
  store.remove = async () => {};
  await onStage(
    complete,
    async ({ provider, host }) => {
      const leg = outcome(provider.stream(ask("hi", { sessionId: "s" })));
      await until(() => store.asked.includes("save"), "the store is asked");
      let closed = false;
      const closing = provider.close().then(() => (closed = true));
      assert.is(ended(await leg), "aborted");
      await until(() => host.sockets.size === 0, "the socket is closed");
      assert.is(closed, false);
      store.settle();
      await closing;
    },
    { handles: store },
  );
});

test("D19 an abort while the handle is kept has the words so far, resets the stream and forgets the handle", async () => {
  const store = slowStore();
  let code: number | undefined;
  await onStage(
    (peer) => {
      peer.stream.on("close", () => (code = peer.stream.rstCode));
      peer.respond().text("a").send({ conversationCheckpointUpdate: Uint8Array.of(0x50, 1) }).turnEnded().endStream();
    },
    async ({ provider, host }) => {
      const controller = new AbortController();
      const leg = outcome(provider.stream(ask("hi", { sessionId: "s" }), { signal: controller.signal }));
      await until(() => store.asked.includes("remove"), "the store is asked");
      store.settle();
      await until(() => store.asked.includes("save"), "the store is asked");
      controller.abort();
      const { error, waited } = await leg;
      assert.equal([error?.code, error?.partial.text], ["aborted", "a"]);
      assert.ok(error!.partial.usage.input > 0);
      assert.ok(waited < 300, `${waited} ms`);
      await until(() => host.sockets.size === 0, "the socket is closed");
      assert.is(code, constants.NGHTTP2_CANCEL);
      store.settle();
      await until(() => store.asked.length === 4, "the store is asked");
      assert.equal(store.asked, ["load", "remove", "save", "remove"]);
      store.settle();
    },
    { handles: store },
  );
});

test("close behind a handle that is slow to be forgotten leaves nothing to be dialled later", async () => {
  const store = slowStore();
  await onStage(
    () => {},
    async ({ provider, host, diagnostics }) => {
      const leg = outcome(provider.stream(ask("hi", { sessionId: "s" })));
      await until(() => store.asked.includes("remove"), "the store is asked");
      const closing = provider.close();
      assert.is(ended(await leg), "aborted");
      store.settle();
      await closing;
      const { accepted } = host;
      await pause(50);
      assert.equal([host.accepted, host.sockets.size], [accepted, 0]);
      assert.equal(diagnostics.map(({ type }) => type), ["handle_mismatch"]);
    },
    { handles: store },
  );
});

test("D19 an abort from a callback is the last that happens", async () => {
  const controller = new AbortController();
  const frames: string[] = [];
  let before = -1;
  const unknown = [{ no: 99, type: 0 as const, bytes: Uint8Array.of(0x98, 0x06, 1) }];
  await onStage(
    (peer) => peer.respond().send({ execServerMessage: { id: 1, fetchArgs: { url: "u" }, unknown } }),
    async ({ provider, host }) => {
      const result = await outcome(provider.stream(ask(), { signal: controller.signal }));
      assert.is(ended(result), "aborted");
      await until(() => host.sockets.size === 0, "the socket is closed");
      assert.ok(before > 0);
      assert.is(frames.length, before);
      assert.equal(host.peers[0]!.received.flatMap(Object.keys), ["runRequest"]);
    },
    {
      onFrame: ({ from }) => void frames.push(from),
      onDiagnostic: () => {
        controller.abort();
        before = frames.length;
      },
    },
  );
});

test("D19 an abort while a frame is shown keeps that frame from going out", async () => {
  const controller = new AbortController();
  await onStage(
    (peer) => peer.respond().send({ execServerMessage: { id: 1, fetchArgs: { url: "u" } } }),
    async ({ provider, host }) => {
      assert.is(ended(await outcome(provider.stream(ask(), { signal: controller.signal }))), "aborted");
      await until(() => host.sockets.size === 0, "the socket is closed");
      assert.equal(host.peers[0]!.received.flatMap(Object.keys), ["runRequest"]);
    },
    { onFrame: ({ from, envelope }) => void (from === "client" && envelope[5] !== 0x0a && controller.abort()) },
  );
});

test("what fails in the driver itself is an error of the leg, and nobody else's", async () => {
  const host = await rawHost((peer) => peer.respond().text("a").turnEnded().endStream());
  const clock: ClockFactory = (onTimer) => {
    const real = systemClock(onTimer);
    const arm = (timer: Timer, ms: number): void => {
      if (timer === "idle") throw new Error("no clock is left");
      real.arm(timer, ms);
    };
    return { ...real, arm };
  };
  const provider = createProviderOn(clock, { accessToken: "t", origin: host.origin, env: {}, handles: null });
  try {
    const result = await outcome(provider.stream(ask()));
    assert.is(result.error?.code, "defect");
    assert.match(result.error!.message, "no clock is left");
    await until(() => host.sockets.size === 0, "the socket is closed");
  } finally {
    await provider.close();
    await host.close();
  }
});

for (const [name, leave] of [
  ["at once", 0],
  ["when the Run is parked", LIMITS.burst * 3],
] as const)
  test(`a reader that leaves at a tool call, ${name}, ends the Run like an abort`, async () => {
    let code: number | undefined;
    await onStage(
      (peer) => {
        peer.stream.on("close", () => (code = peer.stream.rstCode));
        call(peer);
      },
      async ({ provider, diagnostics }) => {
        for await (const { type } of provider.stream(ask("hi", { tools: [TOOL] }))) {
          assert.is(type, "tool_call");
          await pause(leave);
          break;
        }
        await until(() => code !== undefined, "the peer sees the reset");
        assert.is(code, constants.NGHTTP2_CANCEL);
        assert.equal(diagnostics, []);
      },
    );
  });

test("results that come from a callback before their leg is over end that leg, and begin anew", async () => {
  const unknown = [{ no: 1023, type: 0 as const, bytes: Uint8Array.of(0xf8, 0x3f, 1) }];
  const first = ask("hi", { sessionId: "s", tools: [TOOL] });
  const messages: Message[] = [
    ...first.messages,
    { role: "assistant", content: [{ type: "tool_call", id: "t1", name: "look", arguments: {} }] },
    { role: "tool", toolCallId: "t1", toolName: "look", content: [{ type: "text", text: "seen" }] },
  ];
  const nexts: Promise<Outcome>[] = [];
  const stage: { provider?: Provider } = {};
  await onStage(
    (peer, index) => {
      if (index > 0) return complete(peer);
      peer.respond().send({ interactionUpdate: { toolRequestsListed: { callCount: 2 } } });
      const mcpArgs = (toolCallId: string) => ({ name: "look", toolName: "look", toolCallId, providerIdentifier: "pi", args: new Map() });
      peer.send({ execServerMessage: { id: 1, mcpArgs: mcpArgs("t1") } }, { execServerMessage: { id: 2, mcpArgs: mcpArgs("t2") }, unknown });
    },
    async ({ provider }) => {
      stage.provider = provider;
      assert.is(ended(await outcome(provider.stream(first))), "aborted");
      assert.equal(await Promise.all(nexts.map(async (next) => ended(await next))), ["stop"]);
    },
    { onDiagnostic: ({ type }) => void (type === "drift" && nexts.length === 0 && nexts.push(outcome(stage.provider!.stream({ ...first, messages })))) },
  );
});

test("a reader that leaves a leg which the next one has followed ends nothing", async () => {
  await onStage(
    (peer) => {
      call(peer);
      void peer.wants((message) => message.execClientMessage !== undefined).then(() => pause(30).then(() => peer.text("b").turnEnded().endStream().stream.end()));
    },
    async ({ provider }) => {
      const first = ask("hi", { sessionId: "s", tools: [TOOL] });
      const reader = provider.stream(first)[Symbol.asyncIterator]();
      assert.is((await reader.next()).value?.type, "tool_call");
      await pause(LIMITS.burst * 3);
      const messages: Message[] = [
        ...first.messages,
        { role: "assistant", content: [{ type: "tool_call", id: "t1", name: "look", arguments: {} }] },
        { role: "tool", toolCallId: "t1", toolName: "look", content: [{ type: "text", text: "seen" }] },
      ];
      const next = outcome(provider.stream({ ...first, messages }));
      await reader.return?.();
      assert.is(ended(await next), "stop");
    },
  );
});

for (const [name, stop] of Object.entries<(provider: Provider) => unknown>({ end: (provider) => provider.end("s"), close: (provider) => provider.close() }))
  test(`${name} tells nothing of the parked Run that it ends`, async () => {
    await onStage(call, async ({ provider, host, diagnostics }) => {
      assert.is(ended(await outcome(provider.stream(ask("hi", { sessionId: "s", tools: [TOOL] })))), "tool_use");
      await stop(provider);
      await until(() => host.sockets.size === 0, "the socket is closed");
      assert.equal(diagnostics, []);
    });
  });

const { NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR, NGHTTP2_STREAM_CLOSED, NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM } = constants;
for (const code of [NGHTTP2_NO_ERROR, NGHTTP2_INTERNAL_ERROR, NGHTTP2_STREAM_CLOSED, NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM])
  test(`D8 HTTP 401 counts although its stream is reset with ${code}`, async () => {
    await onStage(
      (peer) => {
        peer.stream.respond({ ":status": 401, "content-type": "application/json" });
        // Some Nodes drop headers that a reset overtakes.
        setTimeout(() => peer.reset(code), 20);
      },
      async ({ provider, host }) => {
        const { error } = await outcome(provider.stream(ask()));
        assert.equal([error?.kind, host.accepted], ["auth", 1]);
      },
    );
  });

test("D2 END_STREAM before turn_ended counts although its socket is closed behind it", async () => {
  await onStage(
    (peer) => {
      peer.respond().text("a").stream.end();
      setTimeout(() => peer.socket.end(), 10);
    },
    async ({ provider }) => {
      const { error, text } = await outcome(provider.stream(ask()));
      assert.equal([text, error?.kind, error?.code], ["a", "remote", "ended_early"]);
    },
  );
});

test.run();
