/** Steps through bytes that are expected to be in their usual shape: see `hot-value.ts` and `lib/agent/hot.ts`. */

/** Elements that are read so: what has more would lose most where only its end is unusual, and gains least. */
export const USUAL = 1024;

/** Where the field ends that {@link field} or {@link smallField} found last. */
export let stop = 0;

/**
 * Where the value of the length-prefixed field `tag` at `at` starts, if that field is there, its length takes up to four
 * bytes and it ends by `end`; else -1.
 */
export function field(bytes: Uint8Array, at: number, tag: number, end: number): number {
  if (bytes[at] !== tag) return -1;
  let length = 0;
  let start = at + 1;
  for (let shift = 0; start < end && shift < 28; shift += 7) {
    const byte = bytes[start++]!;
    length |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    stop = start + length;
    return stop <= end ? start : -1;
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
