import type { Decoded } from "../../wire/index.ts";
import { hex, type RequestContext } from "../agent/index.ts";
import type { Received } from "./received.ts";
import { imagesOf, promptMessage, toolsOf } from "./verify.ts";

/** What the host keeps of a conversation between Runs. */
export interface Conversation {
  /** The tools that the model knows: they outlive the Run that brought them (§5.1). */
  tools: string[];
  /** The last checkpoint. */
  checkpoint?: Uint8Array;
}

/** Fills the prompt from the run request; a resumed conversation that brings no tools has those it had. */
export function beginPrompt(received: Received, known: Conversation | undefined): void {
  const { prompt } = received;
  const request = received.request!;
  const action = request.action?.userMessageAction;
  prompt.user.text = action?.userMessage?.text ?? "";
  if (request.clientSupportsInlineImages === true)
    prompt.user.images = imagesOf(request).map(({ mimeType = "", data }) => ({ mimeType, bytes: data?.length ?? 0 }));
  prompt.tools = request.mcpTools === undefined ? (known?.tools ?? []) : toolsOf(request).map(({ name = "" }) => name);
  if (action?.requestContext !== undefined) readContext(received, action.requestContext);
}

/** Reads the tool catalogue of a request context. */
export function readContext(received: Received, context: Decoded<typeof RequestContext>): void {
  const options = context.mcpMetaToolOptions;
  if (options?.enabled === true)
    received.prompt.catalogue = (options.mcpDescriptors ?? []).flatMap(({ tools = [] }) => tools.map(({ toolName = "" }) => toolName));
}

/** Reads the root prompt from the blobs that have come, dropping what has the role `system` (§3.1). */
export function readRootPrompt(received: Received): void {
  received.prompt.messages = [];
  received.dropped = 0;
  for (const id of received.request?.conversationState?.rootPromptMessagesJson ?? []) {
    const blob = received.blobs.get(hex(id));
    if (blob === undefined) continue;
    const message = promptMessage(blob);
    if ("wrong" in message) received.violations.push(message.wrong);
    else if ((message.json as { role?: unknown }).role === "system") received.dropped++;
    else received.prompt.messages.push(message.json);
  }
  if (received.dropped > 0) received.violations.push('a root prompt message has the role "system", which is dropped (§3.1)');
}
