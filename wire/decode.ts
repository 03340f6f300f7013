import { WireError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import type { OnUnknown } from "./message.ts";
import type { Reader } from "./reader.ts";
import type { Row } from "./row.ts";
import type { Bag, Table } from "./table.ts";

/**
 * Reads a message up to the reader's end and returns its value.
 * @param prior the value to merge into, where the message came before
 * @param depth messages and map entries around this one
 */
export function decodeInto(prior: Bag | undefined, table: Table, reader: Reader, depth: number, onUnknown: OnUnknown | undefined): Bag {
  if (depth > LIMITS.depth) reader.fail("depth", reader.pos);
  const value: Bag = prior ?? {};
  const { near } = table;
  let arm: Row | undefined;
  let tag = 0;
  try {
    while (reader.pos < reader.end) {
      const start = reader.pos;
      tag = 0;
      tag = reader.tag();
      const row = tag < near.length ? near[tag] : table.far.get(tag);
      if (row === undefined) {
        reader.element(start);
        reader.skip(tag, depth, start);
        const field = { no: tag >>> 3, type: tag & 7, bytes: reader.buffer.subarray(start, reader.pos) };
        (value.unknown ??= []).push(field);
        onUnknown?.(field);
        continue;
      }
      const { name } = row;
      let fresh = false;
      if (row.oneof !== undefined && row !== arm) {
        if (arm === undefined && prior === undefined) fresh = true;
        else {
          // Where arms take turns each is an element: letting go of the one before costs as much.
          reader.element(start);
          clearRivals(value, table, row);
        }
        arm = row;
      }
      switch (row.rule) {
        case "message": {
          const end = reader.enter();
          value[name] = decodeInto(fresh ? undefined : (value[name] as Bag | undefined), row.inside, reader, depth + 1, onUnknown);
          reader.end = end;
          break;
        }
        case "scalar":
          value[name] = row.read(reader);
          break;
        case "repeatedMessage": {
          reader.element(start);
          const end = reader.enter();
          listOf(value, name).push(decodeInto(undefined, row.inside, reader, depth + 1, onUnknown));
          reader.end = end;
          break;
        }
        case "repeated":
          reader.element(start);
          listOf(value, name).push(row.read(reader));
          break;
        case "packed": {
          const list = listOf(value, name);
          const end = reader.enter();
          while (reader.pos < reader.end) {
            reader.element(reader.pos);
            list.push(row.read(reader));
          }
          reader.end = end;
          break;
        }
        case "map": {
          reader.element(start);
          const end = reader.enter();
          const entry = decodeInto(undefined, row.inside, reader, depth + 1, onUnknown);
          setEntry((value[name] ??= new Map()) as Map<unknown, unknown>, row.inside, entry);
          reader.end = end;
        }
      }
    }
  } catch (error) {
    if (tag === 0 || !(error instanceof WireError)) throw error;
    throw error.within(table.find(tag)?.name ?? String(tag >>> 3));
  }
  return value;
}

function setEntry(into: Map<unknown, unknown>, table: Table, entry: Bag): void {
  const key = entry["key"] ?? table.byName.get("key")!.absent();
  into.set(key, entry["value"] ?? table.byName.get("value")!.absent());
}

function listOf(value: Bag, name: string): unknown[] {
  return (value[name] ??= []) as unknown[];
}

/** Only the last arm of a oneof stays. */
function clearRivals(value: Bag, table: Table, row: Row): void {
  for (const rival of table.byName.values()) if (rival.oneof === row.oneof && rival !== row) delete value[rival.name];
}
