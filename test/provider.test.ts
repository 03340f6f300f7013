/** The provider by its public names, on real HTTP/2 over 127.0.0.1. */
import { getEventListeners } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createProvider, fileHandleStore, memoryHandleStore, type CursorError, type Diagnostic, type Handle, type Provider, type ProviderOptions, type Tool, type TurnEvent, type TurnRequest } from "../lib/index.ts";
import { fingerprint } from "../lib/session/fingerprint.ts";
import { encodeValue } from "../wire/index.ts";
import { after } from "./host-loop.ts";
import { ask, outcome, rawHost, until, type Host, type Outcome, type Peer } from "./raw-host.ts";
import { waiting } from "./waiting.ts";

const test = suite("provider");
const TOKEN = "planted-token-0123456789";
const TOOL: Tool = { name: "look", description: "Looks something up.", inputSchema: { type: "object", properties: { what: { type: "string" } } } };

function make(host: Host, options: Partial<ProviderOptions> = {}): Provider {
  return createProvider({ accessToken: TOKEN, origin: host.origin, handles: null, env: {}, ...options });
}

/** Runs `body` with a host and a provider, and closes both. */
async function using(onPeer: (peer: Peer, index: number) => void, body: (provider: Provider, host: Host) => Promise<void>, options: Partial<ProviderOptions> = {}): Promise<void> {
  const host = await rawHost(onPeer);
  const provider = make(host, options);
  try {
    await body(provider, host);
    await provider.close();
    await until(() => host.sockets.size === 0, "every socket is closed");
  } finally {
    await provider.close();
    await host.close();
  }
}

function call(peer: Peer, id: number, toolCallId: string, what = "x"): void {
  peer.send({ execServerMessage: { id, execId: `exec-${id}`, mcpArgs: { name: "mcp_pi_look", toolName: "mcp_pi_look", toolCallId, args: new Map([["what", encodeValue(what)]]) } } });
}

function finish(peer: Peer, text = "done"): void {
  peer.text(text).send({ conversationCheckpointUpdate: Uint8Array.of(0x50, 1) }).turnEnded().endStream().stream.end();
}

const closed = (id: number) => (message: { execClientControlMessage?: { streamClose?: { id?: number } } }) => message.execClientControlMessage?.streamClose?.id === id;

/** Asks for one call, and finishes when it is answered. */
function asksOnce(peer: Peer): void {
  call(peer.respond(), 1, "t1");
  void peer.wants(closed(1)).then(() => finish(peer));
}

function done(result: Outcome, reason: "stop" | "tool_use", text?: string): void {
  assert.is(result.error, undefined, result.error?.message);
  assert.equal(result.events.at(-1), { type: "done", reason });
  if (text !== undefined) assert.is(result.text, text);
}

test("a tool round goes on on the same stream", async () => {
  await using(
    (peer) => {
      call(peer.respond(), 1, "t1", "the answer");
      void peer.wants(closed(1)).then(() => finish(peer));
    },
    async (provider, host) => {
      const request = ask("look it up", { sessionId: "s", tools: [TOOL] });
      const first = await outcome(provider.stream(request));
      done(first, "tool_use");
      assert.equal(first.events[0], { type: "tool_call", id: "t1", name: "look", arguments: { what: "the answer" } });
      done(await outcome(provider.stream({ ...after(request, first) })), "stop", "done");
      assert.is(host.accepted, 1);
      const [result, close, ...rest] = host.peers[0]!.received.slice(1).filter((message) => message.clientHeartbeat === undefined);
      assert.equal(result, { execClientMessage: { id: 1, execId: "exec-1", mcpResult: { success: { content: [{ text: { text: "found" } }] } } } });
      assert.equal(close, { execClientControlMessage: { streamClose: { id: 1 } } });
      assert.equal(rest, []);
    },
  );
});

for (const [what, wrong] of Object.entries<Partial<TurnRequest>>({ message: { messages: [] }, tool: { tools: [TOOL, TOOL] } }))
  test(`a wrong ${what} beside the results costs a parked Run nothing`, async () => {
    await using(
      asksOnce,
      async (provider, host) => {
        const request = ask("look", { sessionId: "s", tools: [TOOL] });
        const results = after(request, await outcome(provider.stream(request)));
        assert.is((await outcome(provider.stream({ ...results, ...wrong }))).error?.kind, "local");
        done(await outcome(provider.stream(results)), "stop", "done");
        assert.is(host.accepted, 1);
      },
    );
  });

test("D19 results that match no parked call open a new Run and close the parked one", async () => {
  await using(
    (peer, index) => (index === 0 ? call(peer.respond(), 1, "t1") : finish(peer.respond())),
    async (provider, host) => {
      const request = ask("look", { sessionId: "s", tools: [TOOL] });
      const first = await outcome(provider.stream(request));
      const wrong = after(request, first);
      wrong.messages = wrong.messages.map((message) => (message.role === "tool" ? { ...message, toolCallId: "another" } : message));
      done(await outcome(provider.stream(wrong)), "stop", "done");
      assert.is(host.accepted, 2);
      await until(() => host.peers[0]!.stream.closed, "the parked stream is closed");
    },
  );
});

