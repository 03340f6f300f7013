/** Where the command reads bytes from: stdin, files, and what else has a path. */
import { constants, createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { addAbortSignal, type Readable } from "node:stream";
import { isatty, ReadStream } from "node:tty";
import { fileFailure } from "./failure.ts";
import type { Context } from "./verb.ts";

/** Bytes, and what errors call their source. */
export interface Input {
  readonly name: string;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * What an argument names: `-` is stdin, anything else a path. It is opened when its bytes are asked for. They throw
 * Failure `file_unreadable`, and at an abort what the signal says.
 */
export function inputOf(argument: string, { stdin, signal }: Pick<Context, "stdin" | "signal">): Input {
  if (argument === "-") return { name: "stdin", chunks: bytesOf("stdin", () => stdin, signal) };
  return { name: argument, chunks: bytesOf(argument, () => opened(argument), signal) };
}

async function* bytesOf(name: string, open: () => Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  try {
    yield* addAbortSignal(signal, open());
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof Error && "syscall" in error ? fileFailure("read", name, error) : error;
  }
}

/** What waits for a FIFO's writer or a terminal's next line must not be a thread: nothing ends that, not even an exit. */
function opened(path: string): Readable {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: true, writable: false });
  return isatty(fd) ? new ReadStream(fd) : createReadStream(path, { fd });
}
