/** Scenarios of the codec: how clients of the service have failed at bytes, and what is right. */
import { gzipSync } from "node:zlib";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { inspect } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { vector } from "../fixtures/vectors.ts";
import { AgentClientMessage, AgentServerMessage, ExecServerMessage, InteractionUpdate, McpArgs, McpTools, ShellFailure } from "../lib/agent/index.ts";
import {
  decodeValue,
  encodeEnvelope,
  encodeValue,
  EnvelopeReader,
  fields,
  LIMITS,
  message,
  Reader,
  uint32,
  WireError,
  type Envelope,
  type Json,
} from "../wire/index.ts";
import { cpuTime } from "./cpu-time.ts";
import { bytes, chunkings, hex } from "./check.ts";

const test = suite("scenarios-codec");

/** The code of the WireError that `work` throws. */
function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    assert.instance(error, WireError);
    return (error as WireError).code;
  }
  return "none";
}

test("A1 non-minimal varints are read without desync", () => {
  const Pair = message({ a: uint32(1), b: uint32(2) });
  assert.equal(Pair.decode(bytes("0881808080808080808000 1007")), { a: 1, b: 7 });
  for (let length = 2; length <= 10; length++) assert.equal(Pair.decode(bytes(`0881${"80".repeat(length - 2)}00 1007`)), { a: 1, b: 7 }, `${length} bytes`);
  // As unknown fields too, and in the place of a tag and of a length.
  assert.equal(fields(bytes("9806 81808080808080808000 1007")).map(({ value }) => value), [1n, 7n]);
  assert.equal(Pair.decode(bytes("88808080808080808000 05 1007")), { a: 5, b: 7 });
  assert.equal(AgentServerMessage.decode(bytes("0a8a808000 0a85808000 0a80808000")), { interactionUpdate: { textDelta: { text: "" } } });
});

test("A2 a negative int32 takes ten bytes and comes back negative", () => {
  const golden = "18ffffffffffffffffff01";
  assert.is(hex(message({ exitCode: ShellFailure.fields["exitCode"]! }).encode({ exitCode: -1 })), golden);
  assert.is(ShellFailure.decode(bytes(golden)).exitCode, -1);
  const { hex: whole } = vector("an exit code of -1");
  assert.is(ShellFailure.decode(bytes(whole)).exitCode, -1);
});

for (let count = 1; count <= 9; count++)
  test(`A3 a 64-bit varint that ends after ${count} continuation bytes is an error`, () => {
    const cut = "80".repeat(count);
    for (const read of [(r: Reader) => r.uint64(), (r: Reader) => r.int64(), (r: Reader) => r.sint64(), (r: Reader) => r.safe64(), (r: Reader) => r.int32(), (r: Reader) => r.uint32(), (r: Reader) => r.bool(), (r: Reader) => r.tag(), (r: Reader) => r.stop()])
      assert.is(refusal(() => read(new Reader(bytes(cut)))), "truncated");
    // TurnEndedUpdate.input_tokens is 64 bits wide.
    assert.is(refusal(() => AgentServerMessage.decode(framed(bytes("0a"), framed(bytes("72"), bytes(`08${cut}`))))), "truncated");
  });

test("A5 an unknown varint of continuation bytes up to the end is an error", () => {
  for (let count = 1; count <= 64; count++) {
    const code = count < 10 ? "truncated" : "varint";
    const input = bytes(`9806${"ff".repeat(count)}`);
    assert.is(refusal(() => AgentServerMessage.decode(input)), code);
    assert.is(refusal(() => decodeValue(input)), code);
    assert.is(refusal(() => fields(input)), code);
    // The buffer goes on behind the end with bytes that would close it.
    const longer = new Uint8Array([...input, ...new Uint8Array(20)]);
    assert.is(refusal(() => AgentServerMessage.decode(longer.subarray(0, input.length))), code);
  }
});

test("A6 groups nested 10,000 deep are an error, not a full stack", () => {
  for (const input of [bytes("0b".repeat(10_000)), bytes("0b".repeat(10_000) + "0c".repeat(10_000)), new Uint8Array(1_000_000).fill(0x0b)])
    for (const read of [() => AgentServerMessage.decode(input), () => fields(input), () => decodeValue(input), () => new Reader(input).skip(0x0b)]) assert.is(refusal(read), "depth");
});

test("A6 lists and objects nested 10,000 deep are an error, not a full stack", () => {
  for (const [tags, what] of [[[0x0a, 0x32], "lists"], [[0x12, 0x0a, 0x2a], "objects"]] as const) assert.is(refusal(() => decodeValue(nest(tags, 10_000))), "depth", what);
  const deep = Array.from({ length: 10_000 }).reduce<Json>((inner) => [inner], null);
  assert.throws(() => encodeValue(deep), (error: unknown) => error instanceof RangeError && /nests over 100/.test(error.message));
});

