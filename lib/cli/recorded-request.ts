/** The way back: from a recorded run request to what its host must have asked, and to what it cannot be made of again. */
import { LIMITS, type Decoded } from "../../wire/index.ts";
import { blobId, ConversationStateStructure, hex, type UserMessage as WireUserMessage } from "../agent/index.ts";
import { parseJson } from "../loopback/json.ts";
import { policyText } from "../session/native/policy.ts";
import type { RecordedBase } from "../session/open.ts";
import { contextBlob, isNewState } from "../session/run-request.ts";
import type { Tool, TurnRequest, UserMessage } from "../session/turn.ts";
import { isTrueTo, type Recording } from "./recording.ts";

/** What a recorded Run was opened with. */
export interface RecordedRequest {
  readonly request: TurnRequest;
  readonly prompt: UserMessage;
  readonly workspaceUri: string;
  readonly mcpMeta: boolean;
  /** The ids that were new: of the conversation, the message and its images. */
  readonly ids: readonly string[];
  /** What the core is given of the recording, because it cannot write it again. */
  readonly base: RecordedBase;
  /** Hex ids of the blobs that the core writes again all the same. */
  readonly written: ReadonlySet<string>;
}

/** What the host asked, as far as its request tells. */
export function recordedRequest({ request: recorded, tools, blobs }: Recording): RecordedRequest {
  const { conversationState: state = {}, conversationId = "", action, requestedModel, mcpTools } = recorded;
  const { userMessage = {}, requestContext } = action?.userMessageAction ?? {};
  const { checkpoint, roots } = promptOf(state, userMessage);
  const rulesId = roots[0] === undefined ? undefined : hex(roots[0]);
  const rulesBlob = rulesId === undefined ? undefined : blobs.get(rulesId);
  const known = rulesBlob !== undefined && isTrueTo(rulesId!, rulesBlob);
  const rules = known ? rulesIn(rulesBlob) : undefined;
  const prompt = promptMessage(userMessage);
  const { modelId, ...model } = requestedModel ?? {};
  return {
    request: {
      model: { id: modelId || "unknown", ...(model.maxMode && { maxMode: true }), parameters: (model.parameters ?? []).map(({ id = "", value = "" }) => ({ id, value })) },
      systemPrompt: systemPromptIn(rules ?? "", tools),
      messages: [prompt],
      tools: [...tools],
    },
    prompt,
    workspaceUri: state.previousWorkspaceUris?.[0] ?? requestContext?.env?.workspacePaths?.[0] ?? "file:///",
    mcpMeta: requestContext?.mcpMetaToolOptions !== undefined,
    ids: [conversationId, userMessage.messageId ?? "", ...imagesOf(userMessage).map(({ uuid = "" }) => uuid)],
    base: {
      checkpoint,
      roots: rules === undefined ? roots : roots.slice(1),
      writeRules: known || roots.length === 0,
      sendTools: checkpoint === undefined || mcpTools !== undefined,
      blobs,
    },
    written: new Set([hex(userMessage.selectedContextBlob ?? new Uint8Array(0)), ...(rules === undefined ? [] : [rulesId!])]),
  };
}

/** A checkpoint ends in this turn's rules, if there are any: then the context blob is not that of none. */
function promptOf(state: Decoded<typeof ConversationStateStructure>, { selectedContextBlob }: Decoded<typeof WireUserMessage>): Pick<RecordedBase, "checkpoint" | "roots"> {
  const roots = state.rootPromptMessagesJson ?? [];
  if (isNewState(state)) return { checkpoint: undefined, roots };
  const own = Buffer.compare(blobId(contextBlob([])), selectedContextBlob ?? new Uint8Array(0)) === 0 ? 0 : Math.min(1, roots.length);
  const end = roots.length - own;
  return { checkpoint: ConversationStateStructure.encode({ ...state, rootPromptMessagesJson: roots.slice(0, end) }), roots: roots.slice(end) };
}

/** What the rules blob says; undefined where the blob is another. */
function rulesIn(blob: Uint8Array): string | undefined {
  try {
    const message = parseJson(Buffer.from(blob).toString(), LIMITS.elements) as { content?: { text?: unknown }[] } | null;
    return /^<rules>\n(.*)\n<\/rules>$/s.exec(String(message?.content?.[0]?.text))?.[1];
  } catch {
    return undefined;
  }
}

/** The rules without what the core says of the tools, which it will say again. */
function systemPromptIn(rules: string, tools: readonly Tool[]): string {
  const policy = policyText(tools);
  if (rules === policy) return "";
  return policy !== "" && rules.endsWith(`\n\n${policy}`) ? rules.slice(0, -`\n\n${policy}`.length) : rules;
}

function promptMessage(message: Decoded<typeof WireUserMessage>): UserMessage {
  const { text = "" } = message;
  const images = imagesOf(message);
  if (images.length === 0) return { role: "user", content: text };
  const parts = images.map(({ mimeType = "", data = new Uint8Array(0) }) => ({ type: "image" as const, mimeType, data: Buffer.from(data).toString("base64") }));
  return { role: "user", content: [{ type: "text", text }, ...parts] };
}

function imagesOf({ selectedContext }: Decoded<typeof WireUserMessage>): NonNullable<NonNullable<typeof selectedContext>["selectedImages"]> {
  return selectedContext?.selectedImages ?? [];
}
