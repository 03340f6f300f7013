import {
  bool,
  bytes,
  int32,
  message,
  nested,
  oneof,
  optional,
  repeated,
  string,
  text,
  type Decoded,
} from "../../wire/index.ts";
import { RequestContext } from "./context.ts";
import { McpTools } from "./mcp-tools.ts";
import { ConversationStateStructure } from "./state.ts";

/** §2.1: one image of the user's turn; `data` is its raw bytes. */
export const SelectedImage = message({
  ...oneof("data_or_blob_id", {
    blobId: bytes(1),
    data: bytes(8),
  }),
  uuid: string(2),
  path: text(3),
  mimeType: string(7),
});

/** §2.1: what the user attached. */
export const SelectedContext = message({
  selectedImages: repeated(nested(1, SelectedImage)),
  extraContext: repeated(text(3)),
});

/**
 * §2.1: the content of the blob that `UserMessage.selectedContextBlob` names. Written by hand, no type of the
 * schema.
 */
export const SelectedContextBlob = message({ rootPromptBlobIds: repeated(bytes(1)), clientName: string(22) });

/** §2.1: the text of the user's turn. `selectedContextBlob` is a blob id. */
export const UserMessage = message({
  text: text(1),
  messageId: string(2),
  selectedContext: nested(3, SelectedContext),
  mode: int32(4),
  isSimulatedMsg: optional(bool(5)),
  bestOfNGroupId: optional(string(6)),
  tryUseBestOfNPromotion: optional(bool(7)),
  richText: optional(text(8)),
  selectedContextBlob: bytes(10),
  correlationId: string(17),
});

/** §2.1: a user's turn, with the request context it starts from. */
export const UserMessageAction = message({
  userMessage: nested(1, UserMessage),
  requestContext: nested(2, RequestContext),
  sendToInteractionListener: optional(bool(3)),
});

/** §2.1: what a Run does. Only a user's turn is ever sent. */
export const ConversationAction = message({ ...oneof("action", { userMessageAction: nested(1, UserMessageAction) }) });

/** §2.1: one parameter of a model. */
export const RequestedModel_ModelParameterbytes = message({ id: string(1), value: string(2) });

/** §2.1: the model by its published slug. */
export const RequestedModel = message({
  modelId: string(1),
  maxMode: bool(2),
  parameters: repeated(nested(3, RequestedModel_ModelParameterbytes)),
});

const afterState = {
  action: nested(2, ConversationAction),
  mcpTools: nested(4, McpTools),
  conversationId: optional(string(5)),
  customSystemPrompt: optional(text(8)),
  requestedModel: nested(9, RequestedModel),
  clientSupportsInlineImages: bool(19),
};

/** §2.1: opens a turn. */
export const AgentRunRequest = message({ conversationState: nested(1, ConversationStateStructure), ...afterState });

const RawAgentRunRequest = message({ conversationState: bytes(1), ...afterState });
const RawAgentClientMessage = message({ runRequest: nested(1, RawAgentRunRequest) });

/** A run request whose `conversationState` is given encoded: a new one, or a checkpoint out of {@link overlayCheckpoint}. */
export type RawRunRequest = Decoded<typeof RawAgentRunRequest>;

/** The bytes of the AgentClientMessage that opens a turn (§2.1). The conversation state goes out byte for byte (§3). */
export function encodeRunRequest(runRequest: RawRunRequest): Uint8Array<ArrayBuffer> {
  return RawAgentClientMessage.encode({ runRequest });
}
