import type { Tool } from "../turn.ts";
import { wellFormedJson } from "../surrogates.ts";
import { accepts, givenBy, keyword, readSchema, rulesOf, type Rules } from "./schema.ts";
import { modelName } from "./tools.ts";
import type { Slot } from "./vocabulary.ts";
import { compact } from "./words.ts";

/** UTF-16 units from which a value is named, not repeated: what a model copies has to be short. */
const LONG = 2_000;

/** A tool and its arguments in words that a model can copy: the name in backticks, then one JSON object. */
export function callText(name: string, args: Record<string, unknown>): string {
  const entries = Object.entries(args).map(([key, value]) => `${wellFormedJson(key)}: ${json(value, key)}`);
  return `\`${modelName(name)}\` with {${entries.join(", ")}}`;
}

/**
 * Arguments for a tool as far as they are known: `values` by the slots' spellings and by their own names, and a
 * placeholder in angle brackets for what else the schema requires. A schema without properties gets the values as they
 * are called here.
 */
export function template(tool: Tool, values: object, slots: readonly Slot[]): Record<string, unknown> {
  const { properties, required, scope } = readSchema(tool.inputSchema);
  const spelled = Object.entries(values).map(([name, value]: [string, unknown]) => {
    const spellings = slots.find((slot) => slot.value === name)?.names ?? [];
    return { names: [name, ...spellings].map(compact), value };
  });
  if (properties.size === 0) return Object.fromEntries(spelled.map(({ names, value }) => [names[0], value]));
  const args = new Map<string, unknown>();
  for (const [name, declared] of properties) {
    const property = rulesOf(declared, scope);
    const known = spelled.find(({ names, value }) => names.includes(compact(name)) && accepts(property, value));
    if (known !== undefined) args.set(name, known.value);
    else if (required.has(name)) args.set(name, (givenBy(property) ?? { value: placeholder(name, property) }).value);
  }
  return Object.fromEntries(args);
}

function placeholder(name: string, property: Rules): unknown {
  const values = keyword(property, "enum");
  if (Array.isArray(values) && values.length > 0) return values[0];
  const candidates = [`<${name}>`, 1, true, [], {}];
  return candidates.find((candidate) => accepts(property, candidate)) ?? null;
}

function json(value: unknown, key: string): string {
  const text = holdsLong(value) ? undefined : wellFormedJson(value);
  return text === undefined || text.length > LONG ? wellFormedJson(`<the same ${key}>`) : text;
}

/** Whether one text alone is too long: as JSON it is longer still, and takes seconds where it fills a message. */
function holdsLong(value: unknown): boolean {
  if (typeof value === "string") return value.length > LONG;
  return typeof value === "object" && value !== null && Object.values(value).some(holdsLong);
}
