/** How the extension lives in Pi: activation, sessions, parked Runs, shutdown. */
import { getEventListeners } from "node:events";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createExtension } from "../lib/pi/extension.ts";
import factory, { PROVIDER } from "../lib/pi/index.ts";
import type { PiStreamOptions } from "../lib/pi/pi.ts";
import { Sessions } from "../lib/pi/sessions.ts";
import type { Slot } from "../lib/pi/slot.ts";
import type { Message, TurnRequest } from "../lib/session/turn.ts";
import { CALL, callsOf, contextOf, END, FakePi, handles, LINES, onStage, PARK, parked, read, result, SAY, textOf, tools, user } from "./pi-fake.ts";
import { waiting } from "./waiting.ts";

const test = suite("pi session");

test("the package's default export is a factory that registers the provider", async () => {
  assert.type(factory, "function");
  assert.is(PROVIDER, "cursor");
});

for (const line of LINES) {
  test(`H3 ${line}: the provider is registered when the factory has run, not at session_start`, () =>
    onStage({ line }, async ({ pi }) => {
      assert.equal(pi.registered.map(({ name }) => name), ["cursor"]);
      assert.ok(pi.config.models.length > 0);
    }));

  test(`H1 ${line}: a factory that runs again registers with the Pi that called it, once`, () =>
    onStage({ line }, async ({ env, sessions, pi }) => {
      const again = new FakePi(line);
      const activate = createExtension({ env, sessions });
      await activate(again);
      await activate(again);
      assert.is(again.registered.length, 2);
      assert.is(pi.registered.length, 1);
      assert.equal([...again.handlers].map(([event, list]) => [event, list.length]), [["session_start", 2], ["session_tree", 2], ["session_shutdown", 2]]);
    }));
}

test("the variable of the key is written as the line reads it", async () => {
  const keys: string[] = [];
  for (const line of LINES) await onStage({ line }, async ({ pi }) => void keys.push(pi.config.apiKey));
  assert.equal(keys, ["$PI_CURSOR_TOKEN", "PI_CURSOR_TOKEN"]);
});

test("H9 a factory without a token opens no socket and leaves no timer", () =>
  onStage({ activate: false }, async ({ env, sessions, pi, host }) => {
    const open = () => process.getActiveResourcesInfo().filter((name) => /Timeout|TCP|TLS|DNS/.test(name)).sort();
    const before = open();
    await createExtension({ env, sessions })(pi);
    assert.equal(open(), before);
    assert.is(host.connections.accepted, 0);
  }));

