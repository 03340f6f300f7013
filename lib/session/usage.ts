import { LIMITS } from "../agent/limits.ts";
import { hasContent, remembering, type ReadFrom } from "./remember.ts";
import type { Message, Tool, TurnRequest } from "./turn.ts";

/** What a message or a tool adds to the estimate. */
interface Size {
  chars: number;
  images: number;
}
type KnownSize = Size & ReadFrom;

/**
 * Estimates the tokens of a request, because the service never reports its input (PROTOCOL §4.1, DESIGN D15). One
 * estimator serves a process: it remembers the size of each message and tool object, so that a leg reads only what is
 * new in the transcript. What the transcript no longer holds, after a compaction for instance, no longer counts.
 */
export class UsageEstimator {
  readonly #sizes = remembering(sizeOf, hasContent);
  readonly #tools = new WeakMap<Tool, number>();

  /**
   * Tokens: a quarter of the UTF-16 units of the system prompt, all messages (thinking and arguments too) and the
   * tools, rounded up, and 1,200 an image. At least 1 where there is any text. Never throws.
   */
  estimate(request: TurnRequest): number {
    const sum: Size = { chars: request.systemPrompt?.length ?? 0, images: 0 };
    const sizes = this.#sizes(request.messages);
    for (let index = 0; index < request.messages.length; index++) {
      sum.chars += sizes[index]!.chars;
      sum.images += sizes[index]!.images;
    }
    for (const tool of request.tools) sum.chars += this.#tool(tool);
    return Math.ceil(sum.chars / LIMITS.charsPerToken) + sum.images * LIMITS.imageTokens;
  }

  #tool(tool: Tool): number {
    const known = this.#tools.get(tool);
    if (known !== undefined) return known;
    const chars = tool.name.length + tool.description.length + jsonLength(tool.inputSchema);
    this.#tools.set(tool, chars);
    return chars;
  }
}

function sizeOf({ content }: Message): KnownSize {
  const size: KnownSize = { content, length: content.length, chars: 0, images: 0 };
  if (typeof content === "string") return { ...size, chars: content.length };
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
