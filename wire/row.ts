import { SCALARS, type Field, type ScalarName } from "./kinds.ts";
import { WIRE_TYPE, type Reader } from "./reader.ts";
import type { Table } from "./table.ts";
import type { Writer } from "./writer.ts";

/** How the value of a row is placed: the words of the decoder's one switch. */
export type Rule = "scalar" | "message" | "repeated" | "repeatedMessage" | "packed" | "map";

/** One row of a table, made ready. A class, so that all rows have one hidden class: the decoder's loads stay cheap. */
export class Row {
  readonly name: string;
  readonly no: number;
  /** `number << 3 | wire type`: what the row is looked up by. */
  readonly tag: number;
  readonly rule: Rule;
  readonly kind: ScalarName | "message" | "map";
  readonly packable: boolean;
  /** Whether a default value is left out, as proto3 does where absence means the same. */
  readonly implicit: boolean;
  readonly oneof: string | undefined;
  readonly is: (value: unknown) => boolean;
  readonly read: (reader: Reader) => unknown;
  readonly write: (writer: Writer, value: never) => void;
  readonly #zero: unknown;
  readonly #lookup: () => Table;
  #inside: Table | undefined;

  /**
   * @param packed whether this is the second row of a repeated scalar, which reads many values in one
   * @param inside the table of a message row or of a map's entries
   */
  constructor(name: string, field: Field<unknown>, packed: boolean, inside: () => Table) {
    const { no, kind, repeated, oneof, explicit } = field;
    // A message and a map entry lie on the wire as bytes do.
    const scalar = SCALARS[kind === "message" || kind === "map" ? "bytes" : kind];
    this.name = name;
    this.no = no;
    this.kind = kind;
    this.packable = scalar.type !== WIRE_TYPE.length;
    this.tag = no * 8 + (packed ? WIRE_TYPE.length : scalar.type);
    this.rule = packed ? "packed" : kind === "map" ? "map" : kind === "message" ? (repeated ? "repeatedMessage" : "message") : repeated ? "repeated" : "scalar";
    this.oneof = oneof;
    this.implicit = this.rule === "scalar" && oneof === undefined && explicit !== true;
    this.#zero = kind === "message" ? undefined : scalar.zero;
    this.is = scalar.is;
    this.read = scalar.read;
    this.write = scalar.write;
    this.#lookup = inside;
    this.#inside = undefined;
  }

  /** The table that reads the inside of the value, looked up when it is first needed: tables may refer to each other. */
  get inside(): Table {
    return (this.#inside ??= this.#lookup());
  }

  /** Whether a value is what its absence means. -0 is not: its bits differ. */
  isDefault(value: unknown): boolean {
    return value instanceof Uint8Array ? value.length === 0 : Object.is(value, this.#zero);
  }

  /** What proto3 means by leaving the value out. */
  absent(): unknown {
    return this.#zero ?? {};
  }
}
