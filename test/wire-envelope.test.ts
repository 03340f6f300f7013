/** Envelopes: the same result however the stream is cut, refusals at the header, and what each costs. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { encodeEnvelope, EnvelopeReader, FLAG, HEADER_LENGTH, LIMITS, WireError, type Envelope, type EnvelopeLimits } from "../wire/index.ts";
import { cpuTime } from "./cpu-time.ts";
import { bytes, chunkings, hex } from "./check.ts";

const test = suite("wire envelope");
const shown = ({ flags, payload }: Envelope): string => `${flags} ${hex(payload)}`;

/** What a reader gives for chunks: its envelopes, then the error that it ends with. */
function read(chunks: Iterable<Uint8Array>, limits?: EnvelopeLimits): string[] {
  const reader = new EnvelopeReader(limits);
  const seen: string[] = [];
  try {
    for (const chunk of chunks) seen.push(...reader.push(chunk).map(shown));
    reader.end();
  } catch (error) {
    assert.instance(error, WireError);
    seen.push(`${(error as WireError).code} at ${(error as WireError).offset}`);
  }
  return seen;
}

test("an envelope is its flags, its length in four bytes and its payload", () => {
  assert.is(hex(encodeEnvelope(0, bytes(""))), "0000000000");
  assert.is(hex(encodeEnvelope(FLAG.endStream, bytes("7b7d"))), "02000000027b7d");
  assert.is(hex(encodeEnvelope(0, new Uint8Array(0x010203)).subarray(0, HEADER_LENGTH)), "0000010203");
});

test("a payload that four bytes cannot count is refused before memory is taken", () => {
  assert.throws(() => encodeEnvelope(0, { length: 2 ** 32 } as Uint8Array), (error: unknown) => error instanceof RangeError && /4294967296/.test(error.message));
});

/** Streams and what they hold. */
const STREAMS: readonly (readonly [name: string, hex: string, seen: readonly string[]])[] = [
  ["nothing", "", []],
  ["an empty envelope", "0000000000", ["0 "]],
  ["empty ones in a row", "0000000000 0000000000 0000000000", ["0 ", "0 ", "0 "]],
  ["one byte", "000000000161", ["0 61"]],
  ["empty between full", "0000000002 6162 0000000000 0000000001 63", ["0 6162", "0 ", "0 63"]],
  ["long enough for native copies", `0000000028${"61".repeat(40)} 0000000011${"62".repeat(17)}`, [`0 ${"61".repeat(40)}`, `0 ${"62".repeat(17)}`]],
  ["an end-stream", "0000000001 61 0200000002 7b7d", ["0 61", "2 7b7d"]],
  ["an empty end-stream", "0200000000", ["2 "]],
  ["data behind the end-stream", "0000000001 61 0200000002 7b7d 00", ["0 61", "2 7b7d", "envelope_after_end at 13"]],
  ["a second end-stream", "0200000000 0200000000", ["2 ", "envelope_after_end at 5"]],
  ["a bad flag behind good ones", "0000000001 61 0000000000 08", ["0 61", "0 ", "envelope_flags at 11"]],
  ["compression behind a good one", "0000000001 61 0100000000", ["0 61", "envelope_compressed at 6"]],
  ["too long behind a good one", "0000000001 61 0001000001", ["0 61", "envelope_length at 6"]],
  ["half a header", "0000000001 61 000000", ["0 61", "envelope_truncated at 6"]],
  ["half a payload", "0000000000 0000000003 6162", ["0 ", "envelope_truncated at 5"]],
];

for (const [name, input, seen] of STREAMS) {
  test(`${name}, in every chunking`, () => {
    for (const chunks of chunkings(bytes(input))) assert.equal(read(chunks), seen, chunks.map(hex).join(" "));
  });
}

test("a limit is inclusive and checked at the header, in every chunking", () => {
  for (const limit of [NaN, -1]) assert.throws(() => new EnvelopeReader({ limit }), RangeError);
  const limits = { limit: 3 };
  for (const chunks of chunkings(bytes("0000000003 616263"))) assert.equal(read(chunks, limits), ["0 616263"]);
  for (const chunks of chunkings(bytes("0000000000 0000000004"))) assert.equal(read(chunks, limits), ["0 ", "envelope_length at 5"]);
  assert.equal(read([bytes("0001000000")]), ["envelope_truncated at 0"]);
});

