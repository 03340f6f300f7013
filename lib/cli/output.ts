import { fstatSync } from "node:fs";
import type { Writable } from "node:stream";
import { jsonLine } from "./printable.ts";

/** A stream to write to; `isTTY` where it is a terminal, `fd` where it is the process's. */
export type Sink = Writable & { readonly isTTY?: boolean; readonly fd?: number };

/** Styles of text: identity where colours are off. */
export interface Style {
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

/** What a verb writes to: results on stdout, diagnostics on stderr (DESIGN §5). */
export class Output {
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Whether results are JSON lines. */
  readonly json: boolean;
  /** For stdout. */
  readonly style: Style;
  /** For stderr. */
  readonly noteStyle: Style;
  /** Whether people see both in one place, where a note would run into a line that has been begun. */
  readonly together: boolean;
  #full = false;
  #corked = false;

  constructor(stdout: Sink, stderr: Sink, env: Readonly<Record<string, string | undefined>>, json: boolean) {
    this.stdout = stdout;
    this.stderr = stderr;
    this.json = json;
    this.style = styleOf(stdout, env);
    this.noteStyle = styleOf(stderr, env);
    this.together = (stdout.isTTY && stderr.isTTY) || sameFile(stdout, stderr);
  }

  /** Writes text to stdout as it is. What is written in one turn of the event loop goes out at once. */
  write(text: string): void {
    if (!this.#corked) {
      this.#corked = true;
      this.stdout.cork();
      process.nextTick(() => this.flush());
    }
    if (!this.stdout.write(text)) this.#full = true;
  }

  /** Hands what has been written over to stdout now. */
  flush(): void {
    if (!this.#corked) return;
    this.#corked = false;
    this.stdout.uncork();
  }

  /** Writes one line to stdout. */
  line(text = ""): void {
    this.write(`${text}\n`);
  }

  /** Writes one JSON object as a line of stdout. */
  object(value: object): void {
    this.line(jsonLine(value));
  }

  /** Writes one line to stderr, behind what has been written to stdout. */
  note(text: string): void {
    this.flush();
    this.stderr.write(`${text}\n`);
  }

  /** Waits until stdout takes more, or never will: call it in loops that write without end. */
  async drained(): Promise<void> {
    if (!this.#full) return;
    this.#full = false;
    const { stdout } = this;
    if (!stdout.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stdout.off("drain", done).off("error", done);
        resolve();
      };
      stdout.on("drain", done).on("error", done);
    });
  }
}

/** Whether both write to one file or pipe, as after `2>&1`. */
function sameFile({ fd: one }: Sink, { fd: other }: Sink): boolean {
  if (one === undefined || other === undefined) return false;
  const [{ dev, ino }, { dev: otherDev, ino: otherIno }] = [fstatSync(one), fstatSync(other)];
  // Some platforms give pipes no number.
  return ino !== 0 && ino === otherIno && dev === otherDev;
}

const CODES = { dim: [2, 22], bold: [1, 22], red: [31, 39], yellow: [33, 39], cyan: [36, 39] } as const;

/** Colours only on a terminal, and never with NO_COLOR (https://no-color.org: set and not empty). */
function styleOf(stream: Sink, env: Readonly<Record<string, string | undefined>>): Style {
  const on = stream.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  const entries = Object.entries(CODES).map(([name, [start, end]]) => [
    name,
    on ? (text: string) => `\u001b[${start}m${text}\u001b[${end}m` : (text: string) => text,
  ]);
  return Object.fromEntries(entries) as Style;
}
