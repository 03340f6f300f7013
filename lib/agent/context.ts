import { bool, bytes, map, message, nested, oneof, optional, repeated, string, text } from "../../wire/index.ts";
import { McpToolDefinition } from "./mcp-tools.ts";

/** §5: one tool of {@link McpMetaServerDescriptor}; `inputSchema` as in McpToolDefinition. */
export const McpMetaToolDescriptor = message({ toolName: text(1), description: text(3), inputSchema: bytes(4) });

/** §5: one MCP server and its tools, as the model's tool catalogue lists them. */
export const McpMetaServerDescriptor = message({
  serverName: string(1),
  serverIdentifier: string(2),
  tools: repeated(nested(5, McpMetaToolDescriptor)),
});

/** §5: what the model's tool catalogue is built from. */
export const McpMetaToolOptions = message({
  enabled: bool(1),
  mcpDescriptors: repeated(nested(2, McpMetaServerDescriptor)),
});

/** §5: where the host works; `workspacePaths` equals the state's `previousWorkspaceUris`. */
export const RequestContextEnv = message({
  osVersion: string(1),
  workspacePaths: repeated(string(2)),
  shell: string(3),
  sandboxEnabled: bool(5),
  terminalsFolder: text(7),
  agentSharedNotesFolder: text(8),
  agentConversationNotesFolder: text(9),
  timeZone: string(10),
  projectFolder: text(11),
  agentTranscriptsFolder: text(12),
});

/** §5: what the host tells about itself: workspace and tools, never files, git or layouts. */
export const RequestContext = message({
  env: nested(4, RequestContextEnv),
  tools: repeated(nested(7, McpToolDefinition)),
  conversationNotesListing: optional(text(8)),
  sharedNotesListing: optional(text(9)),
  cloudRule: optional(text(16)),
  webSearchEnabled: optional(bool(17)),
  repositoryInfoShouldQueryProd: optional(bool(19)),
  fileContents: map(20, text(1), text(2)),
  userIntentSummary: optional(text(21)),
  mcpMetaToolOptions: nested(34, McpMetaToolOptions),
});

/** §5, exec 10: asks for the request context. */
export const RequestContextArgs = message({
  notesSessionId: optional(string(2)),
  workspaceId: optional(string(3)),
  readOnlyPinnedTreeSha: optional(text(4)),
  readOnlyPluginCacheRoot: optional(text(5)),
  useCached: optional(bool(7)),
});

/** §5: the request context. */
export const RequestContextSuccess = message({
  requestContext: nested(1, RequestContext),
  servedFromDiskCache: optional(bool(2)),
});

/** §5: why there is none. */
export const RequestContextError = message({ error: text(1) });

/** §5: why it is refused. */
export const RequestContextRejected = message({ reason: text(1) });

/** §5: the answer to exec 10. */
export const RequestContextResult = message({
  ...oneof("result", {
    success: nested(1, RequestContextSuccess),
    error: nested(2, RequestContextError),
    rejected: nested(3, RequestContextRejected),
  }),
});
