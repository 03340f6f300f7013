/**
 * google.protobuf.Value ⇄ JSON. Objects from the wire have own properties only: a key such as `__proto__` is defined,
 * never assigned, so nothing a peer sends reaches a prototype (DESIGN §3).
 */
import { elements, hotValue } from "./hot-value.ts";
import { TAG, type Json, type JsonObject } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { plain } from "./native.ts";
import { Reader } from "./reader.ts";
import { written, type Writer } from "./writer.ts";

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
 * @param count elements read before, of the 131,072 that all values of a message may have; counted on
 * @throws WireError where the bytes are malformed, or arrays and objects nest over 100 deep
 */
export function decodeValue(bytes: Uint8Array, count?: { elements: number }): Json {
  const input = plain(bytes);
  const before = count?.elements ?? 0;
  let json = quick(input);
  let total = before + elements;
  if (json === undefined || total > LIMITS.elements) {
    const reader = new Reader(input);
    reader.elements = before;
    json = readValue(reader, null, 0);
    total = reader.elements;
  }
  if (count !== undefined) count.elements = total;
  return json;
}

/** Undefined, too, where the host froze `Object.prototype`: then a key such as `toString` can't be assigned. */
function quick(bytes: Uint8Array): Json | undefined {
  try {
    return hotValue(bytes);
  } catch {
    return undefined;
  }
}

function writeRoot(writer: Writer, json: unknown): void {
  writeValue(writer, json, 0);
}

function writeValue(writer: Writer, json: unknown, depth: number): void {
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
      if (depth >= LIMITS.depth) throw new RangeError(`a value nests over ${LIMITS.depth} deep, or holds itself`);
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

/**
 * Reads a Value of any shape up to the reader's end. The last kind wins, but objects and arrays given twice merge, as messages do.
 * @param json what was read of this value before
 * @param depth arrays and objects around this value
 */
export function readValue(reader: Reader, json: Json, depth: number): Json {
  while (reader.pos < reader.end) {
    const start = reader.pos;
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
        const end = reader.enter();
        json = readElements(reader, isObject(json) ? json : {}, depth + 1);
        reader.end = end;
        break;
      }
      case TAG.list: {
        const end = reader.enter();
        json = readElements(reader, Array.isArray(json) ? json : [], depth + 1);
        reader.end = end;
        break;
      }
      default:
        reader.skip(tag, depth, start);
    }
  }
  return json;
}

/** The elements of a list, or the entries of an object: both are field 1, again and again. */
function readElements<T extends Json[] | JsonObject>(reader: Reader, into: T, depth: number): T {
  if (depth > LIMITS.depth) reader.fail("depth", reader.pos);
  while (reader.pos < reader.end) {
    const start = reader.pos;
    const tag = reader.tag();
    if (tag === TAG.element) {
      reader.element(start);
      const end = reader.enter();
      if (Array.isArray(into)) into.push(readValue(reader, null, depth));
      else readEntry(reader, into, depth);
      reader.end = end;
    } else reader.skip(tag, depth, start);
  }
  return into;
}

function readEntry(reader: Reader, object: JsonObject, depth: number): void {
  let key = "";
  let value: Json = null;
  while (reader.pos < reader.end) {
    const start = reader.pos;
    const tag = reader.tag();
    if (tag === TAG.key) key = reader.key();
    else if (tag === TAG.value) {
      const end = reader.enter();
      value = readValue(reader, value, depth);
      reader.end = end;
    } else reader.skip(tag, depth, start);
  }
  if (key in object) Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

function isObject(json: Json): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
