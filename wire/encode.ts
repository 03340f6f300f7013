import { LIMITS } from "./limits.ts";
import { WIRE_TYPE } from "./reader.ts";
import type { Row } from "./row.ts";
import type { Bag, Table } from "./table.ts";
import type { Writer } from "./writer.ts";

/**
 * Writes a message without a length in front.
 * @param depth messages and map entries around this one
 */
export function encodeInto(writer: Writer, table: Table, value: Bag, depth: number): void {
  if (depth > LIMITS.depth) throw new RangeError(`a message nests over ${LIMITS.depth} deep, or holds itself`);
  // Many messages hold one field or none. Those cost no array, and a value read inside the loop over the names is
  // found without a lookup (measured: a heartbeat in two thirds of the time).
  let only = "";
  let item: unknown;
  for (const name in value) {
    if (!hasOwn.call(value, name)) continue;
    if (only !== "") {
      for (const each of sorted(Object.keys(value), table)) encodeNamed(writer, table, each, value[each], depth);
      return;
    }
    only = name;
    item = value[name];
  }
  if (only !== "") encodeNamed(writer, table, only, item, depth);
}

const hasOwn = Object.prototype.hasOwnProperty;

/** The names in the order of their field numbers, in which they mostly are; `unknown` comes last. */
function sorted(names: string[], table: Table): string[] {
  let last = 0;
  for (const name of names) {
    const no = order(table, name);
    if (no < last) return names.sort((a, b) => order(table, a) - order(table, b));
    last = no;
  }
  return names;
}

function order(table: Table, name: string): number {
  return name === "unknown" ? Infinity : rowOf(table, name).no;
}

function rowOf(table: Table, name: string): Row {
  const row = table.byName.get(name);
  if (row === undefined) throw new TypeError(`no field is called ${name}`);
  return row;
}

function encodeNamed(writer: Writer, table: Table, name: string, item: unknown, depth: number): void {
  if (item === undefined) return;
  if (name === "unknown") for (const field of item as { bytes: Uint8Array }[]) writer.raw(field.bytes);
  else encodeField(writer, rowOf(table, name), item, depth);
}

function encodeField(writer: Writer, row: Row, item: unknown, depth: number): void {
  switch (row.rule) {
    case "message":
      encodeNested(writer, row, item, depth);
      return;
    case "repeatedMessage":
      for (const element of listOf(row, item)) encodeNested(writer, row, element, depth);
      return;
    case "map":
      if (!(item instanceof Map)) throw refused(row, item, "a Map");
      for (const [key, element] of item) encodeNested(writer, row, { key, value: element }, depth);
      return;
    case "repeated": {
      const list = listOf(row, item);
      if (!row.packable) for (const element of list) encodeScalar(writer, row, element);
      else if (list.length > 0) {
        writer.tag(row.no * 8 + WIRE_TYPE.length);
        const start = writer.open();
        for (const element of list) row.write(writer, checked(row, element));
        writer.close(start);
      }
      return;
    }
    default:
      // A packed row is one to read by: no name leads to it.
      row.rule satisfies "scalar" | "packed";
      encodeScalar(writer, row, item);
  }
}

function encodeNested(writer: Writer, row: Row, item: unknown, depth: number): void {
  if (typeof item !== "object" || item === null) throw refused(row, item, "an object");
  writer.tag(row.tag);
  const start = writer.open();
  encodeInto(writer, row.inside, item as Bag, depth + 1);
  writer.close(start);
}

function encodeScalar(writer: Writer, row: Row, item: unknown): void {
  if (typeof item === "string" && (row.kind === "string" || row.kind === "text")) {
    if (item === "" && row.implicit) return;
    writer.tag(row.tag);
    writer.string(item);
    return;
  }
  const value = checked(row, item);
  if (row.implicit && row.isDefault(value)) return;
  writer.tag(row.tag);
  row.write(writer, value);
}

function checked(row: Row, item: unknown): never {
  if (!row.is(item)) throw refused(row, item);
  return item as never;
}

function listOf(row: Row, item: unknown): readonly unknown[] {
  if (!Array.isArray(item)) throw refused(row, item, "an array");
  return item;
}

function refused(row: Row, item: unknown, expected: string = row.kind): TypeError {
  const found = typeof item === "number" || typeof item === "bigint" || item === null ? String(item) : typeof item;
  return new TypeError(`${row.name} takes ${expected}, not ${found}`);
}
