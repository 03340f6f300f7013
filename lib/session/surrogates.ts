/** An escape of JSON; the group holds more than one character only where it is half of a surrogate pair. */
const ESCAPE = /\\(ud[89a-f][0-9a-f]{2}|.)/g;

/**
 * `value` as JSON in which every lone surrogate, in keys too, is U+FFFD: JSON.stringify escapes them, and many a parser
 * refuses such an escape (PROTOCOL §3.1).
 * @throws TypeError, RangeError as JSON.stringify: a cycle, a bigint, nesting beyond the stack
 */
export function wellFormedJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!json.includes("\\ud")) return json;
  return json.replace(ESCAPE, (escape, rest: string) => (rest.length > 1 ? "\ufffd" : escape));
}
