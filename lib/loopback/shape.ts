/** Checks of plain data, such as a script out of a JSON file: each either passes or says which property is wrong. */

/** A script, a fault or a capture that is not what it should be; the message begins with the step and the property. */
export class ScriptError extends Error {
  override readonly name = "ScriptError";
  /** Where: `step 3`, or `step 3: exec.case`. */
  readonly place: string;

  constructor(place: string, message: string) {
    super(`${place}: ${message}`);
    this.place = place;
  }
}

/**
 * Checks one value. `place` names it for people.
 * @throws ScriptError
 */
export type Shape = (value: unknown, place: string) => void;

/** What a shape finds where it expected something else, short enough for a message. */
export function shown(value: unknown): string {
  const text = value === undefined ? "nothing" : (JSON.stringify(value) ?? typeof value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** The place of a property of what is at `place`. */
export function inside(place: string, property: string): string {
  return place.includes(": ") ? `${place}.${property}` : `${place}: ${property}`;
}

function test(what: string, passes: (value: unknown) => boolean): Shape {
  return (value, place) => {
    if (!passes(value)) throw new ScriptError(place, `must be ${what}, not ${shown(value)}`);
  };
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** An object with properties, no array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A string. */
export const text = test("a text", (value) => typeof value === "string");
/** A boolean. */
export const flag = test("true or false", (value) => typeof value === "boolean");
/** Only true. */
export const yes = test("true", (value) => value === true);
/** A count or a number of the protocol. */
export const whole = test("a whole number from 0", isWhole);
/** A time that a timer can take. */
export const milliseconds = test("a whole number of milliseconds below 2^31", (value) => isWhole(value) && value < 2 ** 31);
/** A size that the host may allocate. */
export const byteCount = test("a whole number of bytes up to 64 MiB", (value) => isWhole(value) && value <= 64 * 1024 * 1024);
/** Bytes as hex digits. */
export const hexadecimal = test("bytes in hex", (value) => typeof value === "string" && /^([0-9a-f]{2})*$/i.test(value));
/** A status that ends a request. */
export const status = test("a status of HTTP from 200 to 599", (value) => isWhole(value) && value >= 200 && value < 600);
/** An object whose values are strings, such as headers. */
export const texts = test("an object of texts", (value) => isRecord(value) && Object.values(value).every((item) => typeof item === "string"));
/** Any object. */
export const record = test("an object", isRecord);

/** One of some words. */
export function words(...allowed: readonly string[]): Shape {
  return test(`one of ${allowed.join(", ")}`, (value) => allowed.includes(value as string));
}

/** Any of several shapes; `what` names them together. */
export function either(what: string, ...shapes: readonly Shape[]): Shape {
  return test(what, (value) => shapes.some((shape) => passes(shape, value)));
}

/** An object whose properties have shapes; those in `required` must be there, and no others than named may be. */
export function object(properties: Readonly<Record<string, Shape>>, required: readonly string[] = []): Shape {
  return (value, place) => {
    if (!isRecord(value)) throw new ScriptError(place, `must be an object, not ${shown(value)}`);
    for (const name of required) if (!Object.hasOwn(value, name)) throw new ScriptError(inside(place, name), "is missing");
    for (const [name, item] of Object.entries(value)) {
      const shape = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (shape === undefined) throw new ScriptError(inside(place, name), `is not known here: ${Object.keys(properties).join(", ")} are`);
      if (item !== undefined || required.includes(name)) shape(item, inside(place, name));
    }
  };
}

/** A list of one shape. */
export function list(shape: Shape): Shape {
  return (value, place) => {
    if (!Array.isArray(value)) throw new ScriptError(place, `must be a list, not ${shown(value)}`);
    for (const [index, item] of value.entries()) shape(item, `${place}[${index}]`);
  };
}

function passes(shape: Shape, value: unknown): boolean {
  try {
    shape(value, "");
    return true;
  } catch {
    return false;
  }
}
