import { LIMITS } from "../agent/limits.ts";
import { remembering } from "./remember.ts";
import type { Message, Tool, TurnRequest } from "./turn.ts";

/** What a message or a tool adds to the estimate. */
interface Size {
  chars: number;
  images: number;
}

const sizes = remembering(sizeOf);
const toolSizes = new WeakMap<Tool, number>();

/**
 * Estimates the tokens of a request, because the service never reports its input (PROTOCOL §4.1, DESIGN D15): a quarter
 * of the UTF-16 units of the system prompt, all messages (thinking and arguments too) and the tools, rounded up, and
 * 1,200 an image. At least 1 where there is any text. The size of each message and tool object is remembered, so that a
 * leg reads only what is new. Never throws.
 */
export function estimate({ systemPrompt, messages, tools }: TurnRequest): number {
  const sum: Size = { chars: systemPrompt?.length ?? 0, images: 0 };
  for (const { chars, images } of sizes(messages)) {
    sum.chars += chars;
    sum.images += images;
  }
  for (const tool of tools) sum.chars += toolSize(tool);
  return Math.ceil(sum.chars / LIMITS.charsPerToken) + sum.images * LIMITS.imageTokens;
}

function toolSize(tool: Tool): number {
  const chars = toolSizes.get(tool) ?? tool.name.length + tool.description.length + jsonLength(tool.inputSchema);
  toolSizes.set(tool, chars);
  return chars;
}

function sizeOf({ content }: Message): Size {
  if (typeof content === "string") return { chars: content.length, images: 0 };
  const size: Size = { chars: 0, images: 0 };
  for (const part of content) {
    switch (part.type) {
      case "text":
      case "thinking":
        size.chars += part.text.length;
        break;
      case "tool_call":
        size.chars += part.name.length + jsonLength(part.arguments);
        break;
      case "image":
        size.images++;
        break;
      default:
        part satisfies never;
    }
  }
  return size;
}

/** 0 for what is no JSON: an estimate fails no turn. */
function jsonLength(value: object): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return 0;
  }
}
