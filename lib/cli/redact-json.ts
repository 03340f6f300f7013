import { isUtf8 } from "node:buffer";
import { LIMITS } from "../../wire/index.ts";
import { parseJson } from "../loopback/json.ts";

/** Which strings of a JSON text stay readable. */
export interface JsonRules {
  /** Key → what the string directly behind it must look like to stay. */
  readonly kept: Readonly<Record<string, RegExp>>;
  /** How deep in objects and lists such a key may stand, from 1. */
  readonly levels: ReadonlySet<number>;
  /** Keys of lists and objects in which no string stays. */
  readonly closed: ReadonlySet<string>;
}

/** What a key or the name of a tool looks like. Any other is taken for text. */
export const NAME = /^[\w$.-]{1,64}$/;
/** What the name of a tool looks like that a model may ask for. */
export const TOOL = /^[\w$.:/-]{1,64}$/;
/** What an id looks like: the service's may hold a line feed. */
export const ID = /^[\x21-\x7e\n]{0,256}$/;

/**
 * Fills the strings of a JSON text in place, so that it stays JSON of the same length: all but keys that are names and
 * what the rules keep. Numbers stay.
 * @returns false where it is no object or list of JSON, or one of very many values: then nothing was changed
 */
export function redactJson(bytes: Uint8Array, { kept, levels, closed }: JsonRules): boolean {
  const first = bytes[pastSpace(bytes, 0)];
  if ((first !== BRACE && first !== BRACKET) || !isUtf8(bytes)) return false;
  try {
    parseJson(UTF8.decode(bytes), LIMITS.elements);
  } catch {
    return false;
  }
  // The key that was read last, and where its value starts.
  let key = "";
  let behind = -1;
  let nesting = 0;
  let shut = Infinity;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === BRACE || byte === BRACKET) {
      nesting++;
      if (at === behind && nesting < shut && (key === "" || closed.has(key))) shut = nesting;
    } else if (byte === BRACE_END || byte === BRACKET_END) {
      if (nesting === shut) shut = Infinity;
      nesting--;
    } else if (byte === QUOTE) {
      const start = at + 1;
      for (at = start; bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
      const string = bytes.subarray(start, at);
      const colon = pastSpace(bytes, at + 1);
      if (bytes[colon] === COLON) {
        const name = textOf(string);
        key = NAME.test(name) ? name : "";
        behind = pastSpace(bytes, colon + 1);
        if (key === "") fill(string);
      } else if (start - 1 !== behind || nesting >= shut || !levels.has(nesting) || !Object.hasOwn(kept, key) || !kept[key]!.test(textOf(string))) fill(string);
    }
  }
  return true;
}

/** Puts filler in the place of bytes. */
export function fill(bytes: Uint8Array): void {
  bytes.fill(FILLER!);
}

/** The bytes as text of one unit a byte. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

function pastSpace(bytes: Uint8Array, at: number): number {
  while (bytes[at] === SPACE || bytes[at] === NEWLINE || bytes[at] === RETURN || bytes[at] === TAB) at++;
  return at;
}

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
const [QUOTE, BACKSLASH, COLON, SPACE, NEWLINE, RETURN, TAB, BRACE, BRACE_END, BRACKET, BRACKET_END, FILLER] = Array.from(
  '"\\: \n\r\t{}[]x',
  (character) => character.charCodeAt(0),
);
