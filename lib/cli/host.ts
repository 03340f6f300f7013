import type { PlayedFrame } from "../loopback/capture.ts";
import { captureLines } from "../loopback/capture-line.ts";
import { demoScript, scriptsFromJson, ScriptError, startLoopback, type Loopback, type LoopbackOptions } from "../loopback/index.ts";
import { Failure } from "./failure.ts";
import { inputOf, type Input } from "./input.ts";
import { linesOf } from "./lines.ts";
import type { Context } from "./verb.ts";

/**
 * Starts the embedded host on 127.0.0.1, which answers the calls of an account, too.
 * @param file a script or scripts as JSON, or a capture to play; `-` for stdin; without one, the demo
 * @throws Failure `script_invalid`, where a script is over 16 MiB, too; `line_too_long` of a capture; `file_unreadable`,
 *   `port_taken`, or `port_refused`
 */
export async function startHost(file: string | undefined, context: Pick<Context, "stdin" | "signal">, port = 0): Promise<Loopback> {
  const options = file === undefined ? { script: demoScript() } : await readScript(inputOf(file, context));
  try {
    return await startLoopback({ ...options, port, account: {} });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof ScriptError) throw invalid(file!, message);
    if (code === "EADDRINUSE") throw new Failure("port_taken", `port ${port} is taken`, "Choose another --port, or leave it out for any free one.");
    if (code === "EACCES") throw new Failure("port_refused", `port ${port} may not be used`, "Choose a --port above 1023.");
    throw error;
  }
}

/** The most bytes of a script. */
const SCRIPT_BYTES = 16 * 1024 * 1024;

/** A capture's first line is an object; a script is a list. */
async function readScript({ name, chunks }: Input): Promise<LoopbackOptions> {
  const { head, all } = await peek(chunks);
  if (/^(?:\xef\xbb\xbf)?\{/.test(head.toString("latin1"))) return { capture: await readFrames(all, name) };
  const content = await textOf(all, name);
  try {
    return { script: scriptsFromJson(JSON.parse(content)) };
  } catch (error) {
    throw invalid(name, (error as Error).message);
  }
}

/** The bytes that tell what it is, behind a byte order mark too, and all of them. */
async function peek(chunks: AsyncIterable<Uint8Array>): Promise<{ head: Buffer; all: AsyncIterable<Uint8Array> }> {
  const rest = chunks[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < 4) {
    const { done, value } = await rest.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  const all = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield head;
      yield* { [Symbol.asyncIterator]: () => rest };
    } finally {
      // Who leaves at the head has not reached the rest, whose source would stay open.
      await rest.return?.();
    }
  };
  return { head, all: all() };
}

async function readFrames(chunks: AsyncIterable<Uint8Array>, name: string): Promise<PlayedFrame[]> {
  const frames: PlayedFrame[] = [];
  try {
    for await (const line of captureLines(linesOf(chunks, name), name)) if ("frame" in line) frames.push(line.frame);
  } catch (error) {
    throw error instanceof ScriptError ? invalid(name, error.message) : error;
  }
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
  const nextStep = 'A script is a JSON list of steps such as [{"text":"Hello"},{"turnEnded":true}]; a capture is what run --record writes.';
  return new Failure("script_invalid", `${file}: ${why}`, nextStep);
}
