/**
 * Redaction (DESIGN §8): texts become filler of the same length, so that every length in the frame, and so its
 * structure, stays what it was. What stays readable: ids, the names of tools and models, names among the keys of JSON
 * and of arguments, the numbers of fields that a table knows, and varints. What is none of these goes.
 */
import { isUtf8 } from "node:buffer";
import { CONNECT_CODES, double, FLAG, HEADER_LENGTH, LIMITS, map, message, nested, Reader, repeated, string, text, WIRE_TYPE, WireError } from "../../wire/index.ts";
import {
  AgentClientMessage,
  AgentServerMessage,
  ConversationStateStructure,
  CreatePlanResult,
  GetBlobArgs,
  GetBlobResult,
  McpArgs,
  McpMetaToolDescriptor,
  McpStateServer,
  McpToolDefinition,
  ReadSuccess,
  RequestContextEnv,
  SelectedContextBlob,
  SelectedImage,
  SetBlobArgs,
  SpanContext,
  UserMessage,
} from "../agent/index.ts";
import { LIMITS as PROTOCOL } from "../agent/limits.ts";
import type { CapturedFrame } from "../loopback/capture-line.ts";
import { contentOf } from "./bytes-content.ts";
import { fill, ID, NAME, redactJson, textOf, TOOL, type JsonRules } from "./redact-json.ts";
import { BLOB_ID, printableText } from "./shown.ts";
import { isMessage, Looks, walk, type AnyTable, type Met } from "./walk.ts";

/**
 * What happens to a field's value. `id`, `name` and `tool` are texts that stay where they look like one; `blob id` stays
 * where it is as long as ours and no text, `blob name` where the service may have made it up (PROTOCOL §6); `blob` is
 * gone into as JSON, and like the rest of the bytes, `opaque`, as a message.
 */
type Treatment = "fill" | "id" | "name" | "tool" | "blob name" | "blob id" | "blob" | "opaque";

/** How a field is treated that has no row below. */
const TREATMENT_OF_KIND: Readonly<Record<string, Treatment>> = { text: "fill", string: "id", bytes: "opaque" };

/** google.protobuf's Value, Struct and ListValue as tables. */
const Value = message({ number: double(2), string: text(3), struct: nested(5, () => Struct), list: nested(6, () => ListValue) }) as AnyTable;
const Struct = message({ fields: map(1, string(1), nested(2, Value)) }) as AnyTable;
const ListValue = message({ values: repeated(nested(1, Value)) }) as AnyTable;

/** Table → field → treatment. Those of a map's entries are `map.key` and `map.value`. */
const TREATMENT: ReadonlyMap<AnyTable, Readonly<Record<string, Treatment>>> = new Map<AnyTable, Record<string, Treatment>>([
  [Struct, { "fields.key": "name" }],
  [McpArgs as AnyTable, { name: "tool", toolName: "tool", "args.key": "name" }],
  [McpToolDefinition as AnyTable, { name: "tool", toolName: "tool" }],
  [McpMetaToolDescriptor as AnyTable, { toolName: "tool" }],
  [
    ConversationStateStructure as AnyTable,
    {
      rootPromptMessagesJson: "blob id",
      turnsOld: "blob id",
      todos: "blob id",
      pendingToolCalls: "fill",
      summary: "blob id",
      plan: "blob id",
      turns: "blob id",
      previousWorkspaceUris: "fill",
      summaryArchive: "blob id",
      "fileStates.value": "blob id",
      summaryArchives: "blob id",
    },
  ],
  [RequestContextEnv as AnyTable, { workspacePaths: "fill", osVersion: "fill", shell: "fill", timeZone: "fill" }],
  [CreatePlanResult as AnyTable, { planUri: "fill" }],
  [SpanContext as AnyTable, { traceState: "fill" }],
  [McpStateServer as AnyTable, { status: "fill" }],
  [GetBlobArgs as AnyTable, { blobId: "blob name" }],
  [GetBlobResult as AnyTable, { blobData: "blob" }],
  [SetBlobArgs as AnyTable, { blobId: "blob name", blobData: "blob" }],
  [SelectedContextBlob as AnyTable, { rootPromptBlobIds: "blob id" }],
  [SelectedImage as AnyTable, { blobId: "blob id" }],
  [UserMessage as AnyTable, { selectedContextBlob: "blob id" }],
  [ReadSuccess as AnyTable, { outputBlobId: "blob id" }],
]);

/** What texts look like that may stay. */
const SHAPES = { id: ID, name: NAME, tool: TOOL } as const;
/** A byte that UTF-8 never has. */
const NO_UTF8 = 0xff;

/** A prompt's JSON: the words of the protocol, but not those of a tool's arguments or result. */
const PROMPT: JsonRules = {
  kept: {
    role: /^(?:system|user|assistant|tool)$/,
    type: /^(?:text|image|file|tool-call|tool-result|(?:redacted-)?reasoning)$/,
    toolName: TOOL,
    toolCallId: ID,
    mimeType: /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/,
  },
  levels: new Set([1, 3]),
  closed: new Set(["args", "input", "output", "result"]),
};

/** An end-stream's JSON: code and message decide what the error means. A message that repeats a token goes. */
const END_STREAM: JsonRules = {
  kept: { code: new RegExp(`^(?:${CONNECT_CODES.join("|")})$`), message: /^(?![^]*(?:bearer|basic\s|authorization|eyJ|crsr_|\\u00))/i },
  levels: new Set([2]),
  closed: new Set(["details", "metadata"]),
};