/** One unknown field 100 of each wire type. */
const UNKNOWN = { varint: "a00601", fixed64: "a1060102030405060708", bytes: "a2060161", group: "a30608 01a406", fixed32: "a50601020304" };

for (const [type, hexField] of Object.entries(UNKNOWN))
  test(`A8 an unknown ${type} field inside a value, an entry and an update is stepped over`, () => {
    const extra = bytes(hexField);
    const put = (prefix: string, content: string): string => hex(framed(bytes(prefix), join(extra, bytes(content), extra)));
    assert.is(decodeValue(join(extra, bytes("1a0161"), extra)), "a");
    assert.equal(decodeValue(bytes(put("32", put("0a", "2001")))), [true]);
    assert.equal(decodeValue(bytes(put("2a", put("0a", "0a016b" + put("12", "2001"))))), { k: true });
    assert.equal([...McpArgs.decode(bytes(put("12", "0a016b" + "12022001"))).args!].map(([key, value]) => [key, hex(value)]), [["k", "2001"]]);
    const update = AgentServerMessage.decode(bytes(put("0a", put("0a", "0a026869")))).interactionUpdate!;
    assert.is(update.textDelta!.text, "hi");
    assert.equal([update.unknown!.length, update.textDelta!.unknown!.length], [2, 2]);
    assert.is(InteractionUpdate.decode(join(extra, bytes("6a00"))).heartbeat !== undefined, true);
  });

test("A9 an entry without a value, without a key or without both has defaults", () => {
  const entries = (input: string): unknown[] => [...McpArgs.decode(bytes(input)).args!].map(([key, value]) => [key, hex(value), decodeValue(value)]);
  assert.equal(entries("12030a016b"), [["k", "", null]]);
  assert.equal(entries("120412022001"), [["", "2001", true]]);
  assert.equal(entries("1200"), [["", "", null]]);
  assert.equal(decodeValue(bytes("2a050a030a016b")), { k: null });
  assert.equal(decodeValue(bytes("2a060a0412022001")), { "": true });
  assert.equal(decodeValue(bytes("2a020a00")), { "": null });
});

test("A10 keys that name a prototype's properties are own data and reach no prototype", () => {
  const keys = ["__proto__", "constructor", "toString", "valueOf", "hasOwnProperty"];
  const inner = JSON.parse(`{${keys.map((key) => `"${key}":{"polluted":1}`).join()}}`) as Json;
  const { args } = McpArgs.decode(McpArgs.encode({ args: new Map(keys.map((key) => [key, encodeValue(inner)])) }));
  assert.equal([...args!.keys()], keys);
  for (const value of args!.values()) {
    const object = decodeValue(value) as Record<string, Json>;
    assert.equal(Object.keys(object), keys);
    assert.is(JSON.stringify(object), JSON.stringify(inner));
    assert.ok(inspect(object).includes("polluted"));
    assert.ok(`${inspect(args)}`.length > 0);
  }
  assert.is(({} as { polluted?: number }).polluted, undefined);
  assert.is(Object.prototype.toString.call({}), "[object Object]");
  const { hex: golden } = vector("names of a map that JavaScript has plans for");
  assert.is(hex(AgentServerMessage.encode(AgentServerMessage.decode(bytes(golden)))), golden);
});

test("A11 null inside objects and lists comes back as null", () => {
  const schema: Json = { type: "object", properties: { mode: { default: null, enum: [null, "a", [null]] } } };
  // Of an independent encoder.
  const golden =
    "2a5c0a100a047479706512081a066f626a6563740a480a0a70726f70657274696573123a2a380a360a046d6f6465122e2a2c0a0d0a0764656661756c74120208000a1b0a04656e756d121332110a0208000a031a01610a0632040a020800";
  assert.is(hex(encodeValue(schema)), golden);
  assert.equal(decodeValue(bytes(golden)), schema);
  const tool = { name: "t", inputSchema: encodeValue(schema) };
  assert.equal(decodeValue(McpTools.decode(McpTools.encode({ mcpTools: [tool] })).mcpTools![0]!.inputSchema!), schema);
});

test("A13 fields from 16 on have tags of two bytes and are read", () => {
  for (const no of [16, 17, 20, 32, 33, 34, 35, 36]) {
    const golden = vector(`exec ${no} request`).hex;
    const exec = AgentServerMessage.decode(bytes(golden)).execServerMessage!;
    const [name] = Object.entries(ExecServerMessage.fields).find(([, field]) => field.no === no)!;
    assert.ok(name in exec, `${no} is ${name}`);
    assert.is(exec.unknown, undefined);
    assert.is(hex(ExecServerMessage.encode(exec)).includes(hex(tagOf(no))), true);
  }
  // client_supports_inline_images is 19.
  const request = AgentClientMessage.encode({ runRequest: { clientSupportsInlineImages: true } });
  assert.is(hex(request), "0a03" + "980101");
  assert.is(AgentClientMessage.decode(request).runRequest!.clientSupportsInlineImages, true);
});

