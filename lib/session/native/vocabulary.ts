/**
 * What the host's tools are recognised by (PROTOCOL §5). This table is the only place that knows how others name their
 * tools and properties; a new spelling is a new word here and nothing else.
 */
import type { NativeIntent } from "../../agent/exec-row.ts";
import type { Values } from "./operation.ts";

/** One property that a tool may take a value in. */
export interface Slot {
  readonly value: keyof Values;
  /** Spellings, the usual one first. Case, `_` and `-` do not matter. */
  readonly names: readonly string[];
  /** The operation means the same without it; any other value that has no place makes the tool unfit. */
  readonly hint?: true;
  /** A tool with this property is fit for the intent, whatever its name (PROTOCOL §5: the command intents). */
  readonly tells?: true;
}

/** What an intent means, how a tool for it is called and what it takes. A phrase counts where all its words occur, in any order. */
export interface Vocabulary {
  /** What the tool is for, and what an exec for the intent asks for, in words that follow "to". */
  readonly purpose: string;
  readonly asked: string;
  /** An operation that any tool for the intent has to take. */
  readonly example: Values;
  /** No exec of §5 stands for it, so the model has to be told the arguments of the host's tool. */
  readonly told?: true;
  /** Whole names, best first. */
  readonly aliases: readonly string[];
  /** Words and phrases in a name. */
  readonly names: readonly string[];
  readonly properties: readonly Slot[];
  /** Words and phrases in a description. */
  readonly descriptions: readonly string[];
}

const COMMAND = ["command", "cmd", "script", "shell_command", "bash_command", "command_line"];
const FILE = ["path", "file_path", "file", "filename", "absolute_path", "target_file", "target_path", "relative_path"];
const FOLDER = ["path", "directory", "dir", "folder", "directory_path", "dir_path", "folder_path", "target_directory", "root", "base_path", "search_path"];
const LIMIT = ["limit", "head_limit", "max_results", "max_matches", "max_count", "max_entries", "num_results"];

