/** Captures: reading, writing, recording and redacting them (DESIGN §8). */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentClientMessage, AgentServerMessage } from "../lib/agent/index.ts";
import { linesOfCapture } from "../lib/cli/capture.ts";
import { Failure } from "../lib/cli/failure.ts";
import { linesOf } from "../lib/cli/lines.ts";
import { Recorder } from "../lib/cli/record.ts";
import { redact, redactPayload } from "../lib/cli/redact.ts";
import { captureFrames } from "../lib/loopback/capture.ts";
import { frameLine, headerLine, RPC, type CapturedFrame, type CaptureLine } from "../lib/loopback/capture-line.ts";
import { ScriptError } from "../lib/loopback/index.ts";
import { decodeValue, encodeEnvelope, encodeValue, fields, type WireField } from "../wire/index.ts";
import { bytes, chunkings, hex, rejects } from "./check.ts";

const test = suite("cli capture");

const HEADER = { capture: 1, rpc: RPC, source: "synthetic", client: "c", note: "n" } as const;
const FRAME: CapturedFrame = { at: 3, from: "server", envelope: encodeEnvelope(0, bytes("0a00")) };

test("what is written is read back", async () => {
  assert.equal(await read(headerLine(HEADER) + frameLine(FRAME)), [
    { number: 1, header: HEADER },
    { number: 2, frame: FRAME },
  ]);
});

test("the lines have the documented form", () => {
  assert.is(headerLine(HEADER), '{"capture":1,"rpc":"agent.v1.AgentService/Run","source":"synthetic","client":"c","note":"n"}\n');
  assert.is(frameLine({ ...FRAME, at: 2.6 }), '{"at":3,"from":"server","envelope":"AAAAAAIKAA=="}\n');
});

test("line ends, blank lines, a byte order mark and unknown properties are read past", async () => {
  const text = `\ufeff${JSON.stringify({ ...HEADER, later: 1 })}\r\n\n${frameLine(FRAME).trim()}`;
  assert.equal(await read(text), [
    { number: 1, header: HEADER },
    { number: 3, frame: FRAME },
  ]);
});

test("lines do not depend on how the bytes are cut", async () => {
  const text = Buffer.from("ä\n\nbc\n€");
  for (const chunks of chunkings(text)) {
    const lines = [];
    for await (const line of linesOf(each(chunks), "x")) lines.push(line);
    assert.equal(lines, [
      { number: 1, text: "ä" },
      { number: 2, text: "" },
      { number: 3, text: "bc" },
      { number: 4, text: "€" },
    ]);
  }
});

test("a line over 24 MiB is refused before it is all held", async () => {
  let taken = 0;
  const chunks = (async function* () {
    for (; taken < 60; taken++) yield new Uint8Array(1 << 20);
  })();
  const error = await rejects(async () => {
    for await (const line of linesOf(chunks, "f")) assert.unreachable(String(line.number));
  });
  assert.is((error as Failure).code, "line_too_long");
  assert.match((error as Failure).message, "f:1: the line is over");
  assert.ok(taken < 30);
});