/** The frame with its texts replaced: same length, same structure. A payload that can't be read is filled whole. */
export function redact(frame: CapturedFrame): CapturedFrame {
  const envelope = new Uint8Array(frame.envelope);
  const payload = envelope.subarray(HEADER_LENGTH);
  if (envelope[0] === FLAG.endStream && frame.from === "server") redactJson(payload, END_STREAM) || spoil(payload);
  else redactPayload(payload, frame.from, envelope[0] !== 0);
  return { ...frame, envelope };
}

/** As {@link redact}, of a payload in place. `unread`: it is compressed, or has another flag, so no table reads it. */
export function redactPayload(payload: Uint8Array, from: "client" | "server", unread = false): void {
  const table = (from === "client" ? AgentClientMessage : AgentServerMessage) as AnyTable;
  try {
    if (unread) spoil(payload);
    else redactMessage(new Reader(payload), { table, owner: table, prefix: "", depth: 0, looks: new Looks(payload.length), open: 0 });
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    spoil(payload);
  }
}

/** Fills what can't be read so that it can't be read afterwards either: no tag has the wire type 7. */
function spoil(payload: Uint8Array): void {
  payload.fill(0x77);
}

/** What a message is read by. */
interface Lens {
  readonly table: AnyTable | undefined;
  /** Where its fields are named, by `prefix` and name: the table, and of a map's entry the table that holds the map. */
  readonly owner: AnyTable | undefined;
  readonly prefix: string;
  readonly depth: number;
  readonly looks: Looks;
  /** The tag of the group that it is, 0 for a message. */
  readonly open: number;
}

function redactMessage(reader: Reader, lens: Lens): void {
  const depth = lens.depth + 1;
  if (depth > LIMITS.depth) reader.fail("depth", reader.pos);
  // Written out, here and below: spreading took a minute for a frame of empty groups.
  const inner: Lens = { table: lens.table, owner: lens.owner, prefix: lens.prefix, depth, looks: lens.looks, open: 0 };
  for (const { row, type, no, body, end } of walk(reader, lens.table, lens.open)) {
    if (type === WIRE_TYPE.startGroup) redactMessage(reader, { table: undefined, owner: undefined, prefix: "", depth, looks: lens.looks, open: no * 8 + type });
    if (type === WIRE_TYPE.startGroup || type === WIRE_TYPE.varint) continue;
    const value = reader.buffer.subarray(body, end);
    if (row) redactField(value, inner, row);
    else if (type === WIRE_TYPE.length) redactOpaque(value, inner, true);
    else fill(value);
  }
}

function redactField(value: Uint8Array, lens: Lens, { name, field, inside }: NonNullable<Met["row"]>): void {
  const path = lens.prefix + name;
  const content = inside ?? contentOf(lens.owner, path);
  if (content !== undefined) {
    const table = content === "value" ? Value : content;
    const entry = field.kind === "map";
    const within: Lens = { table, owner: entry ? lens.owner : table, prefix: entry ? `${name}.` : "", depth: lens.depth, looks: lens.looks, open: 0 };
    if (inside) redactMessage(new Reader(value), within);
    else redactWithin(value, within);
  } else treat(value, treatmentOf(lens.owner!, path, field.kind), lens);
}

function treatmentOf(owner: AnyTable, path: string, kind: string): Treatment | undefined {
  const rows = TREATMENT.get(owner);
  return rows && Object.hasOwn(rows, path) ? rows[path] : TREATMENT_OF_KIND[kind];
}

/** Treats a value in place. What has no treatment is a number, and stays. */
function treat(value: Uint8Array, treatment: Treatment | undefined, lens: Lens): void {
  switch (treatment) {
    case "fill":
      return fill(value);
    case "id":
    case "name":
    case "tool":
      // What is no UTF-8 stays none: readers refuse it.
      if (!isUtf8(value)) value.fill(NO_UTF8);
      else if (!SHAPES[treatment].test(textOf(value))) fill(value);
      return;
    case "blob name":
      return value.length <= PROTOCOL.blobId && (ID.test(textOf(value)) || !isUtf8(value)) ? undefined : fill(value);
    case "blob id":
      return value.length === BLOB_ID && !isUtf8(value) ? undefined : redactBlob(value, lens);
    case "blob":
      return redactBlob(value, lens);
    case "opaque":
      return redactOpaque(value, lens, false);
    default:
      treatment satisfies undefined;
  }
}

function redactBlob(value: Uint8Array, lens: Lens): void {
  if (!lens.looks.take(value.length) || !redactJson(value, PROMPT)) redactOpaque(value, lens, false);
}

/**
 * What no table knows: a message is gone into. What may not be looked at goes.
 * @param ids whether what can only be a blob id stays
 */
function redactOpaque(value: Uint8Array, { depth, looks }: Lens, ids: boolean): void {
  const looked = looks.take(value.length);
  // Only a message starts with a tab or newline and is one to its last byte.
  const text = looked && value[0]! >= 0x20 && printableText(value) !== undefined;
  if (looked && !text && isMessage(value)) redactWithin(value, { table: undefined, owner: undefined, prefix: "", depth, looks, open: 0 });
  else if (!ids || value.length !== BLOB_ID || isUtf8(value)) fill(value);
}

/** A message that is the value of bytes: whoever reads the frame may never read it, so alone it goes where it is malformed. */
function redactWithin(value: Uint8Array, lens: Lens): void {
  try {
    redactMessage(new Reader(value), lens);
  } catch (error) {
    if (!(error instanceof WireError) || !lens.looks.take(THROWN)) throw error;
    fill(value);
  }
}

/** What an error costs, in bytes looked at. */
const THROWN = 2048;
