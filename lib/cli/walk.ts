import type { Field } from "../../wire/kinds.ts";
import { Reader, rowOf, WIRE_TYPE, type Message, type WireType } from "../../wire/index.ts";

/** A message table of whatever value. */
export type AnyTable = Message<never>;

/** One field met in a walk; positions are indexes into the walked buffer. */
export interface Met {
  readonly no: number;
  readonly type: WireType;
  /** Where its tag starts. */
  readonly start: number;
  /** Where its value starts, behind tag and length; of a group: its first field. */
  readonly body: number;
  /** Where it ends. */
  readonly end: number;
  /** Its row, where the table has one for this number and wire type. */
  readonly row?: { readonly name: string; readonly field: Field<unknown>; readonly inside: AnyTable | undefined };
  /** With a table but no row: whether the number is unknown, or known with another wire type. */
  readonly drift?: "unknown" | "wire type";
}

/**
 * The fields of a message one by one, with the rows of `table` where it has them. Nothing is collected, so a hostile
 * message costs no more than its bytes.
 * @param open the tag of the group being read, 0 for a message
 * @throws WireError where the bytes are malformed
 */
export function* walk(reader: Reader, table: AnyTable | undefined, open = 0): Generator<Met> {
  for (;;) {
    const start = reader.pos;
    if (start >= reader.end) return;
    const tag = reader.tag();
    if (open !== 0 && tag === open + 1) return;
    const no = tag >>> 3;
    const type = (tag & 7) as WireType;
    let body = reader.pos;
    if (type === WIRE_TYPE.length) {
      const end = reader.stop();
      body = reader.pos;
      reader.pos = end;
    } else reader.skip(tag);
    const found = table && rowOf(table, tag);
    const met = { no, type, start, body, end: reader.pos };
    if (found) yield { ...met, row: { name: found.name, field: table.fields[found.name]!, inside: found.nested } };
    else if (table) yield { ...met, drift: Object.values(table.fields).some((field) => field.no === no) ? "wire type" : "unknown" };
    else yield met;
  }
}

/** Whether bytes parse as the fields of a message. Reads each once and goes into none. */
export function isMessage(bytes: Uint8Array): boolean {
  try {
    const reader = new Reader(bytes);
    while (reader.pos < reader.end) reader.skip(reader.tag());
    return bytes.length > 0;
  } catch {
    return false;
  }
}
