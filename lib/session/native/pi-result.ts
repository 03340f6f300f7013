import { LIMITS } from "../../agent/limits.ts";
import { capText } from "./cap-text.ts";
import { readExit } from "./exit.ts";
import { given } from "./given.ts";
import { EMPTY_FOLDER } from "./ls-result.ts";
import { readNotice, truncationOf } from "./notice.ts";
import { textOf, type Answer, type Result } from "./outcome.ts";
import { readSearch } from "./search-result.ts";

/** What a command that stands in for a search or a listing says where there is nothing. */
const NOTHING = { grep: "No matches found", find: "No files found matching pattern", ls: EMPTY_FOLDER } as const;

/** The result of an exec named after a host's tool: what the tool said, or its error (PROTOCOL §5.2). */
export interface PiResult {
  success?: { output?: string };
  error?: { error?: string };
}

/** What reading, editing and writing said; `cut` adds how a long output was cut. */
export function piResult({ outcome }: Answer, cut = false): PiResult {
  const text = textOf(outcome);
  const output = capText(text);
  return outcome.isError ? { error: given({ error: output }) } : { success: { ...given({ output }), ...(cut && cutOf(text)) } };
}

/** What a command printed. A code other than 0 is an error that holds all of it, and so names the code. */
export function piBashResult({ outcome }: Answer): NonNullable<Result["piBashResult"]> {
  const text = textOf(outcome);
  const output = capText(text);
  const exit = readExit(outcome);
  const shown = exit.how === "exited" ? exit.output : text;
  const { fullOutput } = readNotice(shown);
  const more = { ...(output === text ? cutOf(shown) : cutOf(text)), ...given({ fullOutputPath: fullOutput }) };
  return outcome.isError ? { error: { ...given({ error: output }), ...more } } : { success: { ...given({ output }), ...more } };
}

/** What a search or a listing found; the limit that it reached is `limited`. */
export function piSearchResult(answer: Answer, limited: string): PiResult {
  const { intent } = answer.operation;
  if (!answer.composite) {
    const result = piResult(answer, true);
    const { entries, linesCut } = readNotice(textOf(answer.outcome));
    const limits = given({ [limited]: entries, linesTruncated: linesCut && intent === "grep" });
    return result.success === undefined ? result : { success: { ...result.success, ...limits } };
  }
  const found = readSearch(answer);
  if ("error" in found) return { error: given({ error: capText(found.error) }) };
  const nothing = NOTHING[intent as keyof typeof NOTHING];
  const text = [found.lines.length === 0 ? nothing : found.lines.join("\n"), found.notice.text].filter((part) => part !== undefined).join("\n\n");
  return { success: { output: capText(text), ...cutOf(text) } };
}

function cutOf(text: string): object {
  const truncation = truncationOf(text, readNotice(text), LIMITS.toolResult);
  return truncation === undefined ? {} : { truncation };
}
