/**
 * UTF-8 ⇄ strings. Most strings on this wire are short ASCII (names, ids, deltas) or long Han text, and each has its
 * own fast way: an argument list for short ASCII, Node's native string slices for the rest. Where the global
 * `Buffer` is absent, TextDecoder and TextEncoder do the same work more slowly. This is the one file of `wire/` that
 * looks for `Buffer` (DESIGN §3).
 */
interface NativeStrings {
  latin1Slice(start: number, end: number): string;
  ucs2Slice(start: number, end: number): string;
  utf8Write(text: string, offset: number, length: number): number;
}
/** Strings up to this many bytes are built without a native call. */
const SHORT = 20;
/** Up to this many bytes non-ASCII is transcoded here; above it TextDecoder is as fast (measured on Node 20 and 24). */
const TRANSCODE = 4096;

const native = (globalThis as { Buffer?: { prototype: NativeStrings } }).Buffer?.prototype;
const units = new Uint16Array(TRANSCODE);
const unitBytes = new Uint8Array(units.buffer);
const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
/** One reusable argument list a length: `fromCharCode` copies them before anything else can run. */
const codes = Array.from({ length: SHORT + 1 }, (_, n) => new Array<number>(n).fill(0));
const fatal = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * The string in `bytes[start, end)`, which must lie inside `bytes`. Invalid UTF-8 becomes U+FFFD when `replace`,
 * else gives undefined.
 */
export function decodeUtf8(bytes: Uint8Array, start: number, end: number, replace: boolean): string | undefined {
  const length = end - start;
  if (length <= SHORT) {
    const list = codes[length]!;
    let at = start;
    while (at < end) {
      const byte = bytes[at]!;
      if (byte > 127) return decodeLong(bytes, start, end, at, replace);
      list[at++ - start] = byte;
    }
    return String.fromCharCode.apply(null, list);
  }
  if (length > TRANSCODE) return decodePortable(bytes, start, end, replace);
  let at = start;
  while (at < end && bytes[at]! < 128) at++;
  return decodeLong(bytes, start, end, at, replace);
}

/** Keys up to this many bytes are kept, one a slot, so that a repeated key costs no new string and no new hash. */
const KEY = 24;
const keys = new Array<string>(256).fill("");

/**
 * {@link decodeUtf8} with replacement, for the keys of maps and objects. The same few come with every call, and
 * giving the same string back makes a tool call a third cheaper to decode (measured).
 */
export function decodeKey(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length === 0 || length > KEY) return decodeUtf8(bytes, start, end, true)!;
  const slot = (bytes[start]! * 31 + bytes[end - 1]! * 7 + bytes[(start + end) >> 1]! + length) & 255;
  const kept = keys[slot]!;
  if (kept.length === length) {
    let at = 0;
    while (at < length && kept.charCodeAt(at) === bytes[start + at]) at++;
    if (at === length) return kept;
  }
  const key = decodeUtf8(bytes, start, end, true)!;
  // As many units as bytes: all ASCII, so comparing units with bytes is comparing keys.
  if (key.length === length && isAscii(key)) keys[slot] = key;
  return key;
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 127) return false;
  return true;
}

/** As {@link decodeUtf8}, for at most {@link TRANSCODE} bytes of which `[start, at)` are ASCII. */
function decodeLong(bytes: Uint8Array, start: number, end: number, at: number, replace: boolean): string | undefined {
  if (native === undefined || !littleEndian) return decodePortable(bytes, start, end, replace);
  if (at === end) return native.latin1Slice.call(bytes, start, end);
  const count = transcode(bytes, start, end);
  if (count >= 0) return native.ucs2Slice.call(unitBytes, 0, count * 2);
  return replace ? decodePortable(bytes, start, end, true) : undefined;
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
  const length = text.length;
  if (length <= SHORT) {
    let index = 0;
    while (index < length) {
      const unit = text.charCodeAt(index);
      if (unit > 127) break;
      bytes[at + index++] = unit;
    }
    if (index === length) return at + length;
  }
  if (native !== undefined) return at + native.utf8Write.call(bytes, text, at, bytes.length - at);
  return encodePortable(text, bytes, at);
}

/** {@link encodeUtf8} by TextEncoder alone. */
export function encodePortable(text: string, bytes: Uint8Array, at: number): number {
  return at + encoder.encodeInto(text, bytes.subarray(at)).written;
}
