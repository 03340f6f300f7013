/** The provider as each line of Pi calls it, against the loopback host: Pi's own suites for providers, row by row. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { Script } from "../lib/loopback/index.ts";
import type { PiEvent, PiMessage } from "../lib/pi/pi.ts";
import { callsOf, END, LINES, onStage, read, result, textOf, tool, user } from "./pi-fake.ts";

const test = suite("pi provider");
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const CALL: Script = [{ mcp: { tool: "read", args: { path: "a.txt" } } }, { awaitResults: true }, { textFrom: "results", template: "It says {read}." }, { tokens: 4 }, ...END];
const types = (events: readonly PiEvent[]) => [...new Set(events.map((event) => event.type))];
const tools = [tool("read", "path"), tool("bash", "command")];

for (const line of LINES) {
  test(`stream ${line}: text and thinking start, grow and end, and the usage is there`, () =>
    onStage({ line, script: [{ thinking: "Let me think.", chunks: 3 }, { text: "Hello there.", chunks: 3 }, { tokens: 9 }, ...END] }, async ({ ask, host }) => {
      const { events, message } = await ask([user("hi")]);
      assert.equal(types(events), ["start", "thinking_start", "thinking_delta", "thinking_end", "text_start", "text_delta", "text_end", "done"]);
      assert.equal(message.content, [{ type: "thinking", thinking: "Let me think." }, { type: "text", text: "Hello there." }]);
      assert.is(message.stopReason, "stop");
      assert.ok(message.usage.input > 0);
      assert.is(message.usage.output, 9);
      assert.is(message.usage.totalTokens, message.usage.input + message.usage.output + message.usage.cacheRead + message.usage.cacheWrite);
      assert.ok(Math.abs(message.usage.cost.total - (message.usage.input * 2 + 90) / 1e6) < 1e-12);
      assert.equal(host.received[0]!.violations, []);
      assert.equal(host.received[0]!.prompt.user.text, "hi");
    }));

  test(`stream ${line}: a tool round stays on one Run, and its leg stops for the tool`, () =>
    onStage({ line, script: CALL }, async ({ ask, host }) => {
      const first = await ask([user("read it")], {}, { tools });
      assert.is(first.message.stopReason, "toolUse");
      const [call] = callsOf(first.message);
      assert.equal([call!.name, call!.arguments], ["read", { path: "a.txt" }]);
      const second = await ask([user("read it"), first.message, result(call!.id, "read", "BLUE")], {}, { tools });
      assert.is(textOf(second.message), "It says BLUE.");
      assert.is(second.message.stopReason, "stop");
      assert.is(host.received.length, 1);
      assert.equal(host.received[0]!.violations, []);
      assert.ok(first.message.usage.input > 0 && second.message.usage.input > first.message.usage.input);
    }));

  test(`stream ${line}: parallel calls come together and go back together`, () =>
    onStage({ line, script: [{ announce: 2 }, { mcp: { tool: "read", args: { path: "a" } } }, { mcp: { tool: "bash", args: { command: "ls" } } }, { awaitResults: true }, { textFrom: "results", template: "{read}+{bash}" }, ...END] }, async ({ ask, host }) => {
      const first = await ask([user("both")], {}, { tools });
      const calls = callsOf(first.message);
      assert.equal(calls.map(({ name }) => name), ["read", "bash"]);
      assert.is(new Set(calls.map(({ id }) => id)).size, 2);
      const { message } = await ask([user("both"), first.message, result(calls[0]!.id, "read", "A"), result(calls[1]!.id, "bash", "B")], {}, { tools });
      assert.is(textOf(message), "A+B");
      assert.equal(host.received[0]!.violations, []);
    }));

  test(`stream ${line}: the result is there although nobody iterates`, () =>
    onStage({ line }, async ({ stream }) => {
      assert.is(textOf(await stream([user("hi")], { sessionId: "" }).result()), "Hello from the loopback host.");
    }));

  test(`abort ${line}: a signal that has already aborted opens nothing and says so`, () =>
    onStage({ line }, async ({ ask, host }) => {
      const { events, message } = await ask([user("hi")], { signal: AbortSignal.abort() });
      assert.equal(types(events), ["error"]);
      assert.equal([message.stopReason, message.content], ["aborted", []]);
      assert.ok(message.errorMessage);
      assert.is(host.connections.accepted, 0);
    }));

  test(`abort ${line}: an abort in the middle keeps what was said, and the next call works with it in the context`, () =>
    onStage({ line, script: [[{ text: "Once upon a time" }, { hang: true }], [{ text: "Again." }, ...END]] }, async ({ stream, ask, host }) => {
      const stop = new AbortController();
      const answer = stream([user("hi")], { signal: stop.signal });
      for await (const event of answer) if (event.type === "text_delta") stop.abort();
      const first = await answer.result();
      assert.equal([first.stopReason, textOf(first)], ["aborted", "Once upon a time"]);
      // tokens: estimated, and its own sum.
      assert.ok(first.usage.input > 0 && first.usage.totalTokens === first.usage.input + first.usage.output);
      const { message } = await ask([user("hi"), first, user("again")]);
      assert.is(textOf(message), "Again.");
      assert.is(host.received[1]!.prompt.user.text, "again");
      assert.equal(host.received[1]!.violations, []);
      await host.received[0]!.closed;
      assert.is(host.received[0]!.rstCode, 8);
    }));
}

test("tool-call-without-result a call that was never answered is no error", () =>
  onStage({ script: [[{ mcp: { tool: "read", args: { path: "a" } } }, { hang: true }], [{ getBlob: "root" }, { text: "Fine." }, ...END]] }, async ({ ask, host }) => {
    const first = await ask([user("read it")], {}, { tools });
    const { message } = await ask([user("read it"), first.message, user("never mind")], {}, { tools });
    assert.is(textOf(message), "Fine.");
    assert.equal(host.received[1]!.violations, []);
    assert.match(JSON.stringify(host.received[1]!.prompt.messages), "No result provided");
  }));

for (const [what, content] of [["no parts", []], ["an empty text", ""], ["blanks", "   "]] as const)
  test(`empty user content of ${what} throws nothing and ends once`, () =>
    onStage({}, async ({ ask }) => {
      const { events, message } = await ask([{ role: "user", content }]);
      assert.is(events.filter(({ type }) => type === "done" || type === "error").length, 1);
      assert.ok(message.stopReason === "stop" || message.errorMessage);
    }));

test("empty an assistant message without content in the history throws nothing", () =>
  onStage({}, async ({ ask }) => {
    const empty = { ...(await ask([user("a")])).message, content: [] };
    assert.is((await ask([user("a"), empty, user("b")])).message.stopReason, "stop");
  }));

test("unicode-surrogate emoji and a lone surrogate in a tool result reach the host as valid text", () =>
  onStage({ script: CALL }, async ({ ask, host }) => {
    const first = await ask([user("read it")], {}, { tools });
    const { message } = await ask([user("read it"), first.message, result(callsOf(first.message)[0]!.id, "read", "😀 \ud83d end")], {}, { tools });
    assert.is(textOf(message), "It says 😀 \ufffd end.");
    assert.equal(host.received[0]!.violations, []);
  }));

test("unicode-surrogate a lone surrogate in a replayed history fails nothing", () =>
  onStage({ script: [{ getBlob: "root" }, { text: "ok" }, ...END] }, async ({ ask, host }) => {
    const { message } = await ask([user("a \ud83d b"), { ...(await ask([user("x")], { sessionId: "other" })).message, content: [{ type: "text", text: "\udc00" }] }, user("c \ud83d")]);
    assert.is(textOf(message), "ok");
    assert.equal(host.received[1]!.violations, []);
  }));

test("E8 the bytes of the user's image are on the wire", () =>
  onStage({}, async ({ ask, host }) => {
    await ask([{ role: "user", content: [{ type: "text", text: "see" }, { type: "image", mimeType: "image/png", data: PNG }] }]);
    assert.equal(host.received[0]!.prompt.user.images, [{ mimeType: "image/png", bytes: Buffer.from(PNG, "base64").length }]);
  }));

test("image-tool-result an image alone and text with images reach the model", () =>
  onStage({ script: CALL }, async ({ ask, host }) => {
    const first = await ask([user("read it")], {}, { tools });
    const image = { type: "image", mimeType: "image/png", data: PNG } as const;
    await ask([user("read it"), first.message, { role: "toolResult", toolCallId: callsOf(first.message)[0]!.id, toolName: "read", content: [image, { type: "text", text: "t" }, image] }], {}, { tools });
    assert.equal(host.received[0]!.results[0]!.images.length, 2);
    assert.is(host.received[0]!.results[0]!.text, "t");
  }));

test("context-overflow what the service says of the size makes Pi compact", () =>
  onStage({ script: [{ end: { error: { code: "resource_exhausted", message: "prompt is too large" } } }] }, async ({ ask }) => {
    const { message } = await ask([user("hi")]);
    assert.is(message.stopReason, "error");
    assert.match(message.errorMessage!, /^context_length_exceeded: /);
  }));

test("cross-provider-handoff a history of other providers is replayed, its long ids cleaned alike", () =>
  onStage({ script: [{ getBlob: "root" }, { text: "hi" }, ...END] }, async ({ ask, host }) => {
    const id = `call_${"x".repeat(440)}|fc_1`;
    const foreign = { ...(await ask([user("x")], { sessionId: "other" })).message, provider: "openai", content: [{ type: "thinking" as const, thinking: "secret" }, { type: "toolCall" as const, id, name: "read", arguments: { path: "a" } }] };
    const { message } = await ask([user("first"), foreign, result(id, "read", "r"), user("say hi")], {}, { tools });
    assert.is(textOf(message), "hi");
    const replayed = JSON.stringify(host.received[1]!.prompt.messages);
    assert.not.match(replayed, "secret");
    const ids = [...replayed.matchAll(/"toolCallId":"([^"]*)"/g)].map(([, one]) => one!);
    assert.is(ids.length, 2);
    assert.is(ids[0], ids[1]);
    assert.match(ids[0]!, /^[A-Za-z0-9_-]{1,64}$/);
  }));

test("onPayload sees the request without the token, and what it gives back is what is sent", () =>
  onStage({}, async ({ ask, host }) => {
    let seen: unknown;
    const onPayload = (payload: unknown) => ((seen = structuredClone(payload)), { ...(payload as object), messages: [{ role: "user", content: "replaced" }], sessionId: "other" });
    await ask([user("hi")], { onPayload });
    assert.equal((seen as { messages: unknown }).messages, [{ role: "user", content: "hi" }]);
    assert.not.match(JSON.stringify(seen), "token-1");
    assert.is(host.received[0]!.prompt.user.text, "replaced");
  }));

test("onPayload that gives the request back, or nothing, changes nothing", () =>
  onStage({}, async ({ ask, host }) => {
    await ask([user("a")], { onPayload: (payload) => payload });
    await ask([user("b")], { onPayload: async () => undefined, sessionId: "s2" });
    assert.equal(host.received.map(({ prompt }) => prompt.user.text), ["a", "b"]);
  }));

for (const [what, onPayload, words] of [
  ["throws", () => { throw new Error("hook broke"); }, "hook broke"],
  ["rejects", () => Promise.reject(new Error("hook broke")), "hook broke"],
  ["gives back what is no request", () => 7, "invalid_payload"],
  ["gives back null", () => null, "invalid_payload"],
  ["gives back an empty object", () => ({}), "what is none: The request names no model. \\[local error: invalid_payload\\]"],
  ["gives back a request without messages", (payload) => ({ ...(payload as object), messages: undefined }), "invalid_payload"],
  ["gives back a request without tools", (payload) => ({ ...(payload as object), tools: undefined }), "invalid_payload"],
  ["takes the model out of the request", (payload) => void delete (payload as { model?: unknown }).model, "invalid_payload"],
] as [string, (payload: unknown) => unknown, string][])
  test(`H13 an onPayload that ${what} ends the stream with an error`, () =>
    onStage({}, async ({ ask, host }) => {
      for (const sessionId of ["s1", ""]) {
        const { events, message } = await ask([user("hi")], { onPayload, sessionId });
        assert.equal(types(events), ["error"]);
        assert.match(message.errorMessage!, new RegExp(words));
      }
      assert.is(host.received.length, 0);
    }));

test("onPayload is not to blame for a request that was wrong before", () =>
  onStage({}, async ({ ask }) => {
    const { message } = await ask([], { onPayload: (payload) => payload });
    assert.match(message.errorMessage!, "invalid_request");
  }));

test("onPayload cannot move a request to another session, not in place either", () =>
  onStage({ script: [[{ text: "One." }, ...END], [{ expect: { resume: true } }, { text: "Two." }, ...END]] }, async ({ ask, host }) => {
    const { message } = await ask([user("one")], { onPayload: (payload) => void Object.assign(payload as object, { sessionId: "other" }) });
    await ask([user("one"), message, user("two")]);
    assert.equal(host.received[1]!.violations, []);
  }));

test("onResponse is told once a leg, before anything of the answer; each event is shown as it came", () =>
  onStage({}, async ({ stream }) => {
    const told: unknown[] = [];
    const answer = stream([user("hi")], {
      onResponse: async (response) => void told.push(response),
      onProviderStreamEvent: (event) => told.push((event as { type: string }).type),
    });
    await read(answer);
    assert.equal(told[0], { status: 200, headers: { "content-type": "application/connect+proto" } });
    assert.equal(told.slice(1).filter((one) => typeof one !== "string"), []);
    assert.is(told.at(-1), "done");
  }));

test("a response hook that throws ends the stream with an error and the Run with it", () =>
  onStage({ script: [{ text: "a" }, { hang: true }] }, async ({ ask, host }) => {
    const { message } = await ask([user("hi")], { onResponse: () => Promise.reject(new Error("hook broke")) });
    assert.match(message.errorMessage!, "hook broke");
    await host.received[0]!.closed;
  }));

test("F7 the slug of the level is what a Run names", () =>
  onStage({}, async ({ ask, host }) => {
    await ask([user("hi")], { reasoning: "high" }, { model: { id: "grok-4.7" } });
    assert.equal(host.received[0]!.request!.requestedModel, { modelId: "grok-4.7-high" });
  }));

test("F7 a turn without anything is an error, not a silent stop", () =>
  onStage({ script: [{ turnEnded: true }, { end: true }] }, async ({ ask }) => {
    const { message } = await ask([user("hi")]);
    assert.is(message.stopReason, "error");
    assert.match(message.errorMessage!, "empty_response");
  }));

test("E14 several trailing user messages arrive in order, in one turn", () =>
  onStage({}, async ({ ask, host }) => {
    await ask([user("one"), user("two")]);
    assert.match(host.received[0]!.prompt.user.text, /one[\s\S]*two/);
  }));

test("steering: results with a new user message open a new Run that holds both", () =>
  onStage({ script: [[{ mcp: { tool: "read", args: { path: "a" } } }, { hang: true }], [{ getBlob: "root" }, { text: "Steered." }, ...END]] }, async ({ ask, host }) => {
    const first = await ask([user("read it")], {}, { tools });
    const messages: PiMessage[] = [user("read it"), first.message, result(callsOf(first.message)[0]!.id, "read", "BLUE"), user("now stop")];
    const { message } = await ask(messages, {}, { tools });
    assert.is(textOf(message), "Steered.");
    assert.is(host.received[1]!.prompt.user.text, "now stop");
    assert.match(JSON.stringify(host.received[1]!.prompt.messages), "BLUE");
    await host.received[0]!.closed;
  }));

test.run();
