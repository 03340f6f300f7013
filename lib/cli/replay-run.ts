/**
 * A recorded Run through the session core. No socket is opened and no time passes: the clock is that of the frames.
 * Where the capture's client answered the calls of a leg, the host's next leg begins with the same results.
 */
import { EnvelopeReader, FLAG, WireError } from "../../wire/index.ts";
import { AgentClientMessage } from "../agent/index.ts";
import { Blobs } from "../session/blobs.ts";
import type { CursorError } from "../session/errors.ts";
import type { Action, Event } from "../session/events.ts";
import { open } from "../session/open.ts";
import type { PendingCall, Session } from "../session/session.ts";
import { step, take } from "../session/step.ts";
import { TIMERS, type Timer } from "../session/timers.ts";
import type { Diagnostic, Message, ToolMessage, TurnEvent } from "../session/turn.ts";
import { UsageEstimator } from "../session/usage.ts";
import { recordedResult } from "./recorded-result.ts";
import { clientMessage, type Answer, type RecordedFrame, type Recording } from "./recording.ts";

/** What a replay tells. */
export interface ReplayListener {
  onEvent(event: TurnEvent): void;
  /** A result that the next leg begins with. */
  onResult(result: ToolMessage): void;
  onDiagnostic(diagnostic: Diagnostic): void;
}

/** What the replay came to. */
export interface Replayed {
  /** Payloads that the core sent, heartbeats left out. */
  readonly sent: readonly Uint8Array[];
  readonly end:
    /** The turn is complete. */
    | { readonly type: "done" }
    | { readonly type: "failed"; readonly error: CursorError }
    /** The client started over on another stream (DESIGN D9, D10), of which another capture may tell. */
    | { readonly type: "restarted" }
    /** The capture ends before the turn does. `parked`: with calls that the host never answered. */
    | { readonly type: "unfinished"; readonly parked: boolean };
}

/**
 * Replays a recording.
 * @param chunk bytes at a time in which the server's envelopes are read; whole by default. The outcome is the same.
 * @throws CursorError `local` where the recorded request can't be opened
 */
export function replayRun(recording: Recording, listener: ReplayListener, chunk = Infinity): Replayed {
  return new ReplayRun(recording, listener, chunk).play();
}

class ReplayRun {
  readonly #recording: Recording;
  readonly #listener: ReplayListener;
  readonly #chunk: number;
  readonly #session: Session;
  readonly #reader = new EnvelopeReader();
  readonly #sent: Uint8Array[] = [];
  /** When the armed clocks run out, by the frames' clock. */
  readonly #deadlines = new Map<Timer, number>();
  readonly #prompt: Message;
  #connected = false;
  #now = 0;
  #end: Replayed["end"] | undefined;

  constructor(recording: Recording, listener: ReplayListener, chunk: number) {
    this.#recording = recording;
    this.#listener = listener;
    this.#chunk = chunk;
    this.#prompt = { role: "user", content: recording.request.action?.userMessageAction?.userMessage?.text ?? "" };
    this.#session = sessionOf(recording, this.#prompt);
  }