test("A13 300 tools and texts over 127 bytes come back", () => {
  const { hex: golden } = vector("300 tools");
  assert.is(McpTools.decode(bytes(golden)).mcpTools!.length, 300);
  const mcpTools = Array.from({ length: 300 }, (_, index) => ({ name: `tool_${index}`, description: "d".repeat(100 + index), inputSchema: encodeValue({ type: "object", index }) }));
  const request = AgentClientMessage.encode({ runRequest: { mcpTools: { mcpTools } } });
  const back = AgentClientMessage.decode(request).runRequest!.mcpTools!.mcpTools!;
  assert.equal(back.map(({ name, description, inputSchema }) => [name, description, decodeValue(inputSchema!)]), mcpTools.map(({ name, description }, index) => [name, description, { type: "object", index }]));
});

test("A14 small strings do not hold on to the frames that they came in", () => {
  const text = AgentServerMessage.encode({ interactionUpdate: { textDelta: { text: "a delta of some length" } } });
  const call = AgentServerMessage.encode({ execServerMessage: { id: 1, execId: "exec-0123456789", readArgs: { path: "/home/user/file.ts" } } });
  // Most of each is unknown, or another string.
  const large = join(text, framed(bytes("a206"), new Uint8Array(1024 * 1024)));
  const value = encodeValue({ short: "a short string", long: "x".repeat(1024 * 1024) });
  const kept: unknown[] = [];
  const before = memory();
  for (let index = 0; index < 500; index++) {
    const frame = index % 2 ? text : call;
    const chunk = new Uint8Array(1024 * 1024);
    chunk.set(encodeEnvelope(0, frame));
    const [envelope] = new EnvelopeReader().push(chunk.subarray(0, 5 + frame.length));
    const { interactionUpdate, execServerMessage } = AgentServerMessage.decode(envelope!.payload);
    kept.push(interactionUpdate?.textDelta?.text ?? [execServerMessage!.execId, execServerMessage!.readArgs!.path]);
  }
  for (let index = 0; index < 50; index++) {
    kept.push(AgentServerMessage.decode(large.slice()).interactionUpdate!.textDelta!.text);
    kept.push((decodeValue(value.slice()) as { short: string }).short);
  }
  const grown = memory() - before;
  assert.is(kept.length, 600);
  assert.ok(grown < 32 * 1024 * 1024, `${Math.round(grown / 1024 / 1024)} MiB kept`);
});

test("A14 decoded bytes are views: who stores them copies", () => {
  const frame = AgentServerMessage.encode({ kvServerMessage: { id: 1, setBlobArgs: { blobId: new Uint8Array(32), blobData: bytes("0102") } } });
  const { blobId, blobData } = AgentServerMessage.decode(frame).kvServerMessage!.setBlobArgs!;
  assert.is(blobId!.buffer, frame.buffer);
  assert.is(blobData!.buffer, frame.buffer);
  assert.is(blobData!.slice().buffer.byteLength, 2);
});

test("A15 the answer to query 9 has its inner length", () => {
  // Of an independent encoder.
  assert.is(hex(AgentClientMessage.encode({ interactionResponse: { id: 7, webFetchRequestResponse: { approved: {} } } })), "3206" + "0807" + "4a020a00");
  assert.is(hex(AgentClientMessage.encode({ interactionResponse: { webFetchRequestResponse: { approved: {} } } })), "3204" + "4a020a00");
});

test("B1 a header of 4 GiB fails at once, before any payload", () => {
  for (const chunks of chunkings(bytes("00ffffffff"))) assert.equal(outcome(chunks), ["envelope_length"]);
  const before = memory();
  for (let count = 0; count < 100; count++) refusal(() => new EnvelopeReader().push(bytes("00ffffffff")));
  assert.ok(memory() - before < 16 * 1024 * 1024);
});

test("B1 the limit itself is accepted, one more is not", () => {
  const header = (length: number): Uint8Array => Uint8Array.of(0, length >>> 24, length >>> 16, length >>> 8, length);
  const reader = new EnvelopeReader();
  assert.equal(reader.push(header(LIMITS.envelope)), []);
  assert.is(refusal(() => new EnvelopeReader().push(header(LIMITS.envelope + 1))), "envelope_length");
  for (const limit of [0, 1, 1000]) {
    assert.is(new EnvelopeReader({ limit }).push(encodeEnvelope(0, new Uint8Array(limit))).length, 1);
    assert.is(refusal(() => new EnvelopeReader({ limit }).push(encodeEnvelope(0, new Uint8Array(limit + 1)))), "envelope_length");
  }
});

