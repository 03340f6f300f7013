import { bool, double, int32, message, nested, oneof, optional, repeated, text, uint32 } from "../../wire/index.ts";

/** §5.2: how an output was cut. */
export const PiTruncation = message({
  truncated: bool(1),
  truncatedBy: text(2),
  totalLines: uint32(3),
  outputLines: uint32(4),
  outputBytes: uint32(5),
  maxLines: optional(uint32(6)),
  maxBytes: optional(uint32(7)),
  firstLineExceedsLimit: bool(8),
  lastLinePartial: bool(9),
});

/** §5.2, exec 45: a file to read; `offset` and `limit` in lines. */
export const PiReadExecArgs = message({ path: text(1), offset: optional(int32(2)), limit: optional(int32(3)) });

/** §5.2, exec 45: the file. */
export const PiReadExecSuccess = message({ output: text(1), truncation: nested(2, PiTruncation) });

/** §5.2, exec 45: why not. */
export const PiReadExecError = message({ error: text(1) });

/** §5.2, exec 45: the answer, field 46. */
export const PiReadExecResult = message({
  ...oneof("result", { success: nested(1, PiReadExecSuccess), error: nested(2, PiReadExecError) }),
});

/** §5.2, exec 46: a command to run; `timeout` in seconds. */
export const PiBashExecArgs = message({ command: text(1), timeout: optional(double(2)) });

/** §5.2, exec 46: what it printed. */
export const PiBashExecSuccess = message({
  output: text(1),
  truncation: nested(2, PiTruncation),
  fullOutputPath: optional(text(3)),
});

/** §5.2, exec 46: why not, or what a failing command printed. */
export const PiBashExecError = message({
  error: text(1),
  truncation: nested(2, PiTruncation),
  fullOutputPath: optional(text(3)),
});

/** §5.2, exec 46: the answer, field 47. */
export const PiBashExecResult = message({
  ...oneof("result", { success: nested(1, PiBashExecSuccess), error: nested(2, PiBashExecError) }),
});

/** §5.2, exec 47: one replacement. */
export const PiEditReplacement = message({ oldText: text(1), newText: text(2) });

/** §5.2, exec 47: a file to edit. */
export const PiEditExecArgs = message({ path: text(1), edits: repeated(nested(2, PiEditReplacement)) });

/** §5.2, exec 47: the edit. */
export const PiEditExecSuccess = message({
  output: text(1),
  diff: text(2),
  patch: text(3),
  firstChangedLine: optional(uint32(4)),
});

/** §5.2, exec 47: why not. */
export const PiEditExecError = message({ error: text(1) });

/** §5.2, exec 47: the edit is refused. */
export const PiEditExecRejected = message({ reason: text(1) });

/** §5.2, exec 47: the answer, field 48. */
export const PiEditExecResult = message({
  ...oneof("result", {
    success: nested(1, PiEditExecSuccess),
    error: nested(2, PiEditExecError),
    rejected: nested(3, PiEditExecRejected),
  }),
});

/** §5.2, exec 48: a file to write. */
export const PiWriteExecArgs = message({ path: text(1), content: text(2) });

/** §5.2, exec 48: the file is written. */
export const PiWriteExecSuccess = message({ output: text(1) });

/** §5.2, exec 48: why not. */
export const PiWriteExecError = message({ error: text(1) });

/** §5.2, exec 48: the write is refused. */
export const PiWriteExecRejected = message({ reason: text(1) });

/** §5.2, exec 48: the answer, field 49. */
export const PiWriteExecResult = message({
  ...oneof("result", {
    success: nested(1, PiWriteExecSuccess),
    error: nested(2, PiWriteExecError),
    rejected: nested(3, PiWriteExecRejected),
  }),
});

/** §5.2, exec 49: a search. */
export const PiGrepExecArgs = message({
  pattern: text(1),
  path: optional(text(2)),
  glob: optional(text(3)),
  ignoreCase: optional(bool(4)),
  literal: optional(bool(5)),
  context: optional(int32(6)),
  limit: optional(int32(7)),
});

/** §5.2, exec 49: what was found. */
export const PiGrepExecSuccess = message({
  output: text(1),
  truncation: nested(2, PiTruncation),
  matchLimitReached: optional(uint32(3)),
  linesTruncated: bool(4),
});

/** §5.2, exec 49: why not. */
export const PiGrepExecError = message({ error: text(1) });

/** §5.2, exec 49: the answer, field 50. */
export const PiGrepExecResult = message({
  ...oneof("result", { success: nested(1, PiGrepExecSuccess), error: nested(2, PiGrepExecError) }),
});

/** §5.2, exec 50: a search for file names. */
export const PiFindExecArgs = message({ pattern: text(1), path: optional(text(2)), limit: optional(int32(3)) });

/** §5.2, exec 50: the names. */
export const PiFindExecSuccess = message({
  output: text(1),
  truncation: nested(2, PiTruncation),
  resultLimitReached: optional(uint32(3)),
});

/** §5.2, exec 50: why not. */
export const PiFindExecError = message({ error: text(1) });

/** §5.2, exec 50: the answer, field 51. */
export const PiFindExecResult = message({
  ...oneof("result", { success: nested(1, PiFindExecSuccess), error: nested(2, PiFindExecError) }),
});

/** §5.2, exec 51: a folder to list. */
export const PiLsExecArgs = message({ path: optional(text(1)), limit: optional(int32(2)) });

/** §5.2, exec 51: the folder. */
export const PiLsExecSuccess = message({
  output: text(1),
  truncation: nested(2, PiTruncation),
  entryLimitReached: optional(uint32(3)),
});

/** §5.2, exec 51: why not. */
export const PiLsExecError = message({ error: text(1) });

/** §5.2, exec 51: the answer, field 52. */
export const PiLsExecResult = message({
  ...oneof("result", { success: nested(1, PiLsExecSuccess), error: nested(2, PiLsExecError) }),
});
