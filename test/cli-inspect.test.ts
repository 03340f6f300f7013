/** `inspect`: every frame by wire type, named by the tables where known (DESIGN §5). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { frameLine, headerLine, RPC } from "../lib/loopback/capture-line.ts";
import { AgentClientMessage, AgentServerMessage, McpArgs, ConversationStateStructure } from "../lib/agent/index.ts";
import { encodeEnvelope, encodeValue } from "../wire/index.ts";
import { bytes, chunkings, hex } from "./check.ts";
import { cli, objects } from "./cli-spawn.ts";
import { framesOf } from "../lib/cli/inspect-source.ts";

const test = suite("cli inspect");

const HI = "0a060a040a026869";

/** Hex → what is printed for it. */
const GOLDEN: [name: string, line: string[], printed: string][] = [
  ["a text delta", [HI], "#1 at byte 0, 8 bytes\n  AgentServerMessage\n  1 interactionUpdate {\n    1 textDelta {\n      1 text \"hi\"\n    }\n  }\n"],
  [
    "an exec whose number and id are known",
    ["120c08017a0178a202040a027069"],
    '#1 at byte 0, 14 bytes\n  AgentServerMessage\n  2 execServerMessage {\n    1 id 1\n    15 execId "x"\n    36 startGrindPlanningArgs {\n      1 explanation "pi"\n    }\n  }\n',
  ],
  ["a field that no table knows", ["4a021a05"], "#1 at byte 0, 4 bytes\n  AgentServerMessage\n  9 length 2 bytes 1a05 ! unknown field\n"],
  ["an unknown message is gone into", ["4a040a026869"], '#1 at byte 0, 6 bytes\n  AgentServerMessage\n  9 length { ! unknown field\n    1 length "hi"\n  }\n'],
  ["an unknown text", ["4a026869"], '#1 at byte 0, 4 bytes\n  AgentServerMessage\n  9 length "hi" ! unknown field\n'],
  ["an empty unknown value", ["4a00"], '#1 at byte 0, 2 bytes\n  AgentServerMessage\n  9 length "" ! unknown field\n'],
  ["a known number with another wire type", ["0801"], "#1 at byte 0, 2 bytes\n  AgentServerMessage\n  1 varint 1 ! known with another wire type\n"],
  ["an unknown varint beyond 2^53 keeps its digits", ["48ffffffffffffffffff01"], "#1 at byte 0, 11 bytes\n  AgentServerMessage\n  9 varint 18446744073709551615 ! unknown field\n"],
  ["fixed32, fixed64 and a group", ["4d010000004902000000000000004b08034c"], "#1 at byte 0, 18 bytes\n  AgentServerMessage\n  9 fixed32 1 ! unknown field\n  9 fixed64 2 ! unknown field\n  9 group { ! unknown field\n    1 varint 3\n  }\n"],
  ["an empty message", ["--as", "client", "3a00"], "#1 at byte 0, 2 bytes\n  AgentClientMessage\n  7 clientHeartbeat {}\n"],
  ["a table by its name", ["--as", "ShellArgs", "0a026c7318b0ea01"], '#1 at byte 0, 8 bytes\n  ShellArgs\n  1 command "ls"\n  3 timeout 30000\n'],
  ["a string that is no UTF-8, as hex", ["--as", "ShellArgs", "2201ff"], "#1 at byte 0, 3 bytes\n  ShellArgs\n  4 toolCallId 1 bytes ff\n"],
  ["a text that is no UTF-8, replaced", ["--as", "ShellArgs", "0a01ff"], '#1 at byte 0, 3 bytes\n  ShellArgs\n  1 command "\ufffd"\n'],
];
for (const [name, line, printed] of GOLDEN)
  test(`shows ${name}`, async () => {
    const ran = await cli(["inspect", "--hex", ...line]);
    assert.is(ran.stderr, "");
    assert.is(ran.stdout, printed);
    assert.is(ran.code, 0);
  });

test("--hex without arguments reads hex from stdin, blanks and capitals allowed", async () => {
  const ran = await cli(["inspect", "--hex"], { input: " 0A 06\n0a04\t0a02\r\n6869\n" });
  assert.is(ran.code, 0);
  assert.match(ran.stdout, '1 text "hi"');
});

for (const [name, input] of [
  ["hex text", HI],
  ["a message", bytes(HI)],
  ["an envelope", encodeEnvelope(0, bytes(HI))],
  ["hex of an envelope", hex(encodeEnvelope(0, bytes(HI)))],
  ["a capture", capture()],
  ["a capture with a byte order mark", `\ufeff${capture()}`],
] as const)
  test(`stdin may be ${name}`, async () => {
    for (const line of [["inspect"], ["inspect", "-"]]) {
      const ran = await cli(line, { input });
      assert.is(ran.stderr, "");
      assert.is(ran.code, 0);
      assert.match(ran.stdout, '1 text "hi"');
    }
  });