  play(): Replayed {
    this.#perform(take(this.#session));
    for (const [index, frame] of this.#recording.frames.entries()) {
      if (this.#end) break;
      this.#now = Math.max(this.#now, frame.at);
      this.#fire((deadline) => deadline < this.#now);
      if (frame.from === "server") this.#receive(frame);
      else this.#answer(frame, index);
    }
    if (!this.#end) this.#finish();
    return { sent: this.#sent, end: this.#end ?? { type: "unfinished", parked: this.#session.phase === "parked" } };
  }

  /** The clocks that were running when the capture ends go on; a draining turn is complete. */
  #finish(): void {
    this.#fire(() => true);
    if (this.#session.phase === "draining") this.#step({ type: "closed", end: { type: "end" } });
  }

  #receive({ envelope }: RecordedFrame): void {
    for (let at = 0; at < envelope.length && !this.#end; at += this.#chunk) this.#read(envelope.subarray(at, at + this.#chunk));
  }

  #read(chunk: Uint8Array): void {
    try {
      for (const { flags, payload } of this.#reader.push(chunk))
        this.#step({ type: (flags & FLAG.endStream) === 0 ? "frame" : "endStream", payload });
      if (this.#reader.failure) throw this.#reader.failure;
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#step({ type: "malformed", error });
    }
  }

  /** A client frame that answers a call of the host begins the next leg; all others are the core's own to send. */
  #answer(frame: RecordedFrame, index: number): void {
    const id = clientMessage(frame)?.execClientMessage?.id ?? 0;
    const call = this.#session.pending.get(id);
    if (call === undefined || clientMessage(frame)?.execClientMessage === undefined) return;
    this.#fire((_, timer) => timer === "burst");
    if (this.#session.phase !== "parked") return;
    const calls = [...this.#session.pending.values()].filter(({ delivered }) => delivered);
    const answers = calls.map((one) => this.#recording.answers.get(one.id)?.find((answer) => answer.index >= index)?.answer);
    const found = calls.map((one, at) => answers[at] && recordedResult(one, answers[at]));
    const results = found.flatMap((one) => one?.result ?? []);
    for (const result of results) this.#listener.onResult(result);
    const { request } = this.#session;
    const before = this.#sent.length;
    this.#step({ type: "continue", request: { ...request, messages: [this.#prompt, calling(calls), ...results] } });
    const own = this.#sent.splice(before);
    for (const [at, call] of calls.entries()) {
      const answer = own.splice(0, own.findIndex((payload) => isStreamClose(payload)) + 1);
      this.#sent.push(...(found[at]?.exact === false ? this.#asRecorded(call, answers[at]!, answer) : answer));
    }
    this.#sent.push(...own);
  }

  /** The recorded answer of a native exec in place of the core's, which ends with its stream_close. */
  #asRecorded({ id, tool }: PendingCall, recorded: Answer, own: readonly Uint8Array[]): Uint8Array[] {
    this.#listener.onDiagnostic({ type: "as_recorded", message: `The answer of exec ${id}, by ${tool}, is sent as it was recorded.` });
    return [...recorded.map((execClientMessage) => AgentClientMessage.encode({ execClientMessage })), ...own.slice(-1)];
  }

  #step(event: Event): void {
    this.#perform(step(this.#session, event));
  }

  #perform(actions: readonly Action[]): void {
    for (const action of actions) {
      if (this.#end) return;
      this.#do(action);
    }
  }

  #do(action: Action): void {
    switch (action.type) {
      case "connect":
        if (this.#connected) this.#end = { type: "restarted" };
        else {
          this.#connected = true;
          this.#step({ type: "opened" });
        }
        return;
      case "send":
        this.#sent.push(action.payload.slice());
        return;
      case "arm":
        this.#deadlines.set(action.timer, this.#now + action.ms);
        return;
      case "disarm":
        this.#deadlines.delete(action.timer);
        return;
      case "emit":
        this.#listener.onEvent(action.event);
        if (action.event.type === "done" && action.event.reason === "stop") this.#end = { type: "done" };
        return;
      case "fail":
        this.#end = { type: "failed", error: action.error };
        return;
      case "diagnostic":
        this.#listener.onDiagnostic(action.diagnostic);
        return;
      case "ping":
      case "save":
      case "drop":
      case "park":
      case "close":
        return;
      default:
        action satisfies never;
    }
  }

  /**
   * Fires the clocks of which `due` says so, the earliest first. Only those that end a burst or a drain: the capture
   * shows that none of those that fail a turn ran out, and heartbeats are not compared.
   */
  #fire(due: (deadline: number, timer: Timer) => boolean): void {
    const timers = [...this.#deadlines].filter(([timer, deadline]) => FIRING.has(timer) && due(deadline, timer)).sort(([, a], [, b]) => a - b);
    for (const [timer] of timers) {
      if (!this.#deadlines.delete(timer)) continue;
      this.#step({ type: "timer", timer });
    }
  }
}

const FIRING: ReadonlySet<Timer> = new Set((Object.keys(TIMERS) as Timer[]).filter((timer) => ["burst", "drained"].includes(TIMERS[timer].fires)));

/** A session about to connect with the recorded request, its blobs and its conversation. */
function sessionOf({ opener, request, tools, blobs }: Recording, prompt: Message): Session {
  const { conversationState = {}, action, requestedModel, conversationId = "" } = request;
  const context = action?.userMessageAction?.requestContext;
  const estimator = new UsageEstimator();
  const session = open({
    request: { model: { id: requestedModel?.modelId || "unknown" }, messages: [prompt], tools: [...tools] },
    workspaceUri: conversationState.previousWorkspaceUris?.[0] ?? context?.env?.workspacePaths?.[0] ?? "file:///",
    handle: undefined,
    settings: {
      clocks: {},
      mcpMeta: context?.mcpMetaToolOptions !== undefined,
      resendTools: false,
      uuid: () => conversationId,
      estimate: (leg) => estimator.estimate(leg),
    },
  });
  session.opener = opener;
  session.opening = isResume(conversationState) ? "resume" : "new";
  session.blobs = new Blobs();
  session.blobs.restore(blobs);
  return session;
}

/** The fields of a state that a client writes for a new conversation (PROTOCOL §3); a checkpoint has more. */
const WRITTEN: ReadonlySet<string> = new Set(["rootPromptMessagesJson", "previousWorkspaceUris", "mode", "clientName"]);

function isResume(state: object): boolean {
  return Object.keys(state).some((name) => !WRITTEN.has(name));
}

function isStreamClose(payload: Uint8Array): boolean {
  return AgentClientMessage.decode(payload).execClientControlMessage?.streamClose !== undefined;
}

function calling(calls: readonly PendingCall[]): Message {
  return { role: "assistant", content: calls.map(({ callId, tool, arguments: args }) => ({ type: "tool_call", id: callId, name: tool, arguments: args })) };
}
