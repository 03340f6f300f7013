import type { Answer, Result } from "./answer.ts";
import { capText } from "./cap-text.ts";
import { readExit, type Exit } from "./exit.ts";

/** ShellAbortReason of agent.v1. */
const REASONS = { user: { abortReason: 1 }, timeout: { abortReason: 2 }, unknown: {} } as const;

/**
 * A command's end as a ShellResult (PROTOCOL §5.1, DESIGN D21): `success` for code 0, `failure` for any other and for a
 * command that the host cut short, `spawn_error` where it never ran. All output is stdout: hosts do not tell them apart.
 */
export function shellResult({ operation, outcome }: Answer): NonNullable<Result["shellResult"]> {
  const { command = "", cwd } = operation.values;
  const echo = { command, ...(cwd !== undefined && { workingDirectory: cwd }) };
  const exit = readExit(outcome);
  const stdout = capText(exit.output);
  switch (exit.how) {
    case "exited":
      return { [exit.code === 0 ? "success" : "failure"]: { ...echo, exitCode: exit.code | 0, stdout } };
    case "stopped":
      return { failure: { ...echo, exitCode: exit.code, stdout, ...REASONS[exit.reason], aborted: true } };
    case "refused":
      return { spawnError: { ...echo, error: stdout } };
    default:
      return exit satisfies never;
  }
}

/** The same as events, in order: its output, where there is any, then its end. Never a start, which stalls the turn (PROTOCOL §5.1). */
export function shellEvents({ operation, outcome }: Answer): NonNullable<Result["shellStream"]>[] {
  const { command = "", cwd } = operation.values;
  const exit = readExit(outcome);
  const output = capText(exit.output);
  if (exit.how === "refused") return [{ rejected: { command, ...(cwd !== undefined && { workingDirectory: cwd }), reason: output } }];
  const end = { exit: { code: exit.code >>> 0, ...(cwd !== undefined && { cwd }), ...stopped(exit) } };
  return output === "" ? [end] : [{ stdout: { data: output } }, end];
}

function stopped(exit: Exit): object {
  return exit.how === "stopped" ? { aborted: true, ...REASONS[exit.reason] } : {};
}
