/** Whose fault it is, and so what a host may do: log in again, try again, report, change its own call, or nothing. */
export type ErrorKind = "auth" | "network" | "protocol-drift" | "remote" | "local" | "aborted";

/** What a leg had said before it failed. Tokens as in the `usage` event. */
export interface Partial {
  text: string;
  thinking: string;
  usage: { input: number; output: number };
}

/** Everything that a {@link CursorError} says. */
export interface Failure {
  kind: ErrorKind;
  /** A word for programs, stable between versions. */
  code: string;
  message: string;
  /** What the person can do now. */
  nextStep: string;
  cause?: unknown;
}

/** A turn that failed: the only thing that a stream of events throws (DESIGN §4). Never holds a token. */
export class CursorError extends Error {
  override readonly name = "CursorError";
  readonly kind: ErrorKind;
  readonly code: string;
  readonly nextStep: string;
  readonly partial: Partial;

  constructor(failure: Failure, partial: Partial = { text: "", thinking: "", usage: { input: 0, output: 0 } }) {
    super(failure.message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.kind = failure.kind;
    this.code = failure.code;
    this.nextStep = failure.nextStep;
    this.partial = partial;
  }
}

/** What the host itself has to put right. */
export function localError(code: string, message: string, nextStep: string): CursorError {
  return new CursorError({ kind: "local", code, message, nextStep });
}

/** The host wants no more of the turn. */
export function aborted(partial?: Partial): CursorError {
  return new CursorError({ kind: "aborted", code: "aborted", message: "The turn was aborted by the host.", nextStep: "Send a message to go on." }, partial);
}

/** The error in `thrown` or in the causes behind it, if one is ours. Survives causes that go in circles. */
export function cursorError(thrown: unknown): CursorError | undefined {
  const seen = new Set<unknown>();
  for (let error = thrown; error instanceof Error && !seen.has(error); error = error.cause) {
    if (error instanceof CursorError) return error;
    seen.add(error);
  }
  return undefined;
}
