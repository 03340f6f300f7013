import type { Readable } from "node:stream";
import { nearest } from "../loopback/nearest.ts";
import { COMMON, parseArguments } from "./arguments.ts";
import { tell, UsageError } from "./failure.ts";
import { overview, verbHelp } from "./help.ts";
import { Output, type Sink } from "./output.ts";
import { printable } from "./printable.ts";
import type { Verb } from "./verb.ts";
import { VERBS } from "./verbs.ts";
import { version } from "./version.ts";

/** What the command runs in: a process, or a test's stand-in for one. */
export interface Surroundings {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted at the first SIGINT, SIGTERM or SIGHUP, and with an {@link OutputLost} where nothing can be written. */
  readonly signal: AbortSignal;
}

/** Why a verb is stopped that is not interrupted: its output goes nowhere, and what there is to tell has been told. */
export class OutputLost extends Error {
  override readonly name = "OutputLost";
}

/** Exit codes (DESIGN §5). */
export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/**
 * Runs one command line: `line` is what follows the command's name. Never throws: every error is written to stderr
 * and becomes the exit code that it resolves to.
 */
export async function command(line: readonly string[], surroundings: Surroundings): Promise<number> {
  const { stdout, stderr, env, signal } = surroundings;
  const options = line.includes("--") ? line.slice(0, line.indexOf("--")) : line;
  const out = new Output(stdout, stderr, env, options.includes("--json"));
  try {
    const [word, ...rest] = line;
    if (word === undefined) throw new UsageError("no verb is given");
    if (word === "--version" || word === "-v") return said(out, `${version()}\n`);
    if (word === "--help" || word === "-h") return said(out, overview(VERBS));
    if (word === "help") return said(out, rest[0] === undefined ? overview(VERBS) : verbHelp(verbOf(rest[0])));
    const verb = verbOf(word);
    const args = parseArguments(verb, rest);
    if (args.has("help")) return said(out, verbHelp(verb));
    const run = await verb.load();
    const code = await run({ arguments: args, out, stdin: surroundings.stdin, env, signal });
    return signal.aborted ? stopped(out, signal) : code;
  } catch (error) {
    return fail(out, error, signal);
  } finally {
    out.flush();
  }
}

function said(out: Output, text: string): number {
  out.write(text);
  return EXIT.done;
}

function verbOf(word: string): Verb {
  const verb = VERBS.find(({ name }) => name === word);
  if (verb !== undefined) return verb;
  const option = /^--?([^=]+)/.exec(word)?.[1];
  if (option !== undefined) throw new UsageError(misplaced(word, option));
  const near = nearest(word, VERBS.map(({ name }) => name));
  throw new UsageError(`there is no verb ${word}${near === undefined ? "" : `; did you mean ${near}?`}`);
}

/** What is wrong with an option where a verb should stand. */
function misplaced(word: string, option: string): string {
  const options = [...COMMON, ...VERBS.flatMap(({ options }) => options)].map(({ name }) => name);
  if (options.includes(option)) return `write ${word} behind the verb: cursor-wire VERB ${word}`;
  const near = nearest(option, ["version", ...options]);
  return `there is no option ${word}${near === undefined ? "" : `; did you mean --${near}?`}`;
}

function fail(out: Output, error: unknown, signal: AbortSignal): number {
  if (error instanceof UsageError) {
    out.note(`${out.noteStyle.red("cursor-wire:")} ${printable(error.message)}`);
    out.note(`Try: cursor-wire ${error.verb === undefined ? "" : `${error.verb} `}--help`);
    return EXIT.usage;
  }
  if (signal.aborted) return stopped(out, signal);
  tell(out, error);
  return EXIT.failed;
}

function stopped(out: Output, { reason }: AbortSignal): number {
  if (reason instanceof OutputLost) return EXIT.failed;
  if (out.json) out.object({ type: "error", kind: "aborted", code: "interrupted", message: "interrupted", nextStep: "" });
  out.note("interrupted");
  return EXIT.interrupted;
}
