/** What the host tells about itself: its workspace and its tools, nothing else (PROTOCOL §2.2, §5; DESIGN D13). */
import { encodeValue, type Decoded } from "../../wire/index.ts";
import type { McpToolDefinition, RequestContext, StartGrindPlanningResult } from "../agent/index.ts";
import { CursorError } from "./errors.ts";
import type { Tool } from "./turn.ts";

/** The one MCP server that we are: its name and its identifier (PROTOCOL §2.2). */
export const SERVER = "pi";

/** @throws CursorError `local` where the schema is no JSON */
function schemaOf({ name, inputSchema }: Tool): Uint8Array {
  try {
    return encodeValue(inputSchema ?? {});
  } catch (error) {
    throw new CursorError({ kind: "local", code: "invalid_tool", message: `The schema of the tool ${name} is no JSON: ${(error as Error).message}.`, nextStep: "Correct the tool's inputSchema.", cause: error });
  }
}

/** The tools as the run request and the request context carry them. */
export function toolDefinitions(tools: readonly Tool[]): Decoded<typeof McpToolDefinition>[] {
  return tools.map((tool) => ({ name: tool.name, description: tool.description, inputSchema: schemaOf(tool), providerIdentifier: SERVER, toolName: tool.name }));
}

/** The request context. `meta`: with the options that the model's tool catalogue is built from (DESIGN D13). */
export function requestContext(tools: readonly Tool[], workspaceUri: string, meta: boolean): Decoded<typeof RequestContext> {
  return {
    env: { workspacePaths: [workspaceUri] },
    tools: toolDefinitions(tools),
    ...(meta && {
      mcpMetaToolOptions: {
        enabled: true,
        mcpDescriptors: [
          {
            serverName: SERVER,
            serverIdentifier: SERVER,
            tools: tools.map((tool) => ({ toolName: tool.name, description: tool.description, inputSchema: schemaOf(tool) })),
          },
        ],
      },
    }),
  };
}

/** The answer to exec 36 in its newer meaning: one server, ready, with every tool (DESIGN D12). */
export function mcpState(tools: readonly Tool[]): Decoded<typeof StartGrindPlanningResult> {
  return { success: { servers: [{ serverName: SERVER, serverIdentifier: SERVER, tools: toolDefinitions(tools), status: "ready" }] } };
}
