/** Any protobuf bytes by wire type alone: no table needed, nothing lost. */
import { LIMITS } from "./limits.ts";
import { Reader, WIRE_TYPE, type WireType } from "./reader.ts";
import { Writer } from "./writer.ts";

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
  return readFields(new Reader(bytes), 0, 0);
}

/** The bytes of fields: those with `raw` come out exactly as they came in. */
export function encodeFields(list: readonly WireField[]): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  for (const field of list) writeField(writer, field);
  return writer.finish();
}

function readFields(reader: Reader, open: number, depth: number): WireField[] {
  if (depth > LIMITS.depth) reader.fail("depth", reader.pos);
  const opened = reader.pos;
  const list: WireField[] = [];
  for (;;) {
    const start = reader.pos;
    if (start >= reader.end) {
      if (open === 0) return list;
      reader.fail("truncated", opened, `group ${open >>> 3} is not closed`);
    }
    const tag = reader.tag();
    if (open !== 0 && tag === open + 1) return list;
    const type = (tag & 7) as WireType;
    const value = readValue(reader, tag, type, depth);
    list.push({ no: tag >>> 3, type, value, raw: reader.buffer.subarray(start, reader.pos) });
  }
}

function readValue(reader: Reader, tag: number, type: WireType, depth: number): WireField["value"] {
  switch (type) {
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
      return reader.fail("group", reader.pos, `field ${tag >>> 3}`);
  }
}

function writeField(writer: Writer, field: WireField): void {
  if (field.raw) {
    writer.raw(field.raw);
    return;
  }
  writer.tag(field.no * 8 + field.type);
  switch (field.type) {
    case WIRE_TYPE.varint:
      writer.uint64(BigInt(field.value as bigint));
      return;
    case WIRE_TYPE.fixed64:
      writer.fixed64(BigInt.asIntN(64, BigInt(field.value as bigint)));
      return;
    case WIRE_TYPE.length:
      writer.bytes(field.value as Uint8Array);
      return;
    case WIRE_TYPE.fixed32:
      writer.fixed32(field.value as number);
      return;
    case WIRE_TYPE.startGroup:
      for (const inner of field.value as readonly WireField[]) writeField(writer, inner);
      writer.tag(field.no * 8 + WIRE_TYPE.endGroup);
      return;
    case WIRE_TYPE.endGroup:
      throw new TypeError("an end-group tag is no field: give the group");
  }
}
