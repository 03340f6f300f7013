import { bool, int32, message, nested, oneof, optional, repeated, string, text, uint32 } from "../../wire/index.ts";
import { ShellResult } from "./exec-shell.ts";

/** §5.2, exec 27: a hook to run. */
export const ExecuteHookArgs = message({});

/** §5.2, exec 28: a task for another agent. */
export const SubagentArgs = message({ toolCallId: string(1), subagentType: text(2), prompt: text(4) });

/** §5.2, exec 28: why none was started. */
export const SubagentError = message({ agentId: optional(string(1)), error: text(2) });

/** §5.2, exec 28: the answer. */
export const SubagentResult = message({ ...oneof("result", { error: nested(2, SubagentError) }) });

/** §5.2, exec 30: a running command to leave. */
export const ForceBackgroundShellArgs = message({ toolCallId: string(1) });

/** §5.2, exec 30: `status` 2 is "not found". */
export const ForceBackgroundShellResult = message({ status: int32(1), shellResult: nested(2, ShellResult) });

/** §5.2, exec 31: a running agent to leave. */
export const ForceBackgroundSubagentArgs = message({ toolCallId: string(1) });

/** §5.2, exec 31: `status` 2 is "not found". */
export const ForceBackgroundSubagentResult = message({ status: int32(1) });

/** §5.2, exec 37: waits for another agent. */
export const SubagentAwaitArgs = message({ agentId: string(1), timeoutMs: uint32(2) });

/** §5.2, exec 37: why not. */
export const SubagentAwaitError = message({ agentId: optional(string(1)), error: text(2) });

/** §5.2, exec 37: the answer. */
export const SubagentAwaitResult = message({ ...oneof("result", { error: nested(4, SubagentAwaitError) }) });

/** §5.2, exec 38: asks whether a call is safe. */
export const SmartModeClassifierArgs = message({ toolCallId: string(1), parentConversationId: optional(string(2)) });

/** §5.2, exec 38: why there is no verdict. */
export const SmartModeClassifierError = message({ error: text(1) });

/** §5.2, exec 38: the answer. */
export const SmartModeClassifierResult = message({
  ...oneof("result", { error: nested(2, SmartModeClassifierError) }),
});

/** §5.2, exec 40: asks for a canvas' diagnostics. */
export const CanvasDiagnosticsArgs = message({ path: text(1), toolCallId: string(2) });

/** §5.2, exec 40: why there are none. */
export const CanvasDiagnosticsError = message({ path: text(1), error: text(2) });

/** §5.2, exec 40: the answer. */
export const CanvasDiagnosticsResult = message({ ...oneof("result", { error: nested(2, CanvasDiagnosticsError) }) });

/** §5.2, exec 41: asks whether a command may run unasked. */
export const ShellAllowlistPrecheckArgs = message({
  command: text(1),
  workingDirectory: text(2),
  toolCallId: optional(string(5)),
});

/** §5.2, exec 41: the answer. */
export const ShellAllowlistPrecheckResult = message({ allowlisted: bool(1) });

/** §5.2, exec 42: asks whether a tool may run unasked. */
export const McpAllowlistPrecheckArgs = message({
  providerIdentifier: string(1),
  toolName: text(2),
  toolCallId: optional(string(3)),
});

/** §5.2, exec 42: the answer. */
export const McpAllowlistPrecheckResult = message({ allowlisted: bool(1) });

/** §5.2, exec 43: asks whether a URL may be fetched unasked. */
export const WebFetchAllowlistPrecheckArgs = message({ url: text(1), toolCallId: optional(string(2)) });

/** §5.2, exec 43: the answer. */
export const WebFetchAllowlistPrecheckResult = message({ allowlisted: bool(1) });

/** §5.2, exec 44: asks for a git diff. */
export const GetDiffRequest = message({
  cwd: text(1),
  ref: text(2),
  baseRef: text(3),
  mergeBase: bool(4),
  targetPaths: repeated(text(5)),
  unifiedContextLines: optional(int32(6)),
  maxUntrackedFiles: int32(7),
  outputFormat: optional(int32(8)),
  submoduleRecurseDepth: int32(9),
  includeSpaceChanges: bool(10),
  committedOnly: bool(11),
  computePatchId: bool(12),
  returnHeadSha: optional(bool(13)),
  maxResponseBytes: optional(int32(14)),
});

/** §5.2, exec 53: a search of older conversations. */
export const ConversationSearchArgs = message({ query: text(1), toolCallId: string(2), limit: optional(int32(3)) });

/** §5.2, exec 53: why there was none. */
export const ConversationSearchError = message({ error: text(1) });

/** §5.2, exec 53: the answer. */
export const ConversationSearchResult = message({ ...oneof("result", { error: nested(2, ConversationSearchError) }) });

/** §5.2, exec 54: asks about the agent store. */
export const AgentStoreConflictArgs = message({ advance: optional(bool(2)) });

/** §5.2, exec 54: why there is no answer. */
export const AgentStoreConflictError = message({ error: text(1) });

/** §5.2, exec 54: the answer. */
export const AgentStoreConflictResult = message({ ...oneof("result", { error: nested(2, AgentStoreConflictError) }) });

/** §5.2, exec 56: nothing of it is known but its number. */
export const AdoptArgs = message({});
