/** How the JSON of half a surrogate pair begins; of nothing else that JSON.stringify escapes. */
const ESCAPE = "\\ud";

/**
 * `value` as JSON in which every lone surrogate, in keys too, is U+FFFD: JSON.stringify escapes them, and many a parser
 * refuses such an escape (PROTOCOL §3.1).
 * @throws TypeError, RangeError as JSON.stringify: a cycle, a bigint, nesting beyond the stack
 */
export function wellFormedJson(value: unknown): string {
  const json = JSON.stringify(value);
  const parts: string[] = [];
  let from = 0;
  for (let at = json.indexOf(ESCAPE); at >= 0; at = json.indexOf(ESCAPE, at + 1)) {
    if (!isEscape(json, at)) continue;
    parts.push(json.slice(from, at), "\ufffd");
    from = at + "\\udfff".length;
  }
  return parts.join("") + json.slice(from);
}

/** Whether the backslash at `at` is not itself escaped. */
function isEscape(json: string, at: number): boolean {
  let start = at;
  while (json[start - 1] === "\\") start--;
  return (at - start) % 2 === 0;
}
