/** From a leg's events to Pi's: balanced blocks, one end, and a final message that agrees with itself. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Answer } from "../lib/pi/answer.ts";
import { errorMessage, failureOf } from "../lib/pi/failure.ts";
import type { PiAssistantMessage, PiEvent, PiModel } from "../lib/pi/pi.ts";
import { EventStream } from "../lib/pi/stream.ts";
import { usageOf } from "../lib/pi/usage.ts";
import { aborted, CursorError, type ErrorKind } from "../lib/session/errors.ts";
import { CONNECT_FAILURES, connectFailure, HTTP2_CODES, transportFailure, type TransportEnd } from "../lib/session/failures.ts";
import type { TurnEvent } from "../lib/session/turn.ts";
import { cpuTime } from "./cpu-time.ts";

const MODEL: PiModel = { id: "m", api: "a", provider: "p", cost: { input: 2, output: 10, cacheRead: 1, cacheWrite: 1 } };
const test = suite("pi answer");

/** Pi's events for a leg's, each as it was when it came. */
async function answered(events: readonly TurnEvent[], end?: CursorError): Promise<{ events: PiEvent[]; message: PiAssistantMessage }> {
  const stream = new EventStream();
  const answer = new Answer(stream, MODEL, 7);
  for (const event of events) answer.take(event);
  if (end !== undefined) answer.fail(end);
  const seen: PiEvent[] = [];
  for await (const event of stream) seen.push(event);
  return { events: seen, message: await stream.result() };
}
const brief = (events: readonly PiEvent[]) => events.map((event) => ("contentIndex" in event ? `${event.type} ${event.contentIndex}` : event.type));
const DONE: TurnEvent[] = [{ type: "usage", input: 100, output: 20 }, { type: "done", reason: "stop" }];

test("thinking, text and calls are blocks that open and close in order", async () => {
  const { events, message } = await answered([
    { type: "thinking", delta: "hm" },
    { type: "thinking", delta: "m" },
    { type: "text", delta: "a" },
    { type: "text", delta: "b" },
    { type: "tool_call", id: "1", name: "read", arguments: { path: "x" } },
    { type: "usage", input: 1, output: 1 },
    { type: "done", reason: "tool_use" },
  ]);
  assert.equal(brief(events), [
    "start",
    "thinking_start 0", "thinking_delta 0", "thinking_delta 0", "thinking_end 0",
    "text_start 1", "text_delta 1", "text_delta 1", "text_end 1",
    "toolcall_start 2", "toolcall_delta 2", "toolcall_end 2",
    "done",
  ]);
  assert.equal(message.content, [
    { type: "thinking", thinking: "hmm" },
    { type: "text", text: "ab" },
    { type: "toolCall", id: "1", name: "read", arguments: { path: "x" } },
  ]);
  assert.is(message.stopReason, "toolUse");
});

test("a call's deltas are the JSON of its arguments", async () => {
  const { events } = await answered([{ type: "tool_call", id: "1", name: "read", arguments: { path: "ü" } }, ...DONE]);
  const deltas = events.flatMap((event) => (event.type === "toolcall_delta" ? event.delta : []));
  assert.equal(JSON.parse(deltas.join("")), { path: "ü" });
});

test("D34 a message with calls stops for them, whatever the leg says", async () => {
  const { events, message } = await answered([{ type: "tool_call", id: "1", name: "read", arguments: {} }, ...DONE]);
  assert.is(message.stopReason, "toolUse");
  assert.is((events.at(-1) as { reason: string }).reason, "toolUse");
});

test("D34 a message without calls stops, whatever the leg says", async () => {
  const { message } = await answered([{ type: "text", delta: "a" }, { type: "done", reason: "tool_use" }]);
  assert.is(message.stopReason, "stop");
});

test("empty deltas open no block", async () => {
  const { events } = await answered([{ type: "text", delta: "" }, ...DONE]);
  assert.equal(brief(events), ["start", "done"]);
});

