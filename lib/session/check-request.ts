/** What makes a request none that can be answered. Hosts also come from JavaScript, where no compiler has looked. */
import { localError, type CursorError } from "./errors.ts";
import { checkTools } from "./native/tools.ts";
import { remembering } from "./remember.ts";
import type { Message, TurnRequest } from "./turn.ts";

type Loose = Readonly<Record<string, unknown>>;

/** Why a request cannot be answered, or its tools cannot be declared (DESIGN D18); undefined where all is well. Never throws. */
export function checkRequest(request: TurnRequest): CursorError | undefined {
  const wrong = wrongWith(request);
  if (wrong !== undefined) return localError("invalid_request", wrong, "Correct the request.");
  const badTool = checkTools(request.tools);
  return badTool === undefined ? undefined : localError("invalid_tool", badTool, "Rename the tool or declare it once.");
}

function wrongWith(request: TurnRequest): string | undefined {
  if (!isObject(request)) return "The request is no object.";
  if (typeof request.model?.id !== "string" || request.model.id === "") return "The request names no model.";
  const { parameters = [], maxMode, contextWindow }: Loose = { ...request.model };
  if (!Array.isArray(parameters) || !parameters.every((one) => isObject(one) && hasTexts(one, "id", "value"))) return "The model's parameters are no list of { id, value }.";
  if (maxMode !== undefined && typeof maxMode !== "boolean") return "The model's maxMode is neither true nor false.";
  if (contextWindow !== undefined && !(typeof contextWindow === "number" && contextWindow > 0 && contextWindow < Infinity)) return "The model's contextWindow is no number of tokens.";
  if (request.sessionId !== undefined && typeof request.sessionId !== "string") return "The session id is no text.";
  if (request.systemPrompt !== undefined && typeof request.systemPrompt !== "string") return "The system prompt is no text.";
  if (!Array.isArray(request.messages) || request.messages.length === 0) return "The request holds no message.";
  if (!Array.isArray(request.tools)) return "The request's tools are no list: give [] for none.";
  const other = request.messages.findIndex((message) => !isObject(message));
  if (other >= 0) return `Message ${other + 1} is no object.`;
  const found = check(request.messages);
  const bad = found.findIndex((wrong) => wrong !== undefined);
  if (bad >= 0) return `Message ${bad + 1} ${found[bad]}.`;
  if (request.messages.at(-1)!.role === "assistant") return "The last message is the assistant's: there is nothing to answer.";
  return undefined;
}

/** A message that was wrong is looked at again: nothing of it can be trusted. */
const check = remembering(wrongIn, (wrong) => wrong === undefined);

function wrongIn(message: Message): string | undefined {
  const content: unknown = message.content;
  switch (message.role) {
    case "user":
      return typeof content === "string" ? undefined : checkParts(content, ["text", "image"], "must be a text or a list of text and image parts");
    case "assistant":
      return checkParts(content, ["text", "thinking", "tool_call"], "must be a list of text, thinking and tool_call parts");
    case "tool":
      if (!hasTexts(message, "toolCallId", "toolName")) return "lacks its toolCallId or toolName";
      return checkParts(content, ["text", "image"], "must be a list of text and image parts");
    default:
      return "is neither the user's, the assistant's nor a tool's";
  }
}

function checkParts(content: unknown, types: readonly string[], words: string): string | undefined {
  if (!Array.isArray(content)) return `has content of another kind: it ${words}`;
  const bad = content.findIndex((part) => !isObject(part) || !types.includes(part["type"] as string) || !isPart(part));
  return bad < 0 ? undefined : `has a part ${bad + 1} that is incomplete or of another type: its content ${words}`;
}

function isPart(part: Loose): boolean {
  switch (part["type"]) {
    case "image":
      return hasTexts(part, "mimeType", "data");
    case "tool_call":
      return hasTexts(part, "id", "name") && isObject(part["arguments"]);
    default:
      return hasTexts(part, "text");
  }
}

function hasTexts(value: object, ...names: readonly string[]): boolean {
  return names.every((name) => typeof (value as Loose)[name] === "string");
}

function isObject(value: unknown): value is Loose {
  return typeof value === "object" && value !== null;
}
