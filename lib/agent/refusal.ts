import type { Decoded } from "../../wire/index.ts";
import type { AgentClientMessage } from "./client.ts";
import type { AnsweredExecRow, ExecRow } from "./exec-row.ts";
import { camel } from "./name.ts";

/** The exec that is answered: its `id` is 0 where the wire had none, its `execId` is repeated where it came with one. */
export interface ExecIds {
  readonly id?: number;
  readonly execId?: string | undefined;
}

/**
 * The answer that refuses an exec, as its row says (§5). `args` are its decoded arguments; `text` says why, and what to
 * do instead. A `context` or `lift` row is refused with its result's error arm, an `ack` row is acknowledged, and an
 * exec without a row (`undefined`) is thrown. The caller ends it with a stream_close (§5.1).
 */
export function refuse(
  row: ExecRow | undefined,
  exec: ExecIds,
  args: object,
  text: string,
): Decoded<typeof AgentClientMessage> {
  const { id = 0 } = exec;
  if (row === undefined || row.decision === "throw") return { execClientControlMessage: { throw: { id, error: text } } };
  return { execClientMessage: { ...execIds(exec), [camel(row.result.name)]: refusal(row, args as Record<string, unknown>, text) } };
}

/** What an answer repeats of its exec: the `id`, and the `execId` where the exec came with one (PROTOCOL §5, DESIGN D17). */
export function execIds({ id = 0, execId }: ExecIds): { id: number; execId?: string } {
  return execId === undefined ? { id } : { id, execId };
}

/** The value of the row's result field. */
function refusal(row: AnsweredExecRow, args: Record<string, unknown>, text: string): object {
  const arm = camel(row.arm.name);
  switch (row.decision) {
    case "reject":
      return { [arm]: { ...echo(row, args), reason: text } };
    case "error":
    case "failure":
      return { [arm]: { ...echo(row, args), error: text } };
    case "context":
    case "lift":
      return { error: { error: text } };
    case "ack":
      return { [arm]: {} };
    case "status":
      return { [arm]: NOT_FOUND };
    case "allowlisted":
      return {}; // false, which the wire leaves out
  }
}

/** §5.2: the status of a command or an agent that is not there. */
const NOT_FOUND = 2;

function echo(row: AnsweredExecRow, args: Record<string, unknown>): Record<string, unknown> {
  const names = row.echo.map(camel).filter((name) => args[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, args[name]]));
}
