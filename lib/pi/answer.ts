/** From the events of a leg to Pi's: blocks that open and close in order, and one end. */
import type { CursorError } from "../session/errors.ts";
import type { TurnEvent } from "../session/turn.ts";
import { errorMessage } from "./failure.ts";
import type { PiAssistantMessage, PiModel, PiText, PiThinking, PiToolCall } from "./pi.ts";
import type { EventStream } from "./stream.ts";
import { usageOf } from "./usage.ts";

/** Builds one assistant message and tells of it. `partial` is that very message while it grows, as Pi wants it. */
export class Answer {
  readonly #stream: EventStream;
  readonly #rates: Pick<PiModel, "cost">;
  readonly #message: PiAssistantMessage;
  #started = false;
  /** The block that grows, the last of the message. */
  #open: PiText | PiThinking | undefined;

  /** @param model may be anything: what it lacks is left empty */
  constructor(stream: EventStream, model: PiModel, now: number) {
    const { api, provider, id, cost } = (model ?? {}) as Partial<PiModel>;
    this.#stream = stream;
    this.#rates = cost === undefined ? {} : { cost };
    this.#message = {
      role: "assistant",
      content: [],
      api: api ?? "",
      provider: provider ?? "",
      model: id ?? "",
      usage: usageOf({}, 0, 0),
      stopReason: "pending",
      timestamp: now,
    };
  }

  /** Takes the leg's next event. `done` ends the stream. */
  take(event: TurnEvent): void {
    this.#start();
    switch (event.type) {
      case "text":
      case "thinking":
        this.#grow(event.type, event.delta);
        break;
      case "tool_call":
        this.#call({ type: "toolCall", id: event.id, name: event.name, arguments: event.arguments });
        break;
      case "reset":
        // Nothing un-renders what was streamed, but the final message replaces it.
        this.#close();
        this.#message.content.length = 0;
        break;
      case "usage":
        this.#message.usage = usageOf(this.#rates, event.input, event.output);
        break;
      case "done":
        this.#done();
        break;
      default:
        event satisfies never;
    }
  }

  /** Ends the stream with an error; what was said stays. */
  fail(error: CursorError): void {
    const { input, output } = error.partial.usage;
    this.#close();
    if (input + output > 0) this.#message.usage = usageOf(this.#rates, input, output);
    const reason = error.kind === "aborted" ? "aborted" : "error";
    this.#message.stopReason = reason;
    this.#message.errorMessage = errorMessage(error);
    this.#stream.push({ type: "error", reason, error: this.#message });
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#stream.push({ type: "start", partial: this.#message });
  }

  #done(): void {
    this.#close();
    // Pi runs tools by the calls it finds, and believes in the reason: the two must agree.
    const reason = this.#message.content.some((block) => block.type === "toolCall") ? "toolUse" : "stop";
    this.#message.stopReason = reason;
    this.#stream.push({ type: "done", reason, message: this.#message });
  }

  #grow(type: "text" | "thinking", delta: string): void {
    if (delta === "") return;
    const { content } = this.#message;
    if (this.#open?.type !== type) {
      this.#close();
      this.#open = type === "text" ? { type, text: "" } : { type, thinking: "" };
      content.push(this.#open);
      this.#stream.push({ type: `${type}_start`, contentIndex: content.length - 1, partial: this.#message });
    }
    if (this.#open.type === "text") this.#open.text += delta;
    else this.#open.thinking += delta;
    this.#stream.push({ type: `${type}_delta`, contentIndex: content.length - 1, delta, partial: this.#message });
  }

  #close(): void {
    const block = this.#open;
    if (block === undefined) return;
    this.#open = undefined;
    const content = block.type === "text" ? block.text : block.thinking;
    this.#stream.push({ type: `${block.type}_end`, contentIndex: this.#message.content.length - 1, content, partial: this.#message });
  }

  #call(toolCall: PiToolCall): void {
    this.#close();
    const { content } = this.#message;
    const at = { contentIndex: content.push(toolCall) - 1, partial: this.#message };
    this.#stream.push({ type: "toolcall_start", ...at });
    this.#stream.push({ type: "toolcall_delta", ...at, delta: JSON.stringify(toolCall.arguments) });
    this.#stream.push({ type: "toolcall_end", ...at, toolCall });
  }
}
