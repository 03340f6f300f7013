import type { ExecRow } from "./exec-row.ts";
import { camel } from "./name.ts";

/**
 * §5 and §5.2: every exec case with a name, and its refusal. What has no row is thrown. In the newer block 45 to 51 are
 * answered one number higher than they ask, and 52 by 55.
 */
export const EXEC = [
  { no: 2, name: "shell_args", args: "ShellArgs", decision: "reject", result: { no: 2, name: "shell_result" }, arm: { no: 4, name: "rejected" }, echo: ["command", "working_directory"], native: "shell", translated: true, block: "document" },
  { no: 3, name: "write_args", args: "WriteArgs", decision: "reject", result: { no: 3, name: "write_result" }, arm: { no: 6, name: "rejected" }, echo: ["path"], native: "write", translated: true, block: "document" },
  { no: 4, name: "delete_args", args: "DeleteArgs", decision: "reject", result: { no: 4, name: "delete_result" }, arm: { no: 6, name: "rejected" }, echo: ["path"], native: "delete", translated: true, block: "document" },
  { no: 5, name: "grep_args", args: "GrepArgs", decision: "error", result: { no: 5, name: "grep_result" }, arm: { no: 2, name: "error" }, echo: [], native: "grep", translated: true, block: "document" },
  { no: 7, name: "read_args", args: "ReadArgs", decision: "reject", result: { no: 7, name: "read_result" }, arm: { no: 3, name: "rejected" }, echo: ["path"], native: "read", translated: true, block: "document" },
  { no: 8, name: "ls_args", args: "LsArgs", decision: "reject", result: { no: 8, name: "ls_result" }, arm: { no: 3, name: "rejected" }, echo: ["path"], native: "ls", translated: true, block: "document" },
  { no: 9, name: "diagnostics_args", args: "DiagnosticsArgs", decision: "reject", result: { no: 9, name: "diagnostics_result" }, arm: { no: 3, name: "rejected" }, echo: ["path"], block: "document" },
  { no: 10, name: "request_context_args", args: "RequestContextArgs", decision: "context", result: { no: 10, name: "request_context_result" }, arm: { no: 1, name: "success" }, echo: [], block: "document" },
  { no: 11, name: "mcp_args", args: "McpArgs", decision: "lift", result: { no: 11, name: "mcp_result" }, arm: { no: 1, name: "success" }, echo: [], block: "document" },
  { no: 14, name: "shell_stream_args", args: "ShellArgs", decision: "reject", result: { no: 14, name: "shell_stream" }, arm: { no: 5, name: "rejected" }, echo: ["command", "working_directory"], native: "shell", translated: true, block: "document" },
  { no: 16, name: "background_shell_spawn_args", args: "BackgroundShellSpawnArgs", decision: "reject", result: { no: 16, name: "background_shell_spawn_result" }, arm: { no: 3, name: "rejected" }, echo: ["command", "working_directory"], native: "shell", block: "document" },
  { no: 17, name: "list_mcp_resources_exec_args", args: "ListMcpResourcesExecArgs", decision: "reject", result: { no: 17, name: "list_mcp_resources_exec_result" }, arm: { no: 3, name: "rejected" }, echo: [], block: "document" },
  { no: 18, name: "read_mcp_resource_exec_args", args: "ReadMcpResourceExecArgs", decision: "reject", result: { no: 18, name: "read_mcp_resource_exec_result" }, arm: { no: 3, name: "rejected" }, echo: ["uri"], block: "document" },
  { no: 20, name: "fetch_args", args: "FetchArgs", decision: "error", result: { no: 20, name: "fetch_result" }, arm: { no: 2, name: "error" }, echo: ["url"], block: "document" },
  { no: 21, name: "record_screen_args", args: "RecordScreenArgs", decision: "failure", result: { no: 21, name: "record_screen_result" }, arm: { no: 4, name: "failure" }, echo: [], block: "document" },
  { no: 22, name: "computer_use_args", args: "ComputerUseArgs", decision: "error", result: { no: 22, name: "computer_use_result" }, arm: { no: 2, name: "error" }, echo: [], block: "document" },
  { no: 23, name: "write_shell_stdin_args", args: "WriteShellStdinArgs", decision: "error", result: { no: 23, name: "write_shell_stdin_result" }, arm: { no: 2, name: "error" }, echo: [], block: "document" },
  { no: 32, name: "reflect_args", args: "ReflectArgs", decision: "error", result: { no: 32, name: "reflect_result" }, arm: { no: 2, name: "error" }, echo: [], block: "document" },
  { no: 33, name: "setup_vm_environment_args", args: "SetupVmEnvironmentArgs", decision: "throw", echo: [], block: "document" },
  { no: 34, name: "truncated_tool_call_args", args: "TruncatedToolCallArgs", decision: "error", result: { no: 34, name: "truncated_tool_call_result" }, arm: { no: 2, name: "error" }, echo: [], block: "document" },
  { no: 35, name: "start_grind_execution_args", args: "StartGrindExecutionArgs", decision: "error", result: { no: 35, name: "start_grind_execution_result" }, arm: { no: 2, name: "error" }, echo: [], block: "document" },
  { no: 36, name: "start_grind_planning_args", args: "StartGrindPlanningArgs", decision: "ack", result: { no: 36, name: "start_grind_planning_result" }, arm: { no: 1, name: "success" }, echo: [], block: "document" },

  { no: 27, name: "execute_hook_args", args: "ExecuteHookArgs", decision: "throw", echo: [], block: "newer" },
  { no: 28, name: "subagent_args", args: "SubagentArgs", decision: "error", result: { no: 28, name: "subagent_result" }, arm: { no: 2, name: "error" }, echo: [], block: "newer" },
  { no: 29, name: "redacted_read_args", args: "ReadArgs", decision: "reject", result: { no: 29, name: "redacted_read_result" }, arm: { no: 3, name: "rejected" }, echo: ["path"], native: "read", block: "newer" },
  { no: 30, name: "force_background_shell_args", args: "ForceBackgroundShellArgs", decision: "status", result: { no: 30, name: "force_background_shell_result" }, arm: { no: 1, name: "status" }, echo: [], block: "newer" },
  { no: 31, name: "force_background_subagent_args", args: "ForceBackgroundSubagentArgs", decision: "status", result: { no: 31, name: "force_background_subagent_result" }, arm: { no: 1, name: "status" }, echo: [], block: "newer" },
  { no: 37, name: "subagent_await_args", args: "SubagentAwaitArgs", decision: "error", result: { no: 37, name: "subagent_await_result" }, arm: { no: 4, name: "error" }, echo: ["agent_id"], block: "newer" },
  { no: 38, name: "smart_mode_classifier_args", args: "SmartModeClassifierArgs", decision: "error", result: { no: 38, name: "smart_mode_classifier_result" }, arm: { no: 2, name: "error" }, echo: [], block: "newer" },
  { no: 40, name: "canvas_diagnostics_args", args: "CanvasDiagnosticsArgs", decision: "error", result: { no: 40, name: "canvas_diagnostics_result" }, arm: { no: 2, name: "error" }, echo: ["path"], block: "newer" },
  { no: 41, name: "shell_allowlist_precheck_args", args: "ShellAllowlistPrecheckArgs", decision: "allowlisted", result: { no: 41, name: "shell_allowlist_precheck_result" }, arm: { no: 1, name: "allowlisted" }, echo: [], block: "newer" },
  { no: 42, name: "mcp_allowlist_precheck_args", args: "McpAllowlistPrecheckArgs", decision: "allowlisted", result: { no: 42, name: "mcp_allowlist_precheck_result" }, arm: { no: 1, name: "allowlisted" }, echo: [], block: "newer" },
  { no: 43, name: "web_fetch_allowlist_precheck_args", args: "WebFetchAllowlistPrecheckArgs", decision: "allowlisted", result: { no: 43, name: "web_fetch_allowlist_precheck_result" }, arm: { no: 1, name: "allowlisted" }, echo: [], block: "newer" },
  { no: 44, name: "git_diff_request", args: "GetDiffRequest", decision: "throw", echo: [], block: "newer" },
  { no: 45, name: "pi_read_args", args: "PiReadExecArgs", decision: "error", result: { no: 46, name: "pi_read_result" }, arm: { no: 2, name: "error" }, echo: [], native: "read", translated: true, block: "newer" },
  { no: 46, name: "pi_bash_args", args: "PiBashExecArgs", decision: "error", result: { no: 47, name: "pi_bash_result" }, arm: { no: 2, name: "error" }, echo: [], native: "shell", translated: true, block: "newer" },
  { no: 47, name: "pi_edit_args", args: "PiEditExecArgs", decision: "reject", result: { no: 48, name: "pi_edit_result" }, arm: { no: 3, name: "rejected" }, echo: [], native: "edit", translated: true, block: "newer" },
  { no: 48, name: "pi_write_args", args: "PiWriteExecArgs", decision: "reject", result: { no: 49, name: "pi_write_result" }, arm: { no: 3, name: "rejected" }, echo: [], native: "write", translated: true, block: "newer" },
  { no: 49, name: "pi_grep_args", args: "PiGrepExecArgs", decision: "error", result: { no: 50, name: "pi_grep_result" }, arm: { no: 2, name: "error" }, echo: [], native: "grep", translated: true, block: "newer" },
  { no: 50, name: "pi_find_args", args: "PiFindExecArgs", decision: "error", result: { no: 51, name: "pi_find_result" }, arm: { no: 2, name: "error" }, echo: [], native: "find", translated: true, block: "newer" },
  { no: 51, name: "pi_ls_args", args: "PiLsExecArgs", decision: "error", result: { no: 52, name: "pi_ls_result" }, arm: { no: 2, name: "error" }, echo: [], native: "ls", translated: true, block: "newer" },
  { no: 52, name: "mini_swe_agent_bash_args", args: "ShellArgs", decision: "reject", result: { no: 55, name: "mini_swe_agent_bash_result" }, arm: { no: 4, name: "rejected" }, echo: ["command", "working_directory"], native: "shell", block: "newer" },
  { no: 53, name: "conversation_search_args", args: "ConversationSearchArgs", decision: "error", result: { no: 53, name: "conversation_search_result" }, arm: { no: 2, name: "error" }, echo: [], block: "newer" },
  { no: 54, name: "agent_store_conflict_args", args: "AgentStoreConflictArgs", decision: "error", result: { no: 54, name: "agent_store_conflict_result" }, arm: { no: 2, name: "error" }, echo: [], block: "newer" },
  { no: 56, name: "adopt_args", args: "AdoptArgs", decision: "throw", echo: [], block: "newer" },
] as const satisfies readonly ExecRow[];

/** The rows of {@link EXEC} by the value name of their case: `shellArgs`. */
export const execByName: ReadonlyMap<string, ExecRow> = new Map(EXEC.map((row) => [camel(row.name), row]));
