/** The prompt: rules, the replayed history, and the current turn. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { LIMITS } from "../lib/agent/limits.ts";
import { CursorError } from "../lib/session/errors.ts";
import { historyBlobs, rulesBlob, userText } from "../lib/session/prompt.ts";
import { wellFormedJson } from "../lib/session/surrogates.ts";
import type { Diagnostic, ImagePart, Message, TextPart, UserMessage } from "../lib/session/turn.ts";
import { cpuTime } from "./cpu-time.ts";
import { hex } from "./check.ts";

const test = suite("prompt");
const decoder = new TextDecoder("utf-8", { fatal: true });

interface Replay {
  messages: { role: string; content: Record<string, unknown>[] }[];
  diagnostics: Diagnostic[];
}
function replay(history: Message[]): Replay {
  const diagnostics: Diagnostic[] = [];
  const blobs = historyBlobs(history, (diagnostic) => diagnostics.push(diagnostic));
  return { messages: blobs.map((blob) => JSON.parse(decoder.decode(blob))), diagnostics };
}
function text(words: string): TextPart {
  return { type: "text", text: words };
}
function png(data = "iVBORw0KGgo="): ImagePart {
  return { type: "image", mimeType: "image/png", data };
}
/** A conversation of one call whose result is `content`. */
function called(content: (TextPart | ImagePart)[], isError?: boolean): Message[] {
  return [
    { role: "user", content: "go" },
    { role: "assistant", content: [{ type: "tool_call", id: "c1", name: "read", arguments: { path: "a" } }] },
    { role: "tool", toolCallId: "c1", toolName: "read", content, ...(isError !== undefined && { isError }) },
  ];
}
/** The replayed result of {@link called}. */
function result(content: (TextPart | ImagePart)[], isError?: boolean): Record<string, unknown> {
  return replay(called(content, isError)).messages[2]!.content[0]!;
}

test("E1 the rules are a user message between tags", () => {
  assert.equal(JSON.parse(decoder.decode(rulesBlob("Use \"read\".\n"))), {
    role: "user",
    content: [{ type: "text", text: '<rules>\nUse "read".\n\n</rules>' }],
  });
});

test("a whole conversation is replayed, a blob a message", () => {
  const { messages, diagnostics } = replay([
    ...called([text("content")]),
    { role: "assistant", content: [{ type: "thinking", text: "hm" }, text("done")] },
  ]);
  assert.equal(messages, [
    { role: "user", content: [{ type: "text", text: "<user_query>\ngo\n</user_query>" }] },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "mcp_pi_read", args: { path: "a" } }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "mcp_pi_read", result: "content" }] },
    { role: "assistant", content: [{ type: "text", text: "done" }] },
  ]);
  assert.equal(diagnostics, []);
});

test("nothing is replayed of nothing", () => {
  assert.equal(replay([]).messages, []);
});

test("an assistant's words and calls keep their order; thinking and blank texts go", () => {
  const { messages } = replay([
    { role: "assistant", content: [text("a"), { type: "tool_call", id: "1", name: "x", arguments: {} }, { type: "thinking", text: "t" }, text(" \n"), text("b ")] },
  ]);
  assert.equal(messages[0]!.content.map(({ type, text: words }) => words ?? type), ["a", "tool-call", "b "]);
});

test("D15 three finished calls are replayed next to their results, ids equal, once each", () => {
  const call = (id: string) => ({ type: "tool_call" as const, id, name: "bash", arguments: {} });
  const answer = (id: string): Message => ({ role: "tool", toolCallId: id, toolName: "bash", content: [text(`of ${id}`)] });
  const { messages } = replay([
    { role: "user", content: "go" },
    { role: "assistant", content: [call("a|1"), call("b\n2"), call("c")] },
    answer("c"),
    answer("a|1"),
    answer("b\n2"),
    answer("a|1"),
  ]);
  assert.equal(messages[1]!.content.map(({ toolCallId }) => toolCallId), ["a_1", "b_2", "c"]);
  assert.equal(messages.slice(2).map(({ content: [part] }) => [part!["toolCallId"], part!["result"]]), [["a_1", "of a|1"], ["b_2", "of b\n2"], ["c", "of c"]]);
});

