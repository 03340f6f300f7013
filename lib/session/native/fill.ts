import type { Tool } from "../turn.ts";
import type { Edit, Operation, Values } from "./operation.ts";
import { accepts, givenBy, keyword, members, readSchema, rulesOf, type Rules, type Schema } from "./schema.ts";
import { REPLACEMENT, VOCABULARY, type Slot } from "./vocabulary.ts";
import { compact } from "./words.ts";

/** A tool's arguments for an operation, and the values that found a place in them. */
export interface Filled {
  readonly arguments: Record<string, unknown>;
  readonly placed: ReadonlySet<keyof Values>;
}

/**
 * The arguments by which `tool` does the operation, in the tool's own property names: they hold nothing that its schema
 * does not declare. Undefined where a value has no place, or the schema requires one that nobody gave.
 */
export function fill(tool: Tool, { intent, values }: Operation): Filled | undefined {
  const schema = readSchema(tool.inputSchema);
  const names = spelled(schema);
  for (const variant of variants(values)) {
    const filled = fillSlots(schema, names, VOCABULARY[intent].properties, variant);
    if (filled !== undefined) return filled;
  }
  return undefined;
}

/** A single edit also fits a tool that takes one. */
function variants(values: Values): Values[] {
  const { edits, ...rest } = values;
  return edits?.length === 1 ? [values, { ...rest, ...edits[0] }] : [values];
}

/** The properties by their names as they compare; of equal ones the first. */
function spelled({ properties }: Schema): Map<string, string> {
  return new Map([...properties.keys()].reverse().map((name) => [compact(name), name]));
}

function fillSlots(schema: Schema, names: ReadonlyMap<string, string>, slots: readonly Slot[], values: Values): Filled | undefined {
  const entries = new Map<string, unknown>();
  const placed = new Set<keyof Values>();
  for (const { value, names: spellings, hint } of slots) {
    const given = values[value];
    if (given === undefined) continue;
    const found = place(schema, names, spellings, entries, given);
    if (found !== undefined) {
      entries.set(...found);
      placed.add(value);
    } else if (!hint) return undefined;
  }
  for (const name of schema.required) {
    if (entries.has(name)) continue;
    const byDefault = givenBy(rulesOf(schema.properties.get(name), schema.scope));
    if (byDefault === undefined) return undefined;
    entries.set(name, byDefault.value);
  }
  // fromEntries defines: a property may be called __proto__.
  return { arguments: Object.fromEntries(entries), placed };
}

/** The first property, in the order of the spellings, that is free and takes the value; with the value as it takes it. */
function place(
  schema: Schema,
  names: ReadonlyMap<string, string>,
  spellings: readonly string[],
  taken: ReadonlyMap<string, unknown>,
  given: Values[keyof Values],
): [string, unknown] | undefined {
  for (const spelling of spellings) {
    const name = names.get(compact(spelling));
    if (name === undefined || taken.has(name)) continue;
    const property = rulesOf(schema.properties.get(name), schema.scope);
    const value = typeof given === "object" ? replacements(property, given) : given;
    if (value !== undefined && accepts(property, value)) return [name, value];
  }
  return undefined;
}

/** Edits in the names that the property's items declare, or in ours where they declare none. */
function replacements(property: Rules, edits: readonly Edit[]): object[] | undefined {
  const item = members(rulesOf(keyword(property, "items"), property.scope));
  if (item.properties.size === 0) return [...edits];
  const names = spelled(item);
  const filled = edits.map((edit) => fillSlots(item, names, REPLACEMENT, edit)?.arguments);
  return filled.every((one) => one !== undefined) ? filled : undefined;
}