test("the frames of a stream do not depend on how it is cut", async () => {
  const stream = Buffer.concat([encodeEnvelope(0, bytes(HI)), encodeEnvelope(0, bytes("0a026a00")), encodeEnvelope(2, Buffer.from("{}"))]);
  for (const form of [stream, Buffer.from(stream.toString("hex"))])
    for (const chunks of chunkings(form)) {
      const offsets: (number | undefined)[] = [];
      for await (const found of framesOf(each(chunks), "x")) if ("frame" in found) offsets.push(found.frame.offset);
      assert.equal(offsets, [0, 13, 22]);
    }
});

test("without a direction the side that fits the first frame is kept", async () => {
  const opener = AgentClientMessage.encode({ runRequest: { conversationId: "c", requestedModel: { modelId: "m" } } });
  const stream = Buffer.concat([opener, bytes("3a00")].map((payload) => encodeEnvelope(0, payload)));
  const ran = await cli(["inspect", "--json"], { input: stream });
  assert.equal(objects(ran).map(({ message }) => message), ["AgentClientMessage", "AgentClientMessage"]);
});

test("a capture says what it is, and each frame's direction and time", async () => {
  const ran = await cli(["inspect"], { input: capture() });
  assert.match(ran.stdout, "stdin\nsynthetic · test · made here\n#1 client +0 ms, 2 bytes\n");
  assert.match(ran.stdout, "#2 server +12 ms, 8 bytes\n");
  assert.match(ran.stdout, '#3 server +13 ms, 2 bytes, end-stream\n  {}\n');
});

test("--json gives one object a frame, with numbers, names and drift", async () => {
  const ran = await cli(["inspect", "--json"], { input: capture() });
  assert.equal(objects(ran), [
    { type: "capture", file: "stdin", capture: 1, rpc: RPC, source: "synthetic", client: "test", note: "made here" },
    { frame: 1, file: "stdin", from: "client", at: 0, flags: 0, length: 2, message: "AgentClientMessage", fields: [{ no: 7, type: "length", name: "clientHeartbeat", fields: [] }], drifts: 0 },
    {
      frame: 2,
      file: "stdin",
      from: "server",
      at: 12,
      flags: 0,
      length: 8,
      message: "AgentServerMessage",
      fields: [{ no: 1, type: "length", name: "interactionUpdate", fields: [{ no: 1, type: "length", name: "textDelta", fields: [{ no: 1, type: "length", name: "text", text: "hi" }] }] }],
      drifts: 0,
    },
    { frame: 3, file: "stdin", from: "server", at: 13, flags: 2, length: 2, endStream: {} },
  ]);
});

test("arguments of a tool call and schemas are shown as JSON", async () => {
  const payload = McpArgs.encode({ args: new Map([["a", encodeValue({ b: [1, null] })], ["bad", bytes("ff")]]), toolName: "t" });
  const ran = await cli(["inspect", "--as", "McpArgs", "--hex", hex(payload)]);
  assert.match(ran.stdout, '    1 key "a"\n    2 value {"b":[1,null]}\n');
  assert.match(ran.stdout, '    1 key "bad"\n    2 value 1 bytes ff\n');
});

test("a checkpoint is shown by the table of the state, and blob ids as hex", async () => {
  const id = new Uint8Array(32).fill(8);
  const state = ConversationStateStructure.encode({ rootPromptMessagesJson: [id], mode: 1 });
  const ran = await cli(["inspect", "--hex", hex(AgentServerMessage.encode({ conversationCheckpointUpdate: state }))]);
  assert.match(ran.stdout, `  3 conversationCheckpointUpdate {\n    1 rootPromptMessagesJson 32 bytes ${"08".repeat(32)}\n    10 mode 1\n  }\n`);
});

test("a checkpoint that is no state is shown as bytes", async () => {
  const ran = await cli(["inspect", "--hex", "1a02ffff"]);
  assert.match(ran.stdout, "3 conversationCheckpointUpdate 2 bytes ffff\n");
});

