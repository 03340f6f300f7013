/** Cutting and repairing a transcript. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { repaired, split } from "../lib/session/history.ts";
import type { AssistantMessage, Message, ToolMessage, UserMessage } from "../lib/session/turn.ts";

const test = suite("history");

function user(content: string): UserMessage {
  return { role: "user", content };
}
function says(text: string): AssistantMessage {
  return { role: "assistant", content: [{ type: "text", text }] };
}
/** An assistant message that calls with these ids; the tool of id `a` is `tool-a`. */
function calls(...ids: string[]): AssistantMessage {
  return { role: "assistant", content: ids.map((id) => ({ type: "tool_call", id, name: `tool-${id}`, arguments: {} })) };
}
function result(id: string, text = `of ${id}`): ToolMessage {
  return { role: "tool", toolCallId: id, toolName: `tool-${id}`, content: [{ type: "text", text }] };
}
/** Messages as short words: `u:text`, `a:text`, `call:ids`, `id=text`, with `!` where it is an error. */
function words(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    switch (message.role) {
      case "user":
        return `u:${message.content as string}`;
      case "assistant":
        return message.content.map((part) => (part.type === "tool_call" ? `call:${part.id}` : part.text)).join(" ");
      case "tool":
        return `${message.toolCallId}=${message.content.map((part) => (part.type === "text" ? part.text : "image")).join("+")}${message.isError ? "!" : ""}`;
    }
  });
}

const cuts: [name: string, messages: Message[], counts: [history: number, users: number, results: number]][] = [
  ["nothing", [], [0, 0, 0]],
  ["one user message", [user("a")], [0, 1, 0]],
  ["several user messages at the end", [user("a"), says("b"), user("c"), user("d")], [2, 2, 0]],
  ["user messages alone", [user("a"), user("b")], [0, 2, 0]],
  ["an assistant at the end", [user("a"), says("b")], [2, 0, 0]],
  ["results at the end", [user("a"), calls("1", "2"), result("1"), result("2")], [4, 0, 2]],
  ["results and a steering user message", [user("a"), calls("1"), result("1"), user("b")], [3, 1, 1]],
  ["results before an answer", [user("a"), calls("1"), result("1"), says("b"), user("c")], [4, 1, 0]],
  ["results alone", [result("1")], [1, 0, 1]],
];
for (const [name, messages, [history, users, results]] of cuts) {
  test(`cuts ${name}`, () => {
    const cut = split(messages);
    assert.equal(cut.history, messages.slice(0, history));
    assert.equal(cut.users, messages.slice(messages.length - users));
    assert.equal(cut.results, cut.history.slice(history - results));
    assert.is(cut.history.length + cut.users.length, messages.length);
    assert.is(cut.results.length, results);
  });
}

const repairs: [name: string, history: Message[], replayed: string[]][] = [
  ["nothing", [], []],
  ["a whole history", [user("a"), calls("1"), result("1"), says("b")], ["u:a", "call:1", "1=of 1", "b"]],
  ["D15 results in another order", [calls("1", "2", "3"), result("3"), result("1"), result("2")], ["call:1 call:2 call:3", "1=of 1", "2=of 2", "3=of 3"]],
  ["D15 a result that comes after a user message", [calls("1"), user("wait"), result("1")], ["call:1", "1=of 1", "u:wait"]],
  ["D15 a result that comes after an answer", [calls("1"), says("b"), result("1")], ["call:1", "1=of 1", "b"]],
  ["D15 a duplicate result", [calls("1"), result("1", "first"), result("1", "second")], ["call:1", "1=first"]],
  ["D15 a result without a call", [user("a"), result("1"), says("b")], ["u:a", "b"]],
  ["D15 a result before its call", [result("1", "early"), calls("1")], ["call:1", "1=No result provided!"]],
  ["a call that a kill left without a result", [user("a"), calls("1"), user("b")], ["u:a", "call:1", "1=No result provided!", "u:b"]],
  ["one of two calls without a result", [calls("1", "2"), result("2")], ["call:1 call:2", "1=No result provided!", "2=of 2"]],
  ["an id that is used in two turns", [calls("1"), result("1", "x"), calls("1"), result("1", "y")], ["call:1", "1=x", "call:1_2", "1_2=y"]],
  ["an id used again before its first call was answered", [calls("1"), calls("1"), result("1")], ["call:1", "1=No result provided!", "call:1_2", "1_2=of 1"]],
  ["an id used twice in one message", [calls("1", "1"), result("1", "x"), result("1", "y")], ["call:1 call:1_2", "1=x", "1_2=y"]],
  ["an id that a new name would take", [calls("1", "1_2"), result("1"), result("1_2"), calls("1"), result("1", "x")], ["call:1 call:1_2", "1=of 1", "1_2=of 1_2", "call:1_3", "1_3=x"]],
  ["an empty id", [calls(""), result("", "x")], ["call:", "=x"]],
  ["ids of Object.prototype", [calls("__proto__", "constructor"), result("constructor"), result("__proto__")], ["call:__proto__ call:constructor", "__proto__=of __proto__", "constructor=of constructor"]],
  ["an assistant message without parts", [user("a"), { role: "assistant", content: [] }, user("b")], ["u:a", "u:b"]],
  ["an assistant message of blanks", [says(" \n\t")], []],
  ["an assistant message of thinking alone", [{ role: "assistant", content: [{ type: "thinking", text: "hm" }] }], []],
  ["empty user messages", [user(""), says("a")], ["u:", "a"]],
];
for (const [name, history, replayed] of repairs) {
  test(`repairs ${name}`, () => {
    const before = structuredClone(history);
    assert.equal(words(repaired(history)), replayed);
    assert.equal(history, before, "the host's transcript is left alone");
  });
}

test("E4 a system message that a host left in is left out", () => {
  assert.equal(words(repaired([{ role: "system", content: "rules" } as unknown as Message, user("a")])), ["u:a"]);
});

test("messages that need no repair are shared", () => {
  const history = [user("a"), calls("1"), result("1"), says("b")];
  for (const [index, message] of repaired(history).entries()) assert.is(message, history[index]);
});

test("a result takes the name that its call has", () => {
  const [, replayed] = repaired([calls("1"), { ...result("1"), toolName: "other" }]) as [AssistantMessage, ToolMessage];
  assert.is(replayed.toolName, "tool-1");
});

test("every history of calls and results, however mixed, is repaired to pairs", () => {
  const kinds: (() => Message)[] = [() => calls("1"), () => calls("1", "2"), () => result("1"), () => result("2"), () => user("u"), () => says("")];
  for (let number = 0; number < kinds.length ** 5; number++) {
    const history: Message[] = [];
    for (let rest = number; history.length < 5; rest = Math.floor(rest / kinds.length)) history.push(kinds[rest % kinds.length]!());
    let due: string[] = [];
    const seen = new Set<string>();
    for (const message of repaired(history)) {
      if (message.role === "tool") {
        assert.is(message.toolCallId, due.shift());
        continue;
      }
      assert.equal(due, []);
      due = message.role === "assistant" ? message.content.flatMap((part) => (part.type === "tool_call" ? [part.id] : [])) : [];
      for (const id of due) {
        assert.not.ok(seen.has(id), `${id} twice`);
        seen.add(id);
      }
    }
    assert.equal(due, []);
  }
});

test.run();