test("H9 a shutdown closes the parked Run, and again is nothing", () =>
  onStage({ script: PARK }, async (stage) => {
    const { pi, host } = stage;
    await pi.fire("session_start", "s1", stage.folder);
    await parked(stage);
    await pi.fire("session_shutdown", "s1");
    await pi.fire("session_shutdown", "s1");
    await host.received[0]!.closed;
    assert.is(host.received[0]!.rstCode, 8);
    for (let tries = 0; host.connections.open > 0 && tries < 100; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.is(host.connections.open, 0);
  }));

test("H9 a shutdown that names no session closes what started here", () =>
  onStage({ script: PARK }, async (stage) => {
    await stage.pi.fire("session_start", "s1", stage.folder);
    await parked(stage);
    await stage.pi.fire("session_shutdown");
    await stage.host.received[0]!.closed;
  }));

test("G4 the end of one session leaves another's parked Run alive", () =>
  onStage({ script: [CALL, CALL] }, async (stage) => {
    const { pi, host, ask, env, sessions } = stage;
    const child = new FakePi("1.6");
    await createExtension({ env, sessions })(child);
    await pi.fire("session_start", "parent", stage.folder);
    await child.fire("session_start", "child", stage.folder);
    const parent = await parked(stage, { sessionId: "parent" });
    await parked(stage, { sessionId: "child" });
    await child.fire("session_shutdown", "child");
    await host.received[1]!.closed;
    assert.is(textOf((await ask(parent.results, { sessionId: "parent" }, { tools })).message), "BLUE");
    assert.is(host.received.length, 2);
  }));

test("H2 after Pi has replaced the extension, what comes late does no harm", () =>
  onStage({ script: [PARK] }, async (stage) => {
    const { pi } = stage;
    await pi.fire("session_start", "s1", stage.folder);
    await parked(stage);
    pi.stale = true;
    await pi.fire("session_shutdown", "s1");
    const late = await read(pi.config.streamSimple(stage.model, contextOf("1.6", [user("hi")], "", []), { apiKey: "t", signal: AbortSignal.timeout(100) }));
    assert.is(late.message.stopReason, "aborted");
  }));

test("H4 an abort in onPayload, in onResponse and between them is an abort, and ends once", () =>
  onStage({ script: [{ text: "a" }, { hang: true }] }, async ({ ask }) => {
    for (const hook of ["onPayload", "onResponse", "onProviderStreamEvent"] as const) {
      const stop = new AbortController();
      const { events, message } = await ask([user("hi")], { signal: stop.signal, [hook]: () => (stop.abort(), new Promise(() => {})) });
      assert.is(message.stopReason, "aborted", hook);
      assert.is(events.filter(({ type }) => type === "error").length, 1, hook);
      assert.match(message.errorMessage!, "aborted", hook);
    }
  }));

for (const [what, sessionId] of [["", "s1"], [" without a session", ""]] as const) {
  const atDone = (run: () => unknown) => (event: unknown) => ((event as { type: string }).type === "done" ? run() : undefined);

  test(`H4 an abort in a hook at the end of a leg with calls${what} ends its Run`, () =>
    onStage({ script: PARK }, async ({ ask, host }) => {
      const stop = new AbortController();
      const { message } = await ask([user("read it")], { sessionId, signal: stop.signal, onProviderStreamEvent: atDone(() => (stop.abort(), new Promise(() => {}))) }, { tools });
      assert.is(message.stopReason, "aborted");
      await host.received[0]!.closed;
      assert.is(host.received[0]!.rstCode, 8);
    }));

  test(`H4 an abort just before the end of a leg with calls${what} ends its Run`, () =>
    onStage({ script: PARK }, async ({ ask, host }) => {
      const stop = new AbortController();
      await ask([user("read it")], { sessionId, signal: stop.signal, onProviderStreamEvent: (event) => ((event as { type: string }).type === "usage" ? stop.abort() : undefined) }, { tools });
      await host.received[0]!.closed;
      assert.is(host.received[0]!.rstCode, 8);
    }));

  test(`a hook that throws at the end of a leg with calls${what} ends its Run`, () =>
    onStage({ script: PARK }, async ({ ask, host }) => {
      const { message } = await ask([user("read it")], { sessionId, onProviderStreamEvent: atDone(() => Promise.reject(new Error("hook broke"))) }, { tools });
      assert.match(message.errorMessage!, "hook broke");
      await host.received[0]!.closed;
      assert.is(host.received[0]!.rstCode, 8);
    }));
}

for (const delay of [0, 1, 3, 8, 20, 60])
  test(`H4 an abort ${delay} ms after the call is an abort, within 50 ms`, () =>
    onStage({ script: [{ wait: 5 }, { text: "a" }, { hang: true }] }, async ({ stream }) => {
      const stop = new AbortController();
      const answer = stream([user("hi")], { signal: stop.signal });
      await new Promise((resolve) => setTimeout(resolve, delay));
      stop.abort();
      const { result, waited } = await waiting(answer.result());
      assert.is(result.stopReason, "aborted");
      assert.ok(waited < 50, `${waited} ms`);
    }));

test("H4 an abort while Pi runs the tool ends the parked Run, although no call follows", () =>
  onStage({ script: PARK }, async (stage) => {
    const stop = new AbortController();
    await parked(stage, { signal: stop.signal });
    stop.abort();
    await stage.host.received[0]!.closed;
    assert.is(stage.host.received[0]!.rstCode, 8);
  }));

test("D56 the signal of an earlier leg does nothing to a later one, the signal of the later one does", () =>
  onStage({ script: [{ mcp: { tool: "read", args: { path: "a" } } }, { awaitResults: true }, { text: "go" }, { hang: true }] }, async (stage) => {
    const [first, second] = [new AbortController(), new AbortController()];
    const { results } = await parked(stage, { signal: first.signal });
    const answer = stage.stream(results, { signal: second.signal }, { tools });
    let said = false;
    for await (const event of answer)
      if (event.type === "text_delta" && !said) {
        said = true;
        first.abort();
        setTimeout(() => second.abort(), 30);
      }
    const message = await answer.result();
    assert.equal([message.stopReason, textOf(message)], ["aborted", "go"]);
  }));

test("D56 the signal of an earlier leg does nothing to what a later one has parked", () =>
  onStage({ script: [{ mcp: { tool: "read", args: { path: "a" } } }, { awaitResults: true }, { mcp: { tool: "read", args: { path: "b" } } }, { awaitResults: true }, { textFrom: "results", template: "{read}" }, ...END] }, async (stage) => {
    const first = new AbortController();
    const { results } = await parked(stage, { signal: first.signal });
    const { message } = await stage.ask(results, { signal: new AbortController().signal }, { tools });
    first.abort();
    assert.is(textOf((await stage.ask([...results, message, result(callsOf(message)[0]!.id, "read", "GREEN")], {}, { tools })).message), "GREEN");
    assert.is(stage.host.connections.accepted, 1);
  }));

test("signals are let go when their leg is over", () =>
  onStage({ script: CALL }, async (stage) => {
    const { signal } = new AbortController();
    const hook = async () => undefined;
    const { results } = await parked(stage, { signal, onPayload: hook, onResponse: hook });
    assert.is(textOf((await stage.ask(results, { signal, onPayload: hook, onResponse: hook }, { tools })).message), "BLUE");
    assert.is(getEventListeners(signal, "abort").length, 0);
  }));

test("0.73 calls once more with the aborted signal: aborted, and nothing is opened", () =>
  onStage({ line: "0.73", script: PARK }, async (stage) => {
    const stop = new AbortController();
    const { results } = await parked(stage, { signal: stop.signal });
    stop.abort();
    const { message } = await stage.ask(results, { signal: stop.signal }, { tools });
    assert.is(message.stopReason, "aborted");
    assert.is(stage.host.received.length, 1);
  }));

for (const [what, options, withTools] of [
  ["without a session", { sessionId: "" }, true],
  ["with cacheRetention none", { cacheRetention: "none" }, true],
  ["that must not go on", { disableContinuation: true }, true],
  ["with a foreign session and no tools", { sessionId: "title-1" }, false],
] as [string, PiStreamOptions, boolean][])
  test(`H8 a call ${what} disturbs neither the parked Run nor the handle`, () =>
    onStage({ script: [CALL, [{ text: "A title." }, ...END]] }, async (stage) => {
      const { pi, ask, host } = stage;
      await pi.fire("session_start", "s1", stage.folder);
      const { results } = await parked(stage);
      const aside = await ask([user("title?")], options, withTools ? { tools } : {});
      assert.is(textOf(aside.message), "A title.");
      assert.equal(await handles(stage), []);
      assert.is(textOf((await ask(results, {}, { tools })).message), "BLUE");
      assert.is(host.received.length, 2);
      assert.equal(await handles(stage), ["s1.json"]);
    }));

test("H8 a call without a session may call tools: its results go back on its own Run", () =>
  onStage({ script: CALL }, async (stage) => {
    const { message, results } = await parked(stage, { sessionId: "" });
    assert.ok(message);
    assert.is(textOf((await stage.ask(results, { sessionId: "" }, { tools })).message), "BLUE");
    assert.is(stage.host.received.length, 1);
    assert.equal(await handles(stage), []);
  }));

test("H8 an abort ends the parked Run of a call without a session", () =>
  onStage({ script: [PARK, [{ text: "Rebuilt." }, ...END]] }, async (stage) => {
    const stop = new AbortController();
    const { results } = await parked(stage, { sessionId: "", signal: stop.signal });
    stop.abort();
    await stage.host.received[0]!.closed;
    assert.is(textOf((await stage.ask(results, { sessionId: "" }, { tools })).message), "Rebuilt.");
  }));

test("H8 a call without a session is known by its results while it is parked, and only where no other may be meant", async () => {
  const sessions = new Sessions();
  const request = (...messages: Message[]): TurnRequest => ({ model: { id: "m" }, messages: [{ role: "user", content: "hi" }, ...messages], tools: [] });
  const result: Message = { role: "tool", toolCallId: "c1", toolName: "read", content: [] };
  const env = { HOME: "/one" };
  const park = (): Slot => {
    const slot = sessions.slot(request(), env);
    const leg = slot.enter(undefined);
    slot.begin(leg, "m");
    slot.park(leg, ["c1"]);
    return slot;
  };
  const first = park();
  assert.is(sessions.slot(request(result), env), first);
  assert.is.not(sessions.slot(request(result), { HOME: "/two" }), first);
  assert.is.not(sessions.slot(request(result, { role: "user", content: "new" }, { role: "tool", toolCallId: "c2", toolName: "read", content: [] }), env), first);
  const second = park();
  assert.not.ok([first, second].includes(sessions.slot(request(result), env)));
  second.end();
  assert.is(sessions.slot(request(result), env), first);
  first.end();
  assert.is.not(sessions.slot(request(result), env), first);
  await sessions.close();
});

for (const [what, calls] of [["its leg is over", []], ["its parked Run has ended", ["c1"]]] as const)
  test(`H8 a call without a session is forgotten when ${what}`, async () => {
    const sessions = new Sessions();
    const over = (): WeakRef<Slot> => {
      const slot = sessions.slot({ model: { id: "m" }, messages: [{ role: "user", content: "hi" }], tools: [] }, {});
      const leg = slot.enter(undefined);
      slot.begin(leg, "m");
      slot.park(leg, calls);
      slot.leave(leg);
      assert.is(slot.parked?.calls, calls.length > 0 ? calls : undefined);
      slot.end();
      return new WeakRef(slot);
    };
    const slot = over();
    await new Promise((resolve) => setTimeout(resolve));
    setFlagsFromString("--expose-gc");
    (runInNewContext("gc") as () => void)();
    assert.is(slot.deref(), undefined);
  });

test("D18 a continuation is matched by the call's id alone, whatever options it comes with", () =>
  onStage({ script: CALL }, async (stage) => {
    const { results } = await parked(stage);
    const { message } = await stage.ask(results, { apiKey: "token-2", reasoning: "high" }, { tools, model: { contextWindow: 5 } });
    assert.is(textOf(message), "BLUE");
    assert.is(stage.host.received.length, 1);
  }));

test("H10 a call with another model closes the parked Run, and that model starts from the transcript", () =>
  onStage({ script: [PARK, [{ getBlob: "root" }, { text: "B." }, ...END]] }, async (stage) => {
    const { results } = await parked(stage);
    const { message } = await stage.ask(results, {}, { tools, model: { id: "claude-4.5-sonnet" } });
    assert.is(textOf(message), "B.");
    await stage.host.received[0]!.closed;
    assert.is(stage.host.received[1]!.request!.requestedModel!.modelId, "claude-4.5-sonnet");
    assert.match(JSON.stringify(stage.host.received[1]!.prompt.messages), "BLUE");
  }));

test("a turn is resumed by a second process: the same session in a new extension", () =>
  onStage({ script: [[{ text: "One." }, ...END], [{ expect: { resume: true } }, { text: "Two." }, ...END]] }, async (stage) => {
    const first = await stage.ask([user("one")]);
    await stage.pi.fire("session_shutdown", "s1");
    const again = new FakePi("1.6");
    await createExtension({ env: stage.env, sessions: new Sessions() })(again);
    const { message } = await read(again.config.streamSimple(stage.model, contextOf("1.6", [user("one"), first.message, user("two")], "Be brief.", []), { apiKey: "t", sessionId: "s1" }));
    assert.is(textOf(message), "Two.");
    assert.equal(stage.host.received[1]!.violations, []);
    await again.fire("session_shutdown");
  }));

test("D38 after a compaction the user texts differ, so the conversation is rebuilt and the estimate drops", () =>
  onStage({ script: [[{ text: "One." }, ...END], [{ expect: { resume: false, conversationId: "new" } }, { text: "Two." }, ...END]] }, async ({ ask, host }) => {
    const first = await ask([user(`one ${"x".repeat(4_000)}`)]);
    const { message } = await ask([user("summary of one"), user("two")]);
    assert.is(textOf(message), "Two.");
    assert.equal(host.received[1]!.violations, []);
    assert.ok(message.usage.input < first.message.usage.input);
  }));

test("D20 a turn that broke off leaves the remote conversation: the next prompt is sent alone, in a new one", () =>
  onStage({ script: [[{ text: "One." }, ...END], [{ text: "Half" }, { hang: true }], [{ getBlob: "root" }, { expect: { resume: false, conversationId: "new" } }, { text: "Three." }, ...END], [{ expect: { resume: true, conversationId: "same" } }, { text: "Four." }, ...END]] }, async ({ ask, stream, host }) => {
    const first = await ask([user("one")]);
    const stop = new AbortController();
    const answer = stream([user("one"), first.message, user("two")], { signal: stop.signal });
    for await (const event of answer) if (event.type === "text_delta") stop.abort();
    const messages = [user("one"), first.message, user("two"), await answer.result(), user("three")];
    const third = await ask(messages);
    assert.is(host.received[2]!.prompt.user.text, "three");
    assert.match(JSON.stringify(host.received[2]!.prompt.messages), /one.*One.*two/);
    assert.is(textOf((await ask([...messages, third.message, user("four")])).message), "Four.");
    for (const { violations } of host.received) assert.equal(violations, []);
  }));

test("PROTOCOL §10 another branch with the same user texts starts anew: its parked Run is closed, its handle is gone", () =>
  onStage({ script: [[{ text: "One." }, ...END], PARK, [{ getBlob: "root" }, { expect: { resume: false, conversationId: "new" } }, { text: "Two." }, ...END]] }, async (stage) => {
    const { ask, pi, host } = stage;
    const first = await ask([user("one")], {}, { tools });
    await ask([user("one"), first.message, user("two")], {}, { tools });
    assert.equal(await handles(stage), ["s1.json"]);
    await pi.fire("session_tree", "other");
    await pi.fire("session_tree");
    assert.equal(await handles(stage), ["s1.json"]);
    await pi.fire("session_tree", "s1");
    assert.equal(await handles(stage), []);
    await host.received[1]!.closed;
    assert.is(textOf((await ask([user("one"), { ...first.message, content: [{ type: "text", text: "Another." }] }, user("two")], {}, { tools })).message), "Two.");
    assert.match(JSON.stringify(host.received[2]!.prompt.messages), "Another.");
    assert.equal(host.received[2]!.violations, []);
  }));

for (const [what, more, files] of [
  ["keeps, in a file", { getSessionFile: () => "/sessions/s1.jsonl" }, ["s1.json"]],
  ["does not keep, in memory until it shuts down", { getSessionFile: () => undefined }, []],
  ["says nothing of, in a file", {}, ["s1.json"]],
] as const)
  test(`the handle of a session that Pi ${what}`, () =>
    onStage({ script: [SAY, [{ expect: { resume: true } }, ...SAY], [{ expect: { resume: files.length > 0 } }, ...SAY]] }, async (stage) => {
      const { ask, pi, host } = stage;
      await pi.fire("session_start", "s1", stage.folder, more);
      const { message } = await ask([user("one")]);
      await ask([user("one"), message, user("two")]);
      assert.equal(await handles(stage), files);
      await pi.fire("session_shutdown", "s1");
      await pi.fire("session_start", "s1", stage.folder, more);
      await ask([user("one"), message, user("two"), message, user("three")]);
      for (const { violations } of host.received) assert.equal(violations, []);
    }));

test("a branch is left by a session that Pi does not keep, too", () =>
  onStage({ script: [SAY, [{ expect: { resume: false } }, ...SAY]] }, async ({ ask, pi, host, folder }) => {
    await pi.fire("session_start", "s1", folder, { getSessionFile: () => undefined });
    const { message } = await ask([user("one")]);
    await pi.fire("session_tree", "s1");
    await ask([user("one"), message, user("two")]);
    assert.equal(host.received[1]!.violations, []);
  }));

test("a branch that is left by a session that Pi does not keep takes no file of another with its id", () =>
  onStage({ script: SAY }, async (stage) => {
    await stage.ask([user("one")]);
    await stage.pi.fire("session_shutdown", "s1");
    await stage.pi.fire("session_start", "s1", stage.folder, { getSessionFile: () => undefined });
    await stage.pi.fire("session_tree", "s1");
    assert.equal(await handles(stage), ["s1.json"]);
  }));

test("a branch is left in a process that has asked nothing yet", () =>
  onStage({ script: SAY }, async (stage) => {
    await stage.ask([user("one")]);
    assert.equal(await handles(stage), ["s1.json"]);
    await stage.pi.fire("session_shutdown", "s1");
    const again = new FakePi("1.6");
    await createExtension({ env: stage.env, sessions: new Sessions() })(again);
    await again.fire("session_tree", "s1");
    assert.equal(await handles(stage), []);
  }));

test("a handle that cannot be removed is a note in the status, not an error in Pi", () =>
  onStage({ script: SAY }, async (stage) => {
    await stage.ask([user("one")]);
    const json = join(stage.folder, "handles", "s1.json");
    await rm(json);
    await mkdir(join(json, "full"), { recursive: true });
    await stage.pi.fire("session_tree", "s1");
    assert.equal(stage.sessions.diagnostics.map(({ type }) => type), ["handle_not_kept"]);
  }));

test("the workspace is the session's folder, not the process's", () =>
  onStage({}, async ({ pi, ask, host }) => {
    await pi.fire("session_start", "s1", "/tmp/some project");
    await ask([user("hi")]);
    assert.equal(host.received[0]!.request!.conversationState!.previousWorkspaceUris, ["file:///tmp/some%20project"]);
  }));

test("E3 a context in which neither prompt nor tools are found, although Pi has tools, is a loud error", () =>
  onStage({}, async ({ pi, ask, host }) => {
    await pi.fire("session_start", "s1", "/tmp");
    pi.tools = ["read"];
    const { message } = await ask([user("hi")], {}, { system: "" });
    assert.match(message.errorMessage!, "context_not_understood");
    assert.is(host.received.length, 0);
    pi.tools = [];
    assert.is((await ask([user("hi")], {}, { system: "" })).message.stopReason, "stop");
    pi.stale = true;
    assert.is((await ask([user("hi")], {}, { system: "" })).message.stopReason, "stop");
  }));

test("an environment that changes between two calls of a session counts from then on; the same one again does not", () =>
  onStage({ script: [CALL, [{ text: "New." }, ...END]] }, async (stage) => {
    const { results } = await parked(stage, { env: { CURSOR_CLI_VERSION: "one" } });
    assert.is(textOf((await stage.ask(results, { env: { CURSOR_CLI_VERSION: "one" } }, { tools })).message), "BLUE");
    await stage.ask([user("again")], { env: { CURSOR_CLI_VERSION: "two" } });
    assert.equal(stage.host.received.map(({ headers }) => headers["x-cursor-client-version"]), ["one", "two"]);
  }));

test.run();