test("compressed envelopes pass where the caller says so, reserved bits never", () => {
  const limits = { compressed: true };
  for (const chunks of chunkings(bytes("0100000001 61 0300000000"))) assert.equal(read(chunks, limits), ["1 61", "3 "]);
  for (const chunks of chunkings(bytes("0500000000"))) assert.equal(read(chunks, limits), ["envelope_flags at 0"]);
  for (const chunks of chunkings(bytes("0300000000 00"))) assert.equal(read(chunks, limits), ["3 ", "envelope_after_end at 5"]);
});

test("complete envelopes come before the error, and the error comes again and again", () => {
  const reader = new EnvelopeReader();
  assert.equal(reader.push(bytes("0000000001 61 ff")).map(shown), ["0 61"]);
  const { failure } = reader;
  assert.is(failure!.code, "envelope_flags");
  for (const again of [() => reader.push(bytes("0000000001 61")), () => reader.push(bytes("")), () => reader.end()])
    assert.throws(again, (error: unknown) => error === failure);
});

test("a truncated stream takes no more bytes", () => {
  const reader = new EnvelopeReader();
  reader.push(bytes("0000000002 61"));
  assert.throws(() => reader.end(), (error: unknown) => error instanceof WireError && error.detail === "6 bytes of it arrived");
  assert.throws(() => reader.push(bytes("62")), (error: unknown) => error === reader.failure);
});

test("offsets count from the start of the stream", () => {
  const reader = new EnvelopeReader();
  for (let index = 0; index < 100; index++) reader.push(bytes("0000000001 61"));
  reader.push(bytes("0001"));
  assert.throws(() => reader.push(bytes("000001 ff")), (error: unknown) => error instanceof WireError && error.code === "envelope_length" && error.offset === 600);
});

test("pending says how much of an envelope is there", () => {
  const reader = new EnvelopeReader();
  assert.is(reader.pending, 0);
  reader.push(bytes("000000"));
  assert.is(reader.pending, 3);
  reader.push(bytes("0003 61"));
  assert.is(reader.pending, 6);
  reader.push(bytes("6263"));
  assert.is(reader.pending, 0);
  assert.is(reader.failure, undefined);
});

test("a payload inside one chunk is a view of it, one that spans chunks is a copy of its size", () => {
  const chunk = bytes("0000000002 6162 0000000003 63");
  const reader = new EnvelopeReader();
  const [inside] = reader.push(chunk);
  assert.is(inside!.payload.buffer, chunk.buffer);
  const [spanning] = reader.push(bytes("6465"));
  assert.is(spanning!.payload.buffer.byteLength, 3);
  chunk.fill(0);
  assert.is(hex(spanning!.payload), "636465");
});

test("chunks of a Buffer give plain payloads", () => {
  const [envelope] = new EnvelopeReader().push(Buffer.from("000000000161", "hex"));
  assert.is(envelope!.payload.constructor, Uint8Array);
});

test("a payload of the largest size arrives whole, in chunks of a network", () => {
  const payload = new Uint8Array(LIMITS.envelope);
  for (let index = 0; index < payload.length; index += 4093) payload[index] = index;
  const stream = encodeEnvelope(0, payload);
  const reader = new EnvelopeReader();
  const seen: Envelope[] = [];
  for (let at = 0; at < stream.length; at += 16384) seen.push(...reader.push(stream.subarray(at, at + 16384)));
  reader.end();
  assert.is(seen.length, 1);
  assert.is(Buffer.compare(seen[0]!.payload, payload), 0);
});

test("the cost of a stream is its bytes, not the square of its chunks", () => {
  const time = (length: number): number => {
    const stream = encodeEnvelope(0, new Uint8Array(length));
    const reader = new EnvelopeReader();
    const from = cpuTime();
    for (let at = 0; at < stream.length; at++) reader.push(stream.subarray(at, at + 1));
    reader.end();
    return cpuTime() - from;
  };
  time(50_000);
  const small = Math.min(time(50_000), time(50_000), time(50_000));
  const large = Math.min(time(400_000), time(400_000));
  assert.ok(large < small * 8 * 4 + 50, `${small} ms for 50 kB, ${large} ms for 400 kB`);
});

test.run();
