import { isToken } from "../driver/access-token.ts";

/** Bytes of the longest answer that is read: tokens take a few of them, and megabytes of brackets seconds. */
const LONGEST = 64 * 1024;

/** The JSON object in `body`; undefined where it is anything else, such as an HTML page, or has more than `longest` bytes. */
export function jsonObject(body: Uint8Array, longest = LONGEST): Readonly<Record<string, unknown>> | undefined {
  if (body.length > longest) return undefined;
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(body));
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** An own property that is a string, else "". */
export function textField(object: Readonly<Record<string, unknown>> | undefined, name: string): string {
  const value = object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === "string" ? value : "";
}

/** An own property that is a token which a header can hold, else "". */
export function tokenField(object: Readonly<Record<string, unknown>> | undefined, name: string): string {
  const value = textField(object, name);
  return isToken(value) ? value : "";
}