test("a user message behind the results closes the parked stream and opens a Run that holds them", async () => {
  await using(
    (peer, index) => (index === 0 ? call(peer.respond(), 1, "t1") : finish(peer.respond())),
    async (provider, host) => {
      const request = ask("look", { sessionId: "s", tools: [TOOL] });
      const steered = after(request, await outcome(provider.stream(request)));
      steered.messages.push({ role: "user", content: "no, stop looking" });
      done(await outcome(provider.stream(steered)), "stop", "done");
      const run = host.peers[1]!.received[0]!.runRequest!;
      assert.is(run.action!.userMessageAction!.userMessage!.text, "no, stop looking");
      assert.is(run.conversationState!.rootPromptMessagesJson!.length, 4, "rules, user, call, result");
      await until(() => host.peers[0]!.stream.closed, "the parked stream is closed");
    },
  );
});

test("H10 another model closes the parked Run and opens its own", async () => {
  await using(
    (peer, index) => (index === 0 ? call(peer.respond(), 1, "t1") : finish(peer.respond())),
    async (provider, host) => {
      const request = ask("look", { sessionId: "s", tools: [TOOL] });
      const next = after(request, await outcome(provider.stream(request)));
      done(await outcome(provider.stream({ ...next, model: { id: "other" } })), "stop", "done");
      assert.is(host.peers[1]!.received[0]!.runRequest!.requestedModel!.modelId, "other");
      await until(() => host.peers[0]!.stream.closed, "the parked stream is closed");
    },
  );
});

test("D56 a finished leg's signal does nothing, the current leg's ends the Run", async () => {
  await using(
    (peer) => {
      call(peer.respond(), 1, "t1");
      void peer.wants(closed(1)).then(() => peer.text("going on"));
    },
    async (provider) => {
      const [a, b] = [new AbortController(), new AbortController()];
      const request = ask("look", { sessionId: "s", tools: [TOOL] });
      const first = await outcome(provider.stream(request, { signal: a.signal }));
      a.abort();
      const events: string[] = [];
      let error: CursorError | undefined;
      try {
        for await (const event of provider.stream(after(request, first), { signal: b.signal })) {
          events.push(event.type);
          b.abort();
        }
      } catch (thrown) {
        error = thrown as CursorError;
      }
      assert.equal(events, ["text"]);
      assert.is(error?.kind, "aborted");
    },
  );
});

test("a leg with an aborted signal ends the session's parked Run", async () => {
  await using(
    (peer) => call(peer.respond(), 1, "t1"),
    async (provider, host) => {
      const request = ask("look", { sessionId: "s", tools: [TOOL] });
      const first = await outcome(provider.stream(request));
      const second = await outcome(provider.stream(after(request, first), { signal: AbortSignal.abort() }));
      assert.is(second.error?.kind, "aborted");
      await until(() => host.peers[0]!.stream.closed, "the parked stream is closed");
      assert.is(host.accepted, 1);
    },
  );
});

test("two hundred tool rounds on one signal leave no listener behind", async () => {
  const rounds = 200;
  await using(
    (peer) => {
      peer.respond();
      const next = (id: number): void => {
        if (id > rounds) finish(peer);
        else {
          peer.send({ interactionUpdate: { toolRequestsListed: { callCount: 1 } } });
          call(peer, id, `t${id}`);
          void peer.wants(closed(id)).then(() => next(id + 1));
        }
      };
      next(1);
    },
    async (provider, host) => {
      const { signal } = new AbortController();
      let request = ask("look", { sessionId: "s", tools: [TOOL] });
      for (let round = 1; round <= rounds; round++) {
        const leg = await outcome(provider.stream(request, { signal }));
        done(leg, "tool_use");
        assert.ok(getEventListeners(signal, "abort").length <= 1);
        request = after(request, leg);
      }
      done(await outcome(provider.stream(request, { signal })), "stop");
      assert.is(getEventListeners(signal, "abort").length, 0);
      assert.is(host.accepted, 1);
    },
  );
});

test("D16 a stream lost while a tool runs is rebuilt from the transcript, twice in one turn", async () => {
  const told: string[] = [];
  await using(
    (peer, index) => {
      if (index < 2) call(peer.respond(), 1, `t${index}`);
      else finish(peer.respond());
    },
    async (provider, host) => {
      let request = ask("look", { sessionId: "s", tools: [TOOL] });
      for (let round = 0; round < 2; round++) {
        const leg = await outcome(provider.stream(request));
        done(leg, "tool_use");
        request = after(request, leg);
        host.peers[round]!.socket.destroy();
        await until(() => told.length > round, "the provider knows that the stream is lost");
      }
      done(await outcome(provider.stream(request)), "stop", "done");
      const run = host.peers[2]!.received[0]!.runRequest!;
      assert.is(run.conversationState!.rootPromptMessagesJson!.length, 6, "rules, user, and two calls with their results");
    },
    { onDiagnostic: ({ type }) => void told.push(type) },
  );
  assert.equal(told, ["parked_run_lost", "parked_run_lost"]);
});

test("D32 a call that comes after the leg is over waits for the next, and queries are answered meanwhile", async () => {
  await using(
    (peer) => {
      call(peer.respond(), 1, "t1");
      setTimeout(() => {
        call(peer, 2, "t2");
        peer.text("meanwhile").send({ interactionQuery: { id: 9, webSearchRequestQuery: {} } });
      }, 300);
      void peer.wants(closed(2)).then(() => finish(peer));
    },
    async (provider, host) => {
      let request = ask("look", { sessionId: "s", tools: [TOOL] });
      const first = await outcome(provider.stream(request));
      await host.peers[0]!.wants((message) => message.interactionResponse?.id === 9);
      request = after(request, first);
      const second = await outcome(provider.stream(request));
      done(second, "tool_use");
      assert.equal(second.events.map(({ type }) => type), ["tool_call", "text", "usage", "done"]);
      done(await outcome(provider.stream(after(request, second))), "stop", "done");
      assert.is(host.accepted, 1);
    },
  );
});

