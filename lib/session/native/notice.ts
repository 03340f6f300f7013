import { capText, lineCount, utf8Size } from "./cap-text.ts";

/** What a host's tool says about having shown less than there is. */
export interface Notice {
  /** What it showed, without the notice. */
  readonly shown: string;
  /** The notice itself, as the host wrote it; absent where there is none. */
  readonly text?: string;
  /** The whole's lines. */
  readonly totalLines?: number;
  /** Which limit cut it. */
  readonly by?: "lines" | "bytes";
  /** The entries that a limit let through. */
  readonly entries?: number;
  /** Lines behind a limit that the caller asked for: nothing was cut. */
  readonly more?: number;
  readonly lastLinePartial?: boolean;
  /** Single lines were cut. */
  readonly linesCut?: boolean;
  /** The file that holds the whole output. */
  readonly fullOutput?: string;
}

/** Characters at the end of a text in which a notice stands. */
const END = 2_000;
const NOTICE = /(?:^|\n\n)(\[[^\n]*\])$/;

const RANGE = /^\[Showing lines \d+-\d+ of (\d{1,10})(?: \(([^)]*) limit\))?/;
const LAST = /^\[Showing last [^\n]* of line (\d{1,10}) /;
const MORE = /^\[(\d{1,10}) more lines in file\. Use offset=(\d{1,10}) /;
const FIRST_LINE = /^\[Line \d+ is [^\n]*, exceeds [^\n]* limit\./;
const ENTRIES = /(\d{1,10}) (?:matches|results|entries) limit reached/;
const BYTES = /[\d.]+ ?[KM]?B limit reached/;
const LINES_CUT = /Some lines truncated/;
const FULL_OUTPUT = /Full output: ([^\]\n]*)\]$/;

/** Reads the notice at the end of a tool's text. A bracketed last line that says nothing of limits is the tool's own text. */
export function readNotice(text: string): Notice {
  const match = NOTICE.exec(text.slice(-END));
  const note = match?.[1];
  if (match === null || note === undefined) return { shown: text };
  const known = meaning(note);
  return known === undefined ? { shown: text } : { shown: text.slice(0, text.length - match[0].length), text: note, ...known };
}

function meaning(note: string): Omit<Notice, "shown" | "text"> | undefined {
  const fullOutput = FULL_OUTPUT.exec(note)?.[1];
  const full = fullOutput === undefined ? {} : { fullOutput };
  const range = RANGE.exec(note);
  if (range !== null) return { totalLines: Number(range[1]), by: range[2] === undefined ? "lines" : "bytes", ...full };
  const last = LAST.exec(note);
  if (last !== null) return { totalLines: Number(last[1]), by: "bytes", lastLinePartial: true, ...full };
  const more = MORE.exec(note);
  if (more !== null) return { totalLines: Number(more[2]) - 1 + Number(more[1]), more: Number(more[1]) };
  if (FIRST_LINE.test(note)) return { by: "bytes" };
  const entries = ENTRIES.exec(note);
  const limits = {
    ...(entries !== null && { entries: Number(entries[1]) }),
    ...(BYTES.test(note) && { by: "bytes" as const }),
    ...(LINES_CUT.test(note) && { linesCut: true }),
  };
  if (Object.keys(limits).length > 0) return limits;
  return fullOutput === undefined ? undefined : { by: "bytes", ...full };
}

/** How an output was cut, in the numbers of the execs named after the host's tools (PROTOCOL §5.2); nothing where it was not. */
export interface Truncation {
  truncated: true;
  truncatedBy: "lines" | "bytes";
  totalLines?: number;
  outputLines: number;
  outputBytes: number;
  maxBytes?: number;
  lastLinePartial?: true;
}

/** The numbers of a cut: the host's, or ours where the text is over `limit` bytes. */
export function truncationOf(text: string, notice: Notice, limit: number): Truncation | undefined {
  const output = capText(text, limit);
  if (output !== text) {
    const lines = { totalLines: lineCount(text), outputLines: lineCount(output) };
    return { truncated: true, truncatedBy: "bytes", ...lines, outputBytes: limit, maxBytes: limit };
  }
  if (notice.by === undefined) return undefined;
  const { by, totalLines, lastLinePartial, shown } = notice;
  return {
    truncated: true,
    truncatedBy: by,
    ...(totalLines !== undefined && { totalLines }),
    outputLines: lineCount(shown),
    outputBytes: utf8Size(shown),
    ...(lastLinePartial && { lastLinePartial }),
  };
}
