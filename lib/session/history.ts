/**
 * Cutting and repairing a transcript (PROTOCOL §3.1, §8). A replayed history must hold each call next to its one result,
 * or the model runs finished tools again and the service refuses the request; a host's transcript need not: turns are
 * aborted, processes killed, histories compacted or taken over from other providers.
 */
import { distinct } from "./call-ids.ts";
import type { AssistantMessage, Message, ToolCallPart, ToolMessage, UserMessage } from "./turn.ts";

/** A transcript cut at its last turn. */
export interface Split {
  /** Everything before `users`, so `results` too. */
  history: Message[];
  /** The user messages that end the transcript, in order: more than one where the host was steered. */
  users: UserMessage[];
  /** The tool results right before `users`, in order. */
  results: ToolMessage[];
}

/** Cuts a transcript before the user messages that end it. Messages are shared, arrays are new. */
export function split(messages: readonly Message[]): Split {
  const end = startOfTail(messages, messages.length, "user");
  const start = startOfTail(messages, end, "tool");
  return {
    history: messages.slice(0, end),
    users: messages.slice(end) as UserMessage[],
    results: messages.slice(start, end) as ToolMessage[],
  };
}

function startOfTail(messages: readonly Message[], end: number, role: Message["role"]): number {
  let start = end;
  while (start > 0 && messages[start - 1]!.role === role) start--;
  return start;
}

/** What the model reads as the result of a call that was never answered. */
export function noResult(id: string, name: string): ToolMessage {
  return { role: "tool", toolCallId: id, toolName: name, content: [{ type: "text", text: "No result provided" }], isError: true };
}

/** The place of a call's result, behind the message that calls. */
interface Slot {
  call: ToolCallPart;
  result: ToolMessage | undefined;
}

/**
 * `history` as it can be replayed. The results of a message's calls follow it directly, in the order of the calls, each
 * once: the first that came after the call. A call without a result gets one that says so as an error; a result without
 * a call is left out, and so is an assistant message without a call or a text of more than blanks. An id that is used
 * again is made unique, in its call and its result alike. Messages that need no change are shared.
 */
export function repaired(history: readonly Message[]): Message[] {
  const whole: (Message | Slot)[] = [];
  /** By raw id, the slots of the last message that called with it. */
  const open = new Map<string, Slot[]>();
  const unique = distinct(Infinity);
  for (const message of history) {
    switch (message.role) {
      case "user":
        whole.push(message);
        break;
      case "tool": {
        const slot = open.get(message.toolCallId)?.find(({ result }) => result === undefined);
        if (slot !== undefined) slot.result = message;
        break;
      }
      case "assistant": {
        const slots = message.content.filter((part) => part.type === "tool_call").map((call): Slot => ({ call, result: undefined }));
        if (slots.length === 0 && !message.content.some((part) => part.type === "text" && part.text.trim() !== "")) break;
        for (const [id, group] of byId(slots)) open.set(id, group);
        for (const slot of slots) slot.call = renamed(slot.call, "id", unique(slot.call.id));
        whole.push(withCalls(message, slots), ...slots);
        break;
      }
      default:
        message satisfies never;
    }
  }
  return whole.map((item) => ("call" in item ? resultOf(item) : item));
}

function byId(slots: readonly Slot[]): Map<string, Slot[]> {
  const groups = new Map<string, Slot[]>();
  for (const slot of slots) {
    const group = groups.get(slot.call.id);
    if (group === undefined) groups.set(slot.call.id, [slot]);
    else group.push(slot);
  }
  return groups;
}

function withCalls(message: AssistantMessage, slots: readonly Slot[]): AssistantMessage {
  const calls = slots.values();
  const content = message.content.map((part) => (part.type === "tool_call" ? calls.next().value!.call : part));
  return content.every((part, index) => part === message.content[index]) ? message : { ...message, content };
}

function resultOf({ call, result }: Slot): ToolMessage {
  if (result === undefined) return noResult(call.id, call.name);
  return renamed(renamed(result, "toolCallId", call.id), "toolName", call.name);
}

function renamed<Of extends object, Key extends keyof Of>(object: Of, key: Key, name: Of[Key]): Of {
  return object[key] === name ? object : { ...object, [key]: name };
}
