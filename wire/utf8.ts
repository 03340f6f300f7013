/**
 * UTF-8 ⇄ strings. Most strings on this wire are short ASCII (names, ids, deltas) or Han text, and each has its own
 * fast way: an argument list for short ASCII, Node's native string slices for the rest. Where those are absent,
 * TextDecoder and TextEncoder do the same work more slowly.
 */
import { native } from "./native.ts";

/** Strings up to this many bytes are built without a native call. */
const SHORT = 20;
/**
 * Up to this many bytes non-ASCII is transcoded here, in half the time of TextDecoder. Since Node 24, told by a class
 * that came with it, TextDecoder is the faster one from some 48 bytes on (measured on Node 20, 22 and 24).
 */
const TRANSCODE = [4096, 48][Number("Float16Array" in globalThis)]!;
/** Strings of more bytes that start with this many of ASCII are left to TextDecoder: it looks at many bytes at once. */
const LONG = { over: 128, start: 32 } as const;
/** Keys up to this many bytes are kept, one a slot. */
const KEY = 24;
const SLOTS = 256;

const units = new Uint16Array(TRANSCODE);
const unitBytes = new Uint8Array(units.buffer);
const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
/** One reusable argument list a length: `fromCharCode` copies them before anything else can run. */
const codes = Array.from({ length: SHORT + 1 }, (_, n) => new Array<number>(n).fill(0));
const keys = new Array<string>(SLOTS).fill("");
/** The UTF-8 of each kept key, and its length. */
const keyBytes = new Uint8Array(SLOTS * KEY);
const keyLengths = new Uint8Array(SLOTS);
const fatal = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * The string in `bytes[start, end)`, which must lie inside `bytes`. Invalid UTF-8 becomes U+FFFD when `replace`,
 * else gives undefined.
 */
export function decodeUtf8(bytes: Uint8Array, start: number, end: number, replace: boolean): string | undefined {
  const length = end - start;
  if (length > TRANSCODE || (length > LONG.over && isAscii(bytes, start, start + LONG.start))) return decodePortable(bytes, start, end, replace);
  let at = start;
  if (length <= SHORT) {
    const list = codes[length]!;
    while (at < end && bytes[at]! < 128) {
      list[at - start] = bytes[at]!;
      at++;
    }
    if (at === end) return String.fromCharCode.apply(null, list);
  }
  if (native === undefined || !littleEndian) return decodePortable(bytes, start, end, replace);
  if (isAscii(bytes, at, end)) return native.latin1Slice.call(bytes, start, end);
  const count = transcode(bytes, start, end);
  if (count >= 0) return native.ucs2Slice.call(unitBytes, 0, count * 2);
  return replace ? decodePortable(bytes, start, end, true) : undefined;
}

/** Whether all bytes in `[at, end)` are ASCII. */
export function isAscii(bytes: Uint8Array, at: number, end: number): boolean {
  while (at + 4 <= end && (bytes[at]! | bytes[at + 1]! | bytes[at + 2]! | bytes[at + 3]!) < 128) at += 4;
  while (at < end && bytes[at]! < 128) at++;
  return at === end;
}

/** {@link decodeUtf8} by TextDecoder alone: the way for hosts without `Buffer`, and for what is long or broken. */
export function decodePortable(bytes: Uint8Array, start: number, end: number, replace: boolean): string | undefined {
  const view = bytes.subarray(start, end);
  if (replace) return lenient.decode(view);
  try {
    return fatal.decode(view);
  } catch {
    return undefined;
  }
}

/**
 * {@link decodeUtf8} with replacement, for the keys of maps and objects. The same few come with every call, and giving
 * the same string back saves its making and its hash (measured: a tool call a fifth cheaper to decode).
 */
export function decodeKey(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length === 0 || length > KEY) return decodeUtf8(bytes, start, end, true)!;
  const slot = (bytes[start]! * 31 + bytes[end - 1]! * 7 + bytes[(start + end) >> 1]! + length) & (SLOTS - 1);
  const kept = slot * KEY;
  if (keyLengths[slot] === length) {
    let index = 0;
    while (index < length && keyBytes[kept + index] === bytes[start + index]) index++;
    if (index === length) return keys[slot]!;
  }
  const key = decodeUtf8(bytes, start, end, true)!;
  keyLengths[slot] = length;
  for (let index = 0; index < length; index++) keyBytes[kept + index] = bytes[start + index]!;
  return (keys[slot] = key);
}

/** Writes UTF-16 units of valid UTF-8 to `units`; their count, or -1 at the first invalid sequence. */
function transcode(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let count = 0;
  while (at < end) {
    const a = bytes[at++]!;
    if (a < 0x80) {
      units[count++] = a;
    } else if (a >= 0xe0 && a < 0xf0) {
      if (end - at < 2) return -1;
      const b = bytes[at]!;
      const c = bytes[at + 1]!;
      const unit = ((a & 0x0f) << 12) | ((b & 0x3f) << 6) | (c & 0x3f);
      if ((b & 0xc0) !== 0x80 || (c & 0xc0) !== 0x80 || unit < 0x800 || (unit & 0xf800) === 0xd800) return -1;
      units[count++] = unit;
      at += 2;
    } else if (a >= 0xc2 && a < 0xe0) {
      if (at >= end) return -1;
      const b = bytes[at++]!;
      if ((b & 0xc0) !== 0x80) return -1;
      units[count++] = ((a & 0x1f) << 6) | (b & 0x3f);
    } else if (a >= 0xf0 && a < 0xf5) {
      if (end - at < 3) return -1;
      const b = bytes[at]!;
      const c = bytes[at + 1]!;
      const d = bytes[at + 2]!;
      const point = ((a & 0x07) << 18) | ((b & 0x3f) << 12) | ((c & 0x3f) << 6) | (d & 0x3f);
      if ((b & 0xc0) !== 0x80 || (c & 0xc0) !== 0x80 || (d & 0xc0) !== 0x80 || point < 0x10000 || point > 0x10ffff) return -1;
      units[count++] = 0xd800 | ((point - 0x10000) >> 10);
      units[count++] = 0xdc00 | (point & 0x3ff);
      at += 3;
    } else {
      return -1;
    }
  }
  return count;
}

/**
 * Writes `text` as UTF-8 at `bytes[at]` and returns the end. A lone surrogate becomes U+FFFD, a pair stays. The
 * caller has made room for 3 bytes a UTF-16 unit.
 */
export function encodeUtf8(text: string, bytes: Uint8Array, at: number): number {
  const { length } = text;
  if (length <= SHORT) {
    let index = 0;
    while (index < length) {
      const unit = text.charCodeAt(index);
      if (unit > 127) break;
      bytes[at + index++] = unit;
    }
    if (index === length) return at + length;
  }
  if (native === undefined) return encodePortable(text, bytes, at);
  return at + native.utf8Write.call(bytes, text, at, bytes.length - at);
}

/** {@link encodeUtf8} by TextEncoder alone. */
export function encodePortable(text: string, bytes: Uint8Array, at: number): number {
  return at + encoder.encodeInto(text, bytes.subarray(at)).written;
}
