import { int32, message, nested, oneof, optional, string, text } from "../../wire/index.ts";

/** §5, exec 9: asks for a file's diagnostics. */
export const DiagnosticsArgs = message({ path: text(1), toolCallId: string(2) });

/** §5, exec 9: why there are none. */
export const DiagnosticsError = message({ path: text(1), error: text(2) });

/** §5, exec 9: the question is refused. */
export const DiagnosticsRejected = message({ path: text(1), reason: text(2) });

/** §5, exec 9: no such file. */
export const DiagnosticsFileNotFound = message({ path: text(1) });

/** §5, exec 9: the file may not be read. */
export const DiagnosticsPermissionDenied = message({ path: text(1) });

/** §5, exec 9: the answer. */
export const DiagnosticsResult = message({
  ...oneof("result", {
    error: nested(2, DiagnosticsError),
    rejected: nested(3, DiagnosticsRejected),
    fileNotFound: nested(4, DiagnosticsFileNotFound),
    permissionDenied: nested(5, DiagnosticsPermissionDenied),
  }),
});

/** §5, exec 20: a URL to fetch. */
export const FetchArgs = message({ url: text(1), toolCallId: string(2) });

/** §5, exec 20: why it was not fetched. */
export const FetchError = message({ url: text(1), error: text(2) });

/** §5, exec 20: the answer. */
export const FetchResult = message({ ...oneof("result", { error: nested(2, FetchError) }) });

/** §5, exec 21: starts or ends a recording of the screen. */
export const RecordScreenArgs = message({ mode: int32(1), toolCallId: string(2), saveAsFilename: optional(text(3)) });

/** §5, exec 21: why there is none. */
export const RecordScreenFailure = message({ error: text(1) });

/** §5, exec 21: the answer. */
export const RecordScreenResult = message({ ...oneof("result", { failure: nested(4, RecordScreenFailure) }) });

/** §5, exec 22: actions on the screen. */
export const ComputerUseArgs = message({ toolCallId: string(1) });

/** §5, exec 22: why none was done. */
export const ComputerUseError = message({
  error: text(1),
  actionCount: int32(2),
  durationMs: int32(3),
  log: optional(text(4)),
  screenshot: optional(text(5)),
  screenshotPath: optional(text(6)),
});

/** §5, exec 22: the answer. */
export const ComputerUseResult = message({ ...oneof("result", { error: nested(2, ComputerUseError) }) });

/** §5, exec 32: the model's reflection. */
export const ReflectArgs = message({
  unexpectedActionOutcomes: text(1),
  relevantInstructions: text(2),
  scenarioAnalysis: text(3),
  criticalSynthesis: text(4),
  nextSteps: text(5),
  toolCallId: string(6),
});

/** §5, exec 32: why it was not taken. */
export const ReflectError = message({ error: text(1) });

/** §5, exec 32: the answer. */
export const ReflectResult = message({ ...oneof("result", { error: nested(2, ReflectError) }) });

/** §5, exec 33, and §7, query 8: commands that set up a machine. */
export const SetupVmEnvironmentArgs = message({ installCommand: text(2), startCommand: text(3) });

/** §7, query 8: acknowledged. */
export const SetupVmEnvironmentSuccess = message({});

/** §7, query 8: acknowledges; no machine is set up. */
export const SetupVmEnvironmentResult = message({
  ...oneof("result", { success: nested(1, SetupVmEnvironmentSuccess) }),
});

/** §5, exec 34: a tool call that was cut off. */
export const TruncatedToolCallArgs = message({});

/** §5, exec 34: why it was not run. */
export const TruncatedToolCallError = message({ error: text(1) });

/** §5, exec 34: the answer. */
export const TruncatedToolCallResult = message({ ...oneof("result", { error: nested(2, TruncatedToolCallError) }) });
