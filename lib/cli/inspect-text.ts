import type { Style } from "./output.ts";
import { jsonLine } from "./printable.ts";
import type { Shown } from "./shown.ts";

/** The lines that show fields: number, name or else wire type, value; nested ones indented by two blanks. */
export function* fieldLines(fields: readonly Shown[], style: Style, indent = "  "): Generator<string> {
  for (const field of fields) {
    const label = `${indent}${field.no} ${field.name === undefined ? style.dim(field.type) : style.cyan(field.name)}`;
    const drift = field.drift === undefined ? "" : ` ${style.yellow(`! ${DRIFTS[field.drift]}`)}`;
    if (field.fields === undefined) yield `${label} ${valueOf(field, style)}${drift}`;
    else if (field.fields.length === 0) yield `${label} {}${drift}`;
    else {
      yield `${label} {${drift}`;
      yield* fieldLines(field.fields, style, `${indent}  `);
      yield `${indent}}`;
    }
  }
}

const DRIFTS = { unknown: "unknown field", "wire type": "known with another wire type" } as const;

function valueOf(field: Shown, style: Style): string {
  const { value, values, text, json, hex, length, unread, cut = 0 } = field;
  if (value !== undefined) return String(value);
  if (values !== undefined) return `[${values.join(", ")}]`;
  if (json !== undefined) return jsonLine(json);
  if (text !== undefined) return `${jsonLine(text)}${cut > 0 ? style.dim(` … ${cut} more characters`) : ""}`;
  return `${style.dim(`${length} bytes${unread ? ", not looked into" : ""}`)} ${hex}${cut > 0 ? style.dim(` … ${cut} more bytes`) : ""}`;
}