test("control characters of a peer do not reach the terminal", async () => {
  const text = "\u001b]0;x\u0007\u009b2J\u2028";
  for (const payload of [AgentServerMessage.encode({ interactionUpdate: { textDelta: { text } } }), McpArgs.encode({ args: new Map([["a", encodeValue(text)]]) })])
    for (const more of [[], ["--json"]]) {
      const ran = await cli(["inspect", ...more, "--as", payload[0] === 0x0a ? "server" : "McpArgs", "--hex", hex(payload)]);
      assert.not.match(ran.stdout, /[\u001b\u0007\u009b\u2028]/);
    }
});

test("long texts and bytes are cut with a mark, and --full cuts nothing", async () => {
  const payload = AgentServerMessage.encode({ interactionUpdate: { textDelta: { text: "a".repeat(300) } }, unknown: [{ no: 9, type: 2, bytes: bytes(`4a64${"ff".repeat(100)}`) }] });
  const [cut, full] = [await cli(["inspect", "--hex", hex(payload)]), await cli(["inspect", "--full", "--hex", hex(payload)])];
  assert.match(cut.stdout, `"${"a".repeat(200)}" … 100 more characters\n`);
  assert.match(cut.stdout, `100 bytes ${"ff".repeat(48)} … 52 more bytes`);
  assert.match(full.stdout, `"${"a".repeat(300)}"\n`);
  assert.match(full.stdout, `100 bytes ${"ff".repeat(100)} !`);
});

test("a frame with a million fields is cut with a mark", async () => {
  const ran = await cli(["inspect", "--json"], { input: encodeEnvelope(0, new Uint8Array(2_000_000).map((_, index) => (index % 2 === 0 ? 0x48 : 1))) });
  const [frame] = objects(ran);
  assert.is((frame!["fields"] as unknown[]).length, 2000);
  assert.is(frame!["more"], true);
  assert.is(ran.code, 0);
});

test("groups and messages a thousand deep do not break it", async () => {
  const groups = "4b".repeat(1000) + "4c".repeat(1000);
  let message = new Uint8Array(0);
  for (let depth = 0; depth < 1000; depth++) message = Uint8Array.from([0x4a, 0x80 | (message.length & 127), message.length >> 7, ...message]);
  assert.is((await cli(["inspect", "--hex", groups])).code, 1);
  assert.is((await cli(["inspect", "--hex", hex(message)])).code, 0);
});

test("a malformed frame shows what came before, its offset and path, and the frames behind it", async () => {
  const stream = Buffer.concat([encodeEnvelope(0, bytes("12070801a2020a0a01")), encodeEnvelope(0, bytes(HI))]);
  const ran = await cli(["inspect"], { input: stream });
  assert.is(ran.code, 1);
  assert.match(ran.stdout, "1 id 1\n");
  assert.match(ran.stdout, "! malformed: a declared length runs beyond the bytes that hold it");
  assert.match(ran.stdout, '1 text "hi"');
  const [first] = objects(await cli(["inspect", "--json"], { input: stream }));
  assert.is((first!["error"] as { code: string }).code, "length");
});

test("an end-stream that is no JSON is malformed", async () => {
  for (const payload of ["{", "\u0000"]) {
    const ran = await cli(["inspect"], { input: encodeEnvelope(2, Buffer.from(payload)) });
    assert.is(ran.code, 1);
    assert.match(ran.stdout, "! malformed: the end-stream envelope is not the JSON object");
  }
  const json = objects(await cli(["inspect", "--json"], { input: encodeEnvelope(2, Buffer.from("{")) }));
  assert.is(json[0]!["endStream"], null);
});

test("a compressed envelope is not decoded", async () => {
  const ran = await cli(["inspect"], { input: encodeEnvelope(1, bytes("1f8b00".repeat(20))) });
  assert.is(ran.code, 0);
  assert.match(ran.stdout, "#1 at byte 0, 60 bytes, compressed\n  not decoded 1f8b00");
  assert.is(objects(await cli(["inspect", "--json"], { input: encodeEnvelope(1, bytes("1f8b")) }))[0]!["hex"], "1f8b");
});

const BROKEN: [name: string, input: Uint8Array | string, stderr: RegExp][] = [
  ["nothing", "", /input_empty: stdin holds nothing/],
  ["a cut envelope", bytes("000000000508"), /envelope_truncated: stdin: .* at byte 0/],
  ["a huge envelope", bytes("00ffffffff08"), /envelope_length: stdin: .*4294967295 bytes declared/],
  ["a reserved flag", bytes("040000000008"), /envelope_flags/],
  ["bytes behind the end-stream", Buffer.concat([encodeEnvelope(2, Buffer.from("{}")), bytes("00")]), /envelope_after_end/],
  ["half a byte of hex", "0a0", /hex_invalid: stdin: a digit is missing at the end/],
  ["a capture without a header", "{}\n", /capture_invalid: stdin:1: the first line has no "capture": 1/],
];
for (const [name, input, stderr] of BROKEN)
  test(`${name} is an error with kind, code and next step`, async () => {
    const ran = await cli(["inspect"], { input });
    assert.is(ran.code, 1);
    assert.match(ran.stderr, stderr);
    assert.match(ran.stderr, /^error local /m);
    assert.match(ran.stderr, /^next step: ./m);
  });

