import { int32, message, nested, oneof, optional, string, text, uint32 } from "../../wire/index.ts";
import { RequestContextResult } from "./context.ts";
import { DeleteResult, LsResult, ReadResult, WriteResult } from "./exec-file.ts";
import { StartGrindExecutionResult, StartGrindPlanningResult } from "./exec-grind.ts";
import { ListMcpResourcesExecResult, McpResult, ReadMcpResourceExecResult } from "./exec-mcp.ts";
import {
  AgentStoreConflictResult,
  CanvasDiagnosticsResult,
  ConversationSearchResult,
  ForceBackgroundShellResult,
  ForceBackgroundSubagentResult,
  McpAllowlistPrecheckResult,
  ShellAllowlistPrecheckResult,
  SmartModeClassifierResult,
  SubagentAwaitResult,
  SubagentResult,
  WebFetchAllowlistPrecheckResult,
} from "./exec-newer.ts";
import {
  PiBashExecResult,
  PiEditExecResult,
  PiFindExecResult,
  PiGrepExecResult,
  PiLsExecResult,
  PiReadExecResult,
  PiWriteExecResult,
} from "./exec-pi.ts";
import {
  ComputerUseResult,
  DiagnosticsResult,
  FetchResult,
  RecordScreenResult,
  ReflectResult,
  SetupVmEnvironmentResult,
  TruncatedToolCallResult,
} from "./exec-rest.ts";
import { GrepResult } from "./exec-search.ts";
import { BackgroundShellSpawnResult, ShellResult, ShellStream, WriteShellStdinResult } from "./exec-shell.ts";

/** §5: the answer to an exec, with its `id` and, where it came with one, its `execId`. */
export const ExecClientMessage = message({
  id: uint32(1),
  ...oneof("message", {
    shellResult: nested(2, ShellResult),
    writeResult: nested(3, WriteResult),
    deleteResult: nested(4, DeleteResult),
    grepResult: nested(5, GrepResult),
    readResult: nested(7, ReadResult),
    lsResult: nested(8, LsResult),
    diagnosticsResult: nested(9, DiagnosticsResult),
    requestContextResult: nested(10, RequestContextResult),
    mcpResult: nested(11, McpResult),
    shellStream: nested(14, ShellStream),
    backgroundShellSpawnResult: nested(16, BackgroundShellSpawnResult),
    listMcpResourcesExecResult: nested(17, ListMcpResourcesExecResult),
    readMcpResourceExecResult: nested(18, ReadMcpResourceExecResult),
    fetchResult: nested(20, FetchResult),
    recordScreenResult: nested(21, RecordScreenResult),
    computerUseResult: nested(22, ComputerUseResult),
    writeShellStdinResult: nested(23, WriteShellStdinResult),
    subagentResult: nested(28, SubagentResult),
    redactedReadResult: nested(29, ReadResult),
    forceBackgroundShellResult: nested(30, ForceBackgroundShellResult),
    forceBackgroundSubagentResult: nested(31, ForceBackgroundSubagentResult),
    reflectResult: nested(32, ReflectResult),
    setupVmEnvironmentResult: nested(33, SetupVmEnvironmentResult),
    truncatedToolCallResult: nested(34, TruncatedToolCallResult),
    startGrindExecutionResult: nested(35, StartGrindExecutionResult),
    startGrindPlanningResult: nested(36, StartGrindPlanningResult),
    subagentAwaitResult: nested(37, SubagentAwaitResult),
    smartModeClassifierResult: nested(38, SmartModeClassifierResult),
    canvasDiagnosticsResult: nested(40, CanvasDiagnosticsResult),
    shellAllowlistPrecheckResult: nested(41, ShellAllowlistPrecheckResult),
    mcpAllowlistPrecheckResult: nested(42, McpAllowlistPrecheckResult),
    webFetchAllowlistPrecheckResult: nested(43, WebFetchAllowlistPrecheckResult),
    piReadResult: nested(46, PiReadExecResult),
    piBashResult: nested(47, PiBashExecResult),
    piEditResult: nested(48, PiEditExecResult),
    piWriteResult: nested(49, PiWriteExecResult),
    piGrepResult: nested(50, PiGrepExecResult),
    piFindResult: nested(51, PiFindExecResult),
    piLsResult: nested(52, PiLsExecResult),
    conversationSearchResult: nested(53, ConversationSearchResult),
    agentStoreConflictResult: nested(54, AgentStoreConflictResult),
    miniSweAgentBashResult: nested(55, ShellResult),
  }),
  execId: string(15),
  localExecutionTimeMs: optional(int32(39)),
});

/** §2: ends the answer to an exec, of whatever kind (§5.1). */
export const ExecClientStreamClose = message({ id: uint32(1) });

/** §2: an exec that has no typed answer fails. */
export const ExecClientThrow = message({ id: uint32(1), error: text(2), stackTrace: optional(text(3)), errorCode: optional(text(4)) });

/** §2: an exec is still running (§5.1). */
export const ExecClientHeartbeat = message({ id: uint32(1) });

/** §2: about an exec. */
export const ExecClientControlMessage = message({
  ...oneof("message", {
    streamClose: nested(1, ExecClientStreamClose),
    throw: nested(2, ExecClientThrow),
    heartbeat: nested(3, ExecClientHeartbeat),
  }),
});
