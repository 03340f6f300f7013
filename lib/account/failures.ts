/** How a call for the account fails: the kinds and the next steps are those of a Run (PROTOCOL §9, DESIGN D8). */
import { mask, masked } from "../driver/mask.ts";
import { CursorError, cursorError, type ErrorKind } from "../session/errors.ts";
import { peerText, transportFailure } from "../session/failures.ts";
import type { UnaryAnswer } from "./connection.ts";
import { ACCOUNT_ORIGIN } from "./origin.ts";

const NEXT_STEPS: Readonly<Record<ErrorKind, string>> = {
  auth: "Log in again, or set PI_CURSOR_TOKEN to a current access token.",
  network: "Try again; if it stays, check the connection to the service.",
  "protocol-drift": "Update cursor-wire: the service has moved.",
  remote: "Try again later.",
  local: "Check the environment with `cursor-wire doctor`.",
  aborted: "Start it again when you want it.",
};

/** An error with the next step of its kind. */
export function failed(kind: ErrorKind, code: string, message: string, cause?: unknown): CursorError {
  return new CursorError({ kind, code, message, nextStep: NEXT_STEPS[kind], ...(cause !== undefined && { cause }) });
}

/** The caller wanted no more of it. */
export function stopped(): CursorError {
  return failed("aborted", "aborted", "The call was stopped by its caller.");
}

/** The time of a call was up. */
export function timedOut(ms: number): CursorError {
  return failed("network", "timeout", `The service did not answer within ${ms} ms: timed out.`);
}

/** The connection failed; `why` is what Node said. */
export function lost(why: unknown): CursorError {
  const { cause } = (why ?? {}) as { cause?: unknown };
  // A stream that waits for its connection is told as cancelled, and why only behind that.
  const error = (cause instanceof Error ? cause : why) as { code?: unknown; message?: unknown } | undefined;
  const words = typeof why === "string" ? why : `${error?.code ?? ""} ${error?.message ?? ""}`;
  return failed("network", "connection_lost", `Connection lost: ${peerText(words)}`);
}

/**
 * The error behind an answer that is no success, without the words of `secrets`.
 * @param secrets what was sent and may have come back: tokens, verifiers
 */
export function refused(answer: UnaryAnswer, secrets: readonly string[]): CursorError {
  const { status, contentType } = answer;
  const body = new TextDecoder().decode(answer.body.subarray(0, 4096));
  const failure = transportFailure({ type: "response", status, contentType, body }, { model: "", output: false, fullness: 0 });
  const error = new CursorError(ASTRAY.has(failure.code) ? { ...failure, nextStep: CHECK_ORIGIN } : failure);
  return secrets.reduce(masked, error);
}

/** What a host answers that is another than was meant: a Run's next step would be about the agent's origin. */
const ASTRAY: ReadonlySet<string> = new Set(["not_found", "http_status"]);
const CHECK_ORIGIN = `Check the account's origin: it is ${ACCOUNT_ORIGIN}, or a host of this machine; redirects are never followed.`;

/** `text` without `secrets`, fit for an error. */
export function scrubbed(text: string, secrets: readonly string[]): string {
  return secrets.reduce(mask, peerText(text));
}

/** What was thrown as a CursorError: ours as it is, anything else as a fault of ours. */
export function asCursorError(thrown: unknown): CursorError {
  return cursorError(thrown) ?? failed("local", "unexpected", `Something went wrong: ${peerText(String(thrown))}`, thrown);
}