test("a call that was never answered is replayed with an error", () => {
  const { messages } = replay(called([]).slice(0, 2));
  assert.equal(messages[2], {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "c1", toolName: "mcp_pi_read", result: "No result provided", isError: true }],
  });
});

test("ids of 450 characters with | come out clean and distinct", () => {
  const long = "fc_".padEnd(449, "|x");
  const { messages } = replay([
    { role: "assistant", content: ["1", "2"].map((end) => ({ type: "tool_call", id: long + end, name: "x", arguments: {} })) },
    { role: "tool", toolCallId: `${long}2`, toolName: "x", content: [text("two")] },
  ]);
  const ids = messages[0]!.content.map(({ toolCallId }) => toolCallId as string);
  for (const id of ids) assert.match(id, /^[A-Za-z0-9_-]{1,64}$/);
  assert.is(new Set(ids).size, 2);
  assert.is(messages[2]!.content[0]!["toolCallId"], ids[1]);
  assert.is(messages[2]!.content[0]!["result"], "two");
});

for (const [name, replayed] of [["fs.read file", "fs_read_file"], ["\u8bfb", "_"], ["x".repeat(80), "x".repeat(64)], ["ok-1_A", "ok-1_A"]] as const) {
  test(`the foreign tool name ${name.slice(0, 20)} is replayed clean, in call and result`, () => {
    const { messages } = replay([
      { role: "assistant", content: [{ type: "tool_call", id: "1", name, arguments: {} }] },
      { role: "tool", toolCallId: "1", toolName: "renamed meanwhile", content: [] },
    ]);
    assert.is(messages[0]!.content[0]!["toolName"], `mcp_pi_${replayed}`);
    assert.is(messages[1]!.content[0]!["toolName"], `mcp_pi_${replayed}`);
  });
}

for (const [name, part] of [["absent", undefined], ["false", false], ["true", true]] as const) {
  test(`isError ${name} is replayed as it is`, () => {
    assert.is(result([text("x")], part)["isError"], part || undefined);
  });
}

test("arguments keep keys of Object.prototype and nested nulls", () => {
  const history = called([]);
  const args = JSON.parse('{"__proto__":{"a":null},"constructor":1,"list":[null,{}]}') as Record<string, unknown>;
  (history[1]!.content[0] as { arguments: unknown }).arguments = args;
  const [blob] = historyBlobs(history.slice(1, 2), () => {});
  assert.match(decoder.decode(blob), '"args":{"__proto__":{"a":null},"constructor":1,"list":[null,{}]}');
});

test("arguments that are no JSON are replayed empty, with a diagnostic", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const { messages, diagnostics } = replay([{ role: "assistant", content: [{ type: "tool_call", id: "1", name: "x", arguments: circle }] }]);
  assert.equal(messages[0]!.content[0]!["args"], {});
  assert.equal(diagnostics.map(({ type }) => type), ["history"]);
});

test("lone surrogates are replaced everywhere, pairs and spelled-out escapes stay", () => {
  const { messages } = replay([
    { role: "user", content: "a\ud83d b\u{1f600} \\ud83d" },
    { role: "assistant", content: [{ type: "tool_call", id: "1", name: "x", arguments: { "k\udc00": ["\udfff\ud800", "\\\ud83d", "\u0001\"\\u"] } }] },
    { role: "tool", toolCallId: "1", toolName: "x", content: [text("r\ud83d")] },
  ]);
  assert.is(messages[0]!.content[0]!["text"], "<user_query>\na\ufffd b\u{1f600} \\ud83d\n</user_query>");
  assert.equal(messages[1]!.content[0]!["args"], { "k\ufffd": ["\ufffd\ufffd", "\\\ufffd", "\u0001\"\\u"] });
  assert.is(messages[2]!.content[0]!["result"], "r\ufffd");
});

for (const value of ["\ud800", "\udbff", "\udc00", "\udfff", "\ud7ff", "\ue000", "\\ud800", "\\\\ud800", "\\\ud800", "\"\udc00\""]) {
  test(`${JSON.stringify(value)} is well-formed JSON afterwards`, () => {
    const json = wellFormedJson([value]);
    assert.equal(JSON.parse(json), [value.replace(/[\ud800-\udfff]/gu, "\ufffd")]);
  });
}

