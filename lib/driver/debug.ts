import { createWriteStream, type WriteStream } from "node:fs";
import { AgentClientMessage, arms } from "../agent/index.ts";
import type { Envelope } from "../../wire/index.ts";

/** ms that closing may take. */
const PATIENCE = 500;

/**
 * A file of redacted summaries, one JSON object a line: which message went which way and how large it was, never what it
 * said. A file that cannot be written costs one call of `onProblem`, never the turn.
 */
export class DebugFile {
  readonly #stream: WriteStream;

  constructor(path: string, onProblem: (message: string) => void) {
    this.#stream = createWriteStream(path, { flags: "a", mode: 0o600 });
    this.#stream.on("error", (error) => onProblem(`the debug file cannot be written: ${(error as NodeJS.ErrnoException).code}`));
  }

  /** Adds a line; a summary must not hold texts or tokens. */
  write(summary: Record<string, unknown>): void {
    if (!this.#stream.destroyed) this.#stream.write(`${JSON.stringify({ time: new Date().toISOString(), ...summary })}\n`);
  }

  /** Adds a line about an envelope. */
  envelope(from: "client" | "server", { flags, payload }: Envelope): void {
    this.write({ from, flags, bytes: payload.length, message: namesIn(from, payload) });
  }

  /** Resolves when everything is written, or cannot be: a pipe that nobody reads never opens. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stream.destroyed) return resolve();
      const limit = setTimeout(() => {
        this.#stream.destroy();
        resolve();
      }, PATIENCE);
      this.#stream.end(() => {
        clearTimeout(limit);
        resolve();
      });
    });
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
