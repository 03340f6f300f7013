/**
 * A Value as every encoder writes it, one kind and each field of an entry once and in order, decoded by hand. Whatever
 * else the rules allow, and whatever they do not, is left to `value.ts`.
 * Measured against that on Node 20: the arguments of a tool call in nine tenths of the time.
 */
import { field, stop, USUAL } from "./hot-field.ts";
import { TAG, type Json, type JsonObject } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { native } from "./native.ts";
import { doubleAt } from "./reader.ts";
import { decodeKey, decodeUtf8, isAscii } from "./utf8.ts";

/**
 * In a value of at most this many bytes the longer strings are slices of one: a slice costs a third of a native call,
 * and holds on to no more than the value that it came in.
 */
const SHARE = native === undefined ? 0 : 2048;
/** Shorter strings are cheaper alone, and longer ones do not pay for the look at each byte. */
const SLICE = { from: 9, to: 128 } as const;

/** Elements of the value that {@link hotValue} gave last. */
export let elements = 0;
/** The whole value as Latin-1, made for the first string that needs it; emptied when the next value begins. */
let latin1 = "";

/** The JSON in the bytes of a Value of the usual shape, else undefined. */
export function hotValue(bytes: Uint8Array): Json | undefined {
  elements = 0;
  latin1 = "";
  return read(bytes, 0, bytes.length, 0);
}

function read(bytes: Uint8Array, start: number, end: number, depth: number): Json | undefined {
  switch (bytes[start]) {
    case TAG.null:
      return start + 2 === end && bytes[start + 1] === 0 ? null : undefined;
    case TAG.number:
      return start + 9 === end ? doubleAt(bytes, start + 1) : undefined;
    case TAG.string: {
      const at = field(bytes, start, TAG.string, end);
      if (at < 0 || stop !== end) return undefined;
      return depth === 0 ? decodeUtf8(bytes, at, end, true)! : string(bytes, at, end);
    }
    case TAG.bool:
      return start + 2 === end && bytes[start + 1]! < 2 ? bytes[start + 1] === 1 : undefined;
    case TAG.struct: {
      const at = field(bytes, start, TAG.struct, end);
      return at < 0 || stop !== end || depth >= LIMITS.depth ? undefined : object(bytes, at, end, depth + 1);
    }
    case TAG.list: {
      const at = field(bytes, start, TAG.list, end);
      return at < 0 || stop !== end || depth >= LIMITS.depth ? undefined : list(bytes, at, end, depth + 1);
    }
  }
  return undefined;
}

function list(bytes: Uint8Array, start: number, end: number, depth: number): Json[] | undefined {
  const into: Json[] = [];
  while (start < end) {
    const at = field(bytes, start, TAG.element, end);
    if (at < 0 || ++elements > USUAL) return undefined;
    start = stop;
    const json = read(bytes, at, start, depth);
    if (json === undefined) return undefined;
    into.push(json);
  }
  return into;
}

function object(bytes: Uint8Array, start: number, end: number, depth: number): JsonObject | undefined {
  const into: JsonObject = {};
  while (start < end) {
    let at = field(bytes, start, TAG.element, end);
    if (at < 0 || ++elements > USUAL) return undefined;
    start = stop;
    if ((at = field(bytes, at, TAG.key, start)) < 0) return undefined;
    const key = decodeKey(bytes, at, stop);
    if ((at = field(bytes, stop, TAG.value, start)) < 0 || stop !== start || key === "__proto__") return undefined;
    const json = read(bytes, at, start, depth);
    if (json === undefined) return undefined;
    into[key] = json;
  }
  return into;
}

function string(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length < SLICE.from || length > SLICE.to || bytes.length > SHARE || !isAscii(bytes, start, end)) return decodeUtf8(bytes, start, end, true)!;
  if (latin1 === "") latin1 = native!.latin1Slice.call(bytes, 0, bytes.length);
  return latin1.slice(start, end);
}
