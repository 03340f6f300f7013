import { captureLines, type CaptureLine } from "../loopback/capture-line.ts";
import { ScriptError } from "../loopback/shape.ts";
import { Failure } from "./failure.ts";
import { linesOf } from "./lines.ts";

/**
 * The header and the frames of a capture, as its bytes come: at most one line is held.
 * @param file what the errors call it
 * @throws Failure `capture_invalid`, with file, line and what is wrong, or `line_too_long`
 */
export async function* linesOfCapture(chunks: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<CaptureLine> {
  try {
    yield* captureLines(linesOf(chunks, file), file);
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    throw new Failure("capture_invalid", error.message, "A capture is written by: cursor-wire run --record FILE");
  }
}
