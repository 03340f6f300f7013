/**
 * Native execs as calls of the host's tools, and the tools' results as the execs' answers (PROTOCOL §5.1, DESIGN D20,
 * D21). A tool is chosen by what it can do, never by a name written here, so that the host's own permission rules decide
 * about everything that happens on its machine.
 */
import type { Decoded } from "../../../wire/index.ts";
import type { EXEC } from "../../agent/exec.ts";
import type { ExecClientMessage } from "../../agent/exec-client.ts";
import type { GrepArgs, WriteArgs } from "../../agent/index.ts";
import type { ExecRow } from "../../agent/exec-row.ts";
import type { Tool } from "../turn.ts";
import { composite } from "./composite.ts";
import { deleteResult, readResult, writeResult } from "./file-result.ts";
import { fill } from "./fill.ts";
import { lsResult } from "./ls-result.ts";
import { readOperation, type Operation, type Values } from "./operation.ts";
import { readOutcome, type Answer, type Result, type ToolResult } from "./outcome.ts";
import { folderOf } from "./paths.ts";
import { piBashResult, piResult, piSearchResult } from "./pi-result.ts";
import { enter } from "./quote.ts";
import { fillScript } from "./script.ts";
import { grepResult } from "./search-result.ts";
import { shellEvents, shellResult } from "./shell-result.ts";
import { candidates, readTraits, scriptTool, type Traits } from "./tools.ts";
import { VOCABULARY } from "./vocabulary.ts";
import { compact } from "./words.ts";

export type { ToolResult } from "./outcome.ts";

/** A native exec as a call of a host's tool. */
export interface Translation {
  readonly row: ExecRow;
  readonly args: object;
  readonly operation: Operation;
  /** The tool's registered name. */
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
  /** How the result is wrapped: `codemode` where the tool runs a script that calls another. */
  readonly unwrap: "plain" | "codemode";
  /** The folder that the Run works in, as a path. */
  readonly workspace: string;
  /** Set where a command stands in for a tool that the host does not have. */
  readonly composite?: true;
}

/**
 * The call that does what a native exec asks for: of a tool made for it; else, for a delete, a search or a listing, of a
 * command tool; else of a tool that runs scripts. Undefined where the exec is not one that is translated, says too
 * little, or no tool takes it: the caller refuses it then. Time limits are never passed on.
 * @param workspace an absolute path or its `file:` URL
 */
export function translate(row: ExecRow, args: object, tools: readonly Tool[], workspace: string): Translation | undefined {
  const operation = row.translated && readOperation(row, args);
  if (operation === undefined) return undefined;
  const call = callFor(operation, readTraits(tools));
  return call && { row, args, operation, ...call, workspace: folderOf(workspace) };
}

type Call = Pick<Translation, "tool" | "arguments" | "unwrap" | "composite">;

/** The call that does an operation, as {@link translate} chooses it. */
export function callFor(operation: Operation, all: readonly Traits[]): Call | undefined {
  if (operation.intent !== "delete") {
    const own = plainCall(operation, all);
    if (own !== undefined) return own;
  }
  const command = composite(operation);
  const shell: Operation = command === undefined ? operation : { ...operation, intent: "shell", values: { command } };
  const standIn = command === undefined ? {} : { composite: true as const };
  const plain = command === undefined ? undefined : plainCall(shell, all);
  if (plain !== undefined) return { ...plain, ...standIn };
  const runner = scriptTool(all);
  const script = runner && fillScript(runner, shell);
  return script && { tool: runner.name, arguments: script, unwrap: "codemode", ...standIn };
}

function plainCall(operation: Operation, all: readonly Traits[]): Call | undefined {
  for (const tool of candidates(all, operation.intent)) {
    const filled = fill(tool, operation);
    if (filled === undefined) continue;
    const { command, cwd, ...rest } = operation.values;
    if (cwd === undefined || command === undefined || filled.placed.has("cwd")) return { tool: tool.name, arguments: filled.arguments, unwrap: "plain" };
    const entered = fill(tool, { ...operation, values: { ...rest, command: enter(cwd, command) } });
    if (entered !== undefined) return { tool: tool.name, arguments: entered.arguments, unwrap: "plain" };
  }
  return undefined;
}

/** The cases that {@link translate} takes. */
type Translated = Extract<(typeof EXEC)[number], { translated: true }>["name"];

/** The answer to each case. */
const ANSWERS: Readonly<Record<Translated, (answer: Answer, args: object) => Result[]>> = {
  shell_args: (answer) => [{ shellResult: shellResult(answer) }],
  shell_stream_args: (answer) => shellEvents(answer).map((shellStream) => ({ shellStream })),
  read_args: (answer) => [{ readResult: readResult(answer) }],
  write_args: (answer, args) => [{ writeResult: writeResult(answer, (args as Decoded<typeof WriteArgs>).returnFileContentAfterWrite ?? false) }],
  delete_args: (answer) => [{ deleteResult: deleteResult(answer) }],
  grep_args: (answer, args) => [{ grepResult: grepResult(answer, args as Decoded<typeof GrepArgs>) }],
  ls_args: (answer) => [{ lsResult: lsResult(answer) }],
  pi_read_args: (answer) => [{ piReadResult: piResult(answer, true) }],
  pi_bash_args: (answer) => [{ piBashResult: piBashResult(answer) }],
  pi_edit_args: (answer) => [{ piEditResult: piResult(answer) }],
  pi_write_args: (answer) => [{ piWriteResult: piResult(answer) }],
  pi_grep_args: (answer) => [{ piGrepResult: piSearchResult(answer, "matchLimitReached") }],
  pi_find_args: (answer) => [{ piFindResult: piSearchResult(answer, "resultLimitReached") }],
  pi_ls_args: (answer) => [{ piLsResult: piSearchResult(answer, "entryLimitReached") }],
};

/**
 * What the host's tool returned as the answer of the exec: result fields without ids, in the order they are sent. A
 * shell stream has several, its output and its end; the caller sends the stream_close. Errors become the case's own arm
 * for them, exit codes and sizes are those that the host states, texts are cut to `LIMITS.toolResult` with a marker.
 */
export function nativeResults(translation: Translation, result: ToolResult): Decoded<typeof ExecClientMessage>[] {
  const { row, args, operation, unwrap, workspace } = translation;
  const answer: Answer = {
    operation,
    outcome: readOutcome(result, unwrap),
    workspace,
    composite: translation.composite ?? false,
    passed: (value) => unwrap === "codemode" || isPassed(translation, value),
  };
  return ANSWERS[row.name as Translated](answer, args);
}

function isPassed({ arguments: given, operation }: Translation, value: keyof Values): boolean {
  const spellings = VOCABULARY[operation.intent].properties.filter((slot) => slot.value === value).flatMap(({ names }) => names.map(compact));
  return Object.keys(given).some((name) => spellings.includes(compact(name)));
}