for (const [what, rest] of [["three bytes of a header", "000000"], ["a header", "0000000004"], ["a header and half a payload", "00000000046162"]] as const)
  test(`B2 an end after a frame and ${what} is truncation`, () => {
    const frame = hex(encodeEnvelope(0, bytes("0a060a040a026869")));
    for (const chunks of chunkings(bytes(frame + rest))) assert.equal(outcome(chunks), ["0 0a060a040a026869", "envelope_truncated"]);
  });

test("B3 16 MiB in chunks of 1 KiB cost their bytes, not their square", () => {
  const time = (length: number): number => {
    const stream = encodeEnvelope(0, new Uint8Array(length));
    const from = cpuTime();
    const reader = new EnvelopeReader();
    const seen: Envelope[] = [];
    for (let at = 0; at < stream.length; at += 1024) seen.push(...reader.push(stream.subarray(at, at + 1024)));
    assert.is(seen[0]!.payload.length, length);
    return cpuTime() - from;
  };
  const quarter = Math.min(time(LIMITS.envelope / 4), time(LIMITS.envelope / 4), time(LIMITS.envelope / 4));
  const whole = Math.min(time(LIMITS.envelope), time(LIMITS.envelope));
  // Four times the bytes; the square would be sixteen times, here and on a busy machine.
  assert.ok(whole < quarter * 10 + 100, `${quarter} ms for 4 MiB, ${whole} ms for 16 MiB`);
});

test("B4 a compressed frame that nobody negotiated is an error that says so, and ours have flag 0", () => {
  const frame = encodeEnvelope(1, gzipSync(bytes("0a060a040a026869")));
  for (const chunks of chunkings(frame)) assert.equal(outcome(chunks), ["envelope_compressed"]);
  try {
    new EnvelopeReader().push(frame);
    assert.unreachable();
  } catch (error) {
    assert.match((error as WireError).message, /compressed although no compression was negotiated/);
  }
  assert.is(encodeEnvelope(0, bytes("3a00"))[0], 0);
});

test("B5 compressed bytes are refused at their flag, whatever they would become", () => {
  const bomb = gzipSync(new Uint8Array(8 * 1024 * 1024));
  assert.ok(bomb.length < 16 * 1024);
  for (const payload of [bomb, bomb.subarray(0, 20), bytes("1f8b0000")]) {
    const before = memory();
    assert.equal(outcome([encodeEnvelope(1, payload)]), ["envelope_compressed"]);
    assert.ok(memory() - before < 4 * 1024 * 1024);
  }
  // Where somebody takes compressed frames, they stay compressed and marked, up to the cap.
  const [envelope] = new EnvelopeReader({ compressed: true, limit: bomb.length }).push(encodeEnvelope(1, bomb));
  assert.equal([envelope!.flags, envelope!.payload.length], [1, bomb.length]);
  assert.is(refusal(() => new EnvelopeReader({ compressed: true, limit: bomb.length - 1 }).push(encodeEnvelope(1, bomb))), "envelope_length");
});

test.run();

/** Envelopes as flags and hex, then the code of the error that ends the stream. */
function outcome(chunks: readonly Uint8Array[]): string[] {
  const reader = new EnvelopeReader();
  const seen: string[] = [];
  const code = refusal(() => {
    for (const chunk of chunks) for (const { flags, payload } of reader.push(chunk)) seen.push(`${flags} ${hex(payload)}`);
    reader.end();
  });
  return code === "none" ? seen : [...seen, code];
}

/** Heap and buffers in use after a collection. */
function memory(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function join(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts));
}

function tagOf(no: number): Uint8Array {
  const tag = no * 8 + 2;
  return Uint8Array.of((tag & 127) | 128, tag >> 7);
}

/** A length-delimited field: its tag, its length, its content. */
function framed(tag: Uint8Array, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const length: number[] = [];
  let rest = content.length;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return join(tag, Uint8Array.of(...length, rest), content);
}

/** `tags` around each other again and again, written from the inside out and from the end. */
function nest(tags: readonly number[], depth: number): Uint8Array {
  const buffer = new Uint8Array(depth * tags.length * 4);
  let at = buffer.length;
  for (let level = 0; level < depth; level++)
    for (const tag of tags) {
      const length = buffer.length - at;
      const size = length < 0x80 ? 1 : length < 0x4000 ? 2 : 3;
      for (let index = 0; index < size; index++) buffer[at - size + index] = ((length >> (7 * index)) & 127) | (index < size - 1 ? 128 : 0);
      at -= size;
      buffer[--at] = tag;
    }
  return buffer.subarray(at);
}
