import { LIMITS } from "../../agent/limits.ts";

const encoder = new TextEncoder();
/** A UTF-16 unit takes at most so many bytes of UTF-8. */
const UNIT = 3;
/** Units that are encoded at once, to be counted: natively that takes a tenth of the time of a loop over them. */
const PIECE = 16_384;
const scratch = new Uint8Array(UNIT * PIECE);

/**
 * `text`, cut to `limit` bytes of UTF-8 with a marker at the end that says so (PROTOCOL §8). A surrogate pair is never
 * split. Where not even the marker fits, the marker alone: nothing is left out in silence.
 */
export function capText(text: string, limit: number = LIMITS.toolResult): string {
  if (text.length * UNIT <= limit) return text;
  const size = utf8Size(text);
  if (size <= limit) return text;
  const marker = `\n[truncated: the whole text has ${size} bytes]`;
  const room = new Uint8Array(Math.max(0, limit - marker.length));
  return text.slice(0, encoder.encodeInto(text, room).read) + marker;
}

/** The bytes of `text` in UTF-8; a lone surrogate counts as the U+FFFD that is sent for it. */
export function utf8Size(text: string): number {
  let size = 0;
  for (let start = 0; start < text.length; ) {
    let end = start + PIECE;
    // The first half of a pair waits for the second.
    if ((text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end -= 1;
    size += encoder.encodeInto(text.slice(start, end), scratch).written;
    start = end;
  }
  return size;
}

/** The lines of `text`: a last one counts without its line break too. */
export function lineCount(text: string): number {
  if (text === "") return 0;
  let count = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
