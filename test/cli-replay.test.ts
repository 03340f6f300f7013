/** `replay`: recorded Runs through the session core (DESIGN §5), and every capture of the fixtures. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { list, readText } from "../fixtures/load.ts";
import { AgentClientMessage, AgentServerMessage } from "../lib/agent/index.ts";
import { frameLine, headerLine, type CapturedFrame } from "../lib/loopback/capture-line.ts";
import { readRecording, type Recording } from "../lib/cli/recording.ts";
import { check } from "../lib/cli/replay-check.ts";
import { replayRun, type Replayed } from "../lib/cli/replay-run.ts";
import { createProvider, type Tool, type ToolCallPart, type ToolMessage, type TurnEvent } from "../lib/index.ts";
import { startLoopback, type Script } from "../lib/loopback/index.ts";
import { encodeEnvelope } from "../wire/index.ts";
import { bytes, hex, rejects } from "./check.ts";
import { cli, objects } from "./cli-spawn.ts";
import { said, wholeTurn, type Result } from "./host-loop.ts";
import { ask } from "./raw-host.ts";
import { capture, fixture, framesOf, HEADER, recordingOf } from "./recordings.ts";

const test = suite("cli replay");

const CAPTURES = list("fixtures/captures").filter((name) => name.endsWith(".jsonl"));

test("there are captures", () => {
  for (const name of ["text", "tools", "refusals", "checkpoint", "resume", "drift", "error", "redacted"]) assert.ok(CAPTURES.includes(`${name}.jsonl`), name);
});

for (const name of CAPTURES) {
  const file = `fixtures/captures/${name}`;

  test(`${file} is synthetic, and says what made it`, async () => {
    const { header } = await fixture(name);
    assert.is(header.source, "synthetic");
    assert.match(header.client!, /^cursor-wire /);
    assert.match(header.note!, /host/);
  });

  test(`${file}: the core sends what its client sent`, async () => {
    const ran = await cli(["replay", "--check", "--json", "-"], { input: readText(file) });
    const last = objects(ran).at(-1)!;
    assert.is(last["difference"], undefined, JSON.stringify(last["difference"]));
    assert.is(ran.code, 0);
    assert.ok(Number(last["equal"]) > 0);
  });

  test(`${file}: byte by byte it tells the same`, async () => {
    const recording = await fixture(name);
    const [whole, bytewise, threes] = [told(recording), told(recording, 1), told(recording, 3)];
    assert.ok(whole.events.length > 0);
    assert.equal(bytewise, whole);
    assert.equal(threes, whole);
  });
}

test("the events of a turn are printed in order", async () => {
  const ran = await cli(["replay", "--json", "-"], { input: readText("fixtures/captures/tools.jsonl") });
  assert.is(ran.code, 0);
  const types = objects(ran).map(({ type }) => type);
  assert.equal(types.filter((type, index) => type !== types[index - 1]), ["capture", "text", "tool_call", "usage", "done", "tool_result", "thinking", "tool_call", "usage", "done", "tool_result", "text", "usage", "done"]);
  const text = await cli(["replay", "-"], { input: readText("fixtures/captures/tools.jsonl") });
  assert.match(text.stdout, 'calculator {"expression":"6 * 7"}\n');
  assert.match(text.stdout, "  = 42\n");
  assert.match(text.stdout, /— \d+ tokens in \(estimated\), 40 out\n/);
});

test("a diagnostic is told with its details, but not the one of every turn", async () => {
  const drift = await cli(["replay", "-"], { input: readText("fixtures/captures/drift.jsonl") });
  assert.match(drift.stderr, /^drift: The service sends what no table names: .* \(field 11, wireType 2\)$/m);
  assert.is((await cli(["replay", "-"], { input: readText("fixtures/captures/text.jsonl") })).stderr, "");
});

test("a turn that failed is told like a run that fails, but holds its check", async () => {
  const input = readText("fixtures/captures/error.jsonl");
  const [plain, checked] = [await cli(["replay", "-"], { input }), await cli(["replay", "--check", "-"], { input })];
  assert.is(plain.code, 1);
  assert.match(plain.stderr, /^error remote quota: /m);
  assert.match(plain.stderr, /^next step: /m);
  assert.is(checked.code, 0);
  assert.match(checked.stdout, "— check: 1 client frame is what the core sends");
});

test("a difference is shown with both sides decoded", async () => {
  const frames = await framesOf("text.jsonl");
  const at = frames.findLastIndex(({ from }) => from === "client");
  const changed = frames.with(at, { ...frames[at]!, envelope: encodeEnvelope(0, AgentClientMessage.encode({ execClientControlMessage: { streamClose: { id: 9 } } })) });
  const text = await cli(["replay", "--check", "-"], { input: capture(changed) });
  assert.is(text.code, 1);
  assert.match(text.stdout, /— check: difference at client frame \d+ \(stdin:\d+\), [\w.]+, after \d+ equal ones/);
  assert.match(text.stdout, /recorded, \d+ bytes\n {4}5 execClientControlMessage \{\n {6}1 streamClose \{\n {8}1 id 9\n/);
  assert.match(text.stdout, /the core, \d+ bytes\n {4}5 execClientControlMessage \{/);
  const json = objects(await cli(["replay", "--check", "--json", "-"], { input: capture(changed) })).at(-1)!;
  const { recorded, sent } = json["difference"] as { recorded: object[]; sent: object[] };
  assert.not.equal(recorded, sent);
});

test("a frame that the capture lacks, or has beyond the core's, is a difference", async () => {
  const frames = await framesOf("text.jsonl");
  const at = frames.findLastIndex(({ from }) => from === "client");
  const [lacks, more] = [frames.toSpliced(at, 1), frames.toSpliced(at + 1, 0, frames[at]!)];
  for (const [changed, words] of [[lacks, "recorded: nothing"], [more, "the core: nothing"]] as const) {
    const ran = await cli(["replay", "--check", "-"], { input: capture(changed) });
    assert.is(ran.code, 1);
    assert.match(ran.stdout, words);
  }
});

test("heartbeats are not compared, nor the order of fields", async () => {
  const beats = [AgentClientMessage.encode({ clientHeartbeat: {} }), AgentClientMessage.encode({ execClientControlMessage: { heartbeat: { id: 1 } } })];
  const frames = (await framesOf("refusals.jsonl")).flatMap((frame) => [frame, ...beats.map((payload): CapturedFrame => ({ at: frame.at, from: "client", envelope: encodeEnvelope(0, payload) }))]);
  // exec 1's stream_close, its id written in two bytes.
  const at = frames.findIndex(({ envelope }) => hex(envelope.subarray(5)) === "2a040a020801");
  assert.ok(at > 0);
  frames[at] = { ...frames[at]!, envelope: encodeEnvelope(0, bytes("2a050a03088100")) };
  const ran = await cli(["replay", "--check", "-"], { input: capture(frames) });
  assert.is(ran.code, 0, ran.stdout);
});

test("a client frame that can't be read is a difference, not a crash", async () => {
  const frames = await framesOf("text.jsonl");
  const broken = [...frames, { at: 9, from: "client", envelope: encodeEnvelope(0, bytes("ff")) } as const, { at: 9, from: "client", envelope: encodeEnvelope(1, bytes("ff")) } as const];
  const ran = await cli(["replay", "--check", "-"], { input: capture(broken) });
  assert.is(ran.code, 1);
  assert.match(ran.stdout, "the core: nothing");
});

test("a capture that ends early says where the turn stood, and what came is compared", async () => {
  const frames = await framesOf("tools.jsonl");
  const parked = frames.slice(0, frames.findIndex(({ from, envelope }) => from === "client" && AgentClientMessage.decode(envelope.subarray(5)).execClientMessage?.mcpResult));
  const running = frames.slice(0, 3);
  for (const [cut, words, end] of [
    [parked, "— the capture ends while the host has the calls", { type: "unfinished", parked: true }],
    [running, "— the capture ends in the middle of the turn", { type: "unfinished", parked: false }],
  ] as const) {
    const ran = await cli(["replay", "--check", "-"], { input: capture(cut) });
    assert.is(ran.code, 0, ran.stdout);
    assert.match(ran.stdout, words);
    const json = objects(await cli(["replay", "--json", "-"], { input: capture(cut) }));
    assert.equal(json.at(-1), end);
  }
});

test("a turn whose capture ends behind turn_ended is done", async () => {
  const frames = (await framesOf("text.jsonl")).filter(({ envelope }) => envelope[0] === 0);
  const ran = await cli(["replay", "--json", "-"], { input: capture(frames) });
  assert.equal(objects(ran).at(-1), { type: "done", reason: "stop" });
});

test("D9 a resume that turns out stale ends the replay: the client started over", async () => {
  const frames = await framesOf("resume.jsonl");
  const ask: CapturedFrame = { at: 1, from: "server", envelope: encodeEnvelope(0, AgentServerMessage.encode({ kvServerMessage: { id: 1, getBlobArgs: { blobId: new Uint8Array(32) } } })) };
  const ran = await cli(["replay", "--check", "-"], { input: capture([frames[0]!, ask]) });
  assert.is(ran.code, 0, ran.stderr);
  assert.match(ran.stdout, "— the client started over on another stream");
  assert.match(ran.stderr, "stale:");
});

test("B4 a server envelope that the reader refuses fails the turn", async () => {
  const [opener] = await framesOf("text.jsonl");
  const ran = await cli(["replay", "-"], { input: capture([opener!, { at: 1, from: "server", envelope: encodeEnvelope(1, bytes("00")) }]) });
  assert.is(ran.code, 1);
  assert.match(ran.stderr, "error protocol-drift envelope_compressed");
});

test("an envelope behind one that is refused changes nothing", async () => {
  const [opener] = await framesOf("text.jsonl");
  const twice = Buffer.concat([encodeEnvelope(0, bytes("0a060a040a026869")), encodeEnvelope(1, bytes("00"))]);
  const replayed = replayRun({ ...(await fixture("text.jsonl")), frames: [{ ...opener!, line: 1 }, { at: 1, from: "server", envelope: twice, line: 2 }] }, silent());
  assert.is(replayed.end.type, "failed");
});

const REFUSED: [name: string, frames: CapturedFrame[], message: RegExp][] = [
  ["no frames", [], /the first client frame is no run_request/],
  ["a Run that begins in the middle", [{ at: 0, from: "client", envelope: encodeEnvelope(0, bytes("3a00")) }], /stdin:2: the first client frame is no run_request/],
  ["a first frame that can't be read", [{ at: 0, from: "client", envelope: encodeEnvelope(0, bytes("ff")) }], /the first client frame is no run_request/],
];
for (const [name, frames, message] of REFUSED)
  test(`refuses ${name}`, async () => {
    const ran = await cli(["replay", "--json", "-"], { input: capture(frames) });
    assert.is(ran.code, 1);
    assert.match(ran.stderr, message);
    assert.is(objects(ran).at(-1)!["code"], "capture_invalid");
  });

test("a request that the core would not open is an error", async () => {
  const payload = AgentClientMessage.encode({ runRequest: { mcpTools: { mcpTools: [{ name: "a b" }] } } });
  const ran = await cli(["replay", "-"], { input: capture([{ at: 0, from: "client", envelope: encodeEnvelope(0, payload) }]) });
  assert.is(ran.code, 1);
  assert.match(ran.stderr, "error local invalid_tool");
});

test("several files are replayed, and a missing one fails", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cli-replay-"));
  try {
    const [good, none] = [join(folder, "good.jsonl"), join(folder, "none.jsonl")];
    writeFileSync(good, readText("fixtures/captures/text.jsonl"));
    const ran = await cli(["replay", "--check", good, none, good]);
    assert.is(ran.code, 1);
    assert.match(ran.stderr, `file_unreadable: cannot read ${none}`);
    assert.is(ran.stdout.split("— check: 4 client frames").length, 3);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an interrupt ends it with 130", async () => {
  const ran = await cli(["replay", "x"], { signal: AbortSignal.abort() });
  assert.is(ran.code, 130);
});

const TOOLS: Tool[] = [
  tool("bash", "Runs a command", ["command"]),
  tool("read", "Reads a file", ["path"]),
  tool("write", "Writes a file", ["path", "content"]),
];

/** What the service asks natively → what the host's tools say. */
const NATIVES: [name: string, steps: Script, answer: (call: ToolCallPart) => Result, exact: boolean][] = [
  ["a command's output", [{ exec: { case: "shellArgs", args: { command: "ls" } } }], () => said("a\nb\n"), true],
  ["a command's code", [{ exec: { case: "shellArgs", args: { command: "ls" } } }], () => said("oh\n\nCommand exited with code 3", true), true],
  ["a code without output", [{ exec: { case: "shellArgs", args: { command: "ls" } } }], () => said("Command exited with code 3", true), true],
  ["a command that was stopped", [{ exec: { case: "shellArgs", args: { command: "ls" } } }], () => said("a\nCommand aborted", true), true],
  ["a command that never ran", [{ exec: { case: "shellArgs", args: { command: "ls" } } }], () => said("the user said no", true), true],
  ["a stream's output", [{ exec: { case: "shellStreamArgs", args: { command: "ls", workingDirectory: "/tmp" } } }], () => said("out"), true],
  ["a stream's code", [{ exec: { case: "shellStreamArgs", args: { command: "ls" } } }], () => said("out\n\nCommand exited with code 1", true), true],
  ["a stream that was stopped", [{ exec: { case: "shellStreamArgs", args: { command: "ls" } } }], () => said("out\nCommand aborted", true), true],
  ["a stream that was refused", [{ exec: { case: "shellStreamArgs", args: { command: "ls" } } }], () => said("no", true), true],
  ["a file", [{ exec: { case: "readArgs", args: { path: "/a" } } }], () => said("text\n"), true],
  ["a file that is not there", [{ exec: { case: "readArgs", args: { path: "/a" } } }], () => said("ENOENT: no such file", true), true],
  ["a file that may not be read", [{ exec: { case: "readArgs", args: { path: "/a" } } }], () => said("EACCES: permission denied", true), true],
  ["a file that fails otherwise", [{ exec: { case: "readArgs", args: { path: "/a" } } }], () => said("bad luck", true), true],
  ["a written file", [{ exec: { case: "writeArgs", args: { path: "/a", fileText: "x" } } }], () => said("written"), true],
  ["a full disk", [{ exec: { case: "writeArgs", args: { path: "/a", fileText: "x" } } }], () => said("ENOSPC: no space left on device", true), true],
  ["a deleted file", [{ exec: { case: "deleteArgs", args: { path: "/a" } } }], () => said("D0:12"), true],
  ["a tool named after the host's", [{ exec: { case: "piBashArgs", args: { command: "ls" } } }], () => said("a"), true],
  ["its error", [{ exec: { case: "piBashArgs", args: { command: "ls" } } }], () => said("no", true), true],
  ["a search, as it was recorded", [{ exec: { case: "grepArgs", args: { pattern: "x", path: "." } } }], () => said("a.ts:1:x"), false],
  [
    "several at once",
    [
      { exec: { case: "grepArgs", args: { pattern: "x" }, wait: false } },
      { exec: { case: "shellArgs", args: { command: "ls" }, wait: false } },
      { mcp: { tool: "read", args: { path: "b" } } },
      { awaitResults: true },
    ],
    ({ name }) => said(name === "read" ? "b's text" : "a.ts:1:x"),
    false,
  ],
];
for (const [name, steps, answer, exact] of NATIVES)
  test(`the answer of a translated exec is sent again: ${name}`, async () => {
    const recording = await recorded([{ announce: steps.filter((step) => !("awaitResults" in step)).length }, ...steps, { text: "done" }, { turnEnded: true }], answer);
    const diagnostics: string[] = [];
    const replayed = replayRun(recording, { ...silent(), onDiagnostic: ({ type }) => diagnostics.push(type) });
    assert.is(replayed.end.type, "done");
    const { difference } = check(recording, replayed);
    assert.is(difference, undefined, `${difference?.recorded && hex(difference.recorded)} ${difference?.sent && hex(difference.sent)}`);
    assert.is(diagnostics.includes("as_recorded"), !exact);
  });

