/** A line of a search as its tool printed it. */
export interface Found {
  readonly line: number;
  text: string;
  readonly isContext: boolean;
}

/** What a search printed, by file in order of appearance; `rest` are lines that name no file and number. */
export interface GrepText {
  readonly files: ReadonlyMap<string, readonly Found[]>;
  readonly rest: readonly string[];
}

/** What stands on both sides of a line's number. */
const MATCH = ":";
const CONTEXT = "-";
/** Digits of a line's number. */
const DIGITS = 10;
/** The places of a context line's number that are tried: a file's name may hold some that look like it. */
const TRIED = 16;

interface Split {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/**
 * Reads `file:line:text` and the context's `file-line-text`. Hosts print a blank before the text, `rg` and `grep` do not.
 * @param context whether lines around the matches were asked for
 * @param host whether a host's tool printed it: where every text begins with a blank, that is taken off
 */
export function readGrepText(lines: readonly string[], context: boolean, host: boolean): GrepText {
  const known = context ? filesWithMatches(lines) : undefined;
  const files = new Map<string, Found[]>();
  const rest: string[] = [];
  let padded = host;
  for (const line of lines) {
    const match = split(line, MATCH);
    const one = known === undefined ? match : settle(line, match, known);
    if (one === undefined) {
      if (line !== "--") rest.push(line);
      continue;
    }
    const found = { line: one.line, text: one.text, isContext: one !== match };
    const list = files.get(one.file);
    if (list === undefined) files.set(one.file, [found]);
    else list.push(found);
    padded &&= one.text === "" || one.text.startsWith(" ");
  }
  if (padded) for (const list of files.values()) for (const found of list) found.text = found.text.slice(1);
  return { files, rest };
}

/** What a line is that may be context: what its file tells, else a match, else context of a file without one. */
function settle(line: string, match: Split | undefined, known: ReadonlySet<string>): Split | undefined {
  if (match !== undefined && known.has(match.file)) return match;
  return contextOf(line, known) ?? match ?? split(line, CONTEXT);
}

/**
 * The files that a match names. Where a number stands before the match's, as in `a-1-b:2: c`, the line may be context of
 * a file `a`: only where `a` has no match it is a match in `a-1-b`. Shorter names first, for they decide about longer ones.
 */
function filesWithMatches(lines: readonly string[]): Set<string> {
  const known = new Set<string>();
  const unsure: { line: string; file: string }[] = [];
  for (const line of lines) {
    const match = split(line, MATCH);
    if (match === undefined) continue;
    const before = split(line, CONTEXT);
    if (before !== undefined && before.file.length < match.file.length) unsure.push({ line, file: match.file });
    else known.add(match.file);
  }
  unsure.sort((a, b) => a.file.length - b.file.length);
  for (const { line, file } of unsure) if (contextOf(line, known) === undefined) known.add(file);
  return known;
}

/** The line as a context line of a known file. */
function contextOf(line: string, known: ReadonlySet<string>): Split | undefined {
  let from = split(line, CONTEXT);
  for (let tried = 0; from !== undefined && tried < TRIED; tried++) {
    if (known.has(from.file)) return from;
    from = split(line, CONTEXT, from.file.length + 1);
  }
  return undefined;
}

/**
 * The first number at or after `from` that has the mark on both sides, and a name before it. Written by hand: 5 MB take
 * a tenth of a regular expression's time.
 */
function split(line: string, mark: string, from = 1): Split | undefined {
  for (let at = line.indexOf(mark, from); at >= 0; at = line.indexOf(mark, at + 1)) {
    let end = at + 1;
    while (isDigit(line.charCodeAt(end))) end += 1;
    const digits = end - at - 1;
    if (digits > 0 && digits <= DIGITS && line[end] === mark)
      return { file: line.slice(0, at), line: Number(line.slice(at + 1, end)), text: line.slice(end + 1) };
  }
  return undefined;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
