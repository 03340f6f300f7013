import { createWriteStream, statSync, type WriteStream } from "node:fs";
import { AgentClientMessage, arms } from "../agent/index.ts";
import type { Envelope } from "../../wire/index.ts";

/**
 * A file of redacted summaries, one JSON object a line: which message went which way and how large it was, never what it
 * said. A file that cannot be written costs one call of `onProblem`, never the turn.
 */
export class DebugFile {
  readonly #stream: WriteStream | undefined;

  constructor(path: string, onProblem: (message: string) => void) {
    const onError = (error: unknown): void => onProblem(`the debug file cannot be written: ${(error as NodeJS.ErrnoException).code}`);
    try {
      // Opening a pipe that nobody reads would never end, and keep the process.
      if (statSync(path, { throwIfNoEntry: false })?.isFIFO()) {
        onProblem("the debug file is a pipe, and is not written");
        return;
      }
      this.#stream = createWriteStream(path, { flags: "a", mode: 0o600 });
      this.#stream.on("error", onError);
    } catch (error) {
      onError(error);
    }
  }

  /** Adds a line; a summary must not hold texts or tokens. */
  write(summary: Record<string, unknown>): void {
    if (this.#stream?.destroyed === false) this.#stream.write(`${JSON.stringify({ time: new Date().toISOString(), ...summary })}\n`);
  }

  /** Adds a line about an envelope. */
  envelope(from: "client" | "server", { flags, payload }: Envelope): void {
    this.write({ from, flags, bytes: payload.length, message: namesIn(from, payload) });
  }

  /** Resolves when everything is written, or cannot be. */
  close(): Promise<void> {
    const stream = this.#stream;
    return new Promise((resolve) => (stream === undefined || stream.destroyed ? resolve() : stream.end(() => resolve())));
  }
}

/** The names of the arms, two levels deep. */
function namesIn(from: "client" | "server", payload: Uint8Array): string[] {
  try {
    const values = from === "client" ? [AgentClientMessage.decode(payload)] : arms(payload).arms;
    return values.flatMap((value) => Object.entries(value).map(([name, inner]) => [name, ...caseOf(inner)].join(".")));
  } catch {
    return [];
  }
}

function caseOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  return Object.keys(value).filter((name) => typeof (value as Record<string, unknown>)[name] === "object").slice(0, 1);
}
