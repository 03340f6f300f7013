/** The estimate of a request's tokens. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { cpuTime } from "./cpu-time.ts";
import type { Message, Tool, TurnRequest } from "../lib/session/turn.ts";
import { estimate } from "../lib/session/usage.ts";

const test = suite("usage");

function request(messages: Message[], rest: Partial<TurnRequest> = {}): TurnRequest {
  return { model: { id: "m" }, messages, tools: [], ...rest };
}

const IMAGE = { type: "image", mimeType: "image/png", data: "A".repeat(4000) } as const;

const cases: [name: string, tokens: number, messages: Message[], rest?: Partial<TurnRequest>][] = [
  ["nothing", 0, []],
  ["an empty user message", 0, [{ role: "user", content: "" }]],
  ["one character", 1, [{ role: "user", content: "a" }]],
  ["four characters", 1, [{ role: "user", content: "abcd" }]],
  ["five characters", 2, [{ role: "user", content: "abcde" }]],
  ["text parts", 2, [{ role: "user", content: [{ type: "text", text: "abcd" }, { type: "text", text: "efgh" }] }]],
  ["UTF-16 units, not bytes", 1, [{ role: "user", content: "\u4e2d\u6587\u{1f600}" }]],
  ["the system prompt", 3, [], { systemPrompt: "x".repeat(12) }],
  ["an image without a text", 1200, [{ role: "user", content: [IMAGE] }]],
  ["an image by its number, not its bytes", 2401, [{ role: "user", content: [IMAGE, { type: "text", text: "a" }, IMAGE] }]],
  ["an assistant's text and thinking", 5, [{ role: "assistant", content: [{ type: "thinking", text: "x".repeat(8) }, { type: "text", text: "x".repeat(12) }] }]],
  ["a call's name and arguments", 4, [{ role: "assistant", content: [{ type: "tool_call", id: "ignored", name: "read", arguments: { path: "a" } }] }]],
  ["a result's text and image", 1203, [{ role: "tool", toolCallId: "c", toolName: "read", content: [{ type: "text", text: "x".repeat(12) }, IMAGE] }]],
  ["a tool's name, description and schema", 9, [], { tools: [{ name: "read", description: "Reads.", inputSchema: { type: "object", a: 1 } }] }],
  ["what is rounded once, not a message", 1, [{ role: "user", content: "a" }, { role: "user", content: "b" }, { role: "user", content: "c" }]],
];
for (const [name, tokens, messages, rest] of cases) {
  test(`D35 counts ${name}`, () => {
    assert.is(estimate(request(messages, rest)), tokens);
  });
}

test("D35 the input grows with the history, leg by leg", () => {
  const messages: Message[] = [{ role: "user", content: "x".repeat(400) }];
  assert.is(estimate(request(messages)), 100);
  messages.push({ role: "assistant", content: [{ type: "tool_call", id: "1", name: "bash", arguments: {} }] });
  messages.push({ role: "tool", toolCallId: "1", toolName: "bash", content: [{ type: "text", text: "y".repeat(394) }] });
  assert.is(estimate(request(messages)), 200);
});

test("D37 a leg's estimate does not depend on the legs before it", () => {
  const messages: Message[] = [{ role: "user", content: [{ type: "text", text: "x".repeat(40) }, IMAGE] }];
  for (let leg = 0; leg < 3; leg++) assert.is(estimate(request(messages, { systemPrompt: "four" })), 1211);
});

test("D38 the estimate drops to what a compaction leaves", () => {
  const kept: Message = { role: "user", content: "z".repeat(40) };
  const long: Message[] = [{ role: "user", content: "x".repeat(400_000) }, kept];
  assert.is(estimate(request(long)), 100_010);
  assert.is(estimate(request([{ role: "user", content: "s".repeat(80) }, kept])), 30);
});

test("D39 the input is repeated whole each leg", () => {
  const messages: Message[] = [{ role: "user", content: "x".repeat(400) }];
  const first = estimate(request(messages));
  assert.is(estimate(request([...messages])), first);
});

test("a later leg reads only the texts of new messages", () => {
  let reads = 0;
  const part = () => ({
    type: "text" as const,
    get text() {
      reads++;
      return "abcd";
    },
  });
  const messages: Message[] = Array.from({ length: 1000 }, () => ({ role: "user", content: [part()] }));
  assert.is(estimate(request(messages)), 1000);
  assert.is(reads, 1000);
  reads = 0;
  assert.is(estimate(request([...messages, { role: "user", content: [part()] }])), 1001);
  assert.is(reads, 1);
});

test("a later leg reads no schema again", () => {
  let reads = 0;
  const tool: Tool = {
    name: "tool",
    description: "",
    inputSchema: {
      get type() {
        reads++;
        return "object";
      },
    },
  };
  for (let leg = 0; leg < 3; leg++) assert.is(estimate(request([], { tools: [tool] })), 6);
  assert.is(reads, 1);
});

test("a message that grew since the last leg is counted anew", () => {
  const growing: Message = { role: "assistant", content: [{ type: "text", text: "abcd" }] };
  assert.is(estimate(request([growing])), 1);
  growing.content.push({ type: "text", text: "efgh" });
  assert.is(estimate(request([growing])), 2);
  growing.content = [{ type: "text", text: "x".repeat(40) }, { type: "text", text: "" }];
  assert.is(estimate(request([growing])), 10);
});

test("10,000 known messages are estimated in a few milliseconds", () => {
  const messages: Message[] = Array.from({ length: 10_000 }, () => ({ role: "user", content: [{ type: "text", text: "x".repeat(1000) }] }));
  estimate(request(messages));
  const started = cpuTime();
  estimate(request(messages));
  const took = cpuTime() - started;
  assert.ok(took < 100, `${took} ms`);
});

test("a part that no one knows counts nothing", () => {
  assert.is(estimate(request([{ role: "user", content: [{ type: "audio", data: "AAAA" } as never, { type: "text", text: "abcd" }] }])), 1);
});

test("arguments and schemas that are no JSON count nothing and fail nothing", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const tools: Tool[] = [{ name: "tool", description: "", inputSchema: circle }];
  assert.is(estimate(request([{ role: "assistant", content: [{ type: "tool_call", id: "1", name: "read", arguments: { big: 1n } }] }], { tools })), 2);
});

test.run();
