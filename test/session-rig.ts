/** The core without a world around it: a session whose clock is moved by hand. */
import * as assert from "uvu/assert";
import { showBytes, showMessage } from "../fixtures/sessions/notation.ts";
import { AgentClientMessage, AgentServerMessage } from "../lib/agent/index.ts";
import { LIMITS } from "../lib/agent/limits.ts";
import type { CursorError } from "../lib/session/errors.ts";
import type { Action, Event } from "../lib/session/events.ts";
import { open } from "../lib/session/open.ts";
import type { Phase, Session, Settings } from "../lib/session/session.ts";
import { step, take, TRANSITIONS } from "../lib/session/step.ts";
import { TIMERS, type Timer } from "../lib/session/timers.ts";
import type { Handle, Message, Tool, TurnEvent, TurnRequest } from "../lib/session/turn.ts";
import { encodeEnvelope, EnvelopeReader, FLAG, type Decoded, type WireError } from "../wire/index.ts";

type ServerMessage = Decoded<typeof AgentServerMessage>;
type ClientMessage = Decoded<typeof AgentClientMessage>;

/** How a payload reaches the core: as one event, or cut into bytes and put together again. */
export type Cut = "whole" | "bytes";

const path = { path: { type: "string" } };
/** The tools that stories and tests declare by name. */
export const TOOLS: Readonly<Record<string, Tool>> = Object.fromEntries(
  [
    { name: "read", description: "Read a file", properties: { ...path, offset: { type: "number" }, limit: { type: "number" } }, required: ["path"] },
    { name: "bash", description: "Run a command", properties: { command: { type: "string" }, timeout: { type: "number" } }, required: ["command"] },
    { name: "write", description: "Write a file", properties: { ...path, content: { type: "string" } }, required: ["path", "content"] },
    { name: "add", description: "Add two numbers", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  ].map(({ name, description, properties, required }) => [name, { name, description, inputSchema: { type: "object", properties, required } }]),
);

/** A request of one user message. */
export function request(text = "hi", more: Partial<TurnRequest> = {}): TurnRequest {
  return { sessionId: "s1", model: { id: "m1" }, messages: [{ role: "user", content: text }], tools: [], ...more };
}

/** Settings whose ids are `id-1`, `id-2`, … and whose estimate is always 100 tokens. */
export function settings(more: Partial<Settings> = {}): Settings {
  let count = 0;
  return { clocks: {}, mcpMeta: false, resendTools: false, uuid: () => `id-${++count}`, estimate: () => 100, ...more };
}

/** One Run. After every step it holds that the clocks agree with the session and that nothing follows the end. */
export class Rig {
  readonly session: Session;
  /** Every action since the Run opened, and those of the last step. */
  readonly all: Action[] = [];
  last: Action[] = [];
  now = 0;
  /** Whether a PING is answered while time passes. */
  answers = true;
  readonly #due = new Map<Timer, number>();
  readonly #cut: Cut;
  #reader = new EnvelopeReader();

  /** @throws CursorError as `open()` */
  constructor(opener: { request?: TurnRequest; handle?: Handle | undefined; settings?: Settings } = {}, cut: Cut = "whole") {
    this.#cut = cut;
    this.session = open({ request: request(), handle: undefined, settings: settings(), ...opener, workspaceUri: "file:///work" });
    this.#took(take(this.session));
  }

  /** Tells the core what happened and returns what it asks for. */
  step(event: Event): Action[] {
    const { phase } = this.session;
    const actions = step(this.session, event);
    const follow = TRANSITIONS[phase][event.type] ?? [phase];
    assert.ok(follow.includes(this.session.phase), `${event.type} while ${phase} led to ${this.session.phase}`);
    if (phase === "over") assert.is(actions.length, 0, `after the end: ${actions.map(show).join(", ")}`);
    this.#took(actions);
    return actions;
  }

  /** A message from the service; several at once make one payload. */
  server(...messages: ServerMessage[]): Action[] {
    const [first, ...others] = messages.map((message) => AgentServerMessage.encode(message));
    return this.payload(others.length > 0 ? join([first!, ...others]) : first!);
  }

  payload(payload: Uint8Array, flags = 0): Action[] {
    if (this.#cut === "whole") return this.step({ type: flags === 0 ? "frame" : "endStream", payload });
    return (this.last = this.bytes(encodeEnvelope(flags, payload)));
  }

  /** Bytes of the stream, one at a time, as a driver hands them on. */
  bytes(bytes: Uint8Array): Action[] {
    const actions: Action[] = [];
    for (const byte of bytes) {
      actions.push(...this.step({ type: "alive" }));
      try {
        for (const { flags, payload } of this.#reader.push(Uint8Array.of(byte))) actions.push(...this.step({ type: flags === 0 ? "frame" : "endStream", payload }));
      } catch (error) {
        return [...actions, ...this.step({ type: "malformed", error: error as WireError })];
      }
    }
    return actions;
  }

  text(text: string): Action[] {
    return this.server({ interactionUpdate: { textDelta: { text } } });
  }

  turnEnded(): Action[] {
    return this.server({ interactionUpdate: { turnEnded: {} } });
  }

  /** An MCP call, whose arguments are none. */
  call(id: number, toolName: string, toolCallId = `call-${id}`): Action[] {
    return this.server({ execServerMessage: { id, mcpArgs: { toolName, toolCallId } } });
  }

  endStream(error?: { code: string; message?: string }): Action[] {
    return this.payload(new TextEncoder().encode(JSON.stringify(error ? { error } : {})), FLAG.endStream);
  }

  /** `ms` pass, on a connection that lives; what runs out meanwhile fires in order. */
  after(ms: number): Action[] {
    const end = this.now + ms;
    const actions: Action[] = [];
    for (let next = this.next(); next !== undefined && next[1] <= end; next = this.next()) {
      actions.push(...this.fire(next[0]));
      if (this.answers && this.last.some(({ type }) => type === "ping")) actions.push(...this.step({ type: "alive" }));
    }
    this.now = end;
    return (this.last = actions);
  }

  /** The clock that runs out next, and when. */
  next(): [timer: Timer, at: number] | undefined {
    let first: [Timer, number] | undefined;
    for (const entry of this.#due) if (first === undefined || entry[1] < first[1]) first = entry;
    return first;
  }

  /** Time passes until this clock runs out. */
  fire(timer: Timer): Action[] {
    this.now = this.#due.get(timer) ?? this.now;
    this.#due.delete(timer);
    return this.step({ type: "timer", timer });
  }

  running(timer: Timer): boolean {
    return this.#due.has(timer);
  }

  /** What was sent, by the last step or since the Run opened. */
  sent(actions: readonly Action[] = this.last): ClientMessage[] {
    return actions.flatMap((action) => (action.type === "send" ? [AgentClientMessage.decode(action.payload)] : []));
  }

  emitted(actions: readonly Action[] = this.all): TurnEvent[] {
    return actions.flatMap((action) => (action.type === "emit" ? [action.event] : []));
  }

  /** The error that ended the Run. */
  get error(): CursorError | undefined {
    return this.all.flatMap((action) => (action.type === "fail" ? [action.error] : []))[0];
  }

  get saved(): Handle | undefined {
    return this.all.flatMap((action) => (action.type === "save" ? [action.handle] : []))[0];
  }

  /** The types of diagnostics. */
  notes(actions: readonly Action[] = this.all): string[] {
    return actions.flatMap((action) => (action.type === "diagnostic" ? [action.diagnostic.type] : []));
  }

  #took(actions: Action[]): void {
    this.last = actions;
    this.all.push(...actions);
    for (const action of actions) {
      if (action.type === "arm") this.#due.delete(action.timer), this.#due.set(action.timer, this.now + action.ms);
      else if (action.type === "disarm") this.#due.delete(action.timer);
      else if (action.type === "connect") this.#reader = new EnvelopeReader();
    }
    assert.equal([...this.#due.keys()].sort(), [...this.session.armed].sort(), "the clocks that run");
    for (const timer of this.session.armed) assert.ok((TIMERS[timer].phases as readonly Phase[]).includes(this.session.phase), `${timer} runs while ${this.session.phase}`);
    if (this.session.phase === "over") assert.is(this.#due.size, 0, "no clock runs after the end");
  }
}

/** A Run that is open, of a request or of the whole opener. */
export function running(opener: ConstructorParameters<typeof Rig>[0] = {}, cut: Cut = "whole"): Rig {
  const rig = new Rig(opener, cut);
  rig.step({ type: "opened" });
  return rig;
}

/** A Run that resumes the conversation of an earlier turn, whose checkpoint is `state`. */
export function resumed(opener: { request?: Partial<TurnRequest>; settings?: Settings; state?: Uint8Array } = {}): Rig {
  const first = running({ request: request("one", opener.request) });
  first.text("1");
  first.server({ conversationCheckpointUpdate: opener.state ?? Uint8Array.of(0x50, 1) });
  first.turnEnded();
  first.fire("drain");
  return running({ request: request("", { ...opener.request, messages: after([{ role: "user", content: "one" }], "1", "two") }), handle: first.saved, ...(opener.settings && { settings: opener.settings }) });
}

/** A transcript that goes on: with the assistant's answer, and what the user says then. */
export function after(messages: readonly Message[], answer: string, text: string): Message[] {
  return [...messages, { role: "assistant", content: [{ type: "text", text: answer }] }, { role: "user", content: text }];
}

/** The request of the next leg: this Run's calls so far, each with its result. */
export function results(rig: Rig, more: Partial<TurnRequest> = {}): TurnRequest {
  const { request } = rig.session;
  const known = new Set(request.messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])));
  const calls = rig.emitted().filter((event) => event.type === "tool_call" && !known.has(event.id)) as (TurnEvent & { type: "tool_call" })[];
  const answers = calls.map(({ id, name }): Message => ({ role: "tool", toolCallId: id, toolName: name, content: [{ type: "text", text: `result of ${id}` }] }));
  return { ...request, messages: [...request.messages, { role: "assistant", content: calls }, ...answers], ...more };
}

/** Every terminal event that a Run had. */
export function endings(rig: Rig): string[] {
  return rig.all.flatMap((action) => {
    if (action.type === "fail") return [`${action.error.kind} ${action.error.code}`];
    return action.type === "emit" && action.event.type === "done" ? [action.event.reason] : [];
  });
}

/** The arms of the messages sent. */
export function kinds(rig: Rig, actions: readonly Action[] = rig.last): string[] {
  return rig.sent(actions).map((message) => Object.keys(message)[0]!);
}

/** The same Run after the end of its turn. */
export function ended(rig: Rig): Rig {
  rig.turnEnded();
  rig.after(LIMITS.drain);
  return rig;
}

/** Bytes in one piece. */
export function join(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** An action as a story writes it, but for sends. */
export function show(action: Action): string {
  switch (action.type) {
    case "send":
      return `> ${showMessage(AgentClientMessage.decode(action.payload))}`;
    case "arm":
      return `arm ${action.timer} ${action.ms}`;
    case "disarm":
      return `disarm ${action.timer}`;
    case "emit":
      return `emit ${showEvent(action.event)}`;
    case "save":
      return `save ${action.handle.conversationId} checkpoint=${showBytes(action.handle.checkpoint)} blobs=${action.handle.blobs.size}`;
    case "close":
      return action.cancel ? "close cancel" : "close";
    case "fail":
      return `fail ${action.error.kind} ${action.error.code} ${JSON.stringify(action.error.message)}`;
    case "diagnostic":
      return `diagnostic ${action.diagnostic.type}`;
    default:
      return action.type;
  }
}

function showEvent(event: TurnEvent): string {
  switch (event.type) {
    case "text":
    case "thinking":
      return `${event.type} ${JSON.stringify(event.delta)}`;
    case "tool_call":
      return `tool_call ${event.id} ${event.name} ${JSON.stringify(event.arguments)}`;
    case "reset":
      return "reset";
    case "usage":
      return `usage input=${event.input} output=${event.output}`;
    case "done":
      return `done ${event.reason}`;
    default:
      return event satisfies never;
  }
}
