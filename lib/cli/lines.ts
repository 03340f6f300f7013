import type { Line } from "../loopback/capture-line.ts";
import { Failure } from "./failure.ts";

/** Bytes of the longest line: a frame of 16 MiB in base64, and room for what stands around it. */
const LINE = 24 * 1024 * 1024;

/**
 * Cuts bytes into lines of UTF-8, a byte order mark left out. At most one line is held.
 * @throws Failure `line_too_long` before it would hold more than 24 MiB
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<Line> {
  let number = 1;
  let held: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(0x0a, start);
      const piece = chunk.subarray(start, end < 0 ? chunk.length : end);
      length += piece.length;
      if (length > LINE) throw new Failure("line_too_long", `${file}:${number}: the line is over ${LINE} bytes`, "Check that the file is a capture.");
      held.push(piece);
      if (end < 0) break;
      yield { number: number++, text: textOf(held) };
      held = [];
      length = 0;
      start = end + 1;
    }
  }
  if (length > 0) yield { number, text: textOf(held) };
}

function textOf(pieces: readonly Uint8Array[]): string {
  const text = Buffer.concat(pieces).toString("utf8");
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}
