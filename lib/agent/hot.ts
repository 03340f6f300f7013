/**
 * The five frames that make up nearly all of a Run (a text delta, a thinking delta, a blob to keep, a checkpoint, a
 * tool call), decoded by hand. A shape is taken only where every field is in its usual place; then the value is what
 * the table gives. Anything else, malformed bytes included, is left to the table.
 * Measured against the table's own decoder: a text frame, a checkpoint and a blob in two fifths of the time or less, a
 * tool call in three fifths.
 */
import type { Decoded } from "../../wire/index.ts";
import { Reader } from "../../wire/reader.ts";
import { decodeUtf8 } from "../../wire/utf8.ts";
import type { ExecServerMessage } from "./exec-server.ts";
import type { KvServerMessage } from "./kv.ts";
import type { InteractionUpdate } from "./update.ts";

/** Tags (`number << 3 | wire type`) of the fields on the way, by the message that holds them. */
const TAG = { interactionUpdate: 0x0a, text: 0x0a, thinking: 0x22, delta: 0x0a, exec: 0x12, checkpoint: 0x1a, kv: 0x22, id: 0x08, set: 0x1a, blobId: 0x0a, blobData: 0x12 } as const;
const EXEC = { id: 0x08, mcpArgs: 0x5a, execId: 0x7a } as const;
const MCP = { name: 0x0a, args: 0x12, toolCallId: 0x1a, providerIdentifier: 0x22, toolName: 0x2a } as const;
const ENTRY = { key: 0x0a, value: 0x12 } as const;

/** The arms that {@link hot} gives: AgentServerMessage itself is declared with it. */
export interface Hot {
  interactionUpdate?: Decoded<typeof InteractionUpdate>;
  execServerMessage?: Decoded<typeof ExecServerMessage>;
  conversationCheckpointUpdate?: Uint8Array;
  kvServerMessage?: Decoded<typeof KvServerMessage>;
}

/** The value of an AgentServerMessage of one of the five shapes, or undefined. Never throws. */
export function hot(bytes: Uint8Array): Hot | undefined {
  const tag = bytes[0];
  if (tag !== TAG.interactionUpdate && tag !== TAG.checkpoint && tag !== TAG.kv && tag !== TAG.exec) return undefined;
  const end = bytes.length;
  const start = inside(bytes, 1, end);
  if (start < 0) return undefined;
  if (tag === TAG.checkpoint) return { conversationCheckpointUpdate: bytes.subarray(start) };
  if (tag === TAG.exec) return call(bytes, start);
  return tag === TAG.kv ? blob(bytes, start, end) : delta(bytes, start, end);
}

function delta(bytes: Uint8Array, start: number, end: number): Hot | undefined {
  const kind = bytes[start];
  if (kind !== TAG.text && kind !== TAG.thinking) return undefined;
  const body = inside(bytes, start + 1, end);
  if (body < 0 || bytes[body] !== TAG.delta) return undefined;
  const at = inside(bytes, body + 1, end);
  if (at < 0) return undefined;
  const text = decodeUtf8(bytes, at, end, true)!;
  return kind === TAG.text ? { interactionUpdate: { textDelta: { text } } } : { interactionUpdate: { thinkingDelta: { text } } };
}

function blob(bytes: Uint8Array, start: number, end: number): Hot | undefined {
  // An id of one or two bytes, set_blob_args to the end, a 32-byte blob id, the data to the end.
  if (bytes[start] !== TAG.id) return undefined;
  const low = bytes[start + 1]!;
  const high = low < 0x80 ? 0 : bytes[start + 2]!;
  if (high >= 0x80) return undefined;
  const set = start + (low < 0x80 ? 2 : 3);
  if (bytes[set] !== TAG.set) return undefined;
  const body = inside(bytes, set + 1, end);
  if (body < 0 || bytes[body] !== TAG.blobId || bytes[body + 1] !== 32 || bytes[body + 34] !== TAG.blobData) return undefined;
  const data = inside(bytes, body + 35, end);
  if (data < 0) return undefined;
  return { kvServerMessage: { id: (low & 0x7f) | (high << 7), setBlobArgs: { blobId: bytes.subarray(body + 2, body + 34), blobData: bytes.subarray(data) } } };
}

/** Where the value behind the length at `at` starts, if that value ends exactly at `end`; else -1. */
function inside(bytes: Uint8Array, at: number, end: number): number {
  let length = 0;
  for (let shift = 0; shift < 28; shift += 7) {
    if (at >= end) return -1;
    const byte = bytes[at++]!;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return at + length === end ? at : -1;
  }
  return -1;
}

/** An id, mcp_args with its five usual fields, an exec_id: all of them, once and in order. */
function call(bytes: Uint8Array, start: number): Hot | undefined {
  try {
    const reader = new Reader(bytes, start);
    if (reader.tag() !== EXEC.id) return undefined;
    const id = reader.uint32();
    if (reader.tag() !== EXEC.mcpArgs) return undefined;
    const end = reader.enter();
    if (reader.tag() !== MCP.name) return undefined;
    const name = reader.key();
    const args = new Map<string, Uint8Array>();
    let tag = reader.tag();
    if (tag !== MCP.args) return undefined;
    while (tag === MCP.args) {
      reader.element(reader.pos);
      const stop = reader.enter();
      if (reader.tag() !== ENTRY.key) return undefined;
      const key = reader.key();
      if (reader.tag() !== ENTRY.value) return undefined;
      args.set(key, reader.bytes());
      if (reader.pos !== reader.end) return undefined;
      reader.end = stop;
      tag = reader.tag();
    }
    if (tag !== MCP.toolCallId) return undefined;
    const toolCallId = reader.string();
    if (reader.tag() !== MCP.providerIdentifier) return undefined;
    const providerIdentifier = reader.string();
    if (reader.tag() !== MCP.toolName) return undefined;
    const toolName = reader.key();
    if (reader.pos !== reader.end) return undefined;
    reader.end = end;
    if (reader.tag() !== EXEC.execId) return undefined;
    const execId = reader.string();
    if (reader.pos !== end) return undefined;
    return { execServerMessage: { id, mcpArgs: { name, args, toolCallId, providerIdentifier, toolName }, execId } };
  } catch {
    return undefined;
  }
}
