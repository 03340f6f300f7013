import {
  bool,
  int32,
  map,
  message,
  nested,
  oneof,
  optional,
  repeated,
  string,
  text,
  type Decoded,
} from "../../wire/index.ts";

/**
 * §5, exec 5: a search; with an empty `pattern` and a `glob`, a search for file names. Two layouts share the numbers
 * (§5.1): an older client wrote case-insensitive at 2, a path at 4 or 6 and the output mode at 11. Where the wire
 * types differ, the older field has a row of its own, named with its number; 4 is text in both. {@link readGrep}
 * settles it.
 */
export const GrepArgs = message({
  pattern: text(1),
  path: optional(text(2)),
  caseInsensitive2: bool(2),
  glob: optional(text(3)),
  outputMode: optional(text(4)),
  contextBefore: optional(int32(5)),
  contextAfter: optional(int32(6)),
  path6: text(6),
  context: optional(int32(7)),
  caseInsensitive: optional(bool(8)),
  type: optional(text(9)),
  headLimit: optional(int32(10)),
  multiline: optional(bool(11)),
  outputMode11: text(11),
  sort: optional(text(12)),
  sortAscending: optional(bool(13)),
  toolCallId: string(14),
  offset: optional(int32(16)),
});

const OUTPUT_MODES = ["content", "files_with_matches", "count"];

/** The search that {@link GrepArgs} asks for, in the newer layout's names, whichever layout it came in (§5.1). */
export function readGrep(args: Decoded<typeof GrepArgs>): Decoded<typeof GrepArgs> {
  const { caseInsensitive2, path6, outputMode11, ...grep } = args;
  if (caseInsensitive2 !== undefined) grep.caseInsensitive ??= caseInsensitive2;
  if (outputMode11 !== undefined || (grep.outputMode && !OUTPUT_MODES.includes(grep.outputMode))) {
    const path4 = grep.outputMode;
    delete grep.outputMode;
    if (path4) grep.path ??= path4;
    if (outputMode11 !== undefined) grep.outputMode = outputMode11;
  }
  if (path6 !== undefined) grep.path ??= path6;
  return grep;
}

/** §5.1: matches in one file. */
export const GrepFileCount = message({ file: text(1), count: int32(2) });

/** §5.1: matches by file. */
export const GrepCountResult = message({
  counts: repeated(nested(1, GrepFileCount)),
  totalFiles: int32(2),
  totalMatches: int32(3),
  clientTruncated: bool(4),
  ripgrepTruncated: bool(5),
  headLimitApplied: optional(int32(6)),
  offsetApplied: optional(int32(7)),
});

/** §5.1: files with a match. */
export const GrepFilesResult = message({
  files: repeated(text(1)),
  totalFiles: int32(2),
  clientTruncated: bool(3),
  ripgrepTruncated: bool(4),
  headLimitApplied: optional(int32(5)),
  offsetApplied: optional(int32(6)),
});

/** §5.1: one line. */
export const GrepContentMatch = message({
  lineNumber: int32(1),
  content: text(2),
  contentTruncated: bool(3),
  isContextLine: bool(4),
});

/** §5.1: the lines of one file. */
export const GrepFileMatch = message({ file: text(1), matches: repeated(nested(2, GrepContentMatch)) });

/** §5.1: lines with a match, and those around them. */
export const GrepContentResult = message({
  matches: repeated(nested(1, GrepFileMatch)),
  totalLines: int32(2),
  totalMatchedLines: int32(3),
  clientTruncated: bool(4),
  ripgrepTruncated: bool(5),
  headLimitApplied: optional(int32(6)),
  offsetApplied: optional(int32(7)),
});

/** §5.1: what one workspace gave, by output mode. */
export const GrepUnionResult = message({
  ...oneof("result", {
    count: nested(1, GrepCountResult),
    files: nested(2, GrepFilesResult),
    content: nested(3, GrepContentResult),
  }),
});

/** §5.1: what was found, by workspace path. */
export const GrepSuccess = message({
  pattern: text(1),
  path: text(2),
  outputMode: text(3),
  workspaceResults: map(4, text(1), nested(2, GrepUnionResult)),
  activeEditorResult: nested(5, GrepUnionResult),
});

/** §5: why nothing was searched. */
export const GrepError = message({ error: text(1) });

/** §5, exec 5: what was found or why not. */
export const GrepResult = message({
  ...oneof("result", { success: nested(1, GrepSuccess), error: nested(2, GrepError) }),
});
