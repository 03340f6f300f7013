import type { Decoded } from "../../wire/index.ts";
import { camel, type Snake } from "./name.ts";
import type { InteractionQuery, InteractionResponse } from "./query-message.ts";

/** How a query is answered: a hosted service may run (`approve`), or not (`reject`); words (`error`); an empty `ack`. */
export type QueryDecision = "approve" | "reject" | "error" | "ack";

/** One case of an interaction query. Its answer has the same number. */
export interface QueryRow {
  readonly no: number;
  readonly name: Snake<Exclude<keyof Decoded<typeof InteractionQuery>, "id" | "unknown">>;
  readonly decision: QueryDecision;
  /** Field of InteractionResponse. */
  readonly response: Snake<Exclude<keyof Decoded<typeof InteractionResponse>, "id" | "unknown">>;
  /** Field names from the response to the answer's message, joined by dots. */
  readonly arm: string;
  /** The answer's field that says why; absent where it is empty. */
  readonly reason?: string;
  /** Which table of PROTOCOL.md holds it: §7, or §7.1 for what came later. */
  readonly block: "document" | "newer";
}

/** §7 and §7.1: every query that is answered. One without a row never gets an empty answer: that would read as approval. */
export const QUERIES = [
  { no: 2, name: "web_search_request_query", decision: "approve", response: "web_search_request_response", arm: "approved", block: "document" },
  { no: 3, name: "ask_question_interaction_query", decision: "error", response: "ask_question_interaction_response", arm: "result.error", reason: "error_message", block: "document" },
  { no: 4, name: "switch_mode_request_query", decision: "reject", response: "switch_mode_request_response", arm: "rejected", reason: "reason", block: "document" },
  { no: 5, name: "exa_search_request_query", decision: "approve", response: "exa_search_request_response", arm: "approved", block: "document" },
  { no: 6, name: "exa_fetch_request_query", decision: "approve", response: "exa_fetch_request_response", arm: "approved", block: "document" },
  { no: 7, name: "create_plan_request_query", decision: "error", response: "create_plan_request_response", arm: "result.error", reason: "error", block: "document" },
  { no: 8, name: "setup_vm_environment_args", decision: "ack", response: "setup_vm_environment_result", arm: "success", block: "document" },
  { no: 9, name: "web_fetch_request_query", decision: "approve", response: "web_fetch_request_response", arm: "approved", block: "document" },

  { no: 10, name: "query10", decision: "reject", response: "response10", arm: "rejected", block: "newer" },
  { no: 11, name: "query11", decision: "reject", response: "response11", arm: "rejected", reason: "reason", block: "newer" },
  { no: 12, name: "query12", decision: "reject", response: "response12", arm: "rejected", block: "newer" },
  { no: 13, name: "query13", decision: "reject", response: "response13", arm: "failure", block: "newer" },
  { no: 14, name: "query14", decision: "reject", response: "response14", arm: "rejected", block: "newer" },
] as const satisfies readonly QueryRow[];

/** The rows of {@link QUERIES} by the value name of their case: `webSearchRequestQuery`. */
export const queryByName: ReadonlyMap<string, QueryRow> = new Map(QUERIES.map((row) => [camel(row.name), row]));

/** The answer to a query, as its row says (§7). `text` is used where the answer has room for words. */
export function answerQuery(row: QueryRow, id: number, text: string): Decoded<typeof InteractionResponse> {
  const answer: object = row.reason === undefined ? {} : { [camel(row.reason)]: text };
  const response = row.arm.split(".").reduceRight((inner, name) => ({ [name]: inner }), answer);
  return { id, [camel(row.response)]: response };
}
