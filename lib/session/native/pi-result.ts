import { LIMITS } from "../../agent/limits.ts";
import type { Answer, Result } from "./answer.ts";
import { capText } from "./cap-text.ts";
import { readExit } from "./exit.ts";
import { readNotice, truncationOf } from "./notice.ts";
import { textOf } from "./outcome.ts";
import { readSearch } from "./search-result.ts";

/** What a command that stands in for a search or a listing says where there is nothing. */
const NOTHING = { grep: "No matches found", find: "No files found matching pattern", ls: "(empty directory)" } as const;

/** The result of an exec named after a host's tool: what the tool said, or its error (PROTOCOL §5.2). */
export interface PiResult {
  success?: { output: string };
  error?: { error: string };
}

/** What reading, editing and writing said; `cut` adds how a long output was cut. */
export function piResult({ outcome }: Answer, cut = false): PiResult {
  const text = textOf(outcome);
  const output = capText(text);
  return outcome.isError ? { error: { error: output } } : { success: { output, ...(cut && cutOf(text)) } };
}

/** What a command printed. A code other than 0 is an error that holds all of it, and so names the code. */
export function piBashResult({ outcome }: Answer): NonNullable<Result["piBashResult"]> {
  const text = textOf(outcome);
  const output = capText(text);
  const exit = readExit(outcome);
  const shown = exit.how === "exited" ? exit.output : text;
  const { fullOutput } = readNotice(shown);
  const more = { ...(capText(text) === text ? cutOf(shown) : cutOf(text)), ...(fullOutput !== undefined && { fullOutputPath: fullOutput }) };
  return outcome.isError ? { error: { error: output, ...more } } : { success: { output, ...more } };
}

/** What a search or a listing found; the limit that it reached is `limited`. */
export function piSearchResult(answer: Answer, limited: string): PiResult {
  const { intent } = answer.operation;
  if (!answer.composite) {
    const result = piResult(answer, true);
    const { entries, linesCut } = readNotice(textOf(answer.outcome));
    if (result.success) Object.assign(result.success, entries !== undefined && { [limited]: entries }, linesCut && intent === "grep" && { linesTruncated: true });
    return result;
  }
  const found = readSearch(answer);
  if ("error" in found) return { error: { error: capText(found.error) } };
  const nothing = NOTHING[intent as keyof typeof NOTHING];
  const text = [found.lines.length === 0 ? nothing : found.lines.join("\n"), found.notice.text].filter((part) => part !== undefined).join("\n\n");
  return { success: { output: capText(text), ...cutOf(text) } };
}

function cutOf(text: string): object {
  const truncation = truncationOf(text, readNotice(text), LIMITS.toolResult);
  return truncation === undefined ? {} : { truncation };
}