test("a reset closes the open block and takes back what was said", async () => {
  const { events, message } = await answered([{ type: "text", delta: "old" }, { type: "reset" }, { type: "text", delta: "new" }, ...DONE]);
  assert.equal(brief(events), ["start", "text_start 0", "text_delta 0", "text_end 0", "text_start 0", "text_delta 0", "text_end 0", "done"]);
  assert.equal(message.content, [{ type: "text", text: "new" }]);
});

test("D37 the total is the sum, and the cost is by the model's rates", async () => {
  const { message } = await answered([{ type: "text", delta: "a" }, { type: "usage", input: 1_000_000, output: 500_000 }, { type: "done", reason: "stop" }]);
  assert.equal(message.usage, { input: 1_000_000, output: 500_000, cacheRead: 0, cacheWrite: 0, totalTokens: 1_500_000, cost: { input: 2, output: 5, cacheRead: 0, cacheWrite: 0, total: 7 } });
});

test("a model without rates costs nothing", () => {
  assert.is(usageOf({}, 10, 10).cost.total, 0);
});

test("an error closes the open block and keeps what was said, with the usage of the error", async () => {
  const error = new CursorError({ kind: "network", code: "connection_lost", message: "Lost.", nextStep: "Try again." }, { text: "a", thinking: "", usage: { input: 5, output: 2 } });
  const { events, message } = await answered([{ type: "text", delta: "a" }], error);
  assert.equal(brief(events), ["start", "text_start 0", "text_delta 0", "text_end 0", "error"]);
  assert.equal([message.stopReason, message.content, message.usage.totalTokens], ["error", [{ type: "text", text: "a" }], 7]);
  assert.is(message.errorMessage, "Lost. [network error: connection_lost] Try again.");
});

test("an abort is no error", async () => {
  const { events, message } = await answered([{ type: "text", delta: "a" }], aborted());
  assert.is((events.at(-1) as { reason: string }).reason, "aborted");
  assert.is(message.stopReason, "aborted");
  assert.match(message.errorMessage!, "aborted by the host");
});

test("an error before any event has no start", async () => {
  const { events, message } = await answered([], aborted());
  assert.equal(brief(events), ["error"]);
  assert.equal(message.content, []);
});

test("after the end nothing is told", async () => {
  const { events } = await answered([{ type: "text", delta: "a" }, ...DONE, { type: "text", delta: "late" }], aborted());
  assert.is(events.filter((event) => event.type === "done" || event.type === "error").length, 1);
  assert.is(events.at(-1)!.type, "done");
});

test("a stream that nobody iterates still has its result", async () => {
  const stream = new EventStream();
  new Answer(stream, MODEL, 0).fail(aborted());
  assert.ok(stream.over);
  assert.is((await stream.result()).stopReason, "aborted");
});

test("a reader that comes first waits for the events", async () => {
  const stream = new EventStream();
  const reading = stream[Symbol.asyncIterator]().next();
  new Answer(stream, MODEL, 0).take({ type: "text", delta: "a" });
  assert.is((await reading).value?.type, "start");
});

test("a reader that is 200,000 events behind catches up at once", async () => {
  const stream = new EventStream();
  const answer = new Answer(stream, MODEL, 0);
  for (let pushed = 0; pushed < 200_000; pushed++) answer.take({ type: "text", delta: "a" });
  for (const event of DONE) answer.take(event);
  const start = cpuTime();
  const seen: string[] = [];
  for await (const { type } of stream) seen.push(type);
  assert.ok(cpuTime() - start < 3_000);
  assert.equal([seen.length, seen[0], seen.at(-1)], [200_004, "start", "done"]);
});

for (const model of [undefined, null, {}, { cost: { input: "much" } }])
  test(`H13 a model that is ${JSON.stringify(model)} still gets a message`, async () => {
    const stream = new EventStream();
    const answer = new Answer(stream, model as unknown as PiModel, 0);
    answer.take({ type: "usage", input: 1, output: 1 });
    answer.take({ type: "done", reason: "stop" });
    assert.is((await stream.result()).usage.cost.total, 0);
  });

