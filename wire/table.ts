import { decodeInto } from "./decode.ts";
import { encodeInto } from "./encode.ts";
import type { Field } from "./kinds.ts";
import { LIMITS } from "./limits.ts";
import type { Fields, Message, OnUnknown, UnknownField } from "./message.ts";
import { plain } from "./native.ts";
import { Reader } from "./reader.ts";
import { Row } from "./row.ts";
import { written, type Writer } from "./writer.ts";

/** A decoded message, whatever its table. */
export type Bag = Record<string, unknown> & { unknown?: UnknownField[] };

/** Field numbers below this are found by index, the others in a map. */
const NEAR = 256;

/** A message's rows, found by tag and by name. */
export class Table implements Message<Bag> {
  readonly fields: Fields;
  readonly near: (Row | undefined)[] = [];
  readonly far = new Map<number, Row>();
  readonly byName = new Map<string, Row>();
  readonly #fast: ((bytes: Uint8Array) => Bag | undefined) | undefined;

  constructor(fields: Fields, fast?: (bytes: Uint8Array) => Bag | undefined) {
    this.fields = fields;
    this.#fast = fast;
    for (const [name, field] of Object.entries(fields)) {
      for (const row of rowsOf(name, field)) {
        if (this.find(row.tag)) throw new TypeError(`${name}: field ${row.no} has two rows of one wire type`);
        if (row.no < NEAR) {
          while (this.near.length <= row.tag) this.near.push(undefined);
          this.near[row.tag] = row;
        } else this.far.set(row.tag, row);
        if (row.rule !== "packed") this.byName.set(name, row);
      }
    }
  }

  find(tag: number): Row | undefined {
    return tag < this.near.length ? this.near[tag] : this.far.get(tag);
  }

  decode(bytes: Uint8Array, onUnknown?: OnUnknown): Bag {
    bytes = plain(bytes);
    return this.#fast?.(bytes) ?? decodeInto(undefined, this, new Reader(bytes), 0, onUnknown);
  }

  encode(value: Bag): Uint8Array<ArrayBuffer> {
    return written(this.#write, value);
  }

  readonly #write = (writer: Writer, value: Bag): void => encodeInto(writer, this, value, 0);
}

function rowsOf(name: string, field: Field<unknown>): Row[] {
  const { no, entry, table } = field;
  if (!Number.isInteger(no) || no < 1 || no > LIMITS.fieldNumber) throw new TypeError(`${name}: ${no} is no field number`);
  if (name === "unknown" || name in Object.prototype) throw new TypeError(`${name} is no name for a field`);
  const entries = entry && new Table({ key: entry[0], value: entry[1] });
  const inside = () => entries ?? ((typeof table === "function" ? table() : table) as unknown as Table);
  const row = new Row(name, field, false, inside);
  return field.repeated && row.packable ? [row, new Row(name, field, true, inside)] : [row];
}
