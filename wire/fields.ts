/** Any protobuf bytes by wire type alone: no table needed, nothing lost. */
import { LIMITS } from "./limits.ts";
import { plain } from "./native.ts";
import { Reader, WIRE_TYPE, type WireType } from "./reader.ts";
import { written, type Writer } from "./writer.ts";

const TYPES = new Set<number>(Object.values(WIRE_TYPE));

/** One field as it lies on the wire. */
export interface WireField {
  readonly no: number;
  readonly type: WireType;
  /** Varint, fixed32 and fixed64: the unsigned number. Length-delimited: its bytes, a view. Group: its fields. */
  readonly value: bigint | number | Uint8Array | readonly WireField[];
  /** The field's exact bytes, tag included: a view. A field made by hand has none, and is written minimally. */
  readonly raw?: Uint8Array;
}

/**
 * The fields of `bytes` in wire order. Length-delimited values are left as bytes: only a table knows whether they are
 * text, bytes or a message.
 * @throws WireError where the bytes are malformed
 */
export function fields(bytes: Uint8Array): WireField[] {
  return readFields(new Reader(plain(bytes)), 0, 0);
}

/**
 * The bytes of fields: those with `raw` come out exactly as they came in.
 * @throws TypeError at a field number or wire type that does not exist, or where bytes are none
 * @throws RangeError where groups nest over 100 deep
 */
export function encodeFields(list: readonly WireField[]): Uint8Array<ArrayBuffer> {
  return written(writeFields, list);
}

function readFields(reader: Reader, open: number, depth: number): WireField[] {
  const opened = reader.pos;
  if (depth > LIMITS.depth) reader.fail("depth", opened);
  const list: WireField[] = [];
  for (;;) {
    const start = reader.pos;
    if (start >= reader.end) {
      if (open === 0) return list;
      reader.fail("truncated", opened, `group ${open >>> 3} is not closed`);
    }
    const tag = reader.tag();
    if (open !== 0 && tag === open + 1) return list;
    reader.element(start);
    const value = readValue(reader, tag, start, depth);
    list.push({ no: tag >>> 3, type: (tag & 7) as WireType, value, raw: reader.buffer.subarray(start, reader.pos) });
  }
}

function readValue(reader: Reader, tag: number, start: number, depth: number): WireField["value"] {
  switch ((tag & 7) as WireType) {
    case WIRE_TYPE.varint:
      return reader.uint64();
    case WIRE_TYPE.fixed64:
      return reader.fixed64();
    case WIRE_TYPE.length:
      return reader.bytes();
    case WIRE_TYPE.startGroup:
      return readFields(reader, tag, depth + 1);
    case WIRE_TYPE.fixed32:
      return reader.fixed32();
    case WIRE_TYPE.endGroup:
      return reader.fail("group", start, `field ${tag >>> 3}`);
  }
}

function writeFields(writer: Writer, list: readonly WireField[], depth = 0): void {
  if (depth > LIMITS.depth) throw new RangeError(`groups nest over ${LIMITS.depth} deep`);
  for (const field of list)
    if (field.raw) writer.raw(field.raw);
    else writeField(writer, field, depth);
}

function writeField(writer: Writer, field: WireField, depth: number): void {
  const { no, type, value } = field;
  if (!Number.isInteger(no) || no < 1 || no > LIMITS.fieldNumber) throw new TypeError(`${no} is no field number`);
  if (type === WIRE_TYPE.endGroup) throw new TypeError("an end-group tag is no field: give the group");
  if (!TYPES.has(type)) throw new TypeError(`${type} is no wire type`);
  if (type === WIRE_TYPE.length && !ArrayBuffer.isView(value)) throw new TypeError(`field ${no} takes bytes`);
  writer.tag(no * 8 + type);
  switch (type) {
    case WIRE_TYPE.varint:
      writer.uint64(BigInt(value as bigint));
      return;
    case WIRE_TYPE.fixed64:
      writer.fixed64(BigInt(value as bigint));
      return;
    case WIRE_TYPE.length:
      writer.bytes(value as Uint8Array);
      return;
    case WIRE_TYPE.fixed32:
      writer.fixed32(value as number);
      return;
    case WIRE_TYPE.startGroup:
      writeFields(writer, value as readonly WireField[], depth + 1);
      writer.tag(no * 8 + WIRE_TYPE.endGroup);
  }
}
