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

/** One case of an exec. */
export interface ExecRow {
  /** Field of ExecServerMessage. */
  readonly no: number;
  readonly name: ServerName;
  /** The table of its arguments. */
  readonly args: string;
  readonly decision: ExecDecision;
  /** Field of ExecClientMessage; absent where the decision is `throw`. */
  readonly result?: { readonly no: number; readonly name: ClientName };
  /** Field of the result that holds what the decision says. */
  readonly arm?: { readonly no: number; readonly name: string };
  /** Arguments that the arm repeats, by their wire name, which is the same on both sides. */
  readonly echo: readonly string[];
  readonly native?: NativeIntent;
  /** Whether the result of a host's tool can be written as this exec's result (§5.1, §5.2). */
  readonly translated?: true;
  /** Which table of PROTOCOL.md holds it: §5, or §5.2 for what came later. */
  readonly block: "document" | "newer";
}