const BAD: [name: string, text: string, message: string][] = [
  ["nothing", "", "f: it is empty"],
  ["no JSON", "capture", "f:1: the line is no JSON; each line of a capture is an object"],
  ["brackets alone", "[".repeat(1001), "f:1: it holds more than 1000 values"],
  ["no object", "[1]", "f:1: the line is no JSON object"],
  ["null", "null", "f:1: the line is no JSON object"],
  ["no header", "{}", 'f:1: the first line has no "capture": 1'],
  ["a later version", '{"capture":2}', 'f:1: "capture" is 2; this version reads 1'],
  ["another RPC", '{"capture":1,"rpc":"x"}', `f:1: "rpc" is "x"; expected "${RPC}"`],
  ["no source", `{"capture":1,"rpc":"${RPC}"}`, 'f:1: "source" is missing; expected "live" or "synthetic"'],
  ["a note that is no text", headerLine({ ...HEADER, note: 1 as unknown as string }), 'f:1: "note" is 1; expected a string'],
  ["a client that is no text", headerLine({ ...HEADER, client: {} as string }), 'f:1: "client" is {}; expected a string'],
  ["a redaction that is neither true nor false", headerLine({ ...HEADER, redacted: "no" as unknown as boolean }), 'f:1: "redacted" is "no"; expected a boolean'],
  ["a frame in front of the header", frameLine(FRAME) + headerLine(HEADER), 'f:1: the first line has no "capture": 1'],
  ["a second header", headerLine(HEADER) + headerLine(HEADER), 'f:2: "at" is missing'],
  ["a frame without a time", frame({ at: undefined }), 'f:2: "at" is missing; expected milliseconds since the Run opened'],
  ["a negative time", frame({ at: -1 }), 'f:2: "at" is -1'],
  ["an endless time", frame({}).replace('"at":3', '"at":1e999'), 'f:2: "at" is null'],
  ["a frame of nobody", frame({ from: "me" }), 'f:2: "from" is "me"; expected "client" or "server"'],
  ["an envelope that is no text", frame({ envelope: 1 }), 'f:2: "envelope" is 1; expected the base64 of an envelope'],
  ["an envelope that is no base64", frame({ envelope: "AA!=" }), 'f:2: "envelope" is no canonical base64'],
  ["base64 without its padding", frame({ envelope: "AAAAAAIKAA" }), 'f:2: "envelope" is no canonical base64'],
  ["base64 with a gap", frame({ envelope: "AA=AAAAAIKAA" }), 'f:2: "envelope" is no canonical base64'],
  ["base64 with a blank", frame({ envelope: "AAAAAAIKAA= =" }), 'f:2: "envelope" is no canonical base64'],
  ["base64 with stray bits behind its last byte", frame({ envelope: "AAAAAAIKAB==" }), 'f:2: "envelope" is no canonical base64'],
  ["base64 of URLs", frame({ envelope: "AAAAAAIK-w==" }), 'f:2: "envelope" is no canonical base64'],
  ["an envelope without a whole header", frame({ envelope: "AAAA" }), "f:2: the envelope has 3 bytes; its header alone takes 5"],
  ["an envelope of another length", frame({ envelope: "AAAAAAMKAA==" }), "f:2: the envelope declares 3 bytes and holds 2"],
];
for (const [name, text, message] of BAD)
  test(`the command and the host refuse ${name}, in the same words`, async () => {
    const error = await rejects(read(text));
    assert.instance(error, Failure);
    assert.is((error as Failure).code, "capture_invalid");
    assert.ok((error as Failure).message.startsWith(message), (error as Failure).message);
    assert.ok((error as Failure).nextStep);
    const played = await rejects(captureFrames(text, "f"));
    assert.instance(played, ScriptError);
    assert.is((played as ScriptError).message, (error as Failure).message);
  });

test("reserved flags are read: a capture shows what a bad peer sent", async () => {
  for (const flags of [1, 3, 4, 0x80, 0xff]) {
    const frame: CapturedFrame = { ...FRAME, envelope: encodeEnvelope(flags, bytes("ff")) };
    assert.equal((await read(headerLine(HEADER) + frameLine(frame)))[1], { number: 2, frame });
    assert.equal(await captureFrames(headerLine(HEADER) + frameLine(frame), "f"), [frame]);
  }
});

test("a frame of 16 MiB is read", async () => {
  const [, line] = await read(headerLine(HEADER) + frameLine({ ...FRAME, envelope: encodeEnvelope(0, new Uint8Array(16 << 20)) }));
  assert.is((line as { frame: CapturedFrame }).frame.envelope.length, (16 << 20) + 5);
});

