import type { Decoded } from "../../../wire/index.ts";
import { LIMITS } from "../../agent/limits.ts";
import type { GrepContentResult, GrepCountResult, GrepFilesResult } from "../../agent/exec-search.ts";
import type { Answer, Result } from "./answer.ts";
import { capText, utf8Size } from "./cap-text.ts";
import { readExit } from "./exit.ts";
import { readGrepText, type GrepText } from "./grep-text.ts";
import { readNotice, type Notice } from "./notice.ts";
import type { Operation } from "./operation.ts";
import { textOf } from "./outcome.ts";
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
  const { operation, workspace } = answer;
  const { path, outputMode } = operation.values;
  const mode = operation.intent === "find" ? "files_with_matches" : (outputMode ?? "content");
  const success = {
    ...(args.pattern && { pattern: args.pattern }),
    ...(path !== undefined && { path }),
    outputMode: mode,
    workspaceResults: new Map([[workspace, union(found, operation, workspace)]]),
  };
  return { success };
}

interface Search {
  readonly lines: readonly string[];
  readonly notice: Notice;
}

/** The lines that a search printed, or why it failed. Of a command that stands in, code 1 without a word means nothing found. */
export function readSearch({ outcome, composite }: Answer): Search | { error: string } {
  const exit = composite ? readExit(outcome) : undefined;
  const text = exit?.output ?? textOf(outcome);
  if (exit === undefined ? outcome.isError : exit.how !== "exited") return { error: text };
  const notice = readNotice(text);
  const lines = NOTHING.test(notice.shown) ? [] : notice.shown.split("\n").filter((line) => line !== "" && !(composite && NOISE.test(line)));
  const code = exit?.how === "exited" ? exit.code : 0;
  // A search that found something may still have met a folder that it may not read.
  if (lines.length === 0 && (code > 1 || (code === 1 && NOISE.test(text)))) return { error: text === "" ? `The search ended with exit code ${code}.` : text };
  return { lines, notice };
}

function union({ lines, notice }: Search, operation: Operation, workspace: string): object {
  const { values, intent, skip, take } = operation;
  const base = values.path === undefined || values.path === "." || values.path === workspace ? undefined : values.path;
  const place = (file: string): string => (base === undefined ? file.replace(/^\.\//, "") : below(base, file));
  const cutByTool = notice.by !== undefined || notice.entries !== undefined ? { ripgrepTruncated: true as const } : {};
  const window = <T>(list: readonly T[], size: (item: T) => number): Window<T> => ({ ...cut(list, skip, take, size), cutByTool });
  if (intent === "find") return { files: filesOf(lines.map(place), window) };
  const around = values.context !== undefined || values.contextBefore !== undefined || values.contextAfter !== undefined;
  const text = readGrepText(lines, around);
  switch (values.outputMode) {
    case "files_with_matches":
      return { files: filesOf([...new Set([...text.files.keys(), ...text.rest].map(place))], window) };
    case "count":
      return { count: countsOf(text, place, window) };
    case "content":
    case undefined:
      return { content: contentOf(text, base ?? ".", place, window) };
    default:
      return values.outputMode satisfies never;
  }
}

interface Window<T> {
  readonly shown: readonly T[];
  readonly notes: { headLimitApplied?: number; offsetApplied?: number; clientTruncated?: true };
  readonly cutByTool: { ripgrepTruncated?: true };
}
type ToWindow = <T>(list: readonly T[], size: (item: T) => number) => Window<T>;

/** The part of a list that was asked for, as far as it fits an answer. */
function cut<T>(list: readonly T[], skip: number, take: number, size: (item: T) => number): Omit<Window<T>, "cutByTool"> {
  const wanted = list.slice(skip, skip + take);
  let room: number = LIMITS.toolResult;
  const end = wanted.findIndex((item) => (room -= size(item)) < 0);
  const shown = end < 0 ? wanted : wanted.slice(0, end);
  const notes = {
    ...(end >= 0 && { clientTruncated: true as const }),
    ...(skip + take < list.length && { headLimitApplied: take }),
    ...(skip > 0 && { offsetApplied: skip }),
  };
  return { shown, notes };
}

function filesOf(files: readonly string[], window: ToWindow): Decoded<typeof GrepFilesResult> {
  const { shown, notes, cutByTool } = window(files, utf8Size);
  return { files: [...shown], totalFiles: files.length, ...notes, ...cutByTool };
}

/** Counts as a tool printed them, `file:3`, or of the matches that it printed instead. */
function countsOf({ files, rest }: GrepText, place: (file: string) => string, window: ToWindow): Decoded<typeof GrepCountResult> {
  const counts = new Map<string, number>();
  for (const [file, found] of files) counts.set(place(file), found.filter(({ isContext }) => !isContext).length);
  for (const line of rest) {
    const [, file, count] = COUNT.exec(line) ?? [];
    if (file !== undefined && Number(count) > 0) counts.set(place(file), Number(count));
  }
  const list = [...counts].map(([file, count]) => ({ file, count }));
  const { shown, notes, cutByTool } = window(list, ({ file }) => utf8Size(file));
  const totalMatches = list.reduce((sum, { count }) => sum + count, 0);
  return { counts: [...shown], totalFiles: list.length, totalMatches, ...notes, ...cutByTool };
}

/** Lines by file. What names no file is kept under `otherwise`, as the tool said it: it is not nothing. */
function contentOf(text: GrepText, otherwise: string, place: (file: string) => string, window: ToWindow): Decoded<typeof GrepContentResult> {
  const found = [...text.files].flatMap(([file, list]) => list.map(({ line, text: content, isContext }) => ({ file: place(file), line, content, isContext })));
  const all = found.length > 0 ? found : text.rest.map((content) => ({ file: otherwise, line: 0, content, isContext: false }));
  const { shown, notes, cutByTool } = window(all, ({ content }) => utf8Size(content));
  const matches = new Map<string, NonNullable<Decoded<typeof GrepContentResult>["matches"]>[number]>();
  for (const { file, line, content, isContext } of shown) {
    const one = matches.get(file) ?? { file, matches: [] };
    matches.set(file, one);
    one.matches?.push({ ...(line > 0 && { lineNumber: line }), content, ...(isContext && { isContextLine: true }) });
  }
  const totalMatchedLines = all.filter(({ isContext }) => !isContext).length;
  return { matches: [...matches.values()], totalLines: all.length, totalMatchedLines, ...notes, ...cutByTool };
}
