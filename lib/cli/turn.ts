/** One whole turn: its legs, with the demo tools called between them. */
import type { Provider } from "../index.ts";
import type { AssistantMessage, Message, ToolCallPart, ToolMessage, TurnEvent, TurnRequest } from "../session/turn.ts";
import { CursorError } from "../session/errors.ts";

/** Legs of the longest turn: a model that calls on and on is stopped. */
const LEGS = 50;

/** What a turn is watched and answered by. */
export interface TurnListener {
  onEvent(event: TurnEvent): void | Promise<void>;
  /** The result of a call. */
  onCall(call: ToolCallPart): ToolMessage;
}

/**
 * Runs a turn to its end and returns the transcript with it.
 * @throws CursorError as the provider does; `local`, `too_many_legs` after 50
 */
export async function runTurn(provider: Provider, request: TurnRequest, listener: TurnListener, signal: AbortSignal): Promise<Message[]> {
  const messages = [...request.messages];
  for (let leg = 0; leg < LEGS; leg++) {
    const { message, calls } = await runLeg(provider, { ...request, messages }, listener, signal);
    messages.push(message);
    if (calls.length === 0) return messages;
    messages.push(...calls.map((call) => listener.onCall(call)));
  }
  const message = `The model called tools ${LEGS} times and did not come to an end.`;
  throw new CursorError({ kind: "local", code: "too_many_legs", message, nextStep: "Ask for less at once." });
}

async function runLeg(
  provider: Provider,
  request: TurnRequest,
  listener: TurnListener,
  signal: AbortSignal,
): Promise<{ message: AssistantMessage; calls: ToolCallPart[] }> {
  const message: AssistantMessage = { role: "assistant", content: [] };
  for await (const event of provider.stream(request, { signal })) {
    await listener.onEvent(event);
    add(message, event);
  }
  return { message, calls: message.content.filter((part) => part.type === "tool_call") };
}

function add(message: AssistantMessage, event: TurnEvent): void {
  switch (event.type) {
    case "text":
    case "thinking": {
      const last = message.content.at(-1);
      if (last?.type === event.type) last.text += event.delta;
      else message.content.push({ type: event.type, text: event.delta });
      return;
    }
    case "tool_call":
      message.content.push(event);
      return;
    case "reset":
      message.content = [];
      return;
    case "usage":
    case "done":
      return;
    default:
      event satisfies never;
  }
}
