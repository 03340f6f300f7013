/** What we say to the service, as payloads. */
import type { Decoded } from "../../wire/index.ts";
import { AgentClientMessage } from "../agent/index.ts";
import type { Session } from "./session.ts";

/** A message to the service. */
export type ClientMessage = Decoded<typeof AgentClientMessage>;

/** Sends one message. */
export function send(session: Session, message: ClientMessage): void {
  session.out.push({ type: "send", payload: AgentClientMessage.encode(message) });
}

/** Answers an exec: its messages, then exactly one stream_close (DESIGN D16). */
export function answerExec(session: Session, id: number, messages: readonly ClientMessage[]): void {
  for (const message of messages) send(session, message);
  send(session, { execClientControlMessage: { streamClose: { id } } });
}
