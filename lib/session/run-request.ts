/** What a run request says (PROTOCOL §2.1, §3). Nothing here is kept or sent. */
import type { Decoded } from "../../wire/index.ts";
import { ConversationStateStructure, overlayCheckpoint, SelectedContextBlob, type RawRunRequest } from "../agent/index.ts";
import { requestContext, toolDefinitions } from "./context.ts";
import type { LiveImage } from "./images.ts";
import type { Tool, TurnRequest } from "./turn.ts";

/** The name that the service knows this client by (PROTOCOL §3). */
const CLIENT_NAME = "pi";
/** The mode of a conversation and of a user message (PROTOCOL §2.1, §3). */
const AGENT_MODE = 1;

/** What a run request is made of. */
export interface RequestParts {
  readonly conversationId: string;
  /** What a resume goes on from; undefined for a new conversation. */
  readonly checkpoint: Uint8Array | undefined;
  /** The ids of the prompt's blobs; of a resume, those that the checkpoint lacks. */
  readonly roots: readonly Uint8Array[];
  /** The id of their {@link contextBlob}. */
  readonly contextBlobId: Uint8Array;
  /** The `file:` URL of the workspace. */
  readonly workspaceUri: string;
  readonly text: string;
  readonly messageId: string;
  readonly images: readonly (LiveImage & { readonly uuid: string })[];
  readonly tools: readonly Tool[];
  /** Whether the service lacks the tools. */
  readonly sendTools: boolean;
  /** As {@link Settings.mcpMeta}. */
  readonly mcpMeta: boolean;
  readonly model: TurnRequest["model"];
}

/** The run request made of `parts`, which it holds views of. */
export function rawRequest(parts: RequestParts): RawRunRequest {
  const { checkpoint, roots, workspaceUri, messageId, tools, model } = parts;
  const selectedImages = parts.images.map(({ mimeType, data, uuid }) => ({ data, uuid, path: `${uuid}.${mimeType.slice("image/".length)}`, mimeType }));
  const parameters = model.parameters?.filter(({ id }) => id !== "context") ?? [];
  return {
    conversationState: checkpoint
      ? overlayCheckpoint(checkpoint, { rules: roots, workspaceUris: [workspaceUri], clientName: CLIENT_NAME })
      : ConversationStateStructure.encode(newState(roots, workspaceUri)),
    action: {
      userMessageAction: {
        userMessage: {
          text: parts.text,
          messageId,
          ...(selectedImages.length > 0 && { selectedContext: { selectedImages } }),
          mode: AGENT_MODE,
          selectedContextBlob: parts.contextBlobId,
          correlationId: messageId,
        },
        ...(parts.mcpMeta && { requestContext: requestContext(tools, workspaceUri, true) }),
      },
    },
    // None at all is said too, where the service knows of some.
    ...(parts.sendTools && (tools.length > 0 || checkpoint) && { mcpTools: { mcpTools: toolDefinitions(tools) } }),
    conversationId: parts.conversationId,
    requestedModel: { modelId: model.id, ...(model.maxMode && { maxMode: true }), ...(parameters.length > 0 && { parameters }) },
    clientSupportsInlineImages: true,
  };
}

/** The content of the blob that tells the ids of a prompt's blobs. */
export function contextBlob(roots: readonly Uint8Array[]): Uint8Array {
  return SelectedContextBlob.encode({ rootPromptBlobIds: [...roots], clientName: CLIENT_NAME });
}

/** Whether a state may be that of a new conversation: a checkpoint has fields that only the service writes (PROTOCOL §3). */
export function isNewState(state: Decoded<typeof ConversationStateStructure>): boolean {
  const written = newState([], "");
  return Object.keys(state).every((name) => Object.hasOwn(written, name));
}

function newState(roots: readonly Uint8Array[], workspaceUri: string): Decoded<typeof ConversationStateStructure> {
  return { rootPromptMessagesJson: [...roots], previousWorkspaceUris: [workspaceUri], mode: AGENT_MODE, clientName: CLIENT_NAME };
}
