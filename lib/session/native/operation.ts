import type { Decoded } from "../../../wire/index.ts";
import type { DeleteArgs, LsArgs, ReadArgs, WriteArgs } from "../../agent/exec-file.ts";
import type { PiEditExecArgs, PiFindExecArgs, PiGrepExecArgs, PiLsExecArgs, PiWriteExecArgs } from "../../agent/exec-pi.ts";
import type { ExecRow, NativeIntent } from "../../agent/exec-row.ts";
import { readGrep, type GrepArgs } from "../../agent/exec-search.ts";
import type { ShellArgs } from "../../agent/exec-shell.ts";
import { LIMITS } from "../../agent/limits.ts";
import { utf8Size } from "./cap-text.ts";

/** One replacement of an edit. */
export interface Edit {
  readonly oldText: string;
  readonly newText: string;
}

/** How a search reports: lines, files, or matches by file. */
export type OutputMode = "content" | "files_with_matches" | "count";

/** What a native exec asks for, in one set of names for all cases. Absent: not given, or empty. */
export interface Values {
  command?: string;
  cwd?: string;
  description?: string;
  path?: string;
  /** Lines; the first is 1. */
  offset?: number;
  /** Lines of a read; matches, files or entries of a search or a listing. */
  limit?: number;
  content?: string;
  edits?: readonly Edit[];
  oldText?: string;
  newText?: string;
  /** A regular expression of a search; a glob of a search for file names. */
  pattern?: string;
  glob?: string;
  ignoreCase?: boolean;
  literal?: boolean;
  multiline?: boolean;
  fileType?: string;
  /** Lines around a match. */
  context?: number;
  contextBefore?: number;
  contextAfter?: number;
  outputMode?: OutputMode;
}

/** A native exec as the local operation that it stands for. */
export interface Operation {
  readonly intent: NativeIntent;
  readonly values: Values;
  /** Of what a search finds, so many entries are left out first, and so many reported. */
  readonly skip: number;
  readonly take: number;
}

const MODES: readonly string[] = ["content", "files_with_matches", "count"] satisfies OutputMode[];
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The operation of a native exec; undefined where it says too little or can not be said in a command or in JSON: no
 * command, no path, neither pattern nor glob, a NUL in a name or one over `LIMITS.nativeText`, bytes to write that are
 * no UTF-8 (PROTOCOL §5.1).
 */
export function readOperation(row: ExecRow, args: object): Operation | undefined {
  const operation = row.native && READERS[row.native](args);
  if (operation === undefined) return undefined;
  const { command, cwd, path, pattern, glob, fileType } = operation.values;
  return [command, cwd, path, pattern, glob, fileType].every(isSayable) ? operation : undefined;
}

/** Whether a text can stand in a command. The length goes first: the other looks take a while at 16 MiB. */
function isSayable(text: string = ""): boolean {
  return text.length <= LIMITS.nativeText && utf8Size(text) <= LIMITS.nativeText && !text.includes("\0");
}

const READERS: Readonly<Record<NativeIntent, (args: object) => Operation | undefined>> = {
  shell: (args) => {
    const { command, workingDirectory, description } = args as Decoded<typeof ShellArgs>;
    return blank(command) ? undefined : operation("shell", { command, cwd: workingDirectory, description });
  },
  read: (args) => {
    const { path, offset, limit } = args as Decoded<typeof ReadArgs>;
    // A negative offset counts from the end, which no host's tool is known to do.
    return path ? operation("read", { path, offset: positive(offset), limit: positive(limit) }) : undefined;
  },
  write: (args) => {
    const { path } = args as Decoded<typeof WriteArgs>;
    const content = contentOf(args);
    return path && content !== undefined ? operation("write", { path }, { content }) : undefined;
  },
  edit: (args) => {
    const { path, edits = [] } = args as Decoded<typeof PiEditExecArgs>;
    if (!path || edits.length === 0) return undefined;
    return operation("edit", { path, edits: edits.map(({ oldText = "", newText = "" }) => ({ oldText, newText })) });
  },
  delete: (args) => {
    const { path } = args as Decoded<typeof DeleteArgs>;
    return path ? operation("delete", { path }) : undefined;
  },
  grep: search,
  find: (args) => {
    const { pattern, path, limit } = args as Decoded<typeof PiFindExecArgs>;
    return blank(pattern) ? undefined : operation("find", { pattern, path, limit: positive(limit) });
  },
  ls: (args) => {
    const { path, limit } = args as Decoded<typeof LsArgs> & Decoded<typeof PiLsExecArgs>;
    return operation("ls", { path, limit: positive(limit) });
  },
};

/** A search; with an empty pattern and a glob, a search for file names (PROTOCOL §5.1). */
function search(args: object): Operation | undefined {
  const grep = readGrep(args as Decoded<typeof GrepArgs>);
  const pi = args as Decoded<typeof PiGrepExecArgs>;
  const { path, glob, pattern } = grep;
  const take = positive(grep.headLimit ?? pi.limit) ?? Infinity;
  const skip = positive(grep.offset) ?? 0;
  const limit = take === Infinity ? undefined : take + skip;
  if (blank(pattern)) return blank(glob) ? undefined : { ...operation("find", { pattern: glob, path, limit }), skip, take };
  const outputMode = MODES.includes(grep.outputMode ?? "") ? (grep.outputMode as OutputMode) : "content";
  const values: Possible = {
    pattern,
    path,
    glob,
    ignoreCase: grep.caseInsensitive || pi.ignoreCase || undefined,
    literal: pi.literal || undefined,
    multiline: grep.multiline || undefined,
    fileType: grep.type,
    context: positive(grep.context),
    contextBefore: positive(grep.contextBefore),
    contextAfter: positive(grep.contextAfter),
    outputMode,
    // A host's tool limits matches: files and counts need them all.
    limit: outputMode === "content" ? limit : undefined,
  };
  return { ...operation("grep", values), skip, take };
}

type Possible = { [Name in keyof Values]?: Values[Name] | undefined };

function operation(intent: NativeIntent, possible: Possible, always: Values = {}): Operation {
  const given = Object.entries(possible).filter(([, value]) => value !== undefined && value !== "");
  return { intent, values: { ...(Object.fromEntries(given) as Values), ...always }, skip: 0, take: Infinity };
}

/** The text to write: `file_bytes` where not empty, else the text, which may be empty (PROTOCOL §5.1). */
function contentOf(args: object): string | undefined {
  const { fileBytes, fileText } = args as Decoded<typeof WriteArgs>;
  if (fileBytes === undefined || fileBytes.length === 0) return fileText ?? (args as Decoded<typeof PiWriteExecArgs>).content ?? "";
  try {
    return utf8.decode(fileBytes);
  } catch {
    return undefined;
  }
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}

function blank(text: string | undefined): boolean {
  return text === undefined || text.trim() === "";
}
