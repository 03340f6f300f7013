/** Steps through bytes that are expected to be in their usual shape: see `hot-value.ts` and `lib/agent/hot.ts`. */

/** Where the field ends that {@link field} or {@link smallField} found last. */
export let stop = 0;

/**
 * Where the value of the length-prefixed field `tag` at `at` starts, if that field is there, its length takes up to four
 * bytes and it ends by `end`; else -1.
 */
export function field(bytes: Uint8Array, at: number, tag: number, end: number): number {
  if (at + 1 >= end || bytes[at] !== tag) return -1;
  let length = bytes[at + 1]!;
  let start = at + 2;
  if (length >= 0x80) {
    if (start >= end) return -1;
    const high = bytes[start++]!;
    if (high >= 0x80) return longField(bytes, at + 1, end);
    length = (length & 0x7f) | (high << 7);
  }
  stop = start + length;
  return stop <= end ? start : -1;
}

function longField(bytes: Uint8Array, at: number, end: number): number {
  let length = 0;
  for (let shift = 0; shift < 28; shift += 7) {
    if (at >= end) return -1;
    const byte = bytes[at++]!;
    length |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    stop = at + length;
    return stop <= end ? at : -1;
  }
  return -1;
}

/** The varint of the field `tag` at `at`, if that field is there, the varint takes up to two bytes and ends by `end`; else -1. */
export function smallField(bytes: Uint8Array, at: number, tag: number, end: number): number {
  if (at + 1 >= end || bytes[at] !== tag) return -1;
  const low = bytes[at + 1]!;
  stop = at + 2;
  if (low < 0x80) return low;
  if (stop >= end) return -1;
  const high = bytes[stop++]!;
  return high < 0x80 ? (low & 0x7f) | (high << 7) : -1;
}
