/**
 * A message is a table: name → field number and kind. Decoding and encoding both read it, and the TypeScript type of
 * the value is inferred from it (DESIGN §3).
 *
 * Decoding looks a row up by the whole tag, number and wire type together. A number that comes with another wire type
 * than its rows finds no row, so it is kept as an unknown field and counted as drift; a number may also have several
 * rows of different wire types. Absent fields are absent from the value. Encoding writes what is present, in the
 * order of field numbers, then the unknown fields as they came.
 */
import { WireError } from "./errors.ts";
import { SCALARS, type Field, type ScalarName } from "./kinds.ts";
import { LIMITS } from "./limits.ts";
import { Reader, WIRE_TYPE } from "./reader.ts";
import { written, type Writer } from "./writer.ts";

/** A field that no row of the table reads: its exact bytes, tag included, are a view of the input. */
export interface UnknownField {
  readonly no: number;
  /** The wire type it came with. */
  readonly type: number;
  readonly bytes: Uint8Array;
}

/** Told of each unknown field as it is met: `path` names the message that holds it, outermost first. */
export type OnUnknown = (field: UnknownField) => void;

type Fields = Readonly<Record<string, Field<unknown>>>;

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
   * @throws WireError where the bytes are malformed, with offset and path
   */
  decode(bytes: Uint8Array, onUnknown?: OnUnknown): T;
  /**
   * The bytes of `value`. Own properties only; an undefined one counts as absent.
   * @throws TypeError at a property that is no field of the table, or a value of another type
   */
  encode(value: T): Uint8Array<ArrayBuffer>;
}

/** How the value of a row is placed: the words of the decoder's one switch. */
type Rule = "scalar" | "message" | "repeated" | "repeatedMessage" | "packed" | "map";

/** A class, so that all rows have one hidden class: the decoder's loads from them stay cheap. */
class Row {
  readonly name: string;
  readonly no: number;
  readonly tag: number;
  readonly rule: Rule;
  readonly kind: ScalarName | "message" | "map";
  readonly packable: boolean;
  readonly oneof: string | undefined;
  readonly read: (reader: Reader) => unknown;
  readonly write: (writer: Writer, value: never) => void;
  /** The rows of a map's entries. */
  readonly entry: Entry | undefined;
  readonly #lookup: () => Table;
  #nested: Table | undefined;

  constructor(name: string, field: Field<unknown>, packed: boolean) {
    const { no, kind, repeated, oneof, table, entry } = field;
    const scalar = kind === "message" || kind === "map" ? undefined : SCALARS[kind];
    const type = scalar?.type ?? WIRE_TYPE.length;
    this.name = name;
    this.no = no;
    this.kind = kind;
    this.packable = type !== WIRE_TYPE.length;
    this.tag = no * 8 + (packed ? WIRE_TYPE.length : type);
    this.rule = packed ? "packed" : kind === "map" ? "map" : kind === "message" ? (repeated ? "repeatedMessage" : "message") : repeated ? "repeated" : "scalar";
    this.oneof = oneof;
    this.read = scalar?.read ?? noValue;
    this.write = scalar?.write ?? noValue;
    this.entry = entry && entryOf(new Table({ key: entry[0], value: entry[1] }));
    this.#lookup = () => (typeof table === "function" ? table() : table) as unknown as Table;
    this.#nested = undefined;
  }

  /** The table of a message row, looked up when it is first needed: tables may refer to each other. */
  get nested(): Table {
    return (this.#nested ??= this.#lookup());
  }

  /** The table that reads the inside of this row's value, if any does. */
  get inside(): Table | undefined {
    return this.entry?.table ?? (this.kind === "message" ? this.nested : undefined);
  }
}

interface Entry {
  readonly key: Row;
  readonly value: Row;
  readonly table: Table;
}

type Bag = Record<string, unknown> & { unknown?: UnknownField[] };

/** Field numbers below this are found by index, the others in a map. */
const NEAR = 256;
const noValue = (): never => {
  throw new TypeError("not a scalar");
};

class Table implements Message<Bag> {
  readonly fields: Fields;
  readonly fast: ((bytes: Uint8Array) => Bag | undefined) | undefined;
  readonly near: (Row | undefined)[] = [];
  readonly far = new Map<number, Row>();
  readonly byName = new Map<string, Row>();

  constructor(fields: Fields, fast?: (bytes: Uint8Array) => Bag | undefined) {
    this.fields = fields;
    this.fast = fast;
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
    const plain = bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    const value = this.fast?.(plain);
    if (value !== undefined) return value;
    try {
      return decodeInto({}, this, new Reader(plain), 1, onUnknown);
    } catch (error) {
      if (error instanceof WireError && error.path === "") throw located(error, this, bytes);
      throw error;
    }
  }

  encode(value: Bag): Uint8Array<ArrayBuffer> {
    return written(this.write, value);
  }

