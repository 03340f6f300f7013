import { CursorError } from "../session/errors.ts";

/** Characters of a token that are one: fewer could be any word. */
const RECOGNISABLE = 6;

/** `text` without the token, and without the part of it that a cut has left at the end. */
function mask(text: string, token: string): string {
  if (token.length < RECOGNISABLE) return text;
  const whole = text.replaceAll(token, "[redacted]");
  if (!whole.endsWith("…")) return whole;
  for (let length = Math.min(token.length, whole.length) - 1; length >= RECOGNISABLE; length--)
    if (whole.endsWith(`${token.slice(0, length)}…`)) return `${whole.slice(0, -length - 1)}[redacted]…`;
  return whole;
}

/** The error without the token: a peer may have sent it back. */
export function masked(error: CursorError, token: string): CursorError {
  const texts = [error.message, error.nextStep, typeof error.cause === "string" ? error.cause : ""];
  if (texts.every((text) => mask(text, token) === text)) return error;
  const { kind, code, message, nextStep, cause, partial } = error;
  return new CursorError({ kind, code, message: mask(message, token), nextStep: mask(nextStep, token), ...(typeof cause === "string" && { cause: mask(cause, token) }) }, partial);
}
