import { bool, bytes, map, message, nested, oneof, optional, repeated, string, text } from "../../wire/index.ts";

/** §5, exec 11: a call of a host's tool; each of `args` is the bytes of a `google.protobuf.Value`. */
export const McpArgs = message({
  name: text(1),
  args: map(2, text(1), bytes(2)),
  toolCallId: string(3),
  providerIdentifier: string(4),
  toolName: text(5),
  smartModeApprovalOnly: bool(7),
  skipApproval: bool(8),
  serverIdentifier: string(9),
});

/** §8: text that a tool returned. */
export const McpTextContent = message({ text: text(1) });

/** §8: an image that a tool returned, raw. */
export const McpImageContent = message({ data: bytes(1), mimeType: string(2) });

/** §8: text or an image. */
export const McpToolResultContentItem = message({
  ...oneof("content", { text: nested(1, McpTextContent), image: nested(2, McpImageContent) }),
});

/** §8: what a tool returned; `isError` where it failed. */
export const McpSuccess = message({ content: repeated(nested(1, McpToolResultContentItem)), isError: bool(2) });

/** §5: the call failed before the tool ran. */
export const McpError = message({ error: text(1) });

/** §5: the call is refused. */
export const McpRejected = message({ reason: text(1), isReadonly: bool(2) });

/** §5: the tool may not run. */
export const McpPermissionDenied = message({ error: text(1), isReadonly: bool(2) });

/** §5: no such tool. */
export const McpToolNotFound = message({ name: text(1), availableTools: repeated(text(2)) });

/** §5: no such server. */
export const McpServerNotFound = message({ name: text(1), availableServers: repeated(text(2)) });

/** §5: approved, not run. */
export const McpApproved = message({});

/** §5, exec 11: what became of the call. */
export const McpResult = message({
  ...oneof("result", {
    success: nested(1, McpSuccess),
    error: nested(2, McpError),
    rejected: nested(3, McpRejected),
    permissionDenied: nested(4, McpPermissionDenied),
    toolNotFound: nested(5, McpToolNotFound),
    serverNotFound: nested(6, McpServerNotFound),
    approved: nested(7, McpApproved),
  }),
});

/** §5, exec 17: asks for a server's resources. */
export const ListMcpResourcesExecArgs = message({ server: optional(text(1)) });

/** §5, exec 17: why there are none. */
export const ListMcpResourcesError = message({ error: text(1) });

/** §5, exec 17: the question is refused. */
export const ListMcpResourcesRejected = message({ reason: text(1) });

/** §5, exec 17: the answer. */
export const ListMcpResourcesExecResult = message({
  ...oneof("result", { error: nested(2, ListMcpResourcesError), rejected: nested(3, ListMcpResourcesRejected) }),
});

/** §5, exec 18: asks for one resource. */
export const ReadMcpResourceExecArgs = message({
  server: text(1),
  uri: text(2),
  downloadPath: optional(text(3)),
  toolCallId: string(4),
});

/** §5, exec 18: why it could not be read. */
export const ReadMcpResourceError = message({ uri: text(1), error: text(2) });

/** §5, exec 18: the question is refused. */
export const ReadMcpResourceRejected = message({ uri: text(1), reason: text(2) });

/** §5, exec 18: no such resource. */
export const ReadMcpResourceNotFound = message({ uri: text(1) });

/** §5, exec 18: the answer. */
export const ReadMcpResourceExecResult = message({
  ...oneof("result", {
    error: nested(2, ReadMcpResourceError),
    rejected: nested(3, ReadMcpResourceRejected),
    notFound: nested(4, ReadMcpResourceNotFound),
  }),
});
