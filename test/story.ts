/** Plays the stories of `fixtures/sessions/*.txt`: its README has the format. */
import * as assert from "uvu/assert";
import { matches, matchesText, readBytes, readMessage, showBytes, words } from "../fixtures/sessions/notation.ts";
import { AgentClientMessage, AgentServerMessage, InteractionUpdate } from "../lib/agent/index.ts";
import type { Action } from "../lib/session/events.ts";
import type { TransportEnd } from "../lib/session/failures.ts";
import { answers } from "../lib/session/on-continue.ts";
import type { Timer } from "../lib/session/timers.ts";
import type { AssistantMessage, Handle, Message, TurnRequest } from "../lib/session/turn.ts";
import { FLAG, WireError, type Message as Table, type WireErrorCode } from "../wire/index.ts";
import { Rig, settings, show, TOOLS, type Cut } from "./session-rig.ts";

/** One step: a line of the request, something that happens, or something that is expected of it. */
interface Line {
  readonly no: number;
  readonly sign: "request" | "!" | "<" | ">" | "  ";
  readonly text: string;
}

/** The steps of a story; blank lines and comments are left out. */
export function readStory(story: string): Line[] {
  return story.split("\n").flatMap((line, index): Line[] => {
    if (line.trim() === "" || line.startsWith("#")) return [];
    const sign = line.startsWith("  ") ? "  " : (["!", "<", ">"] as const).find((one) => line.startsWith(`${one} `));
    return [{ no: index + 1, sign: sign ?? "request", text: sign === undefined ? line : line.slice(2).trim() }];
  });
}

/**
 * Plays a story.
 * @throws Error, an assertion's too, with the number of the line in front
 */
export function playStory(story: string, cut: Cut): void {
  const player = new Player(cut);
  const lines = readStory(story);
  for (let at = 0; at < lines.length; ) {
    const line = lines[at++]!;
    const expected: Line[] = [];
    while (lines[at]?.sign === ">" || lines[at]?.sign === "  ") expected.push(lines[at++]!);
    try {
      player.play(line, expected);
    } catch (error) {
      (error as Error).message = `line ${line.no}: ${(error as Error).message}`;
      throw error;
    }
  }
}

class Player {
  readonly #cut: Cut;
  readonly #request: TurnRequest = { model: { id: "m1" }, messages: [], tools: [] };
  readonly #names = new Map<string, Uint8Array>();
  #settings = settings();
  /** Messages of the transcript when the current leg began; undefined between legs. */
  #before: number | undefined;
  #handle: Handle | undefined;
  #rig: Rig | undefined;

  constructor(cut: Cut) {
    this.#cut = cut;
  }

  play({ sign, text }: Line, expected: readonly Line[]): void {
    if (sign === "request") {
      assert.is(expected.length, 0, "a line of the request makes nothing happen");
      this.#prepare(words(text));
      return;
    }
    this.#expect(sign === "<" ? this.#receive(text) : this.#happen(words(text)), expected);
  }

