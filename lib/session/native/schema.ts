/** A JSON Schema of the host, read with distrust: own properties only, and nothing in it has to have the shape it should. */
export interface Schema {
  /** The declared properties, each with its own schema: see {@link rulesOf}. */
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: readonly string[];
  /** The whole schema, which a `$ref` points into. */
  readonly root: unknown;
}

/** What holds for one value. */
export interface Rules {
  /** The schema itself, what its `$ref` names and what its `allOf` adds, each once. */
  readonly all: readonly unknown[];
  readonly root: unknown;
}

/** How deep alternatives and items are followed. */
const DEPTH = 8;
/** Schemas that may hold for one value together, and those that one value is held against: more is a maze, and takes nothing. */
const TOGETHER = 64;
const STEPS = 10_000;

/** What `schema` declares; nothing where it is no object. */
export function readSchema(schema: unknown): Schema {
  return members(rulesOf(schema, schema));
}

/** What the rules declare of an object's properties. */
export function members({ all, root }: Rules): Schema {
  const declared = new Map<string, unknown>();
  const required: string[] = [];
  for (const one of all) {
    const properties = own(one, "properties");
    const names = own(one, "required");
    for (const [name, property] of isRecord(properties) ? Object.entries(properties) : []) declared.set(name, declared.has(name) ? { allOf: [declared.get(name), property] } : property);
    for (const name of Array.isArray(names) ? names : []) if (typeof name === "string") required.push(name);
  }
  return { properties: declared, required, root };
}

/** What holds for what `schema` describes, somewhere in `root`. A `$ref` that leads nowhere, or out of it, says nothing. */
export function rulesOf(schema: unknown, root: unknown): Rules {
  const all = new Set([schema]);
  // What is added is visited too, and nothing twice: a cycle ends.
  for (const one of all) {
    if (all.size > TOGETHER) return { all: [false], root };
    const ref = own(one, "$ref");
    const more = own(one, "allOf");
    if (typeof ref === "string") all.add(target(ref, root));
    if (Array.isArray(more)) for (const part of more) all.add(part);
  }
  return { all: [...all], root };
}

/** What a reference such as `#/$defs/name` names. */
function target(ref: string, root: unknown): unknown {
  const [start, ...names] = ref.split("/");
  return start === "#" ? names.reduce((value, name) => own(value, name.replaceAll("~1", "/").replaceAll("~0", "~")), root) : undefined;
}

/** What the rules say under a keyword: the first that says something. */
export function keyword({ all }: Rules, key: string): unknown {
  return all.map((one) => own(one, key)).find((value) => value !== undefined);
}

/** An own property of an object; undefined for anything else. */
export function own(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Whether `value` passes what the rules say of types, constants, alternatives and bounds. Other keywords are not looked at. */
export function accepts(rules: Rules, value: unknown): boolean {
  return passes(rules, value, 0, { left: STEPS });
}

function passes({ all, root }: Rules, value: unknown, depth: number, steps: { left: number }): boolean {
  steps.left -= 1;
  if (depth > DEPTH || steps.left < 0) return false;
  const inside = (schema: unknown, inner: unknown): boolean => passes(rulesOf(schema, root), inner, depth + 1, steps);
  return all.every((schema) => schema !== false && (!isRecord(schema) || passesOne(schema, value, inside)));
}

function passesOne(schema: Record<string, unknown>, value: unknown, inside: (schema: unknown, value: unknown) => boolean): boolean {
  if (Object.hasOwn(schema, "const") && schema["const"] !== value) return false;
  const values = own(schema, "enum");
  if (Array.isArray(values) && !values.includes(value)) return false;
  for (const key of ["anyOf", "oneOf"]) {
    const alternatives = own(schema, key);
    if (Array.isArray(alternatives) && !alternatives.some((one) => inside(one, value))) return false;
  }
  const type = own(schema, "type");
  const types: unknown[] = Array.isArray(type) ? type : [type];
  if (type !== undefined && !types.some((name) => isOfType(name, value))) return false;
  if (Array.isArray(value)) return value.every((item) => inside(own(schema, "items"), item));
  return isWithin(schema, value);
}

/** A value that the rules themselves name for a property that nobody gave one: their constant, only choice or default. */
export function givenBy({ all }: Rules): { value: unknown } | undefined {
  for (const schema of all) {
    const values = own(schema, "enum");
    if (Array.isArray(values) && values.length === 1) return { value: values[0] };
    for (const key of ["const", "default"]) if (isRecord(schema) && Object.hasOwn(schema, key)) return { value: schema[key] };
  }
  return undefined;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isRecord(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

function isWithin(schema: Record<string, unknown>, value: unknown): boolean {
  const length = typeof value === "string";
  const size = length ? value.length : value;
  if (typeof size !== "number") return true;
  const least = own(schema, length ? "minLength" : "minimum");
  const most = own(schema, length ? "maxLength" : "maximum");
  return !(typeof least === "number" && size < least) && !(typeof most === "number" && size > most);
}
