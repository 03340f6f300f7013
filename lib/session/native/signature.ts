import { isRecord, own, readSchema } from "./schema.ts";

/** How deep objects, lists and alternatives are written out. */
const DEPTH = 4;
/** Choices of one value that are written out. */
const CHOICES = 12;
/** Types that one signature may take: one that needs more is not cut but given up. */
const TYPES = 120;

/** Counts the types of one signature. */
interface Count {
  left: number;
}

/**
 * A JSON Schema of a tool's arguments as one line, in the notation that models know from TypeScript:
 * `(path: string, edits: {oldText: string, newText: string}[], dryRun?: boolean)`. Undefined where it would be endless.
 */
export function signature(schema: unknown): string | undefined {
  const count = { left: TYPES };
  const text = members(schema, 0, count);
  return count.left < 0 ? undefined : `(${text})`;
}

function members(schema: unknown, depth: number, count: Count): string {
  const { properties, required } = readSchema(schema);
  const list: string[] = [];
  for (const [name, property] of properties) {
    if (count.left < 0) break;
    list.push(`${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}${required.includes(name) ? "" : "?"}: ${typeText(property, depth + 1, count)}`);
  }
  return list.join(", ");
}

function typeText(schema: unknown, depth: number, count: Count): string {
  count.left -= 1;
  if (depth > DEPTH || count.left < 0) return "any";
  if (isRecord(schema) && Object.hasOwn(schema, "const")) return JSON.stringify(schema["const"]) ?? "any";
  const choices = own(schema, "enum");
  if (Array.isArray(choices)) {
    const shown = choices.slice(0, CHOICES).map((one) => JSON.stringify(one) ?? "any");
    return union(choices.length > CHOICES ? [...shown, "…"] : shown);
  }
  const alternatives = own(schema, "anyOf") ?? own(schema, "oneOf");
  if (Array.isArray(alternatives)) return union(alternatives.slice(0, CHOICES).map((one) => typeText(one, depth + 1, count)));
  const type = own(schema, "type");
  if (Array.isArray(type)) return union(type.map((one) => named(one, schema, depth, count)));
  return named(type ?? (own(schema, "properties") === undefined ? undefined : "object"), schema, depth, count);
}

function named(type: unknown, schema: unknown, depth: number, count: Count): string {
  switch (type) {
    case "integer":
      return "number";
    case "string":
    case "number":
    case "boolean":
    case "null":
      return type;
    case "array": {
      const item = typeText(own(schema, "items"), depth + 1, count);
      return item.includes(" | ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
    }
    case "object": {
      const inside = members(schema, depth, count);
      return inside === "" ? "object" : `{${inside}}`;
    }
    default:
      return "any";
  }
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(" | ") || "any";
}
