import type { Field, Message } from "../../wire/index.ts";
import { hexadecimal, inside, isRecord, ScriptError, shown } from "./shape.ts";

/** The bytes of hex digits, of which there is an even number. */
export function fromHex(digits: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(digits.length / 2);
  for (let index = 0; index < bytes.length; index++) bytes[index] = Number.parseInt(digits.slice(index * 2, index * 2 + 2), 16);
  return bytes;
}

/** `size` bytes that are the same every time: 0, 1, … 250, 0, … */
export function filler(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let index = 0; index < size; index++) bytes[index] = index % 251;
  return bytes;
}

/**
 * A message's value out of JSON: `bytes` are hex, 64-bit integers numbers or decimal digits, maps objects. What comes
 * out is what `table.encode` takes.
 * @throws ScriptError that names the property which the table lacks or which has another type
 */
export function valueFromJson<T>(table: Message<T>, json: unknown, place: string): T {
  if (!isRecord(json)) throw new ScriptError(place, `must be an object, not ${shown(json)}`);
  const value: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(json)) {
    const field = Object.hasOwn(table.fields, name) ? table.fields[name] : undefined;
    const at = inside(place, name);
    if (field === undefined) throw new ScriptError(at, `is no field here: ${Object.keys(table.fields).join(", ") || "there are none"}`);
    value[name] = fieldFromJson(field, item, at);
  }
  return value as T;
}

/** The table of a message field. */
export function tableOf(field: Field<unknown>): Message<never> | undefined {
  return typeof field.table === "function" ? field.table() : field.table;
}

function fieldFromJson(field: Field<unknown>, json: unknown, place: string): unknown {
  if (!field.repeated) return itemFromJson(field, json, place);
  if (!Array.isArray(json)) throw new ScriptError(place, `must be a list, not ${shown(json)}`);
  return json.map((item, index) => itemFromJson(field, item, `${place}[${index}]`));
}

function itemFromJson(field: Field<unknown>, json: unknown, place: string): unknown {
  switch (field.kind) {
    case "message":
      return valueFromJson(tableOf(field)!, json, place);
    case "map": {
      if (!isRecord(json)) throw new ScriptError(place, `must be an object, not ${shown(json)}`);
      const [key, item] = field.entry!;
      return new Map(Object.entries(json).map(([name, value]) => [keyFromJson(key, name, place), itemFromJson(item, value, inside(place, name))]));
    }
    case "bytes":
      hexadecimal(json, place);
      return fromHex(json as string);
    case "string":
    case "text":
      if (typeof json === "string") return json;
      break;
    case "bool":
      if (typeof json === "boolean") return json;
      break;
    case "int64":
    case "uint64":
    case "sint64":
    case "fixed64":
    case "sfixed64":
      if (typeof json === "string" ? /^-?\d+$/.test(json) : Number.isSafeInteger(json)) return BigInt(json as string | number);
      break;
    case "float":
    case "double":
      if (typeof json === "number") return json;
      break;
    default:
      if (Number.isSafeInteger(json)) return json;
  }
  throw new ScriptError(place, `${field.kind} cannot be ${shown(json)}`);
}

/** A key of a map: JSON has them as texts. */
function keyFromJson(key: Field<unknown>, name: string, place: string): unknown {
  return itemFromJson(key, key.kind === "string" || key.kind === "text" ? name : Number(name), place);
}