test("images and errors of a call are given back as they were", async () => {
  const image = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" } as const;
  const contents: ToolMessage["content"][] = [[{ type: "text", text: "see" }, image], [image], [{ type: "text", text: "bad" }]];
  let index = 0;
  const calls = contents.map(() => ({ mcp: { tool: "read", args: { path: "x" } } }));
  const recording = await recorded([{ announce: calls.length }, ...calls, { awaitResults: true }, { text: "done" }, { turnEnded: true }], () => ({ isError: index === 2, content: contents[index++]! }));
  const replayed = replayRun(recording, silent());
  assert.is(check(recording, replayed).difference, undefined);
});

test("a large capture is refused before it is all held", async () => {
  const line = frameLine({ at: 0, from: "server", envelope: encodeEnvelope(0, new Uint8Array(1 << 20)) });
  let lines = 0;
  const chunks = (async function* () {
    yield Buffer.from(headerLine(HEADER));
    const chunk = Buffer.from(line);
    for (; lines < 60; lines++) yield chunk;
  })();
  const error = (await rejects(readRecording(chunks, "f", 4 << 20))) as { code?: string };
  assert.is(error.code, "capture_too_large");
  assert.ok(lines < 6);
});

test.run();

function silent(): { onEvent(): void; onResult(): void; onDiagnostic(): void } {
  return { onEvent() {}, onResult() {}, onDiagnostic() {} };
}

