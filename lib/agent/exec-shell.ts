import {
  bool,
  int32,
  message,
  nested,
  oneof,
  optional,
  repeated,
  string,
  text,
  uint32,
  uint64,
} from "../../wire/index.ts";

/** §5, exec 2 and 14: a command to run. `timeout` and `hardTimeout` are milliseconds (§5.1). */
export const ShellArgs = message({
  command: text(1),
  workingDirectory: text(2),
  timeout: int32(3),
  toolCallId: string(4),
  simpleCommands: repeated(text(5)),
  hasInputRedirect: bool(6),
  hasOutputRedirect: bool(7),
  fileOutputThresholdBytes: optional(uint64(10)),
  isBackground: bool(11),
  skipApproval: bool(12),
  timeoutBehavior: int32(13),
  hardTimeout: optional(int32(14)),
  description: optional(text(15)),
  closeStdin: bool(17),
  conversationId: optional(string(21)),
});

/** §5.1: exit code 0; `executionTime` in milliseconds. */
export const ShellSuccess = message({
  command: text(1),
  workingDirectory: text(2),
  exitCode: int32(3),
  signal: text(4),
  stdout: text(5),
  stderr: text(6),
  executionTime: int32(7),
  shellId: optional(uint32(9)),
  interleavedOutput: optional(text(10)),
  pid: optional(uint32(11)),
  msToWait: optional(int32(12)),
  localExecutionTimeMs: optional(int32(13)),
  backgroundReason: optional(int32(14)),
  outputHead: optional(text(15)),
  outputTail: optional(text(16)),
  elidedChars: optional(uint32(17)),
});

/** §5.1: another exit code; `executionTime` in milliseconds. */
export const ShellFailure = message({
  command: text(1),
  workingDirectory: text(2),
  exitCode: int32(3),
  signal: text(4),
  stdout: text(5),
  stderr: text(6),
  executionTime: int32(7),
  interleavedOutput: optional(text(9)),
  abortReason: optional(int32(10)),
  aborted: bool(11),
  localExecutionTimeMs: optional(int32(12)),
  outputHead: optional(text(13)),
  outputTail: optional(text(14)),
  elidedChars: optional(uint32(15)),
});

/** §5.1: the command ran too long. */
export const ShellTimeout = message({ command: text(1), workingDirectory: text(2), timeoutMs: int32(3) });

/** §5: the command is refused. */
export const ShellRejected = message({
  command: text(1),
  workingDirectory: text(2),
  reason: text(3),
  isReadonly: bool(4),
});

/** §5.1: the command did not start. */
export const ShellSpawnError = message({ command: text(1), workingDirectory: text(2), error: text(3) });

/** §5.1: the command may not run. */
export const ShellPermissionDenied = message({
  command: text(1),
  workingDirectory: text(2),
  error: text(3),
  isReadonly: bool(4),
});

/** §5, exec 2: how the command ended. */
export const ShellResult = message({
  ...oneof("result", {
    success: nested(1, ShellSuccess),
    failure: nested(2, ShellFailure),
    timeout: nested(3, ShellTimeout),
    rejected: nested(4, ShellRejected),
    spawnError: nested(5, ShellSpawnError),
    permissionDenied: nested(7, ShellPermissionDenied),
  }),
  isBackground: optional(bool(102)),
  terminalsFolder: optional(text(103)),
  pid: optional(uint32(104)),
});

/** §5.1: a piece of standard output. */
export const ShellStreamStdout = message({ data: text(1) });

/** §5.1: a piece of standard error. */
export const ShellStreamStderr = message({ data: text(1) });

/** §5.1: the command ended. */
export const ShellStreamExit = message({
  code: uint32(1),
  cwd: text(2),
  aborted: bool(4),
  abortReason: optional(int32(5)),
  localExecutionTimeMs: optional(int32(6)),
});

/** §5.1: never sent: it stalls the turn. */
export const ShellStreamStart = message({});

/** §5, exec 14: one event of a running command. */
export const ShellStream = message({
  ...oneof("event", {
    stdout: nested(1, ShellStreamStdout),
    stderr: nested(2, ShellStreamStderr),
    exit: nested(3, ShellStreamExit),
    start: nested(4, ShellStreamStart),
    rejected: nested(5, ShellRejected),
    permissionDenied: nested(6, ShellPermissionDenied),
  }),
});

/** §5, exec 16: a command to start and leave running. */
export const BackgroundShellSpawnArgs = message({
  command: text(1),
  workingDirectory: text(2),
  toolCallId: string(3),
  enableWriteShellStdinTool: bool(6),
  description: optional(text(7)),
  skipApproval: bool(12),
  conversationId: optional(string(13)),
});

/** §5, exec 16: why it did not start. */
export const BackgroundShellSpawnError = message({ command: text(1), workingDirectory: text(2), error: text(3) });

/** §5, exec 16: whether it started. */
export const BackgroundShellSpawnResult = message({
  ...oneof("result", {
    error: nested(2, BackgroundShellSpawnError),
    rejected: nested(3, ShellRejected),
    permissionDenied: nested(4, ShellPermissionDenied),
  }),
});

/** §5, exec 23: input for a running command. */
export const WriteShellStdinArgs = message({ shellId: uint32(1), chars: text(2) });

/** §5, exec 23: why it was not written. */
export const WriteShellStdinError = message({ error: text(1) });

/** §5, exec 23: whether it was written. */
export const WriteShellStdinResult = message({ ...oneof("result", { error: nested(2, WriteShellStdinError) }) });
