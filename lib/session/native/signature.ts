import { keyword, members, rulesOf, whole, type Rules } from "./schema.ts";

/** How deep objects, lists and alternatives are written out. */
const DEPTH = 4;
/** Choices of one value that are written out. */
const CHOICES = 12;
/** Types that one signature may take: one that needs more is not cut but given up. */
const TYPES = 120;
/** Characters of one name or literal that count as one more type. */
const LONG = 100;

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
  const rules = whole(schema);
  const text = memberTexts(rules, 0, count);
  return count.left < 0 || rules.scope.left < 0 ? undefined : `(${text})`;
}

function memberTexts(rules: Rules, depth: number, count: Count): string {
  const { properties, required, scope } = members(rules);
  const list: string[] = [];
  for (const [name, property] of properties) {
    if (count.left < 0) break;
    count.left -= Math.floor(name.length / LONG);
    list.push(`${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}${required.has(name) ? "" : "?"}: ${typeText(rulesOf(property, scope), depth + 1, count)}`);
  }
  return list.join(", ");
}

function typeText(rules: Rules, depth: number, count: Count): string {
  count.left -= 1;
  if (depth > DEPTH || count.left < 0) return "any";
  const constant = keyword(rules, "const");
  if (constant !== undefined) return literal(constant, count);
  const choices = keyword(rules, "enum");
  if (Array.isArray(choices)) {
    const shown = choices.slice(0, CHOICES).map((one) => literal(one, count));
    return union(choices.length > CHOICES ? [...shown, "…"] : shown);
  }
  const alternatives = keyword(rules, "anyOf") ?? keyword(rules, "oneOf");
  if (Array.isArray(alternatives)) return union(alternatives.slice(0, CHOICES).map((one) => typeText(rulesOf(one, rules.scope), depth + 1, count)));
  const type = keyword(rules, "type");
  if (Array.isArray(type)) return union([...new Set<unknown>(type.slice(0, CHOICES))].map((one) => named(one, rules, depth, count)));
  return named(type ?? (keyword(rules, "properties") === undefined ? undefined : "object"), rules, depth, count);
}

function literal(value: unknown, count: Count): string {
  if (count.left < 0) return "any";
  try {
    const text = JSON.stringify(value) ?? "any";
    count.left -= Math.floor(text.length / LONG);
    return text;
  } catch {
    // The schema is an object of the host, not parsed JSON: it may hold a bigint, a cycle or a toJSON that throws.
    return "any";
  }
}

function named(type: unknown, rules: Rules, depth: number, count: Count): string {
  switch (type) {
    case "integer":
      return "number";
    case "string":
    case "number":
    case "boolean":
    case "null":
      return type;
    case "array": {
      const item = typeText(rulesOf(keyword(rules, "items"), rules.scope), depth + 1, count);
      return item.includes(" | ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
    }
    case "object": {
      const inside = memberTexts(rules, depth, count);
      return inside === "" ? "object" : `{${inside}}`;
    }
    default:
      return "any";
  }
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(" | ") || "any";
}