  readonly write = (writer: Writer, value: Bag): void => {
    const start = writer.pos;
    let last = 0;
    for (const name of Object.keys(value)) {
      const item = value[name];
      if (item === undefined || name === "unknown") continue;
      const row = this.#row(name);
      if (row.no < last) {
        writer.pos = start;
        this.#writeSorted(writer, value);
        break;
      }
      last = row.no;
      encodeField(writer, row, item);
    }
    if (value.unknown !== undefined) for (const field of value.unknown) writer.raw(field.bytes);
  };

  #row(name: string): Row {
    const row = this.byName.get(name);
    if (row === undefined) throw new TypeError(`no field is called ${name}`);
    return row;
  }

  #writeSorted(writer: Writer, value: Bag): void {
    const names = Object.keys(value).filter((name) => name !== "unknown" && value[name] !== undefined);
    const rows = names.map((name) => this.#row(name)).sort((a, b) => a.no - b.no);
    for (const row of rows) encodeField(writer, row, value[row.name]);
  }
}

/**
 * Declares a message: `message({ id: uint32(1), path: text(2) })`. Names are the wire's, in camelCase.
 * @param fast a decoder for the few shapes that make up most traffic: it returns exactly what the table would, or
 *   undefined for any other bytes, malformed ones included
 */
export function message<F extends Fields>(fields: F, fast?: (bytes: Uint8Array) => ValueOf<F> | undefined): Message<ValueOf<F>> {
  return new Table(fields, fast as ((bytes: Uint8Array) => Bag | undefined) | undefined) as unknown as Message<ValueOf<F>>;
}

/** A table's row for a tag (`number << 3 | wire type`): its name, and its nested table where it has one. */
export function rowOf(table: Message<never>, tag: number): { name: string; nested: Message<never> | undefined } | undefined {
  const row = (table as unknown as Table).find(tag);
  return row && { name: row.name, nested: row.inside as Message<never> | undefined };
}

function rowsOf(name: string, field: Field<unknown>): Row[] {
  const { no } = field;
  if (!Number.isInteger(no) || no < 1 || no > LIMITS.fieldNumber) throw new TypeError(`${name}: ${no} is no field number`);
  const row = new Row(name, field, false);
  return field.repeated && row.packable ? [row, new Row(name, field, true)] : [row];
}

function entryOf(table: Table): Entry {
  return { key: table.byName.get("key")!, value: table.byName.get("value")!, table };
}

function decodeInto(value: Bag, table: Table, reader: Reader, depth: number, onUnknown: OnUnknown | undefined): Bag {
  if (depth > LIMITS.depth) reader.fail("depth", reader.pos);
  const { near } = table;
  let arm: Row | undefined;
  while (reader.pos < reader.end) {
    const start = reader.pos;
    const tag = reader.tag();
    const row = tag < near.length ? near[tag] : table.far.get(tag);
    if (row === undefined) {
      reader.skip(tag, depth);
      const field = { no: tag >>> 3, type: tag & 7, bytes: reader.buffer.subarray(start, reader.pos) };
      (value.unknown ??= []).push(field);
      onUnknown?.(field);
      continue;
    }
    const { name } = row;
    let merge = true;
    if (row.oneof !== undefined) {
      if (arm === undefined) merge = false;
      else if (arm !== row) clearRivals(value, table, row);
      arm = row;
    }
    switch (row.rule) {
      case "message": {
        const end = reader.end;
        reader.end = reader.stop();
        value[name] = decodeInto((merge && (value[name] as Bag | undefined)) || {}, row.nested, reader, depth + 1, onUnknown);
        reader.end = end;
        break;
      }
      case "scalar":
        value[name] = decodeScalar(row, reader);
        break;
      case "repeatedMessage": {
        const end = reader.end;
        reader.end = reader.stop();
        listOf(value, name).push(decodeInto({}, row.nested, reader, depth + 1, onUnknown));
        reader.end = end;
        break;
      }
      case "repeated":
        listOf(value, name).push(row.read(reader));
        break;
      case "packed": {
        const list = listOf(value, name);
        const end = reader.end;
        reader.end = reader.stop();
        while (reader.pos < reader.end) list.push(row.read(reader));
        reader.end = end;
        break;
      }
      case "map": {
        const end = reader.end;
        reader.end = reader.stop();
        decodeEntry((value[name] ??= new Map()) as Map<unknown, unknown>, row.entry!, reader, depth + 1, onUnknown);
        reader.end = end;
        break;
      }
      default:
        row.rule satisfies never;
    }
  }
  return value;
}

/** The kinds that most fields have are called by name: a call through the row costs more (measured: 15 % of a text frame). */
function decodeScalar(row: Row, reader: Reader): unknown {
  switch (row.kind) {
    case "text":
      return reader.text();
    case "string":
      return reader.string();
    case "bytes":
      return reader.bytes();
    case "uint32":
      return reader.uint32();
    default:
      return row.read(reader);
  }
}

