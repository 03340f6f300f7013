import { LIMITS } from "../../agent/limits.ts";

const encoder = new TextEncoder();
/** A UTF-16 unit takes at most so many bytes of UTF-8. */
const UNIT = 3;

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
  let size = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) size += 1;
    else if (isPair(text, index, unit)) {
      size += 2;
      index += 1;
    } else size += 2;
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

function isPair(text: string, index: number, unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
}
