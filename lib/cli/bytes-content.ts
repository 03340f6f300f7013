import {
  AgentServerMessage,
  ConversationStateStructure,
  McpArgs,
  McpMetaToolDescriptor,
  McpToolDefinition,
} from "../agent/index.ts";
import type { AnyTable } from "./walk.ts";

/** What a field of kind `bytes` is known to hold: the bytes of a `google.protobuf.Value`, or those of a table. */
export type Content = "value" | AnyTable;

/** Table → field → what its bytes hold. The values of a map are `map.value`. */
const CONTENT: ReadonlyMap<AnyTable, Readonly<Record<string, Content>>> = new Map<AnyTable, Record<string, Content>>([
  [AgentServerMessage as AnyTable, { conversationCheckpointUpdate: ConversationStateStructure as AnyTable }],
  [McpArgs as AnyTable, { "args.value": "value" }],
  [McpToolDefinition as AnyTable, { inputSchema: "value" }],
  [McpMetaToolDescriptor as AnyTable, { inputSchema: "value" }],
]);

/** What the bytes of a table's field hold, where that is known. */
export function contentOf(table: AnyTable | undefined, name: string): Content | undefined {
  const rows = table && CONTENT.get(table);
  return rows && Object.hasOwn(rows, name) ? rows[name] : undefined;
}
