/** A turn from its first word to its last, with the calls between: what such clients got wrong. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { answers } from "../lib/session/on-continue.ts";
import type { TurnRequest } from "../lib/session/turn.ts";
import { after, ended, endings, kinds, request, resumed, results, Rig, running, TOOLS } from "./session-rig.ts";

const test = suite("session turn");
const tools = [TOOLS["add"]!, TOOLS["bash"]!];
const asked = { request: request("hi", { tools }) };

/** A Run whose calls, by these exec ids, are parked. */
function parked(ids: readonly number[] = [1], opener: ConstructorParameters<typeof Rig>[0] = asked): Rig {
  const rig = running(opener);
  for (const id of ids) rig.call(id, "add");
  rig.fire("burst");
  return rig;
}
function closesWell(rig: Rig): boolean {
  return rig.all.some((action) => action.type === "close" && !action.cancel);
}

test("D1 GOAWAY and a closed socket right after turn_ended are the end of a good turn, told once", () => {
  const rig = running();
  rig.text("a");
  rig.turnEnded();
  rig.step({ type: "closed", end: { type: "goaway", code: 0 } });
  rig.step({ type: "closed", end: { type: "socket", code: "ECONNRESET", message: "" } });
  assert.equal(endings(rig), ["stop"]);
  assert.equal(rig.emitted().filter(({ type }) => type === "text"), [{ type: "text", delta: "a" }]);
});

test("D2 a stream that stays open after turn_ended is closed by us within 500 ms, heartbeats or not", () => {
  const rig = running();
  rig.text("a");
  rig.turnEnded();
  for (let ms = 0; ms < 400; ms += 100) {
    rig.after(100);
    rig.server({ interactionUpdate: { heartbeat: {} } });
  }
  assert.equal(endings(rig), []);
  rig.after(100);
  assert.equal(endings(rig), ["stop"]);
  assert.ok(closesWell(rig));
});

test("D3 turn_ended with a call pending is not the end, before the burst or while parked", () => {
  const rig = running(asked);
  rig.call(1, "add");
  rig.turnEnded();
  rig.fire("burst");
  rig.turnEnded();
  assert.equal(endings(rig), ["tool_use"]);
  rig.step({ type: "continue", request: results(rig) });
  assert.equal(kinds(rig), ["execClientMessage", "execClientControlMessage"]);
  rig.text("a");
  assert.equal(endings(ended(rig)), ["tool_use", "stop"]);
});

test("D3 after the close nothing is written, whatever still comes", () => {
  const rig = running(asked);
  rig.text("a");
  ended(rig);
  const count = rig.all.length;
  rig.call(1, "add");
  rig.step({ type: "continue", request: results(rig) });
  rig.step({ type: "abort" });
  rig.after(10_000_000);
  assert.is(rig.all.length, count);
});

test("D6 a clean end without turn_ended is an error", () => {
  const rig = running();
  rig.text("a");
  rig.endStream();
  assert.equal(endings(rig), ["remote ended_early"]);
});

test("D7 ten minutes at the host: no idle error, heartbeats of both kinds, and a fresh first clock after the result", () => {
  const rig = parked();
  const sent = kinds(rig, rig.after(600_000));
  assert.is(sent.filter((kind) => kind === "clientHeartbeat").length, 40);
  assert.is(sent.filter((kind) => kind === "execClientControlMessage").length, 200);
  assert.equal(endings(rig), ["tool_use"]);
  rig.step({ type: "continue", request: results(rig) });
  rig.after(29_999);
  assert.is(rig.error, undefined);
  rig.after(1);
  assert.is(rig.error!.code, "first_token_timeout");
});

test("D14 one mcp_args is one tool call and one result, from a copied transcript, and a repeated exec is none", () => {
  const rig = running(asked);
  rig.call(1, "mcp_pi_add");
  rig.call(1, "mcp_pi_add");
  rig.fire("burst");
  rig.call(1, "mcp_pi_add");
  assert.is(rig.emitted().filter(({ type }) => type === "tool_call").length, 1);
  assert.equal(rig.notes(), ["repeated_exec", "repeated_exec"]);
  rig.step({ type: "continue", request: structuredClone(results(rig)) });
  rig.step({ type: "continue", request: structuredClone(results(rig)) });
  assert.is(rig.sent(rig.all).filter(({ execClientMessage }) => execClientMessage?.mcpResult).length, 1);
});