test("a text of escapes beside a spelled-out one costs its length", () => {
  const value = `${"\n".repeat(4 * 1024 * 1024)}\\ud800 ${"\\".repeat(1024 * 1024)}\ud800`;
  const started = cpuTime();
  assert.is(JSON.parse(wellFormedJson(value)), value.replace(/\ud800$/, "\ufffd"));
  assert.ok(cpuTime() - started < 1_500);
});

test("a result of 20,000 characters is replayed whole", () => {
  const whole = "x".repeat(LIMITS.replayText);
  const { messages, diagnostics } = replay(called([text(whole)]));
  assert.is(messages[2]!.content[0]!["result"], whole);
  assert.equal(diagnostics, []);
});

test("a longer result is cut to 20,000 characters, with a marker and a diagnostic", () => {
  const { messages, diagnostics } = replay(called([text("x".repeat(19_000)), text("y".repeat(1_000))]));
  const replayed = messages[2]!.content[0]!["result"] as string;
  assert.is(replayed.length, LIMITS.replayText);
  assert.ok(replayed.startsWith("x".repeat(19_000)));
  assert.match(replayed, /y\n\[truncated: the result had 20001 characters\]$/);
  assert.equal(diagnostics.map(({ type, tool, chars }) => ({ type, tool, chars })), [{ type: "truncation", tool: "read", chars: 20_001 }]);
});

test("a cut never splits a pair", () => {
  for (const lead of ["", "x"]) {
    const replayed = result([text(lead + "\u{1f600}".repeat(20_000))])["result"] as string;
    assert.not.match(replayed, "\ufffd");
    assert.ok(replayed.length > LIMITS.replayText - 2 && replayed.length <= LIMITS.replayText);
  }
});

test("E16 5 MB of output are replayed cut, at once", () => {
  // The best of five: other work on the machine is no fault.
  const times = Array.from({ length: 5 }, () => {
    const content = [text("x".repeat(5_000_000))];
    const started = cpuTime();
    assert.is((result(content)["result"] as string).length, LIMITS.replayText);
    return cpuTime() - started;
  });
  assert.ok(Math.min(...times) < 100, `${times}`);
});

test("a user's and an assistant's words are never cut", () => {
  const long = "x".repeat(100_000);
  const { messages } = replay([{ role: "user", content: long }, { role: "assistant", content: [text(long)] }]);
  assert.is((messages[0]!.content[0]!["text"] as string).length, "<user_query>\n\n</user_query>".length + 100_000);
  assert.is(messages[1]!.content[0]!["text"], long);
});

test("E8 a historical image is a data URL behind the text", () => {
  const { messages } = replay([{ role: "user", content: [png(), text("look"), { ...png("AAAA"), mimeType: "IMAGE/GIF" }] }]);
  assert.equal(messages[0]!.content, [
    { type: "text", text: "<user_query>\nlook\n</user_query>" },
    { type: "image", image: "data:image/png;base64,iVBORw0KGgo=" },
    { type: "image", image: "data:image/gif;base64,AAAA" },
  ]);
});

test("E8 a historical message of an image alone has no empty text", () => {
  assert.equal(replay([{ role: "user", content: [png()] }]).messages[0]!.content, [{ type: "image", image: "data:image/png;base64,iVBORw0KGgo=" }]);
});

for (const content of ["", [], [text("")]] as const) {
  test(`an empty user message, ${JSON.stringify(content)}, is replayed empty`, () => {
    assert.equal(replay([{ role: "user", content: content as UserMessage["content"] }]).messages[0]!.content, [{ type: "text", text: "<user_query>\n\n</user_query>" }]);
  });
}