test("what is no hex is named with its place", async () => {
  const ran = await cli(["inspect", "--hex", "0a0g"]);
  assert.is(ran.code, 1);
  assert.match(ran.stderr, 'hex_invalid: the hex: "g" at character 3 is no hex digit');
});

test("a message over 16 MiB is refused before it is all held", async () => {
  let taken = 0;
  const chunk = new Uint8Array(1 << 20).fill(8);
  const chunks = (async function* () {
    for (; taken < 40; taken++) yield chunk;
  })();
  try {
    for await (const found of framesOf(chunks, "x")) assert.unreachable(JSON.stringify(found).slice(0, 50));
  } catch (error) {
    assert.is((error as { code?: string }).code, "message_too_long");
  }
  assert.ok(taken < 20);
});

test("files are named, the good ones are shown and the bad one fails", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cli-inspect-"));
  try {
    writeFileSync(join(folder, "good"), HI);
    const ran = await cli(["inspect", "--json", join(folder, "none"), join(folder, "good"), folder]);
    assert.is(ran.code, 1);
    assert.match(ran.stderr, `file_unreadable: cannot read ${join(folder, "none")}: no such file or folder`);
    assert.match(ran.stderr, `cannot read ${folder}: it is a folder`);
    assert.equal(objects(ran).map(({ type, message }) => type ?? message), ["error", "AgentServerMessage", "error"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("on a terminal without arguments it says what it needs", async () => {
  const ran = await cli(["inspect"], { tty: true });
  assert.is(ran.code, 2);
  assert.match(ran.stderr, "inspect needs a FILE");
});

test("an unknown table is a usage error with the nearest", async () => {
  const ran = await cli(["inspect", "--as", "ShelArgs", "--hex", "00"]);
  assert.is(ran.code, 2);
  assert.match(ran.stderr, "there is no message ShelArgs; did you mean ShellArgs?");
});

test("a message that is like none says where they are listed", async () => {
  assert.match((await cli(["inspect", "--as", "Foo", "--hex", "0a"])).stderr, "there is no message Foo; they are called as cursor-wire/agent exports them");
});

for (const input of ["just some words\n", '[{"text":"Hello"}]', "\uFEFFwords", " {}"])
  test(`${JSON.stringify(input)} is said to be text`, async () => {
    const ran = await cli(["inspect"], { input });
    assert.is(ran.code, 1);
    assert.is(ran.stdout, "");
    assert.match(ran.stderr, /^error local capture_invalid: stdin is text, but neither a capture nor hex\nnext step: Give a capture, /);
  });

test("printable bytes that are a message are one", async () => {
  const ran = await cli(["inspect"], { input: `2 ${"x".repeat(32)}` });
  assert.is(ran.code, 0, ran.stderr);
  assert.match(ran.stdout, "x".repeat(32));
});

test("colours only on a terminal, and never with NO_COLOR", async () => {
  const line = ["inspect", "--hex", HI];
  assert.match((await cli(line, { tty: true })).stdout, "\u001b[36minteractionUpdate\u001b[39m");
  for (const options of [{}, { tty: true, env: { NO_COLOR: "1" } }, { tty: true, env: { TERM: "dumb" } }]) assert.not.match((await cli(line, options)).stdout, "\u001b");
  assert.match((await cli(line, { tty: true, env: { NO_COLOR: "" } })).stdout, "\u001b");
});

test("an interrupt ends it with 130", async () => {
  const ran = await cli(["inspect"], { input: capture(), signal: AbortSignal.abort() });
  assert.is(ran.code, 130);
  assert.is(ran.stdout, "");
});

test.run();

function capture(): string {
  const frames = [
    { at: 0, from: "client", envelope: encodeEnvelope(0, bytes("3a00")) },
    { at: 12, from: "server", envelope: encodeEnvelope(0, bytes(HI)) },
    { at: 13, from: "server", envelope: encodeEnvelope(2, Buffer.from("{}")) },
  ] as const;
  return headerLine({ capture: 1, rpc: RPC, source: "synthetic", client: "test", note: "made here" }) + frames.map(frameLine).join("");
}

async function* each(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
