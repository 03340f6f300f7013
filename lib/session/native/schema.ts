/** A JSON Schema of the host, read with distrust: own properties only, and nothing in it has to have the shape it should. */
export interface Schema {
  /** The declared properties, each with its own schema. */
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: readonly string[];
}

/** How deep alternatives and items are followed. */
const DEPTH = 8;

/** What `schema` declares; nothing where it is no object. */
export function readSchema(schema: unknown): Schema {
  const properties = own(schema, "properties");
  const required = own(schema, "required");
  return {
    properties: new Map(isRecord(properties) ? Object.entries(properties) : []),
    required: Array.isArray(required) ? required.filter((name) => typeof name === "string") : [],
  };
}

/** An own property of an object; undefined for anything else. */
export function own(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Whether `value` passes what `schema` says of types, constants, alternatives and bounds. Other keywords are not looked at. */
export function accepts(schema: unknown, value: unknown, depth = 0): boolean {
  if (schema === false || depth > DEPTH) return false;
  if (!isRecord(schema)) return true;
  if (Object.hasOwn(schema, "const") && schema["const"] !== value) return false;
  const values = own(schema, "enum");
  if (Array.isArray(values) && !values.includes(value)) return false;
  for (const key of ["anyOf", "oneOf"]) {
    const alternatives = own(schema, key);
    if (Array.isArray(alternatives) && !alternatives.some((one) => accepts(one, value, depth + 1))) return false;
  }
  const type = own(schema, "type");
  const types: unknown[] = Array.isArray(type) ? type : [type];
  if (type !== undefined && !types.some((name) => isOfType(name, value))) return false;
  if (Array.isArray(value)) return value.every((item) => accepts(own(schema, "items"), item, depth + 1));
  return isWithin(schema, value);
}

/** A value that the schema itself names for a property that nobody gave one: its constant, only choice or default. */
export function givenBy(schema: unknown): { value: unknown } | undefined {
  const values = own(schema, "enum");
  if (Array.isArray(values) && values.length === 1) return { value: values[0] };
  for (const key of ["const", "default"]) if (isRecord(schema) && Object.hasOwn(schema, key)) return { value: schema[key] };
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
