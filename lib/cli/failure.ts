import { WireError } from "../../wire/index.ts";
import type { Output } from "./output.ts";
import { printable } from "./printable.ts";

/**
 * A failure of the command itself: a file that can't be read, a capture that is none. It reads like a CursorError, so
 * that people see one form of error: kind, code, message, next step.
 */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly kind = "local";
  /** A word for programs: `file_unreadable`, `capture_invalid`, … */
  readonly code: string;
  /** What to do about it. */
  readonly nextStep: string;

  constructor(code: string, message: string, nextStep: string) {
    super(message);
    this.code = code;
    this.nextStep = nextStep;
  }
}

/** The command line is wrong: exit 2. `verb` names the help to look at. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly verb: string | undefined;

  constructor(message: string, verb?: string) {
    super(message);
    this.verb = verb;
  }
}

/** An error as people and programs are told about it (DESIGN §5). */
export interface Told {
  readonly kind: string;
  readonly code: string;
  readonly message: string;
  readonly nextStep: string;
  /** The peer's words, or what is wrong with its bytes. */
  readonly details?: string;
}

/** What is told about an error: a CursorError and a {@link Failure} say it themselves, anything else is a defect. */
export function told(error: unknown): Told {
  if (error instanceof Error) {
    const { kind, code, nextStep, message, cause } = error as Error & { kind?: unknown; code?: unknown; nextStep?: unknown };
    const details = cause instanceof WireError ? cause.message : cause;
    if (typeof kind === "string" && typeof code === "string")
      return { kind, code, message, nextStep: typeof nextStep === "string" ? nextStep : "", ...(typeof details === "string" && !message.includes(details) && { details }) };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { kind: "local", code: "defect", message, nextStep: "This is a defect of cursor-wire: report it with the command that showed it." };
}

/** Tells an error to people on stderr, and to programs as an object on stdout. */
export function tell(out: Output, error: unknown): void {
  const said = told(error);
  if (out.json) out.object({ type: "error", ...said });
  out.note(`${out.noteStyle.red("error")} ${said.kind} ${said.code}: ${printable(said.message)}`);
  if (said.details) out.note(`details: ${printable(said.details)}`);
  if (said.nextStep) out.note(`next step: ${printable(said.nextStep)}`);
}

/**
 * The failure of a file operation, told with the file's name.
 * @param doing what was tried: "read", "write", "list"
 */
export function fileFailure(doing: string, file: string, error: unknown): Failure {
  const [why, nextStep] = whyOf(error, "Check the path and its permissions.");
  return new Failure(doing === "read" ? "file_unreadable" : "file_unwritable", `cannot ${doing} ${file}: ${why}`, nextStep);
}

/** The failure of a write to stdout or stderr. */
export function outputFailure(stream: string, error: unknown): Failure {
  const [why, nextStep] = whyOf(error, "Check where the output goes.");
  return new Failure("output_unwritable", `cannot write to ${stream}: ${why}`, nextStep);
}

function whyOf(error: unknown, nextStep: string): readonly [why: string, nextStep: string] {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code && FILE_ERRORS[code]) || [message, nextStep];
}

const FILE_ERRORS: Readonly<Record<string, readonly [why: string, nextStep: string]>> = {
  ENOENT: ["no such file or folder", "Check the path."],
  EACCES: ["permission denied", "Check the permissions of the path."],
  EPERM: ["not permitted", "Check the permissions of the path."],
  EISDIR: ["it is a folder", "Name a file."],
  ENOTDIR: ["a part of the path is no folder", "Check the path."],
  EROFS: ["the file system is read-only", "Choose another folder."],
  ENOSPC: ["no space left", "Free some space."],
};