test("E8 a result's images keep their order beside its text", () => {
  assert.equal(result([png(), text("two images"), png("AAAA")]), {
    type: "tool-result",
    toolCallId: "c1",
    toolName: "mcp_pi_read",
    result: "two images",
    experimental_content: [
      { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
  });
});

test("E8 a result of an image alone has an empty text", () => {
  const part = result([png()]);
  assert.is(part["result"], "");
  assert.is((part["experimental_content"] as unknown[]).length, 1);
});

test("E8 an image that can not be sent leaves a note and a diagnostic, in user and result", () => {
  const bad: ImagePart = { type: "image", mimeType: "image/tiff", data: "AAAA" };
  const { messages, diagnostics } = replay([...called([text("out"), png("?")]), { role: "user", content: [text("look"), bad, png()] }]);
  assert.is(messages[2]!.content[0]!["result"], "out\n[image omitted: its base64 data is corrupt]");
  assert.not.ok("experimental_content" in messages[2]!.content[0]!);
  assert.is(messages[3]!.content[0]!["text"], '<user_query>\nlook\n[image omitted: the type "image/tiff" is not supported]\n</user_query>');
  assert.is(messages[3]!.content.length, 2);
  assert.equal(diagnostics.map(({ type, reason }) => [type, reason]), [["image", "corrupt"], ["image", "unsupported"]]);
});

test("images that would make a blob too large leave notes; those that fit stay", () => {
  const half = Buffer.alloc(6 * 1024 * 1024).toString("base64");
  const diagnostics: Diagnostic[] = [];
  const [blob] = historyBlobs([{ role: "user", content: [png(half), png(half), png(half), png("AAAA")] }], (diagnostic) => diagnostics.push(diagnostic));
  assert.ok(blob!.length <= LIMITS.blob);
  const { content } = JSON.parse(decoder.decode(blob)) as { content: { type: string; text?: string }[] };
  assert.equal(content.map(({ type }) => type), ["text", "image", "image"]);
  assert.match(content[0]!.text!, "[image omitted: it is too large to be replayed]");
  assert.equal(diagnostics.map(({ reason }) => reason), ["oversize", "oversize"]);
});

test("an image over 16 MiB in the history leaves a note: an old turn must not end the session", () => {
  const { messages } = replay([{ role: "user", content: [png(Buffer.alloc(LIMITS.blob + 1).toString("base64"))] }]);
  assert.match(messages[0]!.content[0]!["text"] as string, "[image omitted: it is larger than 16777216 bytes]");
});

function turn(...users: UserMessage["content"][]): ReturnType<typeof userText> & { diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  return { ...userText(users.map((content) => ({ role: "user", content })), (diagnostic) => diagnostics.push(diagnostic)), diagnostics };
}

for (const words of ["hi", "", "  \n", "<rules>\nx\n</rules>", "line\r\nline\n", "\u{1f600}"]) {
  test(`E2 the text ${JSON.stringify(words)} is sent exactly`, () => {
    assert.is(turn(words).text, words);
    assert.is(turn([text(words)]).text, words);
  });
}

test("E14 several trailing user messages are one text, in order, with all their images", () => {
  const { text: words, images } = turn("first", [png("AAAA"), text("second")], "", [text("third"), png("AQID")]);
  assert.is(words, "first\n\nsecond\n\nthird");
  assert.equal(images.map(({ data }) => hex(data)), ["000000", "010203"]);
});

test("the text parts of one message are joined by line breaks", () => {
  assert.is(turn([text("a"), png(), text(""), text("b")]).text, "a\nb");
});

test("no user message is an empty text", () => {
  assert.equal(turn(), { text: "", images: [], diagnostics: [] });
});

test("E8 an image alone is sent as its bytes with an empty text", () => {
  const { text: words, images, diagnostics } = turn([png()]);
  assert.is(words, "");
  assert.is(hex(images[0]!.data), "89504e470d0a1a0a");
  assert.is(images[0]!.mimeType, "image/png");
  assert.equal(diagnostics, []);
});

test("E8 a live image that can not be sent is named in the text", () => {
  const { text: words, images, diagnostics } = turn([text("look"), { type: "image", mimeType: "image/tiff", data: "AAAA" }, png("A"), png()]);
  assert.is(words, 'look\n[image omitted: the type "image/tiff" is not supported]\n[image omitted: its base64 data is corrupt]');
  assert.is(images.length, 1);
  assert.equal(diagnostics.map(({ type, reason }) => [type, reason]), [["image", "unsupported"], ["image", "corrupt"]]);
});

test("E8 a live image over 16 MiB fails the turn before anything is sent", () => {
  try {
    turn([png(Buffer.alloc(LIMITS.blob + 1).toString("base64"))]);
  } catch (error) {
    assert.instance(error, CursorError);
    const { kind, code, message, nextStep } = error as CursorError;
    assert.equal({ kind, code, nextStep }, { kind: "local", code: "image_too_large", nextStep: "Attach a smaller image." });
    assert.match(message, "16777216 bytes");
    return;
  }
  assert.unreachable();
});

test.run();
