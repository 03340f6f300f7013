import { capText } from "./cap-text.ts";
import { readExit, type Exit } from "./exit.ts";
import { given } from "./given.ts";
import type { Answer, Result } from "./outcome.ts";

/** ShellAbortReason of agent.v1. */
const REASONS = { unknown: 0, user: 1, timeout: 2 } as const;

/**
 * A command's end as a ShellResult (PROTOCOL §5.1, DESIGN D21): `success` for code 0, `failure` for any other and for a
 * command that the host cut short, `spawn_error` where it never ran. All output is stdout: hosts do not tell them apart.
 */
export function shellResult({ operation, outcome }: Answer): NonNullable<Result["shellResult"]> {
  const { command = "", cwd } = operation.values;
  const echo = { command, workingDirectory: cwd };
  const exit = readExit(outcome);
  const stdout = capText(exit.output);
  switch (exit.how) {
    case "exited":
      return { [exit.code === 0 ? "success" : "failure"]: given({ ...echo, exitCode: exit.code | 0, stdout }) };
    case "stopped":
      return { failure: given({ ...echo, exitCode: exit.code, stdout, ...stopped(exit) }) };
    case "refused":
      return { spawnError: given({ ...echo, error: stdout }) };
  }
}

/** The same as events, in order: its output, where there is any, then its end. Never a start, which stalls the turn (PROTOCOL §5.1). */
export function shellEvents({ operation, outcome }: Answer): NonNullable<Result["shellStream"]>[] {
  const { command = "", cwd } = operation.values;
  const exit = readExit(outcome);
  const output = capText(exit.output);
  if (exit.how === "refused") return [{ rejected: given({ command, workingDirectory: cwd, reason: output }) }];
  const end = { exit: given({ code: exit.code >>> 0, cwd, ...stopped(exit) }) };
  return output === "" ? [end] : [{ stdout: { data: output } }, end];
}

function stopped(exit: Exit): { aborted?: boolean; abortReason?: number } {
  return exit.how === "stopped" ? { aborted: true, abortReason: REASONS[exit.reason] } : {};
}