for (const model of ["grok-4.7-high", "claude-4.5-sonnet-thinking", "composer-2.5"])
  for (const thinks of [false, true])
    test(`D57 one call is one tool call and one result, with ${model} ${thinks ? "thinking" : "not thinking"} and a cloned transcript`, async () => {
      await using(
        (peer) => {
          peer.respond();
          if (thinks) peer.send({ interactionUpdate: { thinkingDelta: { text: "hm" } } });
          call(peer, 1, "t1");
          void peer.wants(closed(1)).then(() => finish(peer));
        },
        async (provider, host) => {
          const request = ask("look", { sessionId: "s", tools: [TOOL], model: { id: model } });
          const first = await outcome(provider.stream(request));
          assert.is(first.events.filter(({ type }) => type === "tool_call").length, 1);
          done(await outcome(provider.stream(structuredClone(after(request, first)))), "stop", "done");
          assert.is(host.peers[0]!.received.filter((message) => message.execClientMessage?.mcpResult).length, 1);
          assert.is(host.accepted, 1);
        },
      );
    });

test("D39 output tokens are counted by leg", async () => {
  await using(
    (peer) => {
      peer.respond().send({ interactionUpdate: { tokenDelta: { tokens: 7 } } });
      call(peer, 1, "t1");
      void peer.wants(closed(1)).then(() => finish(peer.send({ interactionUpdate: { tokenDelta: { tokens: 5 } } })));
    },
    async (provider) => {
      const request = ask("look", { sessionId: "s", tools: [TOOL] });
      const first = await outcome(provider.stream(request));
      const second = await outcome(provider.stream(after(request, first)));
      const [one, two] = [first, second].map(({ events }) => events.at(-2) as { input: number; output: number });
      assert.is(one!.output, 7);
      assert.is(two!.output, 5);
      assert.ok(one!.input > 0 && two!.input > one!.input);
    },
  );
});

test("G4 two sessions share nothing, and a one-off leaves a parked Run alone", async () => {
  await using(
    (peer) => {
      const text = peer.received[0]!.runRequest!.action!.userMessageAction!.userMessage!.text!;
      if (text === "one-off") finish(peer.respond(), "aside");
      else {
        call(peer.respond(), 1, `t-${text}`);
        void peer.wants(closed(1)).then(() => finish(peer, text));
      }
    },
    async (provider, host) => {
      const requests = ["a", "b"].map((name) => ask(name, { sessionId: name, tools: [TOOL] }));
      const legs = await Promise.all(requests.map((request) => outcome(provider.stream(request))));
      done(await outcome(provider.stream(ask("one-off"))), "stop", "aside");
      const next = await Promise.all(requests.map((request, index) => outcome(provider.stream(after(request, legs[index]!)))));
      assert.equal(next.map(({ text }) => text), ["a", "b"]);
      assert.is(host.accepted, 3);
    },
  );
});

test("a one-off goes on with its own parked Run, known by its calls", async () => {
  await using(
    asksOnce,
    async (provider, host) => {
      const request = ask("look", { tools: [TOOL] });
      const first = await outcome(provider.stream(request));
      done(await outcome(provider.stream(after(request, first))), "stop", "done");
      assert.is(host.accepted, 1);
    },
  );
});

test("D20 a bad request in between does not make a conversation with a call open one to go on with", async () => {
  const conversations: string[] = [];
  await using(
    (peer, index) => {
      conversations.push(peer.received[0]!.runRequest!.conversationId!);
      if (index === 1) call(peer.respond(), 1, "t1");
      else finish(peer.respond(), "a");
    },
    async (provider) => {
      const first = ask("hi", { sessionId: "s", tools: [TOOL] });
      done(await outcome(provider.stream(first)), "stop", "a");
      const second = { ...first, messages: [...first.messages, { role: "assistant", content: [{ type: "text", text: "a" }] }, { role: "user", content: "go" }] } satisfies TurnRequest;
      done(await outcome(provider.stream(second)), "tool_use");
      provider.end("s");
      assert.is((await outcome(provider.stream({ ...second, tools: [TOOL, TOOL] }))).error?.code, "invalid_tool");
      done(await outcome(provider.stream(second)), "stop", "a");
      assert.is(conversations[1], conversations[0]);
      assert.is.not(conversations[2], conversations[0]);
    },
    { handles: memoryHandleStore() },
  );
});

for (const [name, what, resumes] of [
  ["with a call open is not gone on with, though the host sends the same again", (peer: Peer) => call(peer, 1, "t1"), false],
  ["in the midst of its text is gone on with from before it", (peer: Peer) => peer.text("b"), true],
] as const)
  test(`D20 a remote conversation that broke off ${name}`, async () => {
    const conversations: string[] = [];
    await using(
      (peer, index) => {
        conversations.push(peer.received[0]!.runRequest!.conversationId!);
        if (index !== 1) return finish(peer.respond(), "a");
        what(peer.respond());
        setTimeout(() => peer.reset(2), 30);
      },
      async (provider) => {
        const first = ask("hi", { sessionId: "s", tools: [TOOL] });
        done(await outcome(provider.stream(first)), "stop", "a");
        const second = { ...first, messages: [...first.messages, { role: "assistant", content: [{ type: "text", text: "a" }] }, { role: "user", content: "go" }] } satisfies TurnRequest;
        assert.is((await outcome(provider.stream(second))).error?.kind, "network");
        done(await outcome(provider.stream(second)), "stop", "a");
        assert.equal([conversations[1] === conversations[0], conversations[2] === conversations[0]], [true, resumes]);
      },
      { handles: memoryHandleStore() },
    );
  });

