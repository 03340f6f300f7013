import { message, nested, oneof } from "../../wire/index.ts";
import { ExecClientControlMessage, ExecClientMessage } from "./exec-client.ts";
import { KvClientMessage } from "./kv.ts";
import { InteractionResponse } from "./query-message.ts";
import { AgentRunRequest, ConversationAction } from "./run-request.ts";

/** §2: the Run is still wanted. */
export const ClientHeartbeat = message({});

/** §2: what the client sends. */
export const AgentClientMessage = message({
  ...oneof("message", {
    runRequest: nested(1, AgentRunRequest),
    execClientMessage: nested(2, ExecClientMessage),
    kvClientMessage: nested(3, KvClientMessage),
    conversationAction: nested(4, ConversationAction),
    execClientControlMessage: nested(5, ExecClientControlMessage),
    interactionResponse: nested(6, InteractionResponse),
    clientHeartbeat: nested(7, ClientHeartbeat),
  }),
});