  /** What the next request is made of. */
  #prepare([word, ...rest]: string[]): void {
    const { messages } = this.#request;
    const said = (): string => JSON.parse(rest.at(-1)!);
    switch (word) {
      case "session":
        this.#request.sessionId = rest[0]!;
        return;
      case "model":
        this.#request.model = { id: rest[0]!, ...(rest[1] && { contextWindow: Number(rest[1]) }) };
        return;
      case "tools":
        this.#request.tools = rest.map((name) => TOOLS[name]!);
        return;
      case "rules":
        this.#request.systemPrompt = said();
        return;
      case "estimate":
        this.#settings = { ...this.#settings, estimate: () => Number(rest[0]) };
        return;
      case "clocks":
        this.#settings = { ...this.#settings, clocks: { ...this.#settings.clocks, ...Object.fromEntries(rest.map((one) => one.split("=")).map(([name, ms]) => [name, Number(ms)])) } };
        return;
      case "user":
        messages.push({ role: "user", content: said() });
        return;
      case "assistant":
        messages.push({ role: "assistant", content: [{ type: "text", text: said() }] });
        return;
      case "result":
      case "error":
        messages.push({ role: "tool", toolCallId: rest[0]!, toolName: toolOf(messages, rest[0]!), content: [{ type: "text", text: said() }], ...(word === "error" && { isError: true }) });
        return;
      case "forget":
        messages.splice(Number(rest[0]));
        return;
      default:
        throw new Error(`no such line of a request: ${word}`);
    }
  }

  #receive(text: string): readonly Action[] {
    const rig = this.#rig!;
    const list = words(text);
    const [first, second = ""] = list;
    switch (first) {
      case "hex":
        return rig.payload(readBytes(`hex:${list.slice(1).join("")}`, this.#names));
      case "raw":
        return rig.bytes(readBytes(`hex:${list.slice(1).join("")}`, this.#names));
      case "endStream":
        return rig.payload(new TextEncoder().encode(second || "{}"), FLAG.endStream);
      case "checkpoint":
        return rig.server({ conversationCheckpointUpdate: readBytes(second, this.#names) });
    }
    const isUpdate = Object.hasOwn(InteractionUpdate.fields, first!);
    return rig.payload(AgentServerMessage.encode(readMessage(AgentServerMessage as Table<unknown>, isUpdate ? ["interactionUpdate", ...list] : list, this.#names)));
  }

  #happen([word, ...rest]: string[]): readonly Action[] {
    switch (word) {
      case "open":
        this.#rig = new Rig({ request: this.#leg(), handle: this.#handle, settings: this.#settings }, this.#cut);
        return this.#rig.last;
      case "continue": {
        const request = this.#leg();
        assert.ok(answers(this.#rig!.session, request), "the request goes on with the Run");
        return this.#rig!.step({ type: "continue", request });
      }
      case "interrupt":
        assert.not.ok(answers(this.#rig!.session, this.#leg()), "the request does not go on with the Run");
        return this.#rig!.step({ type: "abort" });
      case "after":
        return this.#rig!.after(Number(rest[0]));
      case "timer":
        assert.is(this.#rig!.next()?.[0], rest[0], "the clock that runs out next");
        return this.#rig!.fire(rest[0] as Timer);
      case "malformed":
        return this.#rig!.step({ type: "malformed", error: new WireError(rest[0] as WireErrorCode, 0) });
      case "closed":
        return this.#rig!.step({ type: "closed", end: endOf(rest) });
      case "opened":
      case "alive":
      case "abort":
        return this.#rig!.step({ type: word });
      default:
        throw new Error(`nothing of that name happens: ${word}`);
    }
  }

  /** The request of the next leg: what the last one said is in the transcript. */
  #leg(): TurnRequest {
    this.#before = this.#request.messages.length;
    return structuredClone(this.#request);
  }

  #expect(actions: readonly Action[], expected: readonly Line[]): void {
    const found = actions.map(show).join("\n");
    let at = 0;
    let anything = false;
    for (const { sign, text, no } of expected) {
      if (sign === "  " && text === "…") {
        anything = true;
        continue;
      }
      const isClock = sign === "  " && /^(?:arm|disarm) /.test(text);
      while (at < actions.length && (anything || isClockAction(actions[at]!)) && !((isClock || anything) && this.#fits(actions[at]!, text))) at++;
      anything = false;
      assert.ok(at < actions.length, `line ${no} expects ${text}; the step gave\n${found}`);
      const action = actions[at++]!;
      const fits = sign === ">" ? action.type === "send" && this.#sends(action.payload, text) : this.#fits(action, text);
      assert.ok(fits, `line ${no} expects ${text}, not ${show(action)}; the step gave\n${found}`);
    }
    const rest = anything ? [] : actions.slice(at).filter((action) => !isClockAction(action));
    assert.equal(rest.map(show), [], "what nobody expected");
    for (const action of actions) this.#keep(action);
  }

  #fits(action: Action, text: string): boolean {
    const whole = show(action);
    // A clock's time, an error's message and a diagnostic may be left out.
    const short = action.type === "arm" ? `arm ${action.timer}` : action.type === "fail" ? `fail ${action.error.kind} ${action.error.code}` : whole;
    return matchesText(text, whole) || text === short;
  }

  #sends(payload: Uint8Array, text: string): boolean {
    const list = words(text);
    if (list[0] === "hex") return Buffer.from(payload).toString("hex") === list.slice(1).join("");
    const message = AgentClientMessage.decode(payload);
    if (list[0] !== "runRequest") return matches(readMessage(AgentClientMessage as Table<unknown>, list, this.#names), message);
    const { runRequest } = message;
    const { rootPromptMessagesJson: roots = [], turns = [], previousWorkspaceUris } = runRequest?.conversationState ?? {};
    const userMessage = runRequest?.action?.userMessageAction?.userMessage;
    for (const [index, id] of roots.entries()) this.#names.set(`root${index + 1}`, id);
    this.#names.set("context", userMessage?.selectedContextBlob ?? new Uint8Array(0));
    const summary: Record<string, unknown> = {
      conversationId: runRequest?.conversationId,
      modelId: runRequest?.requestedModel?.modelId,
      text: userMessage?.text,
      roots: roots.length,
      turns: turns.map(showBytes),
      workspace: previousWorkspaceUris?.join(),
      tools: runRequest?.mcpTools?.mcpTools?.map(({ name }) => name) ?? null,
    };
    return runRequest !== undefined && list.slice(1).every((word) => {
      const [name = "", value = ""] = word.split(/=(.*)/s);
      return matches(JSON.parse(value), summary[name]);
    });
  }

  #keep(action: Action): void {
    const { messages } = this.#request;
    if (action.type === "save") this.#handle = action.handle;
    else if (action.type === "drop") this.#handle = undefined;
    else if (action.type === "park") this.#before = undefined;
    else if (action.type === "fail") messages.splice(this.#before ?? messages.length);
    else if (action.type === "emit") {
      const { event } = action;
      let last = messages.at(-1);
      if (event.type === "reset" && last?.role === "assistant") messages.pop();
      if (event.type === "usage" || event.type === "done" || event.type === "reset") return;
      if (last?.role !== "assistant") messages.push((last = { role: "assistant", content: [] }));
      const { content } = last as AssistantMessage;
      if (event.type === "tool_call") content.push(event);
      else content.push({ type: event.type, text: event.delta });
    }
  }
}

function isClockAction({ type }: Action): boolean {
  return type === "arm" || type === "disarm";
}

function toolOf(messages: readonly Message[], callId: string): string {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.content.filter((part) => part.type === "tool_call") : []));
  return calls.find(({ id }) => id === callId)?.name ?? "";
}

function endOf([type, ...rest]: string[]): TransportEnd {
  const fields = rest.map((word) => word.split(/=(.*)/s)).map(([name, value = ""]) => [name, JSON.parse(value)]);
  return { type, ...Object.fromEntries(fields) } as TransportEnd;
}
