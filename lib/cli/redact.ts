/**
 * Redaction (DESIGN §8): texts become filler of the same length, so that every length in the frame, and so its
 * structure, stays what it was. What stays readable: names of tools and models, ids, keys of JSON, numbers.
 */
import { FLAG, HEADER_LENGTH, LIMITS, map, message, nested, Reader, repeated, string, text, WIRE_TYPE, WireError } from "../../wire/index.ts";
import {
  AgentClientMessage,
  AgentServerMessage,
  ConversationStateStructure,
  GetBlobResult,
  McpArgs,
  McpImageContent,
  McpMetaToolDescriptor,
  McpToolDefinition,
  RequestContextEnv,
  SelectedImage,
  SetBlobArgs,
} from "../agent/index.ts";
import type { CapturedFrame } from "../loopback/capture-line.ts";
import { parseJson } from "../loopback/json.ts";
import { contentOf } from "./bytes-content.ts";
import { printableText } from "./shown.ts";
import { isMessage, Looks, walk, type AnyTable, type Met } from "./walk.ts";

/** What happens to a field's value. */
type Treatment = "fill" | "keep" | "json";

/** Rows that are not treated by their kind: a tool's name is `text` and stays, a workspace is `string` and goes. */
const TREATMENT: ReadonlyMap<AnyTable, Readonly<Record<string, Treatment>>> = new Map<AnyTable, Record<string, Treatment>>([
  [McpArgs as AnyTable, { name: "keep", toolName: "keep" }],
  [McpToolDefinition as AnyTable, { name: "keep", toolName: "keep" }],
  [McpMetaToolDescriptor as AnyTable, { toolName: "keep" }],
  [ConversationStateStructure as AnyTable, { previousWorkspaceUris: "fill" }],
  [RequestContextEnv as AnyTable, { workspacePaths: "fill", osVersion: "fill", shell: "fill", timeZone: "fill" }],
  [GetBlobResult as AnyTable, { blobData: "json" }],
  [SetBlobArgs as AnyTable, { blobData: "json" }],
  [SelectedImage as AnyTable, { data: "fill" }],
  [McpImageContent as AnyTable, { data: "fill" }],
]);

/** google.protobuf's Value, Struct and ListValue as tables: strings are `text` and go, keys are `string` and stay. */
const Value = message({ string: text(3), struct: nested(5, () => Struct), list: nested(6, () => ListValue) }) as AnyTable;
const Struct = message({ fields: map(1, string(1), nested(2, Value)) }) as AnyTable;
const ListValue = message({ values: repeated(nested(1, Value)) }) as AnyTable;

/**
 * The frame with its texts replaced: same length, same structure. An end-stream envelope stays as it is, for its words
 * decide what the error means; a payload that can't be read is filled whole.
 */
export function redact(frame: CapturedFrame): CapturedFrame {
  const envelope = frame.envelope.slice();
  const flags = envelope[0]!;
  if ((flags & FLAG.endStream) !== 0) return frame;
  const payload = envelope.subarray(HEADER_LENGTH);
  redactPayload(payload, frame.from, flags !== 0);
  return { ...frame, envelope };
}

/** As {@link redact}, of a payload in place. `opaque`: it is compressed, so no table reads it. */
export function redactPayload(payload: Uint8Array, from: "client" | "server", opaque = false): void {
  const table = (from === "client" ? AgentClientMessage : AgentServerMessage) as AnyTable;
  try {
    if (opaque) fill(payload);
    else redactMessage(new Reader(payload), { table, depth: 0, looks: new Looks(payload.length) });
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    fill(payload);
  }
}

/** What a message is read by. */
interface Lens {
  readonly table: AnyTable | undefined;
  readonly depth: number;
  readonly looks: Looks;
  /** Whether it is an entry of a map whose values are google.protobuf.Value. */
  readonly values?: boolean;
  /** The tag of the group that it is, 0 or absent for a message. */
  readonly open?: number;
}

function redactMessage(reader: Reader, lens: Lens): void {
  const { table, looks } = lens;
  const depth = lens.depth + 1;
  if (depth > LIMITS.depth) reader.fail("depth", reader.pos);
  for (const { row, type, no, body, end } of walk(reader, table, lens.open)) {
    if (type === WIRE_TYPE.startGroup) redactMessage(reader, { table: undefined, depth, looks, open: no * 8 + type });
    if (type !== WIRE_TYPE.length) continue;
    const value = reader.buffer.subarray(body, end);
    if (row?.inside) {
      const values = row.field.kind === "map" && contentOf(table, row.name) === "value";
      redactMessage(new Reader(value), { table: row.inside, depth, looks, values });
    } else if (row) redactField(value, lens, row);
    else redactUnknown(value, depth, looks);
  }
}

function redactField(value: Uint8Array, { table, depth, looks, values = false }: Lens, { name, field }: NonNullable<Met["row"]>): void {
  if (values) {
    if (name === "value") redactMessage(new Reader(value), { table: Value, depth: depth + 1, looks });
    return;
  }
  const content = contentOf(table, name);
  if (content !== undefined) redactMessage(new Reader(value), { table: content === "value" ? Value : content, depth: depth + 1, looks });
  else {
    const rows = TREATMENT.get(table!);
    const treatment = rows && Object.hasOwn(rows, name) ? rows[name] : field.kind === "text" ? "fill" : "keep";
    if (treatment === "fill") fill(value);
    else if (treatment === "json") redactBlob(value);
  }
}

/** A field that no table knows: text goes, a message is gone into, other bytes stay (they may be ids). What may not be looked at goes. */
function redactUnknown(value: Uint8Array, depth: number, looks: Looks): void {
  if (!looks.take(value.length)) fill(value);
  else if (printableText(value) !== undefined && !(value[0]! < 0x20 && isMessage(value))) fill(value);
  else if (isMessage(value)) redactMessage(new Reader(value), { table: undefined, depth, looks });
}

/** A blob that is text: the string values of JSON are filled, so that it stays JSON; any other text is filled whole, and JSON of very many values. */
function redactBlob(bytes: Uint8Array): void {
  const json = printableText(bytes);
  if (json === undefined) return;
  try {
    parseJson(json, LIMITS.elements);
  } catch {
    fill(bytes);
    return;
  }
  let key = "";
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== QUOTE) continue;
    const start = at + 1;
    for (at = start; bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    let next = at + 1;
    while (bytes[next] === SPACE || bytes[next] === NEWLINE) next++;
    if (bytes[next] === COLON) key = Buffer.from(bytes.buffer, bytes.byteOffset + start, at - start).toString();
    else {
      if (!KEPT.has(key)) fill(bytes.subarray(start, at));
      key = "";
    }
  }
}

const [QUOTE, BACKSLASH, COLON, SPACE, NEWLINE, FILLER] = Array.from('"\\: \nx', (character) => character.charCodeAt(0));

/** Keys of a prompt's JSON whose values are words of the protocol. */
const KEPT: ReadonlySet<string> = new Set(["role", "type", "toolName", "toolCallId", "mimeType"]);

function fill(bytes: Uint8Array): void {
  bytes.fill(FILLER!);
}
