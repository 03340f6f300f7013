/** The JSON object in `body`; undefined where it is anything else, such as an HTML page. */
export function jsonObject(body: Uint8Array): Readonly<Record<string, unknown>> | undefined {
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
