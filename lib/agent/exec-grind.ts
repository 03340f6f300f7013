import { bool, message, nested, oneof, optional, repeated, string, text, WIRE_TYPE } from "../../wire/index.ts";
import { McpToolDefinition } from "./mcp-tools.ts";

/** §5, exec 35: asks to start on a plan. */
export const StartGrindExecutionArgs = message({ explanation: optional(text(1)), toolCallId: string(2) });

/** §5, exec 35: started. */
export const StartGrindExecutionSuccess = message({});

/** §5, exec 35: why not. */
export const StartGrindExecutionError = message({ error: text(1) });

/** §5, exec 35: whether it started. */
export const StartGrindExecutionResult = message({
  ...oneof("result", {
    success: nested(1, StartGrindExecutionSuccess),
    error: nested(2, StartGrindExecutionError),
  }),
});

/** §5, exec 36 read the newer way: asks for the state of these MCP servers, of all where none is named. */
export const McpStateExecArgs = message({ serverIdentifiers: repeated(text(1)), kickOnly: bool(2) });

/** §5, exec 36 read the newer way: one server; `status` is `ready`. */
export const McpStateServer = message({
  serverName: string(1),
  serverIdentifier: string(2),
  tools: repeated(nested(5, McpToolDefinition)),
  status: optional(string(7)),
});

/**
 * §5, exec 36 read the older way: asks to plan. `kickOnly` is the newer meaning's field 2, a varint. Of several
 * identifiers in field 1 only the last is seen here: {@link asksMcpState} reads them all.
 */
export const StartGrindPlanningArgs = message({ explanation: optional(text(1)), toolCallId: string(2), kickOnly: bool(2) });

/** §5, exec 36: empty acknowledges planning, `servers` answers the newer meaning. */
export const StartGrindPlanningSuccess = message({ servers: repeated(nested(1, McpStateServer)) });

/** §5, exec 36: why not. */
export const StartGrindPlanningError = message({ error: text(1) });

/** §5, exec 36 read the newer way: the question is refused. */
export const StartGrindPlanningRejected = message({ reason: text(1) });

/** §5, exec 36: the answer to either meaning. */
export const StartGrindPlanningResult = message({
  ...oneof("result", {
    success: nested(1, StartGrindPlanningSuccess),
    error: nested(2, StartGrindPlanningError),
    rejected: nested(3, StartGrindPlanningRejected),
  }),
});

const McpStateExec = message({ mcpStateExecArgs: nested(36, McpStateExecArgs) });
const McpStateServerMessage = message({ execServerMessage: nested(2, McpStateExec) });

/**
 * Which meaning exec 36 has in an AgentServerMessage (§5): true where it asks for the state of MCP servers, false where
 * it is the older plan mode, which is known by a text in field 2 or by a field 1 that names none of our servers.
 * `payload` is the bytes of one arm, as {@link arms} returns them.
 * @throws WireError where the bytes are malformed
 */
export function asksMcpState(payload: Uint8Array, identifiers: readonly string[]): boolean {
  const args = McpStateServerMessage.decode(payload).execServerMessage?.mcpStateExecArgs;
  if (args === undefined || args.unknown?.some(({ no, type }) => no === 2 && type === WIRE_TYPE.length)) return false;
  return (args.serverIdentifiers ?? []).every((identifier) => identifiers.includes(identifier));
}
