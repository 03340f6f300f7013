import { bool, message, nested, oneof, optional, string, uint32 } from "../../wire/index.ts";
import { RequestContextArgs } from "./context.ts";
import { DeleteArgs, LsArgs, ReadArgs, WriteArgs } from "./exec-file.ts";
import { StartGrindExecutionArgs, StartGrindPlanningArgs } from "./exec-grind.ts";
import { ListMcpResourcesExecArgs, McpArgs, ReadMcpResourceExecArgs } from "./exec-mcp.ts";
import {
  AdoptArgs,
  AgentStoreConflictArgs,
  CanvasDiagnosticsArgs,
  ConversationSearchArgs,
  ExecuteHookArgs,
  ForceBackgroundShellArgs,
  ForceBackgroundSubagentArgs,
  GetDiffRequest,
  McpAllowlistPrecheckArgs,
  ShellAllowlistPrecheckArgs,
  SmartModeClassifierArgs,
  SubagentArgs,
  SubagentAwaitArgs,
  WebFetchAllowlistPrecheckArgs,
} from "./exec-newer.ts";
import {
  PiBashExecArgs,
  PiEditExecArgs,
  PiFindExecArgs,
  PiGrepExecArgs,
  PiLsExecArgs,
  PiReadExecArgs,
  PiWriteExecArgs,
} from "./exec-pi.ts";
import {
  ComputerUseArgs,
  DiagnosticsArgs,
  FetchArgs,
  RecordScreenArgs,
  ReflectArgs,
  SetupVmEnvironmentArgs,
  TruncatedToolCallArgs,
} from "./exec-rest.ts";
import { GrepArgs } from "./exec-search.ts";
import { BackgroundShellSpawnArgs, ShellArgs, WriteShellStdinArgs } from "./exec-shell.ts";
import { SpanContext } from "./span-context.ts";

/**
 * §5: something that the model wants done. An absent `id` is 0; `execId` may be absent. Its cases are the rows of
 * {@link EXEC}.
 */
export const ExecServerMessage = message({
  id: uint32(1),
  ...oneof("message", {
    shellArgs: nested(2, ShellArgs),
    writeArgs: nested(3, WriteArgs),
    deleteArgs: nested(4, DeleteArgs),
    grepArgs: nested(5, GrepArgs),
    readArgs: nested(7, ReadArgs),
    lsArgs: nested(8, LsArgs),
    diagnosticsArgs: nested(9, DiagnosticsArgs),
    requestContextArgs: nested(10, RequestContextArgs),
    mcpArgs: nested(11, McpArgs),
    shellStreamArgs: nested(14, ShellArgs),
    backgroundShellSpawnArgs: nested(16, BackgroundShellSpawnArgs),
    listMcpResourcesExecArgs: nested(17, ListMcpResourcesExecArgs),
    readMcpResourceExecArgs: nested(18, ReadMcpResourceExecArgs),
    fetchArgs: nested(20, FetchArgs),
    recordScreenArgs: nested(21, RecordScreenArgs),
    computerUseArgs: nested(22, ComputerUseArgs),
    writeShellStdinArgs: nested(23, WriteShellStdinArgs),
    executeHookArgs: nested(27, ExecuteHookArgs),
    subagentArgs: nested(28, SubagentArgs),
    redactedReadArgs: nested(29, ReadArgs),
    forceBackgroundShellArgs: nested(30, ForceBackgroundShellArgs),
    forceBackgroundSubagentArgs: nested(31, ForceBackgroundSubagentArgs),
    reflectArgs: nested(32, ReflectArgs),
    setupVmEnvironmentArgs: nested(33, SetupVmEnvironmentArgs),
    truncatedToolCallArgs: nested(34, TruncatedToolCallArgs),
    startGrindExecutionArgs: nested(35, StartGrindExecutionArgs),
    startGrindPlanningArgs: nested(36, StartGrindPlanningArgs),
    subagentAwaitArgs: nested(37, SubagentAwaitArgs),
    smartModeClassifierArgs: nested(38, SmartModeClassifierArgs),
    canvasDiagnosticsArgs: nested(40, CanvasDiagnosticsArgs),
    shellAllowlistPrecheckArgs: nested(41, ShellAllowlistPrecheckArgs),
    mcpAllowlistPrecheckArgs: nested(42, McpAllowlistPrecheckArgs),
    webFetchAllowlistPrecheckArgs: nested(43, WebFetchAllowlistPrecheckArgs),
    gitDiffRequest: nested(44, GetDiffRequest),
    piReadArgs: nested(45, PiReadExecArgs),
    piBashArgs: nested(46, PiBashExecArgs),
    piEditArgs: nested(47, PiEditExecArgs),
    piWriteArgs: nested(48, PiWriteExecArgs),
    piGrepArgs: nested(49, PiGrepExecArgs),
    piFindArgs: nested(50, PiFindExecArgs),
    piLsArgs: nested(51, PiLsExecArgs),
    miniSweAgentBashArgs: nested(52, ShellArgs),
    conversationSearchArgs: nested(53, ConversationSearchArgs),
    agentStoreConflictArgs: nested(54, AgentStoreConflictArgs),
    adoptArgs: nested(56, AdoptArgs),
  }),
  execId: string(15),
  spanContext: nested(19, SpanContext),
  acceptHookAdditionalContexts: optional(bool(55)),
});
