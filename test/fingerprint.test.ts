/** The fingerprint of a conversation and the key of a tool set. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { cpuTime } from "./cpu-time.ts";
import { fingerprint, toolsetKey } from "../lib/session/fingerprint.ts";
import type { ImagePart, Message, TextPart, Tool } from "../lib/session/turn.ts";

const test = suite("fingerprint");

function user(...content: (string | ImagePart)[]): Message {
  return { role: "user", content: content.map((part) => (typeof part === "string" ? { type: "text", text: part } : part)) };
}
function image(mimeType: string, data: string): ImagePart {
  return { type: "image", mimeType, data };
}

// Computed apart from this code: SHA-256 over the joined SHA-256 of `text 5:hello` and of `text 4:lookimage 64:<hex of the image>`.
test("the form of the fingerprint stays as it is, or every kept handle is stale", () => {
  assert.is(fingerprint([]), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert.is(fingerprint([{ role: "user", content: "hello" }]), "05be88737ce705d9b0f36316bdb38758c2a676e56483a7a0ff46b93bc20129e5");
  assert.is(fingerprint([{ role: "user", content: "hello" }, user("look", image("image/png", "AAAA"))]), "6c6817601071057de98d5fa49dd9466cd92e8abfe4f3337c69c1b6ae1edc10f7");
});

const base: Message[] = [
  user("first", image("image/png", "AAAA")),
  { role: "assistant", content: [{ type: "text", text: "answer" }, { type: "tool_call", id: "1", name: "read", arguments: {} }] },
  { role: "tool", toolCallId: "1", toolName: "read", content: [{ type: "text", text: "content" }] },
  { role: "user", content: "second" },
];

const same: Record<string, Message[]> = {
  "the same again": structuredClone(base),
  "a string content as its only text part": [...base.slice(0, 3), user("second")],
  "other words of the assistant": [base[0]!, { role: "assistant", content: [{ type: "text", text: "other" }] }, ...base.slice(2)],
  "no word of the assistant": [base[0]!, base[3]!],
  "another result of a tool": [...base.slice(0, 2), { role: "tool", toolCallId: "x", toolName: "y", content: [], isError: true }, base[3]!],
  "E4 a leading system message": [{ role: "system", content: "rules" } as unknown as Message, ...base],
};
for (const [name, messages] of Object.entries(same)) {
  test(`${name} has the same fingerprint`, () => {
    assert.is(fingerprint(messages), fingerprint(base));
  });
}

const other: Record<string, Message[]> = {
  "an edited user text": [user("First", image("image/png", "AAAA")), ...base.slice(1)],
  "a swapped image": [user("first", image("image/png", "AAAB")), ...base.slice(1)],
  "the image as another type": [user("first", image("image/gif", "AAAA")), ...base.slice(1)],
  "a dropped image": [user("first"), ...base.slice(1)],
  "the image before the text": [user(image("image/png", "AAAA"), "first"), ...base.slice(1)],
  "D38 a rewound conversation": base.slice(0, 3),
  "one more user message": [...base, user("third")],
  "an empty user message more": [...base, user("")],
  "a user message without parts more": [...base, user()],
  "the users in another order": [base[3]!, base[1]!, base[2]!, base[0]!],
  "D38 a summary in place of the first messages": [user("summary of the conversation"), base[3]!],
};
for (const [name, messages] of Object.entries(other)) {
  test(`${name} has another fingerprint`, () => {
    assert.is.not(fingerprint(messages), fingerprint(base));
  });
}

const ambiguous: [name: string, one: Message[], another: Message[]][] = [
  ["two texts and their join", [user("a", "b")], [user("ab")]],
  ["texts cut elsewhere", [user("ab", "c")], [user("a", "bc")]],
  ["one message of two texts and two messages", [user("a", "b")], [user("a"), user("b")]],
  ["a text that spells out the form of two", [user("atext 1:b")], [user("a", "b")]],
  ["a text that spells out the form of an image", [user("b6d5f065798fd7807332a0543af02d202d0ba41924be8dfbceaad7e6b1d312d5")], [user(image("image/png", "AAAA"))]],
  ["an image's type and data cut elsewhere", [user(image("image/p", "ngAAAA"))], [user(image("image/png", "AAAA"))]],
  ["an empty message and none", [user("")], []],
  ["an empty text and no part", [user("")], [user()]],
];
for (const [name, one, another] of ambiguous) {
  test(`${name} differ`, () => {
    assert.is.not(fingerprint(one), fingerprint(another));
  });
}

test("an image that was changed in place has another fingerprint, and its old one when it is changed back", () => {
  const part = image("image/png", "AAAA");
  const before = fingerprint([user(part)]);
  for (const [mimeType, data] of [["image/gif", "AAAA"], ["image/png", "AAAB"]] as const) {
    Object.assign(part, { mimeType, data });
    assert.is.not(fingerprint([user(part)]), before);
    Object.assign(part, { mimeType: "image/png", data: "AAAA" });
    assert.is(fingerprint([user(part)]), before);
  }
});

test("a message whose parts are changed in place has another fingerprint", () => {
  const content: (TextPart | ImagePart)[] = [{ type: "text", text: "a" }, image("image/png", "AAAA")];
  const message: Message = { role: "user", content };
  const seen = [fingerprint([message])];
  const changes = [
    () => Object.assign(content[0]!, { text: "b" }),
    () => content.push({ type: "text", text: "c" }),
    () => (content[1] = { type: "text", text: "AAAA" }),
    () => (content[0] = image("image/png", "AAAA")),
    () => (message.content = "d"),
    () => (message.content = [{ type: "text", text: "e" }]),
  ];
  for (const change of changes) {
    change();
    seen.push(fingerprint([message]));
  }
  assert.is(new Set(seen).size, changes.length + 1);
  assert.is(fingerprint([message]), seen.at(-1));
});

test("messages that are inserted, left out or turned around change the fingerprint of those behind the same first one", () => {
  const [a, b, c] = [user("a"), user("b"), user("c")] as [Message, Message, Message];
  const orders = [[a, b, c], [a, c], [a, c, b], [a], [a, b], [a, b, b]];
  const expected = orders.map((messages) => fingerprint(structuredClone(messages)));
  for (let round = 0; round < 2; round++) assert.equal(orders.map(fingerprint), expected);
  assert.is(new Set(expected).size, orders.length);
});

test("known texts and images are not hashed again", () => {
  const long = (number: number): string => String(number).repeat(8_000_000);
  const messages = [user(image("image/png", long(1)), image("image/png", long(2))), user(long(3), long(4)), user(long(5))];
  const first = fingerprint(messages);
  const started = cpuTime();
  for (let again = 0; again < 20; again++) assert.is(fingerprint(messages), first);
  // Hashing them each time takes seconds.
  assert.ok(cpuTime() - started < 500);
});

test("a lone surrogate counts as the U+FFFD that is sent for it", () => {
  assert.is(fingerprint([user("a\ud83d")]), fingerprint([user("a\ufffd")]));
  assert.is.not(fingerprint([user("a\u{1f600}")]), fingerprint([user("a\ufffd\ufffd")]));
});

const TOOLS: Tool[] = [
  { name: "read", description: "Reads.", inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path", "x"] } },
  { name: "bash", description: "Runs.", inputSchema: { type: "object", default: null, minimum: 1.5, additionalProperties: false } },
];

test("a tool set's key is a SHA-256 in hex and stays as it is", () => {
  assert.is(toolsetKey([{ name: "t", description: "d", inputSchema: { b: [1, null, true], a: "x" } }]), "c06c777150251df4f2a6b4403c4469abd2a22415fca7a5a93852505f351352a5");
});

test("the order of tools does not matter", () => {
  assert.is(toolsetKey([...TOOLS].reverse()), toolsetKey(TOOLS));
});

test("the order of a schema's keys does not matter, that of a list does", () => {
  const [read, bash] = structuredClone(TOOLS) as [Tool, Tool];
  read.inputSchema = { required: ["path", "x"], properties: { path: { type: "string" } }, type: "object" };
  assert.is(toolsetKey([read, bash]), toolsetKey(TOOLS));
  read.inputSchema["required"] = ["x", "path"];
  assert.is.not(toolsetKey([read, bash]), toolsetKey(TOOLS));
});

test("a property that is undefined is none", () => {
  assert.is(toolsetKey([{ ...TOOLS[0]!, inputSchema: { ...TOOLS[0]!.inputSchema, title: undefined } }, TOOLS[1]!]), toolsetKey(TOOLS));
});

const changes: Record<string, Tool[]> = {
  "another name": [{ ...TOOLS[0]!, name: "cat" }, TOOLS[1]!],
  "another description": [{ ...TOOLS[0]!, description: "Reads" }, TOOLS[1]!],
  "another schema": [{ ...TOOLS[0]!, inputSchema: {} }, TOOLS[1]!],
  "null in place of a text": [TOOLS[0]!, { ...TOOLS[1]!, inputSchema: { ...TOOLS[1]!.inputSchema, default: "null" } }],
  "a tool less": [TOOLS[0]!],
  "a tool twice": [...TOOLS, TOOLS[0]!],
  "descriptions exchanged": [{ ...TOOLS[0]!, description: "Runs." }, { ...TOOLS[1]!, description: "Reads." }],
  "no tool": [],
};
for (const [name, tools] of Object.entries(changes)) {
  test(`${name} gives another key`, () => {
    assert.is.not(toolsetKey(tools), toolsetKey(TOOLS));
  });
}

test("a schema that holds itself, or a bigint, or keys of Object.prototype, has a key", () => {
  const circle: Record<string, unknown> = { big: 1n };
  circle["self"] = [circle];
  assert.match(toolsetKey([{ name: "t", description: "", inputSchema: circle }]), /^[0-9a-f]{64}$/);
  const own = JSON.parse('{"__proto__":{"a":1}}') as Record<string, unknown>;
  assert.is.not(toolsetKey([{ name: "t", description: "", inputSchema: own }]), toolsetKey([{ name: "t", description: "", inputSchema: {} }]));
});

test.run();
