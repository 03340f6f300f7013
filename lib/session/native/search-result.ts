import type { Decoded } from "../../../wire/index.ts";
import { LIMITS } from "../../agent/limits.ts";
import type { GrepContentMatch, GrepContentResult, GrepCountResult, GrepFilesResult } from "../../agent/exec-search.ts";
import { capText, utf8Size } from "./cap-text.ts";
import { readExit } from "./exit.ts";
import { given } from "./given.ts";
import { readGrepText, type GrepText } from "./grep-text.ts";
import { readNotice, type Notice } from "./notice.ts";
import type { Operation } from "./operation.ts";
import { textOf, type Answer, type Result } from "./outcome.ts";
import { below } from "./paths.ts";

/** What tools say that have found nothing. */
const NOTHING = /^(?:\(no output\)|no (?:matches|matching files|files|results)(?: were)? found\b[^\n]*)?$/i;
/** What a command that stands in for a search says about itself, not about a file. */
const NOISE = /^(?:rg|grep|find|ls|(?:\S*\/)?(?:ba|da|z|)sh): /;
const COUNT = /^(.+):(\d{1,10})$/s;

/** A search as a GrepResult by workspace (PROTOCOL §5.1): lines by file, files, or counts, with exact totals of what the tool found. */
export function grepResult(answer: Answer, args: { pattern?: string }): NonNullable<Result["grepResult"]> {
  const found = readSearch(answer);
  if ("error" in found) return { error: { error: capText(found.error === "" ? "The search failed without a word." : found.error) } };
  const { operation, workspace, composite } = answer;
  const { path, outputMode } = operation.values;
  const mode = operation.intent === "find" ? "files_with_matches" : outputMode!;
  const results = new Map([[workspace, union(found, operation, workspace, !composite)]]);
  return { success: { ...given({ pattern: args.pattern, path, outputMode: mode }), workspaceResults: results } };
}

interface Search {
  readonly lines: readonly string[];
  readonly notice: Notice;
}

/** The lines that a search printed, or why it failed. A command that stands in and says nothing at all has found nothing, unless its code is over 1. */
export function readSearch({ outcome, composite }: Answer): Search | { error: string } {
  const exit = composite ? readExit(outcome) : undefined;
  const text = exit?.output ?? textOf(outcome);
  if (exit === undefined ? outcome.isError : exit.how !== "exited") return { error: text };
  const notice = readNotice(text);
  const lines = NOTHING.test(notice.shown) ? [] : notice.shown.split("\n").filter((line) => line !== "" && !(composite && NOISE.test(line)));
  const code = exit?.how === "exited" ? exit.code : 0;
  // A search that found something may still have met a folder that it may not read.
  if (lines.length === 0 && (code > 1 || (composite && NOISE.test(text)))) return { error: text === "" ? `The search ended with exit code ${code}.` : text };
  return { lines, notice };
}

function union({ lines, notice }: Search, { values, intent, skip, take }: Operation, workspace: string, host: boolean): object {
  const base = values.path === undefined || values.path === "." || values.path === workspace ? undefined : values.path;
  const place = (file: string): string => (base === undefined ? file.replace(/^\.\//, "") : below(base, file));
  const wanted = { skip, take, ripgrepTruncated: notice.by !== undefined || notice.entries !== undefined };
  if (intent === "find") return { files: filesOf(lines.map(place), wanted) };
  const around = values.context !== undefined || values.contextBefore !== undefined || values.contextAfter !== undefined;
  const text = readGrepText(lines, around, host);
  const mode = values.outputMode!;
  switch (mode) {
    case "files_with_matches":
      return { files: filesOf([...new Set([...text.files.keys(), ...text.rest].map(place))], wanted) };
    case "count":
      return { count: countsOf(text, place, wanted) };
    case "content":
      return { content: contentOf(text, base ?? ".", place, wanted) };
  }
}

/** Which part of what was found is reported, and whether the tool has left something out itself. */
interface Wanted {
  readonly skip: number;
  readonly take: number;
  readonly ripgrepTruncated: boolean;
}

/** The part of a list that was asked for, as far as it fits an answer. */
function cut<T>(list: readonly T[], wanted: Wanted, size: (item: T) => number): { shown: T[]; notes: ReturnType<typeof notesOf> } {
  const part = list.slice(wanted.skip, wanted.skip + wanted.take);
  let room: number = LIMITS.toolResult;
  const end = part.findIndex((item) => (room -= size(item)) < 0);
  return { shown: end < 0 ? part : part.slice(0, end), notes: notesOf(list.length, wanted, end >= 0) };
}

function notesOf(total: number, { skip, take, ripgrepTruncated }: Wanted, clientTruncated: boolean) {
  return given({ clientTruncated, ripgrepTruncated, headLimitApplied: skip + take < total ? take : 0, offsetApplied: skip });
}

function filesOf(files: readonly string[], wanted: Wanted): Decoded<typeof GrepFilesResult> {
  const { shown, notes } = cut(files, wanted, utf8Size);
  return { files: shown, ...given({ totalFiles: files.length }), ...notes };
}

/** Counts as a tool printed them, `file:3`, or of the matches that it printed instead. */
function countsOf({ files, rest }: GrepText, place: (file: string) => string, wanted: Wanted): Decoded<typeof GrepCountResult> {
  const counts = new Map<string, number>();
  for (const [file, found] of files) counts.set(place(file), found.filter(({ isContext }) => !isContext).length);
  for (const line of rest) {
    const [, file, count] = COUNT.exec(line) ?? [];
    if (file !== undefined && Number(count) > 0) counts.set(place(file), Number(count));
  }
  const list = [...counts].map(([file, count]) => ({ file, count }));
  const { shown, notes } = cut(list, wanted, ({ file }) => utf8Size(file));
  const totalMatches = list.reduce((sum, { count }) => sum + count, 0);
  return { counts: shown, ...given({ totalFiles: list.length, totalMatches }), ...notes };
}

/** Lines by file. What names no file is kept under `otherwise`, as the tool said it: it is not nothing. */
function contentOf(text: GrepText, otherwise: string, place: (file: string) => string, wanted: Wanted): Decoded<typeof GrepContentResult> {
  const { skip, take } = wanted;
  const files = text.files.size > 0 ? text.files : new Map([[otherwise, text.rest.map((line) => ({ line: 0, text: line, isContext: false }))]]);
  const matches: { file: string; matches: Decoded<typeof GrepContentMatch>[] }[] = [];
  let totalLines = 0;
  let totalMatchedLines = 0;
  let room: number = LIMITS.toolResult;
  for (const [file, list] of files) {
    const shown: Decoded<typeof GrepContentMatch>[] = [];
    for (const { line, text: content, isContext } of list) {
      totalLines += 1;
      if (!isContext) totalMatchedLines += 1;
      if (totalLines <= skip || totalLines > skip + take || room < 0) continue;
      room -= utf8Size(content);
      if (room >= 0) shown.push(given({ lineNumber: line, content, isContextLine: isContext }));
    }
    if (shown.length > 0) matches.push({ file: text.files.size > 0 ? place(file) : file, matches: shown });
  }
  const notes = notesOf(totalLines, wanted, room < 0);
  return { matches, ...given({ totalLines, totalMatchedLines }), ...notes };
}
