/** Bytes that must be refused (fixtures/malformed), and how. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { MALFORMED, type Malformed } from "../fixtures/malformed.ts";
import * as agent from "../lib/agent/index.ts";
import { decodeEndStream, decodeValue, EnvelopeReader, fields, LIMITS, message, repeated, uint32, WIRE_ERRORS, WireError, Writer, type Message } from "../wire/index.ts";
import { bytes, chunkings } from "./check.ts";

const test = suite("wire malformed");

for (const vector of MALFORMED) {
  test(`${vector.file}: ${vector.name}`, () => {
    for (const read of readersOf(vector)) {
      const error = refusal(read);
      assert.is(error.code, vector.error);
      if (vector.offset !== undefined) assert.is(error.offset, vector.offset);
      if (vector.path !== undefined) assert.is(error.path, vector.path);
      assert.ok(error.message.startsWith(WIRE_ERRORS[vector.error]), error.message);
    }
  });
}

for (const code of Object.keys(WIRE_ERRORS)) {
  test(`${code} has a vector`, () => {
    assert.ok(MALFORMED.some(({ error }) => error === code));
  });
}

test("as many elements as the limit are read, packed ones too, and one more is not", () => {
  const table = message({ list: repeated(uint32(1)) });
  const { elements } = LIMITS;
  assert.is(fields(bytes("4800".repeat(elements))).length, elements);
  assert.is(table.decode(bytes("0801".repeat(elements))).list!.length, elements);
  const packed = (count: number): Uint8Array => {
    const writer = new Writer();
    writer.tag(0x0a);
    writer.bytes(new Uint8Array(count));
    return writer.finish();
  };
  assert.is(table.decode(packed(elements)).list!.length, elements);
  assert.is(refusal(() => table.decode(packed(elements + 1))).code, "elements");
});

test("no two vectors of a file share a name", () => {
  assert.is(new Set(MALFORMED.map(({ file, name }) => `${file} ${name}`)).size, MALFORMED.length);
});

test.run();

/** Every way in which the bytes must be refused alike. */
function readersOf({ reader, message = "", hex, more }: Malformed): (() => unknown)[] {
  const input = bytes(hex + (more?.hex.repeat(more.times) ?? ""));
  switch (reader) {
    case "message":
      return [() => (agent as unknown as Record<string, Message<unknown>>)[message]!.decode(input)];
    case "value":
      return [() => decodeValue(input)];
    case "fields":
      return [() => fields(input)];
    case "envelope":
      return Array.from(chunkings(input), (chunks) => () => readAll(chunks));
    case "end_stream":
      return [() => decodeEndStream(input)];
    default:
      return [() => fields(input), () => agent.AgentServerMessage.decode(input), () => decodeValue(input)];
  }
}

function readAll(chunks: readonly Uint8Array[]): void {
  const reader = new EnvelopeReader();
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
}

function refusal(read: () => unknown): WireError {
  try {
    read();
  } catch (error) {
    assert.instance(error, WireError);
    return error as WireError;
  }
  assert.unreachable("accepted");
  throw new Error("unreachable");
}
