import type { Message } from "./turn.ts";

/** Which content something was read from: good for as long as the message has this one, of this length. */
export interface ReadFrom {
  readonly content: Message["content"];
  readonly length: number;
}

/** Whether the message still has that content. What is in its parts is not looked at. */
export function hasContent({ content, length }: ReadFrom, message: Message): boolean {
  return message.content === content && message.content.length === length;
}

/**
 * `read` of each message, remembered: a host hands the whole transcript with each leg, and nearly all of it is what it
 * handed before. What was read is found by its place behind the same first message, which costs a comparison a message,
 * a twentieth of an entry in a WeakMap. What stands elsewhere, is new, or is no longer the same, is read again.
 * The values are in the order of the messages, good until the next call.
 */
export function remembering<Of extends Message, Value extends object>(read: (message: Of) => Value, isSame: (value: Value, message: Of) => boolean): (messages: readonly Of[]) => readonly Value[] {
  const known = new WeakMap<Of, { messages: Of[]; values: Value[] }>();
  return (messages) => {
    const first = messages[0];
    if (first === undefined) return [];
    const before = known.get(first) ?? { messages: [], values: [] };
    known.set(first, before);
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index]!;
      const value = before.values[index];
      if (value !== undefined && before.messages[index] === message && isSame(value, message)) continue;
      before.values[index] = read(message);
      before.messages[index] = message;
    }
    before.messages.length = before.values.length = messages.length;
    return before.values;
  };
}