/** Pi's words for what is worth sending again and for what is not, and for a prompt that is too large, of both lines. */
const RETRIED = [
  /overloaded|provider.?returned.?error|rate.?limit|too many requests|429|500|502|503|504|service.?unavailable|server.?error|internal.?error|network.?error|connection.?error|connection.?refused|connection.?lost|websocket.?closed|websocket.?error|other side closed|fetch failed|upstream.?connect|reset before headers|socket hang up|ended without|http2 request did not get a response|timed? out|timeout|terminated|retry delay/i,
  /overloaded|rate.?limit|too many requests|(?<![a-z0-9])(?:429|500|502|503|504|520|524)(?![a-z0-9])|service.?(?:is.?)?(?:temporarily.?)?unavailable|server.?error|internal.?error|provider.?returned.?(?:an.?)?error|stream was interrupted|http\/?2 stream failed|network.?error|connection.?error|connection.?refused|connection.?lost|connection.?closed|other side closed|fetch failed|getaddrinfo|(?<![a-z0-9_])(?:ECONNRESET|ECONNABORTED|ECONNREFUSED|ETIMEDOUT|EPIPE)(?![a-z0-9_])|ENOTFOUND|EAI_AGAIN|reset before headers|socket hang up|timed? out|timeout|terminated|ended without|pending stream has been canceled|retry delay|try your request again|ResourceExhausted/i,
];
const NEVER = /Monthly usage limit reached|available balance|insufficient_quota|out of budget|quota exceeded|billing/i;
const OVERFLOW = /context[_ ]length[_ ]exceeded/i;
const retries = (words: string) => RETRIED.map((pattern) => pattern.test(words) && !NEVER.test(words));

const ENDS: TransportEnd[] = [
  { type: "end" },
  ...["0", "13", "14", "16"].map((status): TransportEnd => ({ type: "trailer", status, message: "internal error, timed out" })),
  ...[200, 301, 400, 401, 403, 404, 408, 429, 500, 502, 503, 504].map((status): TransportEnd => ({ type: "response", status, contentType: "text/html", body: "Internal Server Error: connection refused" })),
  ...HTTP2_CODES.flatMap((_, code): TransportEnd[] => [{ type: "reset", code }, { type: "goaway", code }]),
  { type: "socket", code: "ENETUNREACH", message: "no route" },
];
for (const end of ENDS)
  test(`Pi retries ${JSON.stringify(end).slice(0, 60)} exactly if it is of the network`, () => {
    const error = new CursorError(transportFailure(end, { model: "m", output: false, fullness: 0 }));
    assert.equal(retries(errorMessage(error)), Array(2).fill(error.kind === "network"), errorMessage(error));
  });

for (const code of Object.keys(CONNECT_FAILURES) as (keyof typeof CONNECT_FAILURES)[])
  for (const message of ["", "Error", "internal error: upstream timed out, 503", "you have run out of quota", "the prompt is too long"])
    test(`Pi retries ${code} that says ${JSON.stringify(message)} exactly if it is of the network`, () => {
      const error = new CursorError(connectFailure({ code, message }, { model: "m", output: false, fullness: 0.5 }));
      const words = errorMessage(error);
      assert.equal(retries(words), Array(2).fill(error.kind === "network"), words);
      assert.is(OVERFLOW.test(words), error.code === "context_length_exceeded", words);
    });

test("context-overflow a bare resource_exhausted on a nearly full prompt makes Pi compact", () => {
  const error = new CursorError(connectFailure({ code: "resource_exhausted", message: "Error" }, { model: "m", output: false, fullness: 0.9 }));
  assert.match(errorMessage(error), /^context_length_exceeded: /);
});

const KINDS: ErrorKind[] = ["auth", "network", "protocol-drift", "remote", "local", "aborted"];
for (const kind of KINDS)
  test(`F6 a failure of kind ${kind} names its kind, its code and the next step`, () => {
    const words = errorMessage(new CursorError({ kind, code: "some_code", message: "It failed.", nextStep: "Do this." }));
    assert.is(words, `It failed. [${kind} error: some_code] Do this.`);
  });

test("what is thrown by others becomes a fault of this side, in words", () => {
  assert.is(failureOf(new TypeError("x is undefined")).message, "The extension could not go on: TypeError: x is undefined");
  assert.is(failureOf("text").kind, "local");
  const ours = aborted();
  assert.is(failureOf(new Error("wrapped", { cause: ours })), ours);
});

test.run();
