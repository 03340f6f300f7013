import type { PlayedFrame } from "../loopback/capture.ts";
import { demoScript, scriptsFromJson, startLoopback, type Loopback, type LoopbackOptions } from "../loopback/index.ts";
import { parseJson } from "../loopback/json.ts";
import { linesOfCapture } from "./capture.ts";
import { Failure } from "./failure.ts";
import { inputOf, type Input } from "./input.ts";
import type { Context } from "./verb.ts";

/**
 * Starts the embedded host on 127.0.0.1, which answers the calls of an account, too.
 * @param file a script or scripts as JSON, or a capture to play; `-` for stdin; without one, the demo
 * @throws Failure `script_invalid`, where a script is over 16 MiB, too; `capture_invalid` or `line_too_long`;
 *   `file_unreadable`, `port_taken`, or `port_refused`
 */
export async function startHost(file: string | undefined, context: Pick<Context, "stdin" | "signal">, port = 0): Promise<Loopback> {
  const options = file === undefined ? { script: demoScript() } : await readScript(inputOf(file, context));
  try {
    return await startLoopback({ ...options, port, account: {} });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") throw new Failure("port_taken", `port ${port} is taken`, "Choose another --port, or leave it out for any free one.");
    if (code === "EACCES") throw new Failure("port_refused", `port ${port} may not be used`, "Choose a --port above 1023.");
    throw error;
  }
}

/** The most bytes of a script, and the most values in it. */
const SCRIPT_BYTES = 16 * 1024 * 1024;
const SCRIPT_VALUES = 1_000_000;

/** What stands in front of either: blanks, and the bytes of a byte order mark. */
const BLANK = /^[\s\xef\xbb\xbf]*/;
/** The most bytes of it that are looked at. */
const BLANK_BYTES = 4096;

/** A capture's first line is an object; a script is a list. */
async function readScript({ name, chunks }: Input): Promise<LoopbackOptions> {
  const { head, all } = await peek(chunks);
  if (head.startsWith("{")) return { capture: await framesOf(all, name) };
  const content = await textOf(all, name);
  try {
    return { script: scriptsFromJson(parseJson(content, SCRIPT_VALUES)) };
  } catch (error) {
    throw invalid(name, (error as Error).message);
  }
}

/** The first text that is not blank, and all of the bytes. */
async function peek(chunks: AsyncIterable<Uint8Array>): Promise<{ head: string; all: AsyncIterable<Uint8Array> }> {
  const rest = chunks[Symbol.asyncIterator]();
  let seen = Buffer.alloc(0);
  let head = "";
  while (head === "" && seen.length < BLANK_BYTES) {
    const { done, value } = await rest.next();
    if (done) break;
    seen = Buffer.concat([seen, value]);
    head = seen.toString("latin1").replace(BLANK, "");
  }
  const all = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield seen;
      yield* { [Symbol.asyncIterator]: () => rest };
    } finally {
      // Who leaves at the head has not reached the rest, whose source would stay open.
      await rest.return?.();
    }
  };
  return { head, all: all() };
}

async function framesOf(chunks: AsyncIterable<Uint8Array>, name: string): Promise<PlayedFrame[]> {
  const frames: PlayedFrame[] = [];
  for await (const line of linesOfCapture(chunks, name)) if ("frame" in line) frames.push(line.frame);
  return frames;
}

async function textOf(chunks: AsyncIterable<Uint8Array>, name: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > SCRIPT_BYTES) throw invalid(name, `it is over ${SCRIPT_BYTES} bytes`);
    pieces.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(pieces));
}

function invalid(file: string, why: string): Failure {
  const nextStep = 'A script is a JSON list of steps such as [{"text":"Hello"},{"turnEnded":true}].';
  return new Failure("script_invalid", `${file}: ${why}`, nextStep);
}
