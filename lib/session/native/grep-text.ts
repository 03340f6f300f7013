/** The lines of a search as its tool printed them. */
export interface Found {
  readonly line: number;
  readonly text: string;
  readonly isContext: boolean;
}

/** What a search printed, by file in order of appearance; `rest` are lines that name no file and number. */
export interface GrepText {
  readonly files: ReadonlyMap<string, readonly Found[]>;
  readonly rest: readonly string[];
}

const MATCH = /^(.+?):(\d{1,10}):(.*)$/s;
const CONTEXT = /^(.+?)-(\d{1,10})-(.*)$/s;
/** The places of a context line's number that are tried: a file's name may hold some that look like it. */
const TRIED = 16;

interface Split {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/**
 * Reads `file:line: text` and the context's `file-line- text`, as hosts print them, and the same without the blank, as
 * `rg` and `grep` do: where every text begins with one it is the host's. A line that could be either is what its file
 * tells: files are known from lines that can only be matches.
 * @param context whether lines around the matches were asked for
 */
export function readGrepText(lines: readonly string[], context: boolean): GrepText {
  const known = new Set<string>();
  const splits = lines.map((line) => split(MATCH, line));
  for (const [index, match] of splits.entries()) if (match !== undefined && !(context && isEarlier(lines[index]!, match))) known.add(match.file);
  const found: (Split & { isContext: boolean })[] = [];
  const rest: string[] = [];
  for (const [index, line] of lines.entries()) {
    const match = splits[index];
    const around = context && !(match !== undefined && known.has(match.file)) ? contextOf(line, known) : undefined;
    const one = around ?? match ?? (context ? split(CONTEXT, line) : undefined);
    if (one !== undefined) found.push({ ...one, isContext: one !== match });
    else if (line !== "" && line !== "--") rest.push(line);
  }
  const padded = found.every(({ text }) => text === "" || text.startsWith(" "));
  const files = new Map<string, Found[]>();
  for (const { file, line, text, isContext } of found) {
    const list = files.get(file) ?? [];
    if (list.length === 0) files.set(file, list);
    list.push({ line, text: padded ? text.slice(1) : text, isContext });
  }
  return { files, rest };
}

/** Whether the line also reads as a context line, with a number before the match's. */
function isEarlier(line: string, match: Split): boolean {
  const context = split(CONTEXT, line);
  return context !== undefined && context.file.length < match.file.length;
}

/** The line as a context line of a known file. */
function contextOf(line: string, known: ReadonlySet<string>): Split | undefined {
  let from = split(CONTEXT, line);
  for (let tried = 0; from !== undefined && tried < TRIED; tried++) {
    if (known.has(from.file)) return from;
    const start = from.file.length + 1;
    const next: Split | undefined = split(CONTEXT, line.slice(start));
    from = next && { ...next, file: line.slice(0, start) + next.file };
  }
  return undefined;
}

function split(pattern: RegExp, line: string): Split | undefined {
  const [, file, number, text] = pattern.exec(line) ?? [];
  return file === undefined || text === undefined ? undefined : { file, line: Number(number), text };
}
