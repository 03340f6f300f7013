/**
 * Commands that stand in for tools which the host does not have: a delete that reports the size (PROTOCOL §5.1), and
 * searches and listings. They are plain POSIX; a search prefers `rg` where it is installed, because it is what the
 * service's own client uses: it knows the patterns that the model writes, and leaves out what git ignores.
 */
import type { NativeIntent } from "../../agent/exec-row.ts";
import type { Operation, Values } from "./operation.ts";
import { anchored, enter, quote } from "./quote.ts";

/** What {@link composite} prints before a deleted file's size in bytes. */
export const SIZE_MARK = "D0:";

/** More alternatives than this in a glob's braces are not written out for `find` and `grep`. */
const BRACES = 16;

/** What `grep -E` does not know: classes such as \d, groups such as (?i), lazy and possessive counts. */
const PERL = /\\[dDpPhHRXxuUkKQEAzZvVN]|\(\?|[*+?}][?+]/;

const COMMANDS: Readonly<Partial<Record<NativeIntent, (values: Values) => string>>> = {
  delete: ({ path = "" }) => `sz=$(wc -c < ${quote(path)}) && rm -- ${quote(path)} && printf '${SIZE_MARK}%s\\n' "$sz"`,
  grep: grepCommand,
  find: findCommand,
  ls: ({ path = "." }) => `ls -1Ap -- ${quote(path)}`,
};

/** The command that does the operation; undefined for an intent that has none. */
export function composite({ intent, values }: Operation): string | undefined {
  return COMMANDS[intent]?.(values);
}

function findCommand({ path, pattern = "", limit }: Values): string {
  const names = nameGlobs(pattern)?.map((name) => `-name ${quote(name)}`);
  const find = names && `find . \\( -name .git -o -name node_modules \\) -prune -o -type f \\( ${names.join(" -o ")} \\) -print`;
  // The globs of rg are anchored at the folder it runs in.
  return inFolder(path, preferred(`rg --files -g ${quote(pattern)}`, find, limit));
}

function grepCommand(values: Values): string {
  const { pattern = "", glob, ignoreCase, literal, multiline, fileType } = values;
  const target = glob === undefined ? quote(anchored(values.path ?? ".")) : ".";
  const around = (["A", "B"] as const).map((flag) => linesAround(flag, values)).filter((flag) => flag !== "");
  const rg = ["rg --color=never", RG_MODES[values.outputMode ?? "content"], ...around];
  if (ignoreCase) rg.push("-i");
  if (literal) rg.push("-F");
  if (multiline) rg.push("-U --multiline-dotall");
  if (glob !== undefined) rg.push(`-g ${quote(glob)}`);
  if (fileType !== undefined) rg.push(`-t ${quote(fileType)}`);
  rg.push(`-e ${quote(pattern)} -- ${target}`);
  const names = glob === undefined ? [] : nameGlobs(glob);
  const plain = names !== undefined && !multiline && fileType === undefined;
  const grep = [`grep -rI${GREP_MODES[values.outputMode ?? "content"]}${literal ? "F" : PERL.test(pattern) ? "P" : "E"}`, ...around];
  if (ignoreCase) grep.push("-i");
  grep.push("--exclude-dir=.git --exclude-dir=node_modules");
  for (const name of names ?? []) grep.push(`--include=${quote(name)}`);
  grep.push(`-e ${quote(pattern)} -- ${target}`);
  const command = preferred(rg.join(" "), plain ? grep.join(" ") : undefined, values.limit);
  return glob === undefined ? command : inFolder(values.path, command);
}

const RG_MODES = { content: "-nH --no-heading", files_with_matches: "-l", count: "-cH" } as const;
const GREP_MODES = { content: "nH", files_with_matches: "l", count: "cH" } as const;

function linesAround(flag: "A" | "B", { outputMode, context = 0, contextAfter = 0, contextBefore = 0 }: Values): string {
  const lines = Math.max(context, flag === "A" ? contextAfter : contextBefore);
  return lines > 0 && outputMode === "content" ? `-${flag} ${lines}` : "";
}

/**
 * The first lines matter where there is a limit, and a host that cuts keeps the last: twice as many and two leave room
 * for separators, and show that there are more.
 */
function preferred(rg: string, others: string | undefined, limit: number | undefined): string {
  const command = others === undefined ? rg : `if command -v rg >/dev/null 2>&1; then ${rg}; else ${others}; fi`;
  return limit === undefined ? command : `${command} | head -n ${2 * limit + 2}`;
}

function inFolder(path: string | undefined, command: string): string {
  return path === undefined ? command : enter(path, command);
}

/**
 * A glob as globs of names alone, its braces written out; undefined where it says more than that. A glob without a slash
 * means a name at any depth, and a leading `**` with a slash says the same.
 */
function nameGlobs(glob: string): string[] | undefined {
  const name = glob.replace(/^(\*\*\/)+/, "");
  if (name === "**") return ["*"];
  if (name.includes("/") || name.includes("**") || name.startsWith("!")) return undefined;
  const [, before = "", inside, after = ""] = /^([^{}]*)\{([^{}]*)\}([^{}]*)$/.exec(name) ?? [];
  if (inside === undefined) return /[{}]/.test(name) ? undefined : [name];
  const alternatives = inside.split(",");
  return alternatives.length > BRACES ? undefined : alternatives.map((one) => before + one + after);
}
