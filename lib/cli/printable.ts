/**
 * Text that is safe to show on a terminal: control characters, C1 included, become pictures or U+FFFD, so that what
 * a peer sends can't move the cursor or give commands. Tab and newline stay.
 */
export function printable(text: string): string {
  return text.replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
  });
}

/** A value as one line of JSON, with C1 and line separators escaped as well. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(BEYOND, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const BEYOND = /[\u007f-\u009f\u2028\u2029]/g;
