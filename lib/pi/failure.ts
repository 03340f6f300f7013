/** A failure in Pi's words. Pi decides by words whether it sends a request again (network) or compacts (overflow). */
import { CursorError, cursorError } from "../session/errors.ts";
import { peerText } from "../session/failures.ts";

/**
 * What happened, its kind and code, and what to do: never empty, never a bare "Error". Only a `network` failure holds
 * words that Pi retries on: the kind itself, as "network error" (DESIGN D8).
 */
export function errorMessage({ kind, code, message, nextStep }: CursorError): string {
  return `${message} [${kind} error: ${code}] ${nextStep}`;
}

/** What was thrown as a CursorError: ours as it is, anything else as a fault of this side. */
export function failureOf(thrown: unknown): CursorError {
  const ours = cursorError(thrown);
  if (ours !== undefined) return ours;
  const words = peerText(thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown));
  return new CursorError({ kind: "local", code: "unexpected", message: `The extension could not go on: ${words}`, nextStep: "Report it with the code.", cause: thrown });
}