function told(recording: Recording, chunk?: number): { events: TurnEvent[]; end: Replayed["end"]["type"]; sent: string[] } {
  const events: TurnEvent[] = [];
  const { end, sent } = replayRun(recording, { ...silent(), onEvent: (event) => events.push(event) }, chunk);
  return { events, end: end.type, sent: sent.map(hex) };
}

function tool(name: string, description: string, properties: readonly string[]): Tool {
  return { name, description, inputSchema: { type: "object", properties: Object.fromEntries(properties.map((property) => [property, { type: "string" }])), required: [...properties] } };
}

/** A Run of our client against the loopback host, as a recording. */
async function recorded(script: Script, answer: (call: ToolCallPart) => Result): Promise<Recording> {
  const host = await startLoopback({ script });
  const frames: CapturedFrame[] = [];
  const provider = createProvider({ accessToken: "t", origin: host.origin, env: {}, handles: null, onFrame: (frame) => frames.push(frame) });
  try {
    const legs = await wholeTurn(provider, ask("go", { tools: TOOLS, workspace: "/tmp/project" }), answer);
    assert.is(legs.at(-1)!.error, undefined);
    assert.equal(host.received.flatMap(({ violations }) => violations), []);
  } finally {
    await provider.close();
    await host.close();
  }
  return recordingOf(frames);
}
