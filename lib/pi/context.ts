/** From Pi's context, in either shape, to what a leg is asked with. */
import type { AssistantMessage, ImagePart, Message, TextPart, Tool, ToolCallPart, TurnRequest } from "../session/turn.ts";
import type { PiAssistantMessage, PiContext, PiMessage, PiModel, PiSystemMessage, PiText, PiThinking, PiTool, PiToolCall, PiToolResult } from "./pi.ts";

/** What stands for an image that the model cannot see; Pi's own providers say the same. */
const USER_IMAGE = "(image omitted: model does not support images)";
const TOOL_IMAGE = "(tool image omitted: model does not support images)";

/** What the transcript says, with the messages that only Pi needs left out. */
export function readContext(context: PiContext, model: PiModel): Required<Pick<TurnRequest, "systemPrompt" | "messages" | "tools">> {
  const system = context.messages.filter((message) => message.role === "system");
  const leading: PiSystemMessage = { role: "system", content: context.systemPrompt ?? "", toolsAdded: context.tools ?? [] };
  const images = model.input?.includes("image") ?? true;
  return {
    ...readSystem([leading, ...system]),
    messages: untilLastTurn(context.messages).flatMap((message) => readMessage(message, model.provider, images)),
  };
}

/** The messages without the tries at the end that broke off: what they were to answer is still to be answered. */
function untilLastTurn(messages: readonly PiMessage[]): readonly PiMessage[] {
  return messages.slice(0, messages.findLastIndex((message) => message.role !== "system" && !brokeOff(message)) + 1);
}

function brokeOff(message: PiMessage): boolean {
  return message.role === "assistant" && (message.stopReason === "error" || message.stopReason === "aborted");
}

/** Replays the system messages: texts add up, sections are replaced or removed by name, tools come and go. */
function readSystem(messages: readonly PiSystemMessage[]): { systemPrompt: string; tools: Tool[] } {
  const texts: string[] = [];
  const sections = new Map<string, string | null>();
  const tools = new Map<string, Tool>();
  for (const message of messages) {
    texts.push(typeof message.content === "string" ? message.content : message.content.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n"));
    for (const [name, text] of Object.entries(message.sections ?? {})) {
      if (text === null) sections.delete(name);
      else sections.set(name, text);
    }
    for (const { name } of message.toolsRemoved ?? []) tools.delete(name);
    for (const tool of message.toolsAdded ?? []) tools.set(tool.name, readTool(tool));
  }
  const parts = [...texts, ...sections.values()].filter((text) => text !== null && text !== "");
  return { systemPrompt: parts.join("\n\n"), tools: [...tools.values()] };
}

/** Tools as they were read: the provider remembers what it has measured by object. */
const knownTools = new WeakMap<PiTool, Tool>();

function readTool(tool: PiTool): Tool {
  const known = knownTools.get(tool);
  if (known !== undefined) return known;
  // As JSON: schema builders leave symbols and undefined behind.
  const schema = JSON.parse(JSON.stringify(tool.parameters ?? {})) as Tool["inputSchema"];
  const read = { name: tool.name, description: tool.description ?? "", inputSchema: schema };
  knownTools.set(tool, read);
  return read;
}

interface Known {
  readonly content: PiMessage["content"];
  readonly length: number | undefined;
  readonly stopReason: string | undefined;
  readonly read: Message[];
}
/** Messages as they were read, by whether images were kept: a long transcript is read once, not with every leg. */
const knownMessages = { images: new WeakMap<PiMessage, Known>(), words: new WeakMap<PiMessage, Known>() };

function readMessage(message: PiMessage, provider: string, images: boolean): Message[] {
  const known = images ? knownMessages.images : knownMessages.words;
  const { content } = message;
  const stopReason = message.role === "assistant" ? message.stopReason : undefined;
  const before = known.get(message);
  if (before !== undefined && before.content === content && before.length === content?.length && before.stopReason === stopReason) return before.read;
  const read = readNewMessage(message, provider, images);
  known.set(message, { content, length: content?.length, stopReason, read });
  return read;
}

function readNewMessage(message: PiMessage, provider: string, images: boolean): Message[] {
  switch (message.role) {
    case "system":
      return [];
    case "user":
      return [{ role: "user", content: typeof message.content === "string" ? message.content : readParts(message.content, images, USER_IMAGE) }];
    case "toolResult":
      return [
        {
          role: "tool",
          toolCallId: message.toolCallId,
          toolName: message.toolName,
          content: readParts(partsOf(message.content), images, TOOL_IMAGE),
          ...(message.isError && { isError: true }),
        },
      ];
    case "assistant":
      return [readAssistant(message, provider)];
    default:
      message satisfies never;
      return [];
  }
}

/**
 * A turn that broke off is not replayed: its calls never ran, its text is half. But it stands between its prompt and the
 * next one, or that prompt would be asked again with it.
 */
function readAssistant(message: PiAssistantMessage, provider: string): AssistantMessage {
  const content = brokeOff(message) ? [] : message.content.flatMap((part) => readBlock(part, message.provider === provider));
  return { role: "assistant", content };
}

function readBlock(part: PiText | PiThinking | PiToolCall, ours: boolean): AssistantMessage["content"] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text }];
    case "thinking":
      return ours && part.thinking?.trim() ? [{ type: "thinking", text: part.thinking }] : [];
    case "toolCall":
      return [{ type: "tool_call", id: part.id, name: part.name, arguments: part.arguments } satisfies ToolCallPart];
    default:
      part satisfies never;
      return [];
  }
}

/**
 * What a tool gave back, as parts. 0.73 hands on whatever its author returned, and what is no part would fail this turn
 * and all that follow.
 */
function partsOf(content: unknown): PiToolResult["content"] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content : [];
}

/** Text and images; images a model cannot see become one note each row of them. What is no part is left out. */
function readParts(content: PiToolResult["content"], images: boolean, note: string): (TextPart | ImagePart)[] {
  const parts: (TextPart | ImagePart)[] = [];
  for (const part of content) {
    if (part?.type === "text" && typeof part.text === "string") parts.push({ type: "text", text: part.text });
    else if (part?.type !== "image" || typeof part.data !== "string" || typeof part.mimeType !== "string") continue;
    else if (images) parts.push({ type: "image", mimeType: part.mimeType, data: part.data });
    else if ((parts.at(-1) as TextPart | undefined)?.text !== note) parts.push({ type: "text", text: note });
  }
  return parts;
}
