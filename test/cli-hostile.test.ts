/** Frames that ask more work of the command than their bytes are worth. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentServerMessage, blobId, hex } from "../lib/agent/index.ts";
import { jsonLine, printable } from "../lib/cli/printable.ts";
import { recordedRequest } from "../lib/cli/recorded-request.ts";
import type { Recording } from "../lib/cli/recording.ts";
import { redactPayload } from "../lib/cli/redact.ts";
import { showMessage, type Extent, type Shown } from "../lib/cli/shown.ts";
import { parseJson } from "../lib/loopback/json.ts";
import { promptMessage } from "../lib/loopback/verify.ts";
import { LIMITS } from "../wire/index.ts";
import { written, type Writer } from "../wire/writer.ts";
import { cli } from "./cli-spawn.ts";
import { cpuTime } from "./cpu-time.ts";

const test = suite("cli hostile");

const MIB = 1024 * 1024;
const EXTENT: Extent = { fields: 2000, text: 200, bytes: 48 };
const LEVELS = 94;
/** Field 1000, which no table knows. */
const TAG = { length: 8002, group: 8003, groupEnd: 8004 } as const;

/** Bytes in a field in a field, `levels` deep. */
function nested(inside: Uint8Array, levels = LEVELS): Uint8Array {
  const wrap = (writer: Writer, left: number): void => {
    if (left === 0) return void writer.raw(inside);
    writer.tag(TAG.length);
    const start = writer.open();
    wrap(writer, left - 1);
    writer.close(start);
  };
  return written(wrap, levels);
}

function inGroups(inside: Uint8Array): Uint8Array {
  return written((writer: Writer, levels: number) => {
    for (let level = 0; level < levels; level++) writer.tag(TAG.group);
    writer.raw(inside);
    for (let level = 0; level < levels; level++) writer.tag(TAG.groupEnd);
  }, LEVELS);
}

/** Fields 15, which no table knows, of a varint each. */
function tiny(bytes: number): Uint8Array {
  return new Uint8Array(Buffer.alloc(bytes, Uint8Array.of(0x78, 1)));
}

/** The innermost field, and how deep it lies. */
function innermost([field]: readonly Shown[], depth = 1): { field: Shown; depth: number } {
  return field!.fields === undefined ? { field: field!, depth } : innermost(field!.fields, depth + 1);
}

function spent(run: () => void): number {
  const start = cpuTime();
  run();
  return cpuTime() - start;
}

test("the bytes of a frame are looked at eight times, then they stay opaque and say so", () => {
  const { field, depth } = innermost(showMessage(nested(new Uint8Array(MIB).fill(0xff)), undefined, EXTENT).fields);
  assert.equal([field.unread, field.hex!.length, depth], [true, 96, 9]);
});

test("a small frame is gone into as deep as it nests", () => {
  const { field, depth } = innermost(showMessage(nested(Uint8Array.of(0xff)), undefined, EXTENT).fields);
  assert.equal([field.unread, field.hex, depth], [undefined, "ff", LEVELS]);
});

test("inspect says what was not looked into", async () => {
  const { stdout } = await cli(["inspect"], { input: nested(new Uint8Array(MIB).fill(0xff)) });
  assert.match(stdout, / 1000 length \d+ bytes, not looked into [0-9a-f]{96} … \d+ more bytes\n/);
});

test("redaction masks what it may not look at, and keeps the frame's structure", () => {
  const payload = nested(new Uint8Array(MIB).fill(0xff));
  const before = payload.length;
  redactPayload(payload, "server");
  assert.equal([payload.length, payload.includes(0xff), payload.at(-1)], [before, false, 0x78]);
  assert.is(innermost(showMessage(payload, undefined, EXTENT).fields).depth, 9);
});

test("groups are read once, however deep they nest", () => {
  const payload = inGroups(tiny(4 * MIB));
  assert.ok(spent(() => redactPayload(payload, "server")) < 800);
});

test("a walk through tiny fields takes time by the byte", () => {
  const payload = tiny(MIB);
  assert.ok(spent(() => redactPayload(payload, "server")) < 600);
});

