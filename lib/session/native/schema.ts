/** A JSON Schema of the host, read with distrust: own properties only, and nothing in it has to have the shape it should. */
export interface Schema {
  /** The declared properties, each with its own schema: see {@link rulesOf}. */
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
  readonly scope: Scope;
}

/** A whole schema, shared by all that is read of it. */
export interface Scope {
  /** What a `$ref` points into. */
  readonly root: unknown;
  /** How much more is looked at; below zero it is spent, and from then on nothing is declared and no value accepted. */
  left: number;
}

/** What holds for one value. */
export interface Rules {
  /** The schema itself, what its `$ref` names and what its `allOf` adds, each once. */
  readonly all: readonly unknown[];
  readonly scope: Scope;
}

/** How deep alternatives and items are followed. */
const DEPTH = 8;
/** Schemas that may hold for one value together: more is a maze, and takes nothing. */
const TOGETHER = 64;
/** Characters of a `$ref` that is followed: what is longer names nothing that takes a value. */
const POINTER = 500;
/** Rules, names, choices and steps of pointers that are looked at in one schema: some 10 ms, however they refer to each other. */
const LOOKS = 20_000;

/** What `schema` declares; nothing where it is no object. */
export function readSchema(schema: unknown): Schema {
  return members(whole(schema));
}

/** What holds for what the whole schema describes, in a scope of its own. */
export function whole(schema: unknown): Rules {
  return rulesOf(schema, { root: schema, left: LOOKS });
}

/** What the rules declare of an object's properties. */
export function members({ all, scope }: Rules): Schema {
  const declared = new Map<string, unknown>();
  const required = new Set<string>();
  for (const one of all) {
    const given = own(one, "properties");
    const properties = isRecord(given) ? Object.entries(given) : [];
    const names = listOf(own(one, "required"));
    if (!affords(scope, properties.length + names.length)) return { properties: new Map(), required: new Set(), scope };
    for (const [name, property] of properties) declared.set(name, declared.has(name) ? { allOf: [declared.get(name), property] } : property);
    for (const name of names) if (typeof name === "string") required.add(name);
  }
  return { properties: declared, required, scope };
}

/** What holds for what `schema` describes, somewhere in the scope. A `$ref` that leads nowhere, or out of it, says nothing. */
export function rulesOf(schema: unknown, scope: Scope): Rules {
  const all = new Set([schema]);
  // What is added is visited too, and nothing twice: a cycle ends.
  for (const one of all) {
    const ref = own(one, "$ref");
    if (typeof ref === "string") all.add(target(ref, scope));
    for (const part of listOf(own(one, "allOf"))) {
      if (all.size > TOGETHER || !affords(scope, 1)) break;
      all.add(part);
    }
    if (all.size > TOGETHER || !affords(scope, 1)) return { all: [false], scope };
  }
  return { all: [...all], scope };
}

/** What a reference such as `#/$defs/name` names. */
function target(ref: string, scope: Scope): unknown {
  if (ref.length > POINTER) return false;
  const [start, ...names] = ref.split("/");
  if (!affords(scope, names.length)) return false;
  return start === "#" ? names.reduce((value, name) => own(value, name.replaceAll("~1", "/").replaceAll("~0", "~")), scope.root) : undefined;
}

/** Takes the cost of a look from what is left; false once that is spent. */
function affords(scope: Scope, cost: number): boolean {
  scope.left -= cost;
  return scope.left >= 0;
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
  return passes(rules, value, 0);
}

function passes({ all, scope }: Rules, value: unknown, depth: number): boolean {
  if (depth > DEPTH || !affords(scope, all.length)) return false;
  const inside = (schema: unknown, inner: unknown): boolean => passes(rulesOf(schema, scope), inner, depth + 1);
  return all.every((schema) => schema !== false && (!isRecord(schema) || (affords(scope, choicesIn(schema)) && passesOne(schema, value, inside))));
}

/** How many choices a rule gives, of all kinds. */
function choicesIn(schema: Record<string, unknown>): number {
  return ["enum", "anyOf", "oneOf", "type"].reduce((sum, key) => sum + listOf(own(schema, key)).length, 0);
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

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
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
