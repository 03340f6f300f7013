import type { Readable } from "node:stream";
import type { Output } from "./output.ts";

/** One option of a verb. */
export interface Option {
  /** Without its dashes. */
  readonly name: string;
  readonly short?: string;
  /** What its value is called in the help. Absent: a flag. */
  readonly value?: string;
  /** The value may be left out; then it is given as `--name=VALUE` only. */
  readonly optional?: true;
  readonly meaning: string;
}

/** A parsed command line of a verb. */
export interface Arguments {
  readonly positionals: readonly string[];
  /** Whether the option was given, with or without a value. */
  has(name: string): boolean;
  /** The option's value; undefined where it was not given, or without one. */
  value(name: string): string | undefined;
}

/** What a verb works with. */
export interface Context {
  readonly arguments: Arguments;
  readonly out: Output;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted where the verb is to end before it is done. */
  readonly signal: AbortSignal;
}

/** One verb of the command: what it is called and takes, and how it is loaded. */
export interface Verb {
  readonly name: string;
  /** Its positional arguments as the help writes them. */
  readonly operands: string;
  readonly summary: string;
  /** More about it, one paragraph an entry. */
  readonly details: readonly string[];
  readonly options: readonly Option[];
  readonly examples: readonly string[];
  /** How many positional arguments it takes. */
  readonly count: { readonly least: number; readonly most: number };
  /** Loads its code. What it returns resolves to the exit code. */
  load(): Promise<(context: Context) => Promise<number>>;
}