test("D14 a finished call is replayed, not run again, where its conversation turns out to be stale", () => {
  const rig = resumed({ request: { tools } });
  rig.call(1, "add");
  rig.fire("burst");
  rig.step({ type: "continue", request: results(rig) });
  rig.endStream({ code: "not_found" });
  rig.step({ type: "opened" });
  const { runRequest } = rig.sent()[0]!;
  // Rules, two turns of which the second made a call, and its result.
  assert.is(runRequest!.conversationState!.rootPromptMessagesJson!.length, 6);
  assert.match(runRequest!.action!.userMessageAction!.userMessage!.text!, /^Continue/);
  assert.is(rig.emitted().filter(({ type }) => type === "tool_call").length, 1);
  rig.text("a");
  assert.equal(endings(ended(rig)), ["tool_use", "stop"]);
});

test("D14 announced calls end their burst with the last of them, also where the number comes late", () => {
  const rig = running(asked);
  rig.call(1, "add");
  rig.call(2, "add");
  rig.server({ interactionUpdate: { toolRequestsListed: { callCount: 2 } } });
  assert.equal(endings(rig), ["tool_use"]);
  const more = running(asked);
  more.server({ interactionUpdate: { toolRequestsListed: { callCount: 3 } } });
  more.call(1, "add");
  more.after(100);
  more.call(2, "add");
  more.after(149);
  assert.equal(endings(more), []);
  more.after(1);
  assert.equal(endings(more), ["tool_use"], "the third never came");
});

test("D14 what one generation announced does not end the burst of the next, nor that of a rebuilt turn", () => {
  const rig = running(asked);
  rig.server({ interactionUpdate: { toolRequestsListed: { callCount: 1 } } });
  rig.call(1, "add");
  assert.equal(endings(rig), ["tool_use"]);
  rig.step({ type: "continue", request: results(rig) });
  rig.call(2, "add");
  assert.equal(endings(rig), ["tool_use"]);
  const stale = resumed({ request: { tools } });
  stale.server({ interactionUpdate: { toolRequestsListed: { callCount: 1 } } });
  stale.endStream({ code: "not_found" });
  stale.step({ type: "opened" });
  stale.call(1, "add");
  assert.equal(endings(stale), []);
});

test("D18 results are found by their call id in the transcript alone, whoever sends it", () => {
  const rig = parked([5, 0]);
  const { model, messages } = results(rig);
  const request: TurnRequest = { model, messages: [...messages.slice(0, -2), ...messages.slice(-2).reverse()], tools: [] };
  assert.ok(answers(rig.session, request));
  rig.step({ type: "continue", request });
  const written = rig.sent().flatMap(({ execClientMessage }) => (execClientMessage ? [[execClientMessage.id ?? 0, execClientMessage.mcpResult!.success!.content![0]!.text!.text]] : []));
  assert.equal(written, [[5, "result of call-5"], [0, "result of call-0"]]);
});

test("D19 what goes on with a parked Run: its results from any object; not another model, another call, a new message", () => {
  const rig = parked();
  const good = results(rig);
  const withMessages = (messages: unknown): TurnRequest => ({ ...good, messages: messages as TurnRequest["messages"] });
  const other = structuredClone(good);
  other.messages.at(-1)!.role === "tool" && Object.assign(other.messages.at(-1)!, { toolCallId: "call-9" });
  const cases: [TurnRequest, boolean][] = [
    [structuredClone(good), true],
    [{ ...good, systemPrompt: "other" }, true],
    [{ ...good, model: { id: "m2" } }, false],
    [other, false],
    [withMessages(after(good.messages, "a", "b")), false],
    [withMessages([...good.messages, { role: "user", content: "steered" }]), false],
  ];
  for (const [request, expected] of cases) assert.is(answers(rig.session, request), expected, JSON.stringify(request));
  assert.not.ok(answers(running(asked).session, good), "nothing is parked");
  rig.step({ type: "abort" });
  assert.not.ok(answers(rig.session, good), "it is over");
});

