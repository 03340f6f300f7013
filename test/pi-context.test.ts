/** From Pi's context, in both shapes, to a request's prompt, tools and messages. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readContext } from "../lib/pi/context.ts";
import type { PiAssistantMessage, PiContext, PiMessage, PiModel, PiTool } from "../lib/pi/pi.ts";
import { contextOf, LINES, result, tool, user } from "./pi-fake.ts";

const MODEL: PiModel = { id: "m", api: "cursor-agent", provider: "cursor", input: ["text", "image"] };
const BLIND: PiModel = { ...MODEL, input: ["text"] };
const IMAGE = { type: "image", mimeType: "image/png", data: "AAAA" } as const;
const assistant = (content: PiAssistantMessage["content"], more: Partial<PiAssistantMessage> = {}): PiAssistantMessage => ({
  role: "assistant",
  content,
  api: "cursor-agent",
  provider: "cursor",
  model: "m",
  usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
  stopReason: "stop",
  timestamp: 0,
  ...more,
});
const of = (...messages: PiMessage[]) => readContext({ messages }, MODEL);

const test = suite("pi context");

for (const line of LINES)
  test(`E3 Pi ${line} gives the prompt and the tools in its own shape`, () => {
    const { systemPrompt, tools, messages } = readContext(contextOf(line, [user("hi")], "Be brief.", [tool("read", "path")]), MODEL);
    assert.is(systemPrompt, "Be brief.");
    assert.equal(tools, [{ name: "read", description: "The read tool.", inputSchema: tool("read", "path").parameters }]);
    assert.equal(messages, [{ role: "user", content: "hi" }]);
  });

test("E3 later system messages add text, replace and remove sections, and change the tools", () => {
  const context: PiContext = {
    messages: [
      { role: "system", content: "Base.", sections: { rules: "old rules", docs: "docs", cwd: "/a" }, toolsAdded: [tool("read"), tool("bash")] },
      user("hi"),
      { role: "system", content: [{ type: "text", text: "More." }], sections: { rules: "new rules", docs: null }, toolsAdded: [tool("late")], toolsRemoved: [{ name: "bash" }] },
    ],
  };
  const { systemPrompt, tools } = readContext(context, MODEL);
  assert.is(systemPrompt, "Base.\n\nMore.\n\nnew rules\n\n/a");
  assert.equal(tools.map(({ name }) => name), ["read", "late"]);
});

test("E3 a tool that is declared anew has its new schema", () => {
  const { tools } = of({ role: "system", content: "", toolsAdded: [tool("read")] }, { role: "system", content: "", toolsRemoved: [{ name: "read" }], toolsAdded: [tool("read", "path")] });
  assert.equal(tools.map(({ inputSchema }) => Object.keys(inputSchema["properties"] as object)), [["path"]]);
});

test("E3 a section called __proto__ is a section", () => {
  assert.is(of({ role: "system", content: "", sections: JSON.parse('{"__proto__":"text"}') as Record<string, string> }).systemPrompt, "text");
});

test("E4 a system message is never among the messages, wherever it stands", () => {
  const { messages } = of({ role: "system", content: "a" }, user("hi"), assistant([{ type: "toolCall", id: "1", name: "t", arguments: {} }]), result("1", "t", "r"), { role: "system", content: "", toolsAdded: [tool("late")] });
  assert.equal(messages.map(({ role }) => role), ["user", "assistant", "tool"]);
});

test("a schema is given as JSON: what a builder leaves behind is not", () => {
  const built: PiTool = { name: "t", description: "d", parameters: { type: "object", [Symbol("kind")]: "x", extra: undefined } };
  assert.equal(readContext({ messages: [], tools: [built] }, MODEL).tools[0]!.inputSchema, { type: "object" });
});

test("a tool without a schema or a description has empty ones", () => {
  const bare = { name: "t" } as unknown as PiTool;
  assert.equal(readContext({ messages: [], tools: [bare] }, MODEL).tools, [{ name: "t", description: "", inputSchema: {} }]);
});

test("a transcript is read once: the next leg gets the same objects", () => {
  const messages = [user("hi"), assistant([{ type: "text", text: "a" }])];
  const [first, second] = [readContext({ messages }, MODEL), readContext({ messages }, MODEL)];
  assert.is(first.messages[0], second.messages[0]);
  assert.is(first.messages[1], second.messages[1]);
});

test("a message that has changed since is read again", () => {
  const message = assistant([{ type: "text", text: "a" }]);
  readContext({ messages: [message] }, MODEL);
  message.stopReason = "aborted";
  assert.equal(readContext({ messages: [message, user("b")] }, MODEL).messages[0]!.content, []);
  message.stopReason = "stop";
  message.content.push({ type: "text", text: "b" });
  assert.is(readContext({ messages: [message] }, MODEL).messages[0]!.content.length, 2);
});

for (const stopReason of ["error", "aborted"] as const) {
  const broken = assistant([{ type: "text", text: "half" }, { type: "toolCall", id: "2", name: "t", arguments: {} }], { stopReason });
  const called = assistant([{ type: "toolCall", id: "1", name: "t", arguments: {} }], { stopReason: "toolUse" });
  const roles = (...messages: PiMessage[]) => of(...messages).messages.map(({ role }) => role);

  test(`E14 a turn that ended in ${stopReason} says nothing, and parts its prompt from the next`, () => {
    const { messages } = of(user("a"), broken, user("b"), user("steered"));
    assert.equal(messages.map(({ role, content }) => [role, content]), [["user", "a"], ["assistant", []], ["user", "b"], ["user", "steered"]]);
  });

  test(`a turn that ended in ${stopReason} after tool results parts them from the next prompt`, () => {
    assert.equal(roles(user("a"), called, result("1", "t", "r"), broken, user("b")), ["user", "assistant", "tool", "assistant", "user"]);
  });

  test(`a try at the end that ended in ${stopReason} leaves what it was to answer current`, () => {
    assert.equal(roles(user("a"), broken, { role: "system", content: "late" }, broken), ["user"]);
    assert.equal(roles(user("a"), called, result("1", "t", "r"), broken), ["user", "assistant", "tool"]);
  });
}

test("transform-messages thinking of ours stays, empty and foreign thinking goes", () => {
  const content: PiAssistantMessage["content"] = [{ type: "thinking", thinking: "hm" }, { type: "thinking", thinking: " " }, { type: "text", text: "a" }];
  assert.equal(of(assistant(content)).messages[0]!.content, [{ type: "thinking", text: "hm" }, { type: "text", text: "a" }]);
  assert.equal(of(assistant(content, { provider: "other" })).messages[0]!.content, [{ type: "text", text: "a" }]);
});

test("cross-provider-handoff a foreign call keeps its id, name and arguments, and nothing else", () => {
  const id = `call_${"x".repeat(440)}|fc_1`;
  const call = { type: "toolCall", id, name: "read", arguments: { path: "a" }, thoughtSignature: "opaque" } as const;
  const { messages } = of(assistant([call], { provider: "other" }), result(id, "read", "r"));
  assert.equal(messages[0]!.content, [{ type: "tool_call", id, name: "read", arguments: { path: "a" } }]);
  assert.equal(messages[1], { role: "tool", toolCallId: id, toolName: "read", content: [{ type: "text", text: "r" }] });
});

test("E11 an error of a tool stays one", () => {
  assert.equal(of(result("1", "t", "r", true)).messages[0], { role: "tool", toolCallId: "1", toolName: "t", content: [{ type: "text", text: "r" }], isError: true });
});

test("E8 images of users and tools are given on", () => {
  const { messages } = of({ role: "user", content: [{ type: "text", text: "see" }, IMAGE] }, { role: "toolResult", toolCallId: "1", toolName: "t", content: [IMAGE] });
  assert.equal(messages.map(({ content }) => content), [[{ type: "text", text: "see" }, { type: "image", mimeType: "image/png", data: "AAAA" }], [{ type: "image", mimeType: "image/png", data: "AAAA" }]]);
});

test("E8 a model without eyes gets one note for images in a row, by whose they were", () => {
  const context: PiContext = { messages: [{ role: "user", content: [IMAGE, IMAGE, { type: "text", text: "t" }, IMAGE] }, { role: "toolResult", toolCallId: "1", toolName: "t", content: [IMAGE] }] };
  const { messages } = readContext(context, BLIND);
  const note = { type: "text", text: "(image omitted: model does not support images)" };
  assert.equal(messages.map(({ content }) => content), [[note, { type: "text", text: "t" }, note], [{ type: "text", text: "(tool image omitted: model does not support images)" }]]);
  assert.is(readContext(context, MODEL).messages[0]!.content.length, 4);
});

test("a model that does not say what it takes may get images", () => {
  const { input: _, ...unsaid } = MODEL;
  assert.equal(readContext({ messages: [{ role: "user", content: [IMAGE] }] }, unsaid).messages[0]!.content, [{ type: "image", mimeType: "image/png", data: "AAAA" }]);
});

for (const [what, content, parts] of [
  ["a text alone", "r", [{ type: "text", text: "r" }]],
  ["parts that are none", [null, "r", 7, { type: "text" }, { type: "image", data: "AAAA" }, { type: "text", text: "r" }], [{ type: "text", text: "r" }]],
  ["nothing", undefined, []],
  ["null", null, []],
  ["an object", { text: "r" }, []],
] as [string, unknown, unknown][])
  test(`a tool's content of ${what} is read`, () => {
    assert.equal(of({ role: "toolResult", toolCallId: "1", toolName: "t", content } as PiMessage).messages[0]!.content, parts);
  });

for (const [what, content] of [["no parts", []], ["an empty text", ""], ["blanks", "  \n"]] as const)
  test(`empty user content of ${what} is read`, () => {
    assert.equal(of({ role: "user", content }).messages, [{ role: "user", content }]);
  });

test("empty an assistant message without content is read", () => {
  assert.equal(of(assistant([])).messages, [{ role: "assistant", content: [] }]);
});

test("what no row of Pi's shapes names is left out", () => {
  const odd = [{ role: "custom", content: "x" }, { role: "user", content: [{ type: "video" }] }, assistant([{ type: "odd" } as never])] as unknown as PiMessage[];
  assert.equal(of(...odd).messages, [{ role: "user", content: [] }, { role: "assistant", content: [] }]);
});

test.run();
