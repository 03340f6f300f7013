/** Captures: reading, writing and recording them (DESIGN §8). */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { linesOfCapture } from "../lib/cli/capture.ts";
import { Failure } from "../lib/cli/failure.ts";
import { linesOf } from "../lib/cli/lines.ts";
import { Recorder } from "../lib/cli/record.ts";
import { captureFrames } from "../lib/loopback/capture.ts";
import { frameLine, headerLine, RPC, type CapturedFrame, type CaptureLine } from "../lib/loopback/capture-line.ts";
import { ScriptError } from "../lib/loopback/index.ts";
import { encodeEnvelope } from "../wire/index.ts";
import { bytes, chunkings, rejects } from "./check.ts";

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

test.run();

async function read(content: string): Promise<CaptureLine[]> {
  const found: CaptureLine[] = [];
  for await (const line of linesOfCapture(each([Buffer.from(content)]), "f")) found.push(line);
  return found;
}

function frame(change: Record<string, unknown>): string {
  return headerLine(HEADER) + JSON.stringify({ ...JSON.parse(frameLine(FRAME)), ...change });
}

async function* each(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
