/** Runs the codec as a host without `Buffer` would, and prints what it gave: one JSON object, read by wire-utf8.test. */
import { utf8Cases, STRINGS } from "./utf8-cases.ts";

Reflect.deleteProperty(globalThis, "Buffer");
const { decodeKey, decodeUtf8, encodeUtf8 } = await import("../wire/utf8.ts");
const { decodeValue, encodeEnvelope, encodeValue, EnvelopeReader, Reader, Writer } = await import("../wire/index.ts");

const JSON_VALUE = { path: "/home/user/project/file.ts", 模型: ["思考", null, true, -0.5, "😀"], long: "a line of some length ".repeat(300) };

/** Of a size whose strings are slices of one where there is a `Buffer`. */
const SMALL_VALUE = { path: "/home/user/project/file.ts", edits: [{ old: "a line of some length" }] };

/** What {@link observe} gives, in a form that JSON keeps. */
export interface Observed {
  readonly buffer: string;
  readonly decoded: readonly (string | null)[];
  readonly replaced: readonly string[];
  readonly keys: readonly string[];
  readonly encoded: readonly string[];
  readonly strings: readonly string[];
  readonly value: unknown;
  readonly smallValue: unknown;
  readonly valueBytes: string;
  readonly envelope: readonly number[];
}

const encoder = new TextEncoder();
const framed = (bytes: Uint8Array): Uint8Array => {
  const writer = new Writer();
  writer.bytes(bytes);
  return writer.finish();
};
const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const cases = utf8Cases();
const encoded = encodeValue(JSON_VALUE);
const large = encodeEnvelope(0, new Uint8Array(1_000_000).fill(7));
const reader = new EnvelopeReader();
reader.push(large.subarray(0, 500_000));
const [envelope] = reader.push(large.subarray(500_000));

const observed: Observed = {
  buffer: typeof (globalThis as { Buffer?: unknown }).Buffer,
  decoded: cases.map((bytes) => decodeUtf8(bytes, 0, bytes.length, false) ?? null),
  replaced: cases.map((bytes) => decodeUtf8(bytes, 0, bytes.length, true)!),
  keys: cases.map((bytes) => decodeKey(bytes, 0, bytes.length)),
  encoded: STRINGS.map((text) => {
    const room = new Uint8Array(text.length * 3);
    return hex(room.subarray(0, encodeUtf8(text, room, 0)));
  }),
  strings: STRINGS.map((text) => new Reader(framed(encoder.encode(text))).string()),
  value: decodeValue(encoded),
  smallValue: decodeValue(encodeValue(SMALL_VALUE)),
  valueBytes: hex(encoded),
  envelope: [envelope!.payload.length, envelope!.payload[0]!, envelope!.payload[999_999]!],
};
console.log(JSON.stringify(observed));
