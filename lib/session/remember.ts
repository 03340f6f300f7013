import type { Message } from "./turn.ts";

/** A message as it was read. What is in its parts is not looked at. */
interface Known<Of, Value> {
  readonly message: Of;
  readonly role: Message["role"];
  readonly content: Message["content"];
  /** Of the content; undefined where a host of JavaScript gave none. */
  readonly length: number | undefined;
  readonly value: Value;
}

/**
 * `read` of each message, remembered: a host hands the whole transcript with each leg, and nearly all of it is what it
 * handed before. What was read is found by its place behind the same first message, which costs a comparison a message,
 * a twentieth of an entry in a WeakMap. What stands elsewhere, is new, or has another role, content or length is read
 * again, and so is what no longer `holds`, which only sees a message that has the same. The values are in the order of
 * the messages.
 */
export function remembering<Of extends Message, Value>(read: (message: Of) => Value, holds: (value: Value, message: Of) => boolean = () => true): (messages: readonly Of[]) => Value[] {
  const known = new WeakMap<Of, Known<Of, Value>[]>();
  return (messages) => {
    const first = messages[0];
    if (first === undefined) return [];
    const before = known.get(first) ?? [];
    known.set(first, before);
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index]!;
      const was = before[index];
      const { role, content } = message;
      if (was?.message === message && was.role === role && was.content === content && was.length === content?.length && holds(was.value, message)) continue;
      before[index] = { message, role, content, length: content?.length, value: read(message) };
    }
    before.length = messages.length;
    return before.map(({ value }) => value);
  };
}
