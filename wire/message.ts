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

interface Row {
  readonly name: string;
  readonly no: number;
  readonly tag: number;
  readonly rule: Rule;
  readonly kind: ScalarName | "message" | "map";
  readonly read: (reader: Reader) => unknown;
  readonly write: (writer: Writer, value: never) => void;
  readonly packable: boolean;
  readonly oneof: string | undefined;
  readonly entry: Table | undefined;
  /** The nested table, once it has been needed. */
  nested: Table | undefined;
  readonly lookup: (() => Table) | undefined;
}

type Bag = Record<string, unknown> & { unknown?: UnknownField[] };

/** Field numbers below this are found by index, the others in a map. */
const NEAR = 256;
const noValue = (): never => {
  throw new TypeError("not a scalar");
};

class Table implements Message<Bag> {
  readonly fields: Fields;
  readonly near: (Row | undefined)[] = [];
  readonly far = new Map<number, Row>();
  readonly byName = new Map<string, Row>();

  constructor(fields: Fields) {
    this.fields = fields;
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
    try {
      return decodeInto({}, this, new Reader(bytes), 1, onUnknown);
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

/** Declares a message: `message({ id: uint32(1), path: text(2) })`. Names are the wire's, in camelCase. */
export function message<F extends Fields>(fields: F): Message<ValueOf<F>> {
  return new Table(fields) as unknown as Message<ValueOf<F>>;
}

/** A table's row for a tag (`number << 3 | wire type`): its name, and its nested table where it has one. */
export function rowOf(table: Message<never>, tag: number): { name: string; nested: Message<never> | undefined } | undefined {
  const row = (table as unknown as Table).find(tag);
  return row && { name: row.name, nested: (row.entry ?? (row.rule.endsWith("essage") ? nestedOf(row) : undefined)) as Message<never> | undefined };
}

function rowsOf(name: string, field: Field<unknown>): Row[] {
  const { no, kind, repeated, oneof, table } = field;
  if (!Number.isInteger(no) || no < 1 || no > LIMITS.fieldNumber) throw new TypeError(`${name}: ${no} is no field number`);
  const scalar = kind === "message" || kind === "map" ? undefined : SCALARS[kind];
  const type = scalar?.type ?? WIRE_TYPE.length;
  const packable = type !== WIRE_TYPE.length;
  const base = {
    name,
    no,
    kind,
    read: scalar?.read ?? noValue,
    write: scalar?.write ?? noValue,
    packable,
    oneof,
    entry: field.entry && new Table({ key: field.entry[0], value: field.entry[1] }),
    nested: undefined,
    lookup: table && (() => (typeof table === "function" ? table() : table) as unknown as Table),
  };
  const rule: Rule = kind === "map" ? "map" : kind === "message" ? (repeated ? "repeatedMessage" : "message") : repeated ? "repeated" : "scalar";
  const rows: Row[] = [{ ...base, tag: no * 8 + type, rule }];
  if (repeated && packable) rows.push({ ...base, tag: no * 8 + WIRE_TYPE.length, rule: "packed" });
  return rows;
}

const nestedOf = (row: Row): Table => (row.nested ??= row.lookup!());

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
      const { buffer, pos } = reader;
      const field = { no: tag >>> 3, type: tag & 7, bytes: buffer.subarray(start, pos) };
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
        value[name] = decodeInto((merge && (value[name] as Bag | undefined)) || {}, nestedOf(row), reader, depth + 1, onUnknown);
        reader.end = end;
        break;
      }
      case "scalar":
        value[name] = row.kind === "text" ? reader.text() : row.kind === "string" ? reader.string() : row.read(reader);
        break;
      case "repeatedMessage": {
        const end = reader.end;
        reader.end = reader.stop();
        listOf(value, name).push(decodeInto({}, nestedOf(row), reader, depth + 1, onUnknown));
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
        const entry = decodeInto({}, row.entry!, reader, depth + 1, onUnknown);
        reader.end = end;
        ((value[name] ??= new Map()) as Map<unknown, unknown>).set(entry["key"] ?? absent(row.entry!, "key"), entry["value"] ?? absent(row.entry!, "value"));
        break;
      }
      default:
        row.rule satisfies never;
    }
  }
  return value;
}

function listOf(value: Bag, name: string): unknown[] {
  return (value[name] ??= []) as unknown[];
}

function clearRivals(value: Bag, table: Table, row: Row): void {
  for (const rival of table.byName.values()) if (rival.oneof === row.oneof && rival !== row) delete value[rival.name];
}

/** The default of a map entry's row: what proto3 means by leaving it out. */
function absent(entry: Table, name: "key" | "value"): unknown {
  const { kind } = entry.byName.get(name)!;
  switch (kind) {
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
  (row.entry ?? nestedOf(row)).write(writer, item);
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
      table = row?.entry ?? (row?.lookup ? nestedOf(row) : undefined);
      reader.pos = value.pos;
      reader.end = stop;
    }
  } catch {
    // The walk stops where the bytes stop making sense: the names so far are the path.
  }
  return new WireError(error.code, error.offset, names.join("."), error.detail);
}
