/** Questions to the person, answered by their table (PROTOCOL §7). */
import type { Decoded } from "../../wire/index.ts";
import { answerQuery, queryByName, type InteractionQuery } from "../agent/index.ts";
import { driftFailure } from "./failures.ts";
import { fail } from "./finish.ts";
import { work } from "./on-update.ts";
import { send } from "./reply.ts";
import type { Session } from "./session.ts";

/** What a refused query is told. */
const REASON = "Nobody can answer this here. No operation was performed: go on without it, or ask in your answer's text.";

/** A question to the user: answered by its row of QUERIES (PROTOCOL §7). */
export function onQuery(session: Session, query: Decoded<typeof InteractionQuery>): void {
  work(session);
  const name = Object.keys(query).find((key) => queryByName.has(key));
  if (name !== undefined) {
    send(session, { interactionResponse: answerQuery(queryByName.get(name)!, query.id ?? 0, REASON) });
    return;
  }
  // An empty answer would read as approval (PROTOCOL §7).
  fail(session, driftFailure("an interaction query", query.unknown));
}