test("G4 two one-offs whose calls have the same id go on with their own Runs; where they are alike, with new ones", async () => {
  await using(
    (peer) => {
      const text = peer.received[0]!.runRequest!.action!.userMessageAction!.userMessage!.text!;
      // A turn that goes on from results alone is told everything anew.
      if (text.startsWith("Continue")) return finish(peer.respond(), "anew");
      call(peer.respond(), 1, "t1");
      void peer.wants(closed(1)).then(() => finish(peer, text));
    },
    async (provider, host) => {
      const requests = ["a", "b", "alike", "alike"].map((text) => ask(text, { tools: [TOOL] }));
      const legs = await Promise.all(requests.map((request) => outcome(provider.stream(request))));
      const next: string[] = [];
      for (const index of [1, 0, 3]) next.push((await outcome(provider.stream(after(requests[index]!, legs[index]!)))).text);
      assert.equal(next, ["b", "a", "anew"]);
      assert.is(host.accepted, 5);
    },
  );
});

test("G8 the handle is kept before done is delivered", async () => {
  const order: string[] = [];
  const store = memoryHandleStore();
  await using(
    (peer) => finish(peer.respond()),
    async (provider) => {
      for await (const event of provider.stream(ask("hi", { sessionId: "s" }))) if (event.type === "done") order.push("done");
      assert.equal(order, ["saved", "done"]);
    },
    { handles: { ...store, save: async (id: string, handle: Handle) => (await new Promise((resolve) => setTimeout(resolve, 30)), order.push("saved"), store.save(id, handle)) } },
  );
});