/** The vocabulary of each intent. */
export const VOCABULARY: Readonly<Record<NativeIntent, Vocabulary>> = {
  shell: {
    purpose: "run a command",
    asked: "run that command",
    example: { command: "ls" },
    aliases: ["bash", "shell", "sh", "run_command", "execute_command", "run_shell_command", "run_terminal_cmd", "terminal", "exec", "powershell", "cmd"],
    names: ["shell", "bash", "terminal", "exec", "command", "zsh", "powershell"],
    properties: [
      { value: "command", names: COMMAND, tells: true },
      { value: "cwd", names: ["cwd", "working_directory", "workdir", "work_dir", "working_dir", "directory", "dir"], hint: true },
      { value: "description", names: ["description", "explanation", "summary"], hint: true },
    ],
    descriptions: ["shell", "bash", "terminal", "run command", "execute command"],
  },
  read: {
    purpose: "read a file",
    asked: "read that file",
    example: { path: "a" },
    aliases: ["read", "read_file", "file_read", "view_file", "view", "cat", "open_file"],
    names: ["read", "cat", "view file", "open file", "get file", "show file"],
    properties: [
      { value: "path", names: FILE },
      { value: "offset", names: ["offset", "start_line", "line_start", "from_line", "line_offset"], hint: true },
      { value: "limit", names: ["limit", "line_count", "num_lines", "max_lines", "line_limit"], hint: true },
    ],
    descriptions: ["read file", "file content", "view file"],
  },
  write: {
    purpose: "write a file",
    asked: "write that file",
    example: { path: "a", content: "b" },
    aliases: ["write", "write_file", "file_write", "create_file", "save_file"],
    names: ["write", "put", "create file", "save file"],
    properties: [
      { value: "path", names: FILE },
      { value: "content", names: ["content", "contents", "text", "body", "data", "file_text", "file_content", "new_content"] },
    ],
    descriptions: ["write file", "create file", "save file", "put file"],
  },
  edit: {
    purpose: "edit a file",
    asked: "edit that file",
    example: { path: "a", edits: [{ oldText: "b", newText: "c" }] },
    told: true,
    aliases: ["edit", "edit_file", "file_edit", "str_replace", "search_replace", "multi_edit"],
    names: ["edit", "replace", "patch file", "modify file"],
    properties: [
      { value: "path", names: FILE },
      { value: "edits", names: ["edits", "replacements", "changes"] },
      { value: "oldText", names: ["oldText", "old_string", "old_str", "old", "search", "find"] },
      { value: "newText", names: ["newText", "new_string", "new_str", "new", "replace", "replacement"] },
    ],
    descriptions: ["edit file", "replace text", "modify file"],
  },
  delete: {
    purpose: "delete a file",
    asked: "delete that file",
    example: { path: "a" },
    aliases: ["delete", "delete_file", "remove_file", "rm", "remove", "unlink"],
    names: ["delete file", "remove file", "rm", "unlink", "trash file"],
    properties: [
      { value: "path", names: FILE },
      { value: "command", names: COMMAND, tells: true },
    ],
    descriptions: ["delete file", "remove file"],
  },
  grep: {
    purpose: "search in files",
    asked: "run that search",
    example: { pattern: "b" },
    aliases: ["grep", "rg", "ripgrep", "grep_search", "search_files", "code_search"],
    names: ["grep", "rg", "ripgrep", "search code", "search file", "search content", "search text"],
    properties: [
      { value: "pattern", names: ["pattern", "regex", "regexp", "query", "search_pattern", "search", "search_term", "expression"] },
      { value: "path", names: [...FOLDER, "file", "file_path", "cwd"] },
      { value: "glob", names: ["glob", "include", "include_pattern", "file_pattern", "file_glob"] },
      { value: "ignoreCase", names: ["ignoreCase", "case_insensitive", "insensitive"] },
      { value: "literal", names: ["literal", "fixed_strings", "fixed_string", "is_literal"] },
      { value: "multiline", names: ["multiline", "multi_line"] },
      { value: "fileType", names: ["file_type", "filetype"] },
      { value: "context", names: ["context", "context_lines"], hint: true },
      { value: "contextBefore", names: ["context_before", "before_context", "lines_before"], hint: true },
      { value: "contextAfter", names: ["context_after", "after_context", "lines_after"], hint: true },
      { value: "outputMode", names: ["output_mode"], hint: true },
      { value: "limit", names: LIMIT, hint: true },
    ],
    descriptions: ["grep", "ripgrep", "search content", "search regex"],
  },
  find: {
    purpose: "find files by name",
    asked: "find those files",
    example: { pattern: "*.b" },
    aliases: ["find", "glob", "find_files", "file_search", "glob_search", "fd"],
    names: ["find", "glob", "find file", "list file"],
    properties: [
      { value: "pattern", names: ["pattern", "glob", "glob_pattern", "file_pattern", "name_pattern"] },
      { value: "path", names: [...FOLDER, "cwd"] },
      { value: "limit", names: LIMIT, hint: true },
    ],
    descriptions: ["glob", "find file"],
  },
  ls: {
    purpose: "list a folder",
    asked: "list that folder",
    example: { path: "a" },
    aliases: ["ls", "list", "list_dir", "list_directory", "list_folder", "dir"],
    names: ["ls", "list dir", "list directory", "list folder", "list file"],
    properties: [
      { value: "path", names: FOLDER },
      { value: "limit", names: LIMIT, hint: true },
    ],
    descriptions: ["list directory", "list folder", "directory content"],
  },
};

/** The tool that runs a script which calls the others. It scores for no intent, though its description names them all (PROTOCOL §5.1). */
export const SCRIPT_TOOL = { aliases: ["codemode"], properties: ["code", "script", "source"] } as const;

/** What an edit of several holds. */
export const REPLACEMENT: readonly Slot[] = VOCABULARY.edit.properties.filter(({ value }) => value === "oldText" || value === "newText");

/** The intents, in the order in which a person would name them. */
export const INTENTS = Object.keys(VOCABULARY) as NativeIntent[];
