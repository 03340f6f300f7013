import type { Decoded } from "../../wire/index.ts";
import type { ExecClientMessage } from "./exec-client.ts";
import type { ExecServerMessage } from "./exec-server.ts";
import type { Snake } from "./name.ts";

/**
 * How an exec is answered where no tool of the host takes it (§5). `reject`, `error` and `failure` are the arm of that
 * meaning, with the reason in words; `throw` says it in a control message; `context` answers with the request context;
 * `lift` hands the call to the host; `ack` is an empty success; `status` says that nothing of the kind is running;
 * `allowlisted` says that nothing may run unasked.
 */
export type ExecDecision =
  | "reject"
  | "error"
  | "failure"
  | "throw"
  | "context"
  | "lift"
  | "ack"
  | "status"
  | "allowlisted";

/** The local operation that an exec stands for: what the host's tools are ranked by. */
export type NativeIntent = "shell" | "read" | "write" | "edit" | "delete" | "grep" | "find" | "ls";

type ServerName = Snake<Exclude<keyof Decoded<typeof ExecServerMessage>, "id" | "execId" | "unknown">>;
type ClientName = Snake<Exclude<keyof Decoded<typeof ExecClientMessage>, "id" | "execId" | "unknown">>;

interface ExecCase {
  /** Field of ExecServerMessage. */
  readonly no: number;
  readonly name: ServerName;
  /** The table of its arguments. */
  readonly args: string;
  /** Arguments that the answer repeats, by their wire name, which is the same on both sides. */
  readonly echo: readonly string[];
  /** The local operation that it stands for. */
  readonly native?: NativeIntent;
  /** Whether the result of a host's tool can be written as its result (§5.1, §5.2). */
  readonly translated?: true;
  /** Which table of PROTOCOL.md holds it: §5, or §5.2 for what came later. */
  readonly block: "document" | "newer";
}

/** A case that has a typed answer. */
export interface AnsweredExecRow extends ExecCase {
  readonly decision: Exclude<ExecDecision, "throw">;
  /** Field of ExecClientMessage. */
  readonly result: { readonly no: number; readonly name: ClientName };
  /** Field of the result that holds what the decision says. */
  readonly arm: { readonly no: number; readonly name: string };
}

/** A case that has none. */
export interface ThrownExecRow extends ExecCase {
  readonly decision: "throw";
  readonly result?: never;
  readonly arm?: never;
}

/** One case of an exec. */
export type ExecRow = AnsweredExecRow | ThrownExecRow;
