import { CursorError } from "../session/errors.ts";

/** Characters in a row that give a token away: fewer could be any word. */
const PIECE = 8;
/** A token that is shorter is none, but a word that a test uses. */
const SHORTEST = 6;

/**
 * `text` without the token: without every piece of it that has {@link PIECE} characters, however a peer or a cut has
 * left it. Case does not count, nor blanks, control characters and what is not ASCII between the characters.
 */
export function mask(text: string, token: string): string {
  const size = Math.min(PIECE, token.length);
  if (size < SHORTEST) return text;
  const secret = token.toLowerCase();
  const pieces = new Set<string>();
  for (let at = 0; at + size <= secret.length; at++) pieces.add(secret.slice(at, at + size));
  // The characters that a token may hold, and where they stand in the text.
  const places: number[] = [];
  for (let at = 0; at < text.length; at++) if (text[at]! > " " && text[at]! < "\x7f") places.push(at);
  const bare = places.map((at) => text[at]!.toLowerCase()).join("");
  let out = "";
  let done = 0;
  for (let at = 0; at + size <= bare.length; at++) {
    if (!pieces.has(bare.slice(at, at + size))) continue;
    const start = places[at]!;
    if (start >= done) out += `${text.slice(done, start)}[redacted]`;
    done = places[at + size - 1]! + 1;
  }
  return out + text.slice(done);
}

/** The error without the token: a peer may have sent it back. */
export function masked(error: CursorError, token: string): CursorError {
  const { kind, code, message, nextStep, cause, partial } = error;
  const words = typeof cause === "string" ? { cause: mask(cause, token) } : {};
  const clean = { kind, code, message: mask(message, token), nextStep: mask(nextStep, token), ...words };
  const same = clean.message === message && clean.nextStep === nextStep && (typeof cause !== "string" || words.cause === cause);
  return same ? error : new CursorError(clean, partial);
}