test("D19 a call whose result the host leaves out is answered with an error", () => {
  const rig = parked([1, 2]);
  const request = results(rig);
  rig.step({ type: "continue", request: { ...request, messages: request.messages.slice(0, -1) } });
  const [, , { execClientMessage } = {}] = rig.sent();
  assert.equal([execClientMessage!.id, execClientMessage!.mcpResult!.success!.isError], [2, true]);
});

for (const [name, end] of Object.entries<(rig: Rig) => unknown>({
  "a lost stream": (rig) => rig.step({ type: "closed", end: { type: "reset", code: 2 } }),
  "an abort": (rig) => rig.step({ type: "abort" }),
  "the host's own time": (rig) => rig.after(1_800_000),
}))
  test(`D20 ${name} with a call open leaves the handle as it was, and the next turn is a new conversation`, () => {
    const before = resumed({ request: { tools } });
    before.text("2");
    before.server({ conversationCheckpointUpdate: Uint8Array.of(0x50, 2) });
    before.turnEnded();
    before.fire("drain");
    const first = request("three", { tools, messages: after(before.session.request.messages, "2", "three") });
    const rig = parked([1], { request: first, handle: before.saved });
    assert.ok(rig.session.resumed);
    end(rig);
    assert.is(rig.all.some(({ type }) => type === "save" || type === "drop"), false);
    const next = new Rig({ request: { ...first, messages: after(results(rig).messages, "", "four") }, handle: before.saved });
    assert.not(next.session.resumed);
  });

test("D21 a call that only began, and whose exec never came, is none", () => {
  const rig = running(asked);
  rig.server({ interactionUpdate: { toolCallStarted: { callId: "c" } } }, { interactionUpdate: { partialToolCall: { callId: "c", argsTextDelta: "{" } } });
  rig.step({ type: "closed", end: { type: "end" } });
  assert.equal(rig.emitted(), []);
  assert.equal(endings(rig), ["remote ended_early"]);
});

test("D32 a call 1 ms after the leg is kept for the next one and answered there", () => {
  const rig = running(asked);
  rig.call(1, "add");
  rig.after(150);
  rig.after(1);
  rig.call(2, "add");
  assert.is(rig.emitted().filter(({ type }) => type === "tool_call").length, 1);
  assert.ok(rig.session.heldSize > 0);
  rig.step({ type: "continue", request: results(rig) });
  assert.is(rig.session.heldSize, 0);
  assert.ok(rig.running("execHeartbeat"), "the late call is still kept warm");
  rig.after(150);
  rig.step({ type: "continue", request: results(rig) });
  assert.equal(rig.sent()[0]!.execClientMessage!.id, 2);
});

test("a service that never stops calling ends its leg all the same, and the rest waits", () => {
  const rig = running(asked);
  for (let id = 0; id < 300; id++) {
    rig.call(id, "add");
    rig.after(100);
  }
  assert.is(rig.emitted().filter(({ type }) => type === "tool_call").length, 128);
  rig.step({ type: "continue", request: results(rig) });
  assert.is(rig.emitted().filter(({ type }) => type === "tool_call").length, 300);
  assert.equal(endings(rig), ["tool_use", "tool_use"]);
});

test("D34 a leg says tool_use if and only if it made a call, and once", () => {
  const rig = parked();
  rig.step({ type: "continue", request: results(rig) });
  rig.text("a");
  ended(rig);
  const legs: string[][] = [[]];
  for (const event of rig.emitted()) {
    legs.at(-1)!.push(event.type === "done" ? event.reason : event.type);
    if (event.type === "done") legs.push([]);
  }
  assert.equal(legs, [["tool_call", "usage", "tool_use"], ["text", "usage", "stop"], []]);
});

test("D47 a machine that sleeps while a call is parked wakes to no false alarm, or to one error where nobody answers", () => {
  const rig = parked();
  rig.now += 1_700_000;
  for (const timer of ["execHeartbeat", "heartbeat", "ping"] as const) rig.fire(timer);
  rig.step({ type: "alive" });
  assert.is(rig.error, undefined);
  rig.fire("ping");
  rig.fire("pong");
  assert.equal(endings(rig), ["tool_use", "network connection_lost"]);
});

test.run();