/** Reads one map entry. A key or value that is left out is its kind's default. */
function decodeEntry(into: Map<unknown, unknown>, entry: Entry, reader: Reader, depth: number, onUnknown: OnUnknown | undefined): void {
  if (depth > LIMITS.depth) reader.fail("depth", reader.pos);
  let key: unknown;
  let item: unknown;
  while (reader.pos < reader.end) {
    const start = reader.pos;
    const tag = reader.tag();
    if (tag === entry.key.tag) key = entry.key.kind === "text" ? reader.key() : decodeScalar(entry.key, reader);
    else if (tag !== entry.value.tag) {
      reader.skip(tag, depth);
      onUnknown?.({ no: tag >>> 3, type: tag & 7, bytes: reader.buffer.subarray(start, reader.pos) });
    } else if (entry.value.rule === "message") {
      const end = reader.end;
      reader.end = reader.stop();
      item = decodeInto((item as Bag | undefined) ?? {}, entry.value.nested, reader, depth + 1, onUnknown);
      reader.end = end;
    } else item = decodeScalar(entry.value, reader);
  }
  into.set(key ?? absent(entry.key), item ?? absent(entry.value));
}

function listOf(value: Bag, name: string): unknown[] {
  return (value[name] ??= []) as unknown[];
}

function clearRivals(value: Bag, table: Table, row: Row): void {
  for (const rival of table.byName.values()) if (rival.oneof === row.oneof && rival !== row) delete value[rival.name];
}

/** The default of a map entry's row: what proto3 means by leaving it out. */
function absent(row: Row): unknown {
  switch (row.kind) {
    case "string":
    case "text":
      return "";
    case "bytes":
      return new Uint8Array(0);
    case "bool":
      return false;
    case "message":
      return {};
    case "int64":
    case "uint64":
    case "sint64":
    case "fixed64":
    case "sfixed64":
      return 0n;
    default:
      return 0;
  }
}

function encodeField(writer: Writer, row: Row, item: unknown): void {
  switch (row.rule) {
    case "scalar":
      writer.tag(row.tag);
      encodeScalar(writer, row, item);
      return;
    case "message":
      encodeMessage(writer, row, item as Bag);
      return;
    case "repeatedMessage":
      for (const element of item as Bag[]) encodeMessage(writer, row, element);
      return;
    case "repeated":
      if (row.packable) {
        if ((item as unknown[]).length === 0) return;
        writer.tag(row.no * 8 + WIRE_TYPE.length);
        const start = writer.open();
        for (const element of item as unknown[]) encodeScalar(writer, row, element);
        writer.close(start);
      } else
        for (const element of item as unknown[]) {
          writer.tag(row.tag);
          encodeScalar(writer, row, element);
        }
      return;
    case "map":
      for (const [key, element] of item as Map<unknown, unknown>) encodeMessage(writer, row, { key, value: element });
      return;
    case "packed":
      return;
    default:
      row.rule satisfies never;
  }
}

function encodeMessage(writer: Writer, row: Row, item: Bag): void {
  writer.tag(row.tag);
  const start = writer.open();
  row.inside!.write(writer, item);
  writer.close(start);
}

/** The JavaScript type of a scalar kind, so that a wrong value is refused where it is given, not on the other side. */
function typeOf(kind: ScalarName): "string" | "number" | "bigint" | "boolean" | "object" {
  switch (kind) {
    case "string":
    case "text":
      return "string";
    case "bytes":
      return "object";
    case "bool":
      return "boolean";
    case "int64":
    case "uint64":
    case "sint64":
    case "fixed64":
    case "sfixed64":
      return "bigint";
    default:
      return "number";
  }
}

function encodeScalar(writer: Writer, row: Row, item: unknown): void {
  const expected = typeOf(row.kind as ScalarName);
  if (typeof item !== expected || (expected === "object" && !(item instanceof Uint8Array)))
    throw new TypeError(`${row.name}: ${row.kind} takes a ${expected === "object" ? "Uint8Array" : expected}, not ${item === null ? "null" : typeof item}`);
  row.write(writer, item as never);
}

/** The same error with the path of the field at its offset: found by walking the bytes again, which only errors pay. */
function located(error: WireError, root: Table, bytes: Uint8Array): WireError {
  const names: string[] = [];
  let table: Table | undefined = root;
  const reader = new Reader(bytes);
  try {
    while (table !== undefined && names.length < LIMITS.depth) {
      const tag = reader.tag();
      const row = table.find(tag);
      const value = new Reader(bytes, reader.pos, reader.end);
      const stop = (tag & 7) === WIRE_TYPE.length ? value.stop() : (value.skip(tag), value.pos);
      if (stop <= error.offset && stop !== reader.end) {
        reader.pos = stop;
        continue;
      }
      names.push(row?.name ?? String(tag >>> 3));
      table = row?.inside;
      reader.pos = value.pos;
      reader.end = stop;
    }
  } catch {
    // The walk stops where the bytes stop making sense: the names so far are the path.
  }
  return new WireError(error.code, error.offset, names.join("."), error.detail);
}
