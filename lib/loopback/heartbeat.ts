import type { Decoded } from "../../wire/index.ts";
import type { AgentClientMessage } from "../agent/index.ts";

/** Whether a message of the client is a heartbeat, the Run's or an exec's: when one comes is chance. */
export function isHeartbeat({ clientHeartbeat, execClientControlMessage }: Decoded<typeof AgentClientMessage>): boolean {
  return clientHeartbeat !== undefined || execClientControlMessage?.heartbeat !== undefined;
}
