import type { Decoded } from "../../../wire/index.ts";
import type { ExecClientMessage } from "../../agent/exec-client.ts";
import type { Operation, Values } from "./operation.ts";
import type { Outcome } from "./outcome.ts";

/** The result field of an exec's answer, without its ids. */
export type Result = Decoded<typeof ExecClientMessage>;

/** What an answer is made of. */
export interface Answer {
  readonly operation: Operation;
  readonly outcome: Outcome;
  /** The folder that the Run works in. */
  readonly workspace: string;
  /** Whether a command stood in for a tool that the host does not have ({@link composite}). */
  readonly composite: boolean;
  /** Whether the host's tool was given this value. */
  readonly passed: (value: keyof Values) => boolean;
}
