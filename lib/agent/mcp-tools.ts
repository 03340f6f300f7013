import { bytes, message, nested, optional, repeated, string, text } from "../../wire/index.ts";

/** §2.2: one tool of the host. `inputSchema` is the bytes of a `google.protobuf.Value` that holds its JSON Schema. */
export const McpToolDefinition = message({
  name: text(1),
  description: text(2),
  inputSchema: bytes(3),
  providerIdentifier: string(4),
  toolName: text(5),
  inputSchemaJson: optional(text(6)),
});

/** §2.1: the tools of a Run. */
export const McpTools = message({ mcpTools: repeated(nested(1, McpToolDefinition)) });
