/**
 * Text that is safe to show on a terminal: control characters, C1 included, become pictures or U+FFFD, so that what
 * a peer sends can't move the cursor or give commands. Tab and newline stay.
 */
export function printable(text: string): string {
  if (!CONTROL.test(text)) return text;
  const units = new Units(text.length);
  for (let at = 0; at < text.length; at++) units.add(picture(text.charCodeAt(at)));
  return units.text();
}

/** A value as one line of JSON, with C1 and line separators escaped as well. */
export function jsonLine(value: unknown): string {
  const json = JSON.stringify(value);
  if (!BEYOND.test(json)) return json;
  let escapes = 0;
  for (let at = 0; at < json.length; at++) if (isBeyond(json.charCodeAt(at))) escapes++;
  const units = new Units(json.length + escapes * (ESCAPE - 1));
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (isBeyond(code)) units.escape(code);
    else units.add(code);
  }
  return units.text();
}

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
const BEYOND = /[\u007f-\u009f\u2028\u2029]/;

function picture(code: number): number {
  if (code < 0x20) return code === 0x09 || code === 0x0a ? code : 0x2400 + code;
  return code === 0x7f ? 0x2421 : code > 0x7f && code < 0xa0 ? 0xfffd : code;
}

function isBeyond(code: number): boolean {
  return (code >= 0x7f && code < 0xa0) || code === 0x2028 || code === 0x2029;
}

/** Length of \uXXXX. */
const ESCAPE = 6;
const BACKSLASH = 0x5c;
const U = 0x75;
const DIGITS = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/** UTF-16 written unit by unit: replacing calls a function for each match, which takes seconds for a peer's megabytes. */
class Units {
  readonly #bytes: Buffer;
  #end = 0;

  constructor(length: number) {
    this.#bytes = Buffer.alloc(2 * length);
  }

  add(unit: number): void {
    this.#bytes[this.#end++] = unit;
    this.#bytes[this.#end++] = unit >>> 8;
  }

  escape(unit: number): void {
    this.add(BACKSLASH);
    this.add(U);
    for (let shift = 12; shift >= 0; shift -= 4) this.add(DIGITS[(unit >>> shift) & 15]!);
  }

  text(): string {
    return this.#bytes.toString("utf16le");
  }
}
