/**
 * google.protobuf.Value ⇄ JSON. Objects from the wire have own properties only: a key `__proto__` is defined, never
 * assigned, so nothing a peer sends reaches a prototype (DESIGN §3).
 */
import { LIMITS } from "./limits.ts";
import { Reader } from "./reader.ts";
import { written, type Writer } from "./writer.ts";

/** What JSON can say. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The tags of Value, Struct, ListValue and Struct's map entry. */
const TAG = { null: 0x08, number: 0x11, string: 0x1a, bool: 0x20, struct: 0x2a, list: 0x32, element: 0x0a, key: 0x0a, value: 0x12 } as const;

/**
 * The bytes of `json` as a Value. Like JSON.stringify it leaves out undefined properties and functions, and turns
 * NaN, infinities and undefined elements into null; own properties only.
 * @throws TypeError at a bigint or a symbol
 * @throws RangeError where arrays and objects nest over 100 deep, which a cycle does too
 */
export function encodeValue(json: unknown): Uint8Array<ArrayBuffer> {
  return written(writeRoot, json);
}

/**
 * The JSON in the bytes of a Value. No kind set, or no bytes at all, is null.
 * @throws WireError where the bytes are malformed or nest over 100 deep
 */
export function decodeValue(bytes: Uint8Array): Json {
  const reader = new Reader(bytes);
  return readValue(reader, 1);
}

function writeRoot(writer: Writer, json: unknown): void {
  writeValue(writer, json, 1);
}

function writeValue(writer: Writer, json: unknown, depth: number): void {
  if (depth > LIMITS.depth) throw new RangeError(`a value nests over ${LIMITS.depth} deep, or holds itself`);
  switch (typeof json) {
    case "string":
      writer.tag(TAG.string);
      writer.string(json);
      return;
    case "number":
      if (!Number.isFinite(json)) break;
      writer.tag(TAG.number);
      writer.double(json);
      return;
    case "boolean":
      writer.tag(TAG.bool);
      writer.bool(json);
      return;
    case "object": {
      if (json === null) break;
      const list = Array.isArray(json);
      writer.tag(list ? TAG.list : TAG.struct);
      const start = writer.open();
      if (list) for (const element of json) writeElement(writer, element, depth + 1);
      else writeStruct(writer, json as Record<string, unknown>, depth + 1);
      writer.close(start);
      return;
    }
    case "bigint":
    case "symbol":
      throw new TypeError(`JSON has no ${typeof json}`);
  }
  writer.tag(TAG.null);
  writer.uint32(0);
}

function writeElement(writer: Writer, element: unknown, depth: number): void {
  writer.tag(TAG.element);
  const start = writer.open();
  writeValue(writer, element, depth);
  writer.close(start);
}

function writeStruct(writer: Writer, object: Record<string, unknown>, depth: number): void {
  for (const key of Object.keys(object)) {
    const item = object[key];
    if (item === undefined || typeof item === "function") continue;
    writer.tag(TAG.element);
    const start = writer.open();
    writer.tag(TAG.key);
    writer.string(key);
    writer.tag(TAG.value);
    const body = writer.open();
    writeValue(writer, item, depth);
    writer.close(body);
    writer.close(start);
  }
}

function readValue(reader: Reader, depth: number): Json {
  if (depth > LIMITS.depth) reader.fail("depth", reader.pos);
  let json: Json = null;
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    switch (tag) {
      case TAG.null:
        reader.low();
        json = null;
        break;
      case TAG.number:
        json = reader.double();
        break;
      case TAG.string:
        json = reader.text();
        break;
      case TAG.bool:
        json = reader.bool();
        break;
      case TAG.struct: {
        const end = reader.end;
        reader.end = reader.stop();
        json = readStruct(reader, depth + 1);
        reader.end = end;
        break;
      }
      case TAG.list: {
        const end = reader.end;
        reader.end = reader.stop();
        json = readList(reader, depth + 1);
        reader.end = end;
        break;
      }
      default:
        reader.skip(tag, depth);
    }
  }
  return json;
}

function readList(reader: Reader, depth: number): Json[] {
  const list: Json[] = [];
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag !== TAG.element) {
      reader.skip(tag, depth);
      continue;
    }
    const end = reader.end;
    reader.end = reader.stop();
    list.push(readValue(reader, depth));
    reader.end = end;
  }
  return list;
}

function readStruct(reader: Reader, depth: number): { [key: string]: Json } {
  const object: { [key: string]: Json } = {};
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag !== TAG.element) {
      reader.skip(tag, depth);
      continue;
    }
    const end = reader.end;
    reader.end = reader.stop();
    readEntry(reader, object, depth);
    reader.end = end;
  }
  return object;
}

function readEntry(reader: Reader, object: { [key: string]: Json }, depth: number): void {
  let key = "";
  let value: Json = null;
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag === TAG.key) key = reader.key();
    else if (tag === TAG.value) {
      const end = reader.end;
      reader.end = reader.stop();
      value = readValue(reader, depth);
      reader.end = end;
    } else reader.skip(tag, depth);
  }
  if (key === "__proto__") Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}