test("D44 another provider on the same folder resumes: checkpoint, no history, every blob served", async () => {
  const folder = await mkdtemp(join(tmpdir(), "cursor-wire-"));
  const blobId = new Uint8Array(32).fill(0);
  const content = Uint8Array.of(1, 2, 3);
  blobId.set(await crypto.subtle.digest("SHA-256", content).then((digest) => new Uint8Array(digest)));
  try {
    await using(
      (peer, index) => {
        peer.respond();
        if (index === 0) {
          peer.send({ kvServerMessage: { id: 1, setBlobArgs: { blobId, blobData: content } } });
          finish(peer);
        } else {
          peer.send({ kvServerMessage: { id: 2, getBlobArgs: { blobId } } });
          void peer.wants((message) => message.kvClientMessage?.id === 2).then(() => finish(peer, "resumed"));
        }
      },
      async (provider, host) => {
        const request = ask("one", { sessionId: "s", tools: [TOOL] });
        done(await outcome(provider.stream(request)), "stop");
        assert.equal((await readdir(folder)).filter((name) => name.endsWith(".json")), ["s.json"]);
        const other = make(host, { handles: fileHandleStore(folder) });
        const next = { ...request, messages: [...request.messages, { role: "assistant" as const, content: [{ type: "text" as const, text: "reworded" }] }, { role: "user" as const, content: "two" }] };
        done(await outcome(other.stream(next)), "stop", "resumed");
        await other.close();
        const [first, second] = host.peers.map((peer) => peer.received[0]!.runRequest!);
        assert.is(second!.conversationId, first!.conversationId);
        assert.is(second!.mcpTools, undefined, "the service has the tools");
        assert.is(second!.conversationState!.rootPromptMessagesJson!.length, 1, "current rules alone");
        assert.equal(host.peers[1]!.received.find((message) => message.kvClientMessage)!.kvClientMessage!.getBlobResult!.blobData, content);
        const edited = { ...next, messages: next.messages.map((message) => (message.role === "user" && message.content === "one" ? { ...message, content: "ONE" } : message)) };
        const third = make(host, { handles: fileHandleStore(folder) });
        void outcome(third.stream(edited));
        await until(() => host.peers.length === 3 && host.peers[2]!.received.length > 0, "the third Run opens");
        const rebuilt = host.peers[2]!.received[0]!.runRequest!;
        assert.is.not(rebuilt.conversationId, first!.conversationId);
        assert.is(rebuilt.conversationState!.rootPromptMessagesJson!.length, 3, "rules, user, assistant");
        await third.close();
      },
      { handles: fileHandleStore(folder) },
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("B13 a stale conversation is rebuilt once, and its handle is gone", async () => {
  const store = memoryHandleStore();
  await using(
    (peer, index) => {
      if (index === 1) peer.respond().endStream({ code: "not_found", message: "conversation not found" }).stream.end();
      else finish(peer.respond(), `run ${index}`);
    },
    async (provider, host) => {
      const request = ask("one", { sessionId: "s" });
      done(await outcome(provider.stream(request)), "stop", "run 0");
      const next = { ...request, messages: [...request.messages, { role: "assistant" as const, content: [{ type: "text" as const, text: "run 0" }] }, { role: "user" as const, content: "two" }] };
      done(await outcome(provider.stream(next)), "stop", "run 2");
      const ids = host.peers.map((peer) => peer.received[0]!.runRequest!.conversationId);
      assert.is(ids[1], ids[0]);
      assert.is.not(ids[2], ids[0]);
      assert.is((await store.load("s"))!.conversationId, ids[2]);
    },
    { handles: store },
  );
});

test("a store that throws costs a diagnostic, never the turn", async () => {
  const diagnostics: Diagnostic[] = [];
  const broken = async (): Promise<never> => {
    throw new Error("disk on fire");
  };
  await using(
    (peer) => finish(peer.respond()),
    async (provider) => {
      done(await outcome(provider.stream(ask("hi", { sessionId: "s" }))), "stop", "done");
      assert.equal(diagnostics.map(({ type }) => type), ["handle_unreadable", "handle_not_kept"]);
    },
    { handles: { load: broken, save: broken, remove: broken }, onDiagnostic: (diagnostic) => void diagnostics.push(diagnostic) },
  );
});

test("callbacks that throw cost nothing", async () => {
  const boom = (): never => {
    throw new Error("boom");
  };
  await using((peer) => finish(peer.respond()), async (provider) => done(await outcome(provider.stream(ask())), "stop", "done"), { onFrame: boom, onDiagnostic: boom });
});

test("F5 the token is asked for once a Run, and a failure to get one is told without it", async () => {
  let asked = 0;
  await using(
    asksOnce,
    async (provider, host) => {
      const request = ask("look", { sessionId: "s", tools: [TOOL] });
      const first = await outcome(provider.stream(request));
      done(await outcome(provider.stream(after(request, first))), "stop");
      assert.is(asked, 1);
      for (const [accessToken, kind, code] of [
        [() => Promise.reject(new Error(`no ${"Bearer abc.def"}`)), "local", "access_token_failed"],
        ["", "auth", "no_access_token"],
        ["two\r\nlines", "auth", "invalid_access_token"],
        ["a".repeat(16_385), "auth", "invalid_access_token"],
      ] as const) {
        const { error } = await outcome(make(host, { accessToken }).stream(ask()));
        assert.is(error?.kind, kind);
        assert.is(error?.code, code);
        assert.not.match(error!.message, "abc.def");
      }
    },
    { accessToken: async () => ((asked += 1), TOKEN) },
  );
});

test("a token that never comes does not outlive its clock, nor an abort", async () => {
  await using(
    () => {},
    async (provider, host) => {
      const slow = await outcome(provider.stream(ask()));
      assert.is(slow.error?.code, "access_token_timeout");
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 10);
      const { result, waited } = await waiting(outcome(provider.stream(ask(), { signal: controller.signal })));
      assert.is(result.error?.kind, "aborted");
      assert.ok(waited < 60, `${waited} ms`);
      assert.is(host.accepted, 0);
    },
    { accessToken: () => new Promise<string>(() => {}), env: { CURSOR_PROVIDER_FIRST_TOKEN_MS: "100" } },
  );
});

test("whatever a host's functions throw, reject with or give back, the leg ends once and nothing is unhandled", async () => {
  const uncaught: unknown[] = [];
  const spy = (error: unknown): void => void uncaught.push(error);
  process.on("unhandledRejection", spy);
  const wordless = Object.create(null) as object;
  const reject = async (): Promise<never> => {
    throw wordless;
  };
  await using(
    (peer) => finish(peer.respond()),
    async (provider, host) => {
      done(await outcome(provider.stream(ask("hi", { sessionId: "s" }))), "stop", "done");
      assert.is((await outcome(make(host, { accessToken: reject }).stream(ask()))).error?.code, "access_token_failed");
      for (const load of [async () => null, async () => 5, async () => ({ conversationId: "c", checkpoint: new Uint8Array(1), blobs: new Map([["aa", "text"]]), fingerprint: fingerprint([]), toolsetKey: "y" }), () => null])
        done(await outcome(make(host, { handles: { load, save: reject, remove: reject } as unknown as ProviderOptions["handles"] & object }).stream(ask("hi", { sessionId: "s" }))), "stop", "done");
    },
    { onFrame: reject, onDiagnostic: reject, handles: { load: reject, save: reject, remove: reject } },
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("unhandledRejection", spy);
  assert.equal(uncaught, []);
});

test("reads that wait side by side all settle: at the end, and at an error, which one of them gets", async () => {
  await using(
    (peer, index) => setTimeout(() => (index === 0 ? finish(peer.respond()) : peer.respond().endStream({ code: "internal" })), 20),
    async (provider) => {
      const reads = async (): Promise<string[]> => {
        const iterator = provider.stream(ask())[Symbol.asyncIterator]();
        const said: string[] = [];
        for (let count = 0; count < 5; count++)
          iterator.next().then(
            ({ done, value }) => said.push(done ? "over" : (value as TurnEvent).type),
            (error: CursorError) => said.push(error.code),
          );
        await until(() => said.length === 5, "every read settles");
        return said;
      };
      assert.equal(await reads(), ["text", "usage", "done", "over", "over"]);
      assert.equal(await reads(), ["internal", "over", "over", "over", "over"]);
    },
  );
});

test("a request is what it was at the call", async () => {
  await using(
    (peer) => finish(peer.respond()),
    async (provider) => {
      const request = ask("hi");
      const stream = provider.stream(request);
      request.messages.push({ role: "assistant", content: [] });
      done(await outcome(stream), "stop", "done");
    },
  );
});

test("a pending token keeps the process no longer than the provider", async () => {
  const script = `
    const provider = createProvider({ accessToken: () => new Promise(() => {}), handles: null, env: {} });
    const reading = (async () => { for await (const _ of provider.stream({ model: { id: "m" }, messages: [{ role: "user", content: "hi" }], tools: [] })); })().catch((error) => console.log(error.kind));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await provider.close();
    await reading;
    console.log("end");`;
  const { output, code, lingered } = await child(script);
  assert.is(code, 0, output);
  assert.match(output, "aborted\nend");
  assert.ok(lingered < LINGER, `${lingered} ms`);
});

test("a store of JavaScript, whose functions give no promises, is as good", async () => {
  const kept = new Map<string, unknown>();
  const store = { load: (id: string) => kept.get(id), save: (id: string, handle: unknown) => void kept.set(id, handle), remove: (id: string) => void kept.delete(id) };
  const told: string[] = [];
  const { waited } = await waiting(
    using(
      (peer) => finish(peer.respond()),
      async (provider) => done(await outcome(provider.stream(ask("hello", { sessionId: "s" }))), "stop", "done"),
      { handles: store as unknown as ProviderOptions["handles"] & {}, onDiagnostic: ({ type }) => void told.push(type) },
    ),
  );
  assert.equal(told, []);
  assert.is(kept.size, 1);
  assert.ok(waited < 2000, `${waited} ms`);
});

for (const [what, prepare] of [
  ["a pipe that nobody reads", (path: string) => spawnSync("mkfifo", [path])],
  ["a folder", (path: string) => mkdirSync(path)],
  ["a link to itself", (path: string) => symlinkSync(path, path)],
] as const)
  test(`a debug file that is ${what} costs a diagnostic, and close resolves`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "cursor-wire-"));
    const debug = join(folder, "debug");
    prepare(debug);
    const told: string[] = [];
    try {
      await using((peer) => finish(peer.respond()), async (provider) => done(await outcome(provider.stream(ask())), "stop", "done"), { env: { CURSOR_PROVIDER_DEBUG: debug }, onDiagnostic: ({ type }) => void told.push(type) });
      assert.equal(told, ["debug_file"]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

/** Requests that no compiler has looked at, and what is said of them. */
const SHAPES: readonly (readonly [name: string, request: unknown, words: RegExp])[] = [
  ["null", null, /no object/],
  ["a message that is null", { messages: [null] }, /Message 1 is no object/],
  ["an unknown role", { messages: [{ role: "system", content: "x" }] }, /neither the user's/],
  ["user content of undefined", { messages: [{ role: "user" }] }, /text or a list/],
  ["assistant content of text", { messages: [{ role: "assistant", content: "x" }, { role: "user", content: "y" }] }, /Message 1 .*list of text, thinking and tool_call/],
  ["a text part without text", { messages: [{ role: "user", content: [{ type: "text" }] }] }, /part 1/],
  ["an image without a type", { messages: [{ role: "user", content: [{ type: "image", data: "AA==" }] }] }, /part 1/],
  ["a call without an id", { messages: [{ role: "assistant", content: [{ type: "tool_call", name: "x", arguments: {} }] }, { role: "user", content: "y" }] }, /part 1/],
  ["a result without its call's id", { messages: [{ role: "user", content: "x" }, { role: "tool", toolName: "x", content: [] }] }, /lacks its toolCallId/],
  ["parameters of numbers", { model: { id: "m", parameters: [{ id: 1 }] } }, /parameters/],
  ["a maxMode of text", { model: { id: "m", maxMode: "no" } }, /maxMode/],
  ["a contextWindow of text", { model: { id: "m", contextWindow: "200k" } }, /contextWindow/],
  ["a contextWindow of nothing", { model: { id: "m", contextWindow: 0 } }, /contextWindow/],
  ["a system prompt of a number", { systemPrompt: 5 }, /system prompt/],
  ["a session id of a number", { sessionId: 5 }, /session id/],
  ["no tools", { tools: undefined }, /give \[\] for none/],
  ["a signal that is none", undefined, /no AbortSignal/],
];
for (const [name, request, words] of SHAPES)
  test(`a request with ${name} is refused in words, in the leg`, async () => {
    const provider = createProvider({ accessToken: "t", handles: null, env: {} });
    const given = request === null ? null : { ...ask(), ...(request as object) };
    const options = request === undefined ? { signal: {} as AbortSignal } : {};
    const { error } = await outcome(provider.stream(given as unknown as TurnRequest, options));
    assert.is(error?.kind, "local");
    assert.is(error?.code, "invalid_request");
    assert.match(error!.message, words);
  });

test("a request that throws where it is read is refused, in the leg", async () => {
  const provider = createProvider({ accessToken: "t", handles: null, env: {} });
  const boom = (): never => {
    throw new Error("boom");
  };
  for (const name of ["messages", "model", "workspace"] as const) {
    const { error } = await outcome(provider.stream(Object.defineProperty(ask(), name, { get: boom, enumerable: true })));
    assert.is(error?.code, "invalid_request");
    assert.match(error!.message, /cannot be read: .*boom/);
  }
});

const boom = (): never => {
  throw new Error("boom");
};
const SIGNALS: Record<string, object> = {
  "that cannot be listened to": { aborted: false, addEventListener: boom, removeEventListener() {} },
  "that cannot be let go": { aborted: false, addEventListener() {} },
  "that cannot be asked": { get aborted() { return boom(); }, addEventListener() {}, removeEventListener() {} },
};
for (const [name, signal] of Object.entries(SIGNALS))
  test(`a signal ${name} is refused, in the leg`, async () => {
    const provider = createProvider({ accessToken: "t", handles: null, env: {} });
    const { error } = await outcome(provider.stream(ask(), { signal: signal as AbortSignal }));
    assert.is(error?.code, "invalid_request");
    assert.match(error!.message, /no AbortSignal/);
    await provider.close();
  });

test("a signal that throws where it is let go ends no turn otherwise, and nothing goes to the process", () =>
  using(
    (peer) => finish(peer.respond()),
    async (provider) => done(await outcome(provider.stream(ask(), { signal: { aborted: false, addEventListener() {}, removeEventListener: boom } as unknown as AbortSignal })), "stop", "done"),
  ));

test("a promise of another realm that rejects goes to nobody", async () => {
  const unhandled: unknown[] = [];
  const spy = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", spy);
  await using(
    (peer) => finish(peer.respond()),
    async (provider) => done(await outcome(provider.stream(ask())), "stop", "done"),
    { onFrame: () => runInNewContext("Promise.reject(new Error('foreign'))") as undefined },
  );
  process.off("unhandledRejection", spy);
  assert.equal(unhandled, []);
});

test("options and a signal of null are none", () =>
  using(
    (peer) => finish(peer.respond()),
    async (provider) => {
      done(await outcome(provider.stream(ask(), null)), "stop", "done");
      done(await outcome(provider.stream(ask(), { signal: null })), "stop", "done");
    },
  ));

/** What is wrong before anything is opened: options or request, and the code. */
const LOCAL: readonly (readonly [name: string, options: Partial<ProviderOptions>, request: Partial<TurnRequest>, code: string])[] = [
  ["an origin that is not on the allowlist", { origin: "https://example.com" }, {}, "origin_not_allowed"],
  ["an origin that is no text", { origin: new URL("http://127.0.0.1:1") as unknown as string }, {}, "origin_not_allowed"],
  ["an origin that only looks like one", { origin: "https://api2.cursor.sh.example.com" }, {}, "origin_not_allowed"],
  ["the inference channel", { env: { CURSOR_PROVIDER_CHANNEL: "inference" } }, {}, "invalid_environment"],
  ["an unknown channel", { env: { CURSOR_PROVIDER_CHANNEL: "x" } }, {}, "invalid_environment"],
  ["in-process execution", { env: { CURSOR_PROVIDER_NATIVE_EXEC: "inproc" } }, {}, "invalid_environment"],
  ["an unknown way to answer native execs", { env: { CURSOR_PROVIDER_NATIVE_EXEC: "x" } }, {}, "invalid_environment"],
  ["a time that is no number", { env: { CURSOR_PROVIDER_IDLE_MS: "soon" } }, {}, "invalid_environment"],
  ["a time of nothing", { env: { CURSOR_PROVIDER_FIRST_TOKEN_MS: "0" } }, {}, "invalid_environment"],
  ["a time that no timer can run", { env: { CURSOR_PROVIDER_TOOLUSE_WATCHDOG_MS: String(2 ** 31) } }, {}, "invalid_environment"],
  ["a switch that is neither on nor off", { env: { CURSOR_PROVIDER_MCP_META: "constructor" } }, {}, "invalid_environment"],
  ["a version that is no header value", { env: { CURSOR_CLI_VERSION: "1 2\r\nx: y" } }, {}, "invalid_environment"],
  ["a tool declared twice", {}, { tools: [TOOL, TOOL] }, "invalid_tool"],
  ["a tool with a name that the service refuses", {}, { tools: [{ ...TOOL, name: "look it up" }] }, "invalid_tool"],
  ["a tool that is none", {}, { tools: [null as unknown as Tool] }, "invalid_tool"],
  ["a tool without a description", {}, { tools: [{ name: "look" } as Tool] }, "invalid_tool"],
  ["a tool whose schema is a list", {}, { tools: [{ ...TOOL, inputSchema: [] as unknown as Tool["inputSchema"] }] }, "invalid_tool"],
  ["no message", {}, { messages: [] }, "invalid_request"],
  ["no model", {}, { model: { id: "" } }, "invalid_request"],
  ["a workspace that is no absolute path", {}, { workspace: "here" }, "invalid_request"],
];
for (const [name, options, request, code] of LOCAL)
  test(`${name} is refused before any socket is opened`, async () => {
    await using(
      () => {},
      async (provider, host) => {
        const { error } = await outcome(provider.stream(ask("hi", request)));
        assert.ok(error);
        assert.is(error.kind, "local");
        assert.is(error.code, code);
        // Where nothing is wrong with the request alone, its tokens are told (DESIGN D15).
        assert.is(error.partial.usage.input > 0, request.messages === undefined && request.model === undefined && request.tools === undefined);
        assert.is(host.accepted, 0);
      },
      options,
    );
  });

for (const [value, says] of [["0", false], ["off", false], ["False", false], ["1", true], ["On", true], ["TRUE", true], ["", true]] as const)
  test(`CURSOR_PROVIDER_MCP_META=${value} is ${says ? "on" : "off"}`, async () => {
    await using(
      (peer) => finish(peer.respond()),
      async (provider, host) => {
        done(await outcome(provider.stream(ask("hi", { tools: [TOOL] }))), "stop");
        const action = host.peers[0]!.received[0]!.runRequest!.action!.userMessageAction!;
        assert.is(action.requestContext?.mcpMetaToolOptions?.enabled ?? false, says);
      },
      { env: { CURSOR_PROVIDER_MCP_META: value } },
    );
  });

test("the headers are the document's", async () => {
  const host = await rawHost((peer) => finish(peer.respond()));
  const provider = make(host, { env: { CURSOR_CLI_VERSION: "9.9" } });
  done(await outcome(provider.stream(ask())), "stop");
  const { headers } = host.peers[0]!;
  assert.is(headers[":path"], "/agent.v1.AgentService/Run");
  assert.is(headers["content-type"], "application/connect+proto");
  assert.is(headers["connect-protocol-version"], "1");
  assert.is(headers["te"], "trailers");
  assert.is(headers["x-cursor-client-type"], "cli");
  assert.is(headers["x-cursor-client-version"], "9.9");
  assert.is(headers["x-ghost-mode"], "true");
  assert.is(headers["authorization"], `Bearer ${TOKEN}`);
  await provider.close();
  await host.close();
});

test("the planted token is in no event, error, diagnostic, capture, debug line or handle", async () => {
  const folder = await mkdtemp(join(tmpdir(), "cursor-wire-"));
  const debug = join(folder, "debug.jsonl");
  const said: unknown[] = [];
  try {
    await using(
      (peer, index) => {
        if (index === 0) {
          peer.respond().send({ execServerMessage: { id: 1, diagnosticsArgs: { path: "a" } } });
          finish(peer);
        } else peer.respond().endStream({ code: "internal", message: `header Bearer ${TOKEN}` }).stream.end();
      },
      async (provider) => {
        const first = await outcome(provider.stream(ask("hi", { sessionId: "s" })));
        const second = await outcome(provider.stream(ask("again", { sessionId: "t" })));
        const { error } = second;
        said.push(first, error?.message, error?.nextStep, error?.stack, error?.cause, error?.partial);
        assert.is(error?.code, "internal");
      },
      {
        handles: fileHandleStore(join(folder, "handles")),
        env: { CURSOR_PROVIDER_DEBUG: debug },
        onFrame: ({ from, envelope }) => void (from === "client" && said.push(Buffer.from(envelope).toString("latin1"))),
        onDiagnostic: (diagnostic) => void said.push(diagnostic),
      },
    );
    const lines = await readFile(debug, "utf8");
    assert.match(lines, "runRequest");
    said.push(lines, await readFile(join(folder, "handles", "s.json"), "utf8"));
    assert.not.match(JSON.stringify(said), TOKEN);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** ms that a process may live on: fewer than any clock of a Run that may keep it, more than a busy machine takes. */
const LINGER = 5000;

/** Runs a module in a process of its own; gives its output and how long it lived after printing "end". */
async function child(script: string, ...args: string[]): Promise<{ output: string; code: number | null; lingered: number }> {
  const index = new URL("../lib/index.js", import.meta.url).href;
  const running = spawn(process.execPath, ["--input-type=module", "-e", `import { createProvider } from ${JSON.stringify(index)};\n${script}`, ...args]);
  let output = "";
  let ended = 0;
  running.stdout.on("data", (chunk) => {
    output += String(chunk);
    if (output.includes("end")) ended ||= performance.now();
  });
  running.stderr.on("data", (chunk) => void (output += String(chunk)));
  const code = await new Promise<number | null>((resolve) => running.on("close", resolve));
  return { output, code, lingered: performance.now() - ended };
}

for (const [name, open] of [
  ["after a turn that nobody closed", false],
  ["although a Run is parked", true],
] as const)
  test(`C19 the process ends by itself ${name}`, async () => {
    const host = await rawHost((peer) => (open ? call(peer.respond(), 1, "t1") : peer.respond().text("a").turnEnded()));
    const script = `
      const provider = createProvider({ accessToken: "t", origin: process.argv[1], handles: null, env: {} });
      const tools = [{ name: "look", description: "", inputSchema: {} }];
      for await (const event of provider.stream({ sessionId: "s", model: { id: "m" }, messages: [{ role: "user", content: "hi" }], tools })) console.log(event.type);
      console.log("end");`;
    const { output, code, lingered } = await child(script, host.origin);
    assert.is(code, 0, output);
    assert.match(output, /done\nend/);
    assert.ok(lingered < LINGER, `${lingered} ms`);
    await host.close();
  });

test("C19 the process ends by itself although a leg is not read, and more has come of it than is held", async () => {
  const host = await rawHost((peer) => {
    peer.respond();
    for (let index = 0; index < 48; index++) peer.text("x".repeat(65_536));
  });
  const script = `
    const provider = createProvider({ accessToken: "t", origin: process.argv[1], handles: null, env: {} });
    provider.stream({ model: { id: "m" }, messages: [{ role: "user", content: "hi" }], tools: [] });
    console.log("end");`;
  const { output, code, lingered } = await child(script, host.origin);
  assert.is(code, 0, output);
  assert.ok(lingered < LINGER, `${lingered} ms`);
  await host.close();
});

test("close ends a parked Run, an opening one and one that is being read", async () => {
  const host = await rawHost((peer, index) => (index === 0 ? call(peer.respond(), 1, "t1") : peer.respond().text("a")));
  let given: (token: string) => void = () => {};
  let slow = false;
  const provider = make(host, { accessToken: () => (slow ? new Promise<string>((resolve) => (given = resolve)) : TOKEN) });
  await outcome(provider.stream(ask("parked", { sessionId: "parked", tools: [TOOL] })));
  const reading = provider.stream(ask("reading", { sessionId: "reading" }))[Symbol.asyncIterator]();
  assert.equal((await reading.next()).value as TurnEvent, { type: "text", delta: "a" });
  slow = true;
  const opening = outcome(provider.stream(ask("opening", { sessionId: "opening" })));
  await provider.close();
  given("late");
  assert.is((await opening).error?.kind, "aborted");
  let error: CursorError | undefined;
  await reading.next().catch((thrown) => (error = thrown as CursorError));
  assert.is(error?.kind, "aborted");
  await until(() => host.sockets.size === 0, "every socket is closed");
  assert.is(host.accepted, 2);
  await host.close();
});

test.run();