test("a recorder writes one Run a file, for its owner only", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cli-record-"));
  try {
    const opener: CapturedFrame = { at: 0, from: "client", envelope: encodeEnvelope(0, bytes("0a00")) };
    const recorder = new Recorder(join(folder, "a.b.jsonl"), { source: "synthetic" });
    for (const one of [opener, FRAME, opener, FRAME, FRAME]) recorder.frame(one);
    recorder.close();
    assert.equal(recorder.files, [join(folder, "a.b.jsonl"), join(folder, "a.b.2.jsonl")]);
    assert.equal((await read(readFileSync(recorder.files[0]!, "utf8"))).length, 3);
    assert.equal((await read(readFileSync(recorder.files[1]!, "utf8"))).length, 4);
    assert.is(statSync(recorder.files[0]!).mode & 0o777, 0o600);
    const plain = new Recorder(join(folder, "plain"), { source: "synthetic" });
    for (const one of [opener, opener]) plain.frame(one);
    plain.close();
    assert.is(plain.files[1], join(folder, "plain.2"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

if (existsSync("/dev/full"))
  test("a disk that is full is told when the recording is checked", () => {
    assert.throws(() => new Recorder("/dev/full", { source: "live" }), (error: Failure) => error.code === "file_unwritable" && /no space left/.test(error.message));
  });

if (process.platform !== "win32")
  test("a limit that falls inside the last line is told when the recording is checked", () => {
    const folder = mkdtempSync(join(tmpdir(), "cli-capture-"));
    try {
      const program = `
        import { Recorder } from ${JSON.stringify(new URL(`../lib/cli/record.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url))};
        const recorder = new Recorder(${JSON.stringify(join(folder, "r.jsonl"))}, { source: "synthetic" });
        recorder.frame({ at: 0, from: "server", envelope: new Uint8Array(9000) });
        recorder.close();
        try {
          recorder.check();
        } catch ({ code }) {
          console.log(code);
        }`;
      const said = execFileSync("sh", ["-c", 'ulimit -f 4; exec "$@"', "sh", process.execPath, "--input-type=module", "-e", program], { encoding: "utf8" });
      assert.is(said, "file_unwritable\n");
      assert.ok(statSync(join(folder, "r.jsonl")).size > 1000, "a part is written");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

test("a recorder that cannot write says so before anything is sent", () => {
  try {
    new Recorder(join(tmpdir(), "no-such-folder-here", "x.jsonl"), { source: "live" });
    assert.unreachable("written");
  } catch (error) {
    assert.is((error as Failure).code, "file_unwritable");
  }
});

const SECRET = "sécret";
const FILLED = "x".repeat(Buffer.from(SECRET).length);
const text = { interactionUpdate: { textDelta: { text: SECRET } } };

/** A call whose argument `a` is a Value of these bytes. */
function argument(value: string): Uint8Array {
  return AgentServerMessage.encode({ execServerMessage: { id: 1, mcpArgs: { args: new Map([["a", bytes(value)]]) } } });
}

const REDACTED: [name: string, from: "client" | "server", payload: Uint8Array, expected: Uint8Array][] = [
  ["text", "server", AgentServerMessage.encode(text), AgentServerMessage.encode({ interactionUpdate: { textDelta: { text: FILLED } } })],
  [
    "arguments but not their names, ids, tools and numbers",
    "server",
    call(SECRET, "name", 1),
    call(FILLED, "name", 1),
  ],
  [
    "the user's text and the workspace but not model and ids",
    "client",
    opener(SECRET),
    opener(FILLED),
  ],
  ["an unknown text", "server", bytes("4a026869"), bytes("4a027878")],
  ["an unknown text in an unknown message", "server", bytes("4a050a03616263"), bytes("4a050a03787878")],
  ["a text in an unknown group", "server", bytes("4b0a036162634c"), bytes("4b0a037878784c")],
  ["nothing of unknown numbers and bytes", "server", bytes("48054a02ff00"), bytes("48054a02ff00")],
  ["what a Value holds beside its kind", "server", argument("4a026869"), argument("4a027878")],
  ["a group in a Value", "server", argument("4b0a0361626b4c"), argument("4b0a037878784c")],
  ["what a Struct holds beside its fields", "server", argument("2a044a026869"), argument("2a044a027878")],
  ["what an entry holds beside key and value", "server", argument("2a090a070a016b1a026869"), argument("2a090a070a016b1a027878")],
  ["what a list holds beside its values", "server", argument("32044a026869"), argument("32044a027878")],
  ["the strings of lists in objects, but no keys", "server", argument("2a110a0f0a016b120a32080a061a0461626364"), argument("2a110a0f0a016b120a32080a061a0478787878")],
  ["a blob that is JSON, and leaves it JSON", "client", blob(`{"role":"user","content":[{"type":"text","text":"a\\"b${SECRET}"}, "c" ],"n":1}`), blob(`{"role":"user","content":[{"type":"text","text":"xxxx${FILLED}"}, "x" ],"n":1}`)],
  ["a blob that is other text", "client", blob(`no json ${SECRET}`), blob("x".repeat(8) + FILLED)],
  ["nothing of a blob that is no text", "client", blob("\u0000\u0001"), blob("\u0000\u0001")],
  ["all of what can't be read", "server", bytes("0a05ffff"), bytes("78787878")],
];
for (const [name, from, payload, expected] of REDACTED)
  test(`redacts ${name}`, () => {
    const frame = redact({ at: 1, from, envelope: encodeEnvelope(0, payload) });
    assert.is(hex(frame.envelope), hex(encodeEnvelope(0, expected)));
    assert.is(frame.at, 1);
  });

test("a redacted frame has the structure of the original", () => {
  for (const payload of [AgentServerMessage.encode(text), call(SECRET, "t", 1)]) {
    const copy = payload.slice();
    redactPayload(copy, "server");
    assert.equal(shape(fields(copy)), shape(fields(payload)));
  }
});

test("redaction does not touch the frame it was given", () => {
  const envelope = encodeEnvelope(0, AgentServerMessage.encode(text));
  const before = hex(envelope);
  redact({ at: 0, from: "server", envelope });
  assert.is(hex(envelope), before);
});

test("an end-stream stays, a compressed payload is filled", () => {
  const end = { at: 0, from: "server", envelope: encodeEnvelope(2, Buffer.from('{"error":{"code":"internal"}}')) } as const;
  assert.equal(redact(end), end);
  assert.is(hex(redact({ ...end, envelope: encodeEnvelope(1, bytes("0102")) }).envelope), "01000000027878");
});

test("nested values are redacted to the depth that the codec reads, and filled beyond", () => {
  let deep: unknown = SECRET;
  for (let depth = 0; depth < 30; depth++) deep = depth % 2 === 0 ? [deep] : { k: deep };
  const payload = call(deep, "t", 1);
  redactPayload(payload, "server");
  const args = AgentServerMessage.decode(payload).execServerMessage!.mcpArgs!.args!.get("a")!;
  assert.match(JSON.stringify(decodeValue(args)), FILLED);
  const groups = bytes("4b".repeat(300) + "4c".repeat(300));
  redactPayload(groups, "server");
  assert.is(hex(groups), "78".repeat(600));
});

test.run();

async function read(content: string): Promise<CaptureLine[]> {
  const found: CaptureLine[] = [];
  for await (const line of linesOfCapture(each([Buffer.from(content)]), "f")) found.push(line);
  return found;
}

function frame(change: Record<string, unknown>): string {
  return headerLine(HEADER) + JSON.stringify({ ...JSON.parse(frameLine(FRAME)), ...change });
}

function call(value: unknown, tool: string, id: number): Uint8Array {
  return AgentServerMessage.encode({ execServerMessage: { id, mcpArgs: { name: tool, args: new Map([["a", encodeValue(value)], ["n", encodeValue(5)]]), toolCallId: "call", toolName: tool } } });
}

function opener(secret: string): Uint8Array {
  return AgentClientMessage.encode({
    runRequest: {
      conversationState: { previousWorkspaceUris: [secret] },
      action: { userMessageAction: { userMessage: { text: secret, messageId: "id" } } },
      mcpTools: { mcpTools: [{ name: "tool", description: secret, inputSchema: encodeValue({ type: secret, n: [secret, 1, true] }), toolName: "tool" }] },
      conversationId: "conversation",
      requestedModel: { modelId: "model" },
    },
  });
}

function blob(content: string): Uint8Array {
  return AgentClientMessage.encode({ kvClientMessage: { id: 1, getBlobResult: { blobData: Buffer.from(content) } } });
}

function shape(list: readonly WireField[]): unknown {
  return list.map(({ no, type, raw }) => [no, type, raw!.length]);
}

async function* each(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
