/**
 * A message is a table: name → field number and kind. Decoding and encoding both read it, and the TypeScript type of
 * the value is inferred from it (DESIGN §3).
 *
 * Decoding looks a row up by the whole tag, number and wire type together. A number that comes with another wire type
 * than its rows finds no row, so it is kept as an unknown field and counted as drift; a number may also have several
 * rows of different wire types. Absent fields are absent from the value. Encoding writes what is present, in the
 * order of field numbers, then the unknown fields as they came; as proto3 says, a scalar that is its kind's default is
 * left out, unless it is an arm of a oneof or declared `optional`.
 */
import type { Field } from "./kinds.ts";
import { Table } from "./table.ts";

/** A field that no row of the table reads: its exact bytes, tag included, are a view of the input. */
export interface UnknownField {
  readonly no: number;
  /** The wire type it came with. */
  readonly type: number;
  readonly bytes: Uint8Array;
}

/** Told of each unknown field at any depth as it is met. */
export type OnUnknown = (field: UnknownField) => void;

/** The rows of a table as they are declared. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The value that a table of fields describes. */
export type ValueOf<F extends Fields> = { -readonly [K in keyof F]?: NonNullable<F[K]["value"]> } & { unknown?: UnknownField[] };

/** The value type of a message table: `Decoded<typeof ShellArgs>`. */
export type Decoded<M> = M extends Message<infer T> ? T : never;

/** A message table. */
export interface Message<T> {
  /** Its rows as they were declared. */
  readonly fields: Fields;
  /**
   * The value in `bytes`; its `bytes` fields are views of them. `onUnknown` hears of every unknown field at any depth.
   * What is unknown inside a map's entry is only heard of, since a Map has no place for it.
   * @throws WireError where the bytes are malformed, with offset and path
   */
  decode(bytes: Uint8Array, onUnknown?: OnUnknown): T;
  /**
   * The bytes of `value`. Own properties only; an undefined one counts as absent.
   * @throws TypeError at a property that is no field of the table, or a value of another type or out of its range
   * @throws RangeError where messages nest over 100 deep, which a cycle does too
   */
  encode(value: T): Uint8Array<ArrayBuffer>;
}

/**
 * Declares a message: `message({ id: uint32(1), path: text(2) })`. Names are the wire's, in camelCase.
 * @param fast a decoder for the few shapes that make up most traffic: it returns exactly what the table would, or
 *   undefined for any other bytes, malformed ones included
 * @throws TypeError where two rows share number and wire type, or a name or number cannot be a field's
 */
export function message<F extends Fields>(fields: F, fast?: (bytes: Uint8Array) => ValueOf<F> | undefined): Message<ValueOf<F>> {
  return new Table(fields, fast as ConstructorParameters<typeof Table>[1]) as unknown as Message<ValueOf<F>>;
}

/** A table's row for a tag (`number << 3 | wire type`): its name, and its nested table where it has one. */
export function rowOf(table: Message<never>, tag: number): { name: string; nested: Message<never> | undefined } | undefined {
  const row = (table as unknown as Table).find(tag);
  return row && { name: row.name, nested: (row.kind === "message" || row.kind === "map" ? row.inside : undefined) as Message<never> | undefined };
}