/** Fields that no table knows, which cost most to tell from text or from a message. */
const UNITS = { "messages in messages": "22051a03120161", "neither text nor message": "7a01ff", text: "7a0161", "empty groups": "4b4c", nothing: "7a00", "text beside JSON": "22061a040a027b7d" };
for (const [name, unit] of Object.entries(UNITS))
  test(`guessing at many small fields takes time by the byte: ${name}`, () => {
    const unitBytes = Buffer.from(unit, "hex");
    const payload = (bytes: number): Uint8Array => new Uint8Array(Buffer.alloc(Math.floor(bytes / unitBytes.length) * unitBytes.length, unitBytes));
    assert.ok(spent(() => redactPayload(payload(MIB / 2), "server")) < 700);
    assert.ok(spent(() => showMessage(payload(MIB / 8), undefined, { ...EXTENT, fields: LIMITS.elements })) < 500);
  });

test("inspect --full shows as many fields as a message may have elements", async () => {
  const { stdout } = await cli(["inspect", "--full", "--as", "server"], { input: tiny(2 * LIMITS.elements + 2) });
  assert.is(stdout.split("\n").filter((line) => line.startsWith("  15 varint 1")).length, LIMITS.elements);
  assert.match(stdout, /  … more fields than 131072\n$/);
});

test("each unit of a text is shown as it may be on a terminal", () => {
  const all = String.fromCharCode(...Array(0x10000).keys());
  const plain = (text: string): string => text.replace(/[\u0000-\u0008\u000b-\u001f]/g, (unit) => String.fromCharCode(0x2400 + unit.charCodeAt(0)));
  assert.is(printable(all), plain(all).replace("\x7f", "\u2421").replace(/[\x80-\x9f]/g, "\ufffd"));
  const line = jsonLine(all);
  assert.is(JSON.parse(line), all);
  assert.is(line.replace(/\\u(00[789]\w|202[89])/g, "").match(/[\x7f-\x9f\u2028\u2029]/), null);
  assert.match(line, "\\u007f\\u0080");
  assert.is(jsonLine("é\u2028"), '"é\\u2028"');
});

test("control characters cost no more than a text's length", () => {
  assert.ok(spent(() => printable("\u0001".repeat(2 * MIB))) < 500);
  assert.ok(spent(() => jsonLine("\u007f".repeat(MIB))) < 400);
});

/** A list in a prompt's message with one value too many. */
const MANY = `{"content":[${"0,".repeat(LIMITS.elements)}0]}`;
/** Brackets that JSON.parse takes seconds for. */
const BRACKETS = "[".repeat(16 * MIB);

test("the values of JSON are counted outside of its strings, and before it is parsed", () => {
  assert.equal(parseJson('{"a":"[\\"[,[","b":[]}', 3), { a: '["[,[', b: [] });
  assert.throws(() => parseJson('{"a":"[\\"[,[","b":[]}', 2), /^it holds more than 2 values$/);
  for (const text of ['"', '["\\', "[", ""]) assert.throws(() => parseJson(text, 9), (error: Error) => error.name === "SyntaxError");
  assert.ok(spent(() => assert.throws(() => parseJson(BRACKETS, LIMITS.elements))) < 500);
});

test("a blob of too many values is masked whole, and is no root prompt", () => {
  const payload = AgentServerMessage.encode({ kvServerMessage: { setBlobArgs: { blobData: Buffer.from(MANY) } } });
  redactPayload(payload, "server");
  assert.is(Buffer.from(payload).includes("content"), false);
  assert.equal(promptMessage(Buffer.from(MANY)), { wrong: "a root prompt message is no UTF-8 JSON (§3)" });
});

test("rules of brackets alone are not looked for in a recorded blob", () => {
  const blob = Buffer.from(BRACKETS);
  const request = { conversationState: { rootPromptMessagesJson: [blobId(blob)] } };
  const recording = { request, tools: [], blobs: new Map([[hex(blobId(blob)), blob]]) } as unknown as Recording;
  assert.ok(spent(() => assert.is(recordedRequest(recording).request.systemPrompt, "")) < 1_500);
});

test.run();
