/**
 * A recorded Run through the session core. No socket is opened and no time passes: the clock is that of the frames.
 * Where the capture's client answered the calls of a leg, the host's next leg begins with the same results.
 */
import { EnvelopeReader, FLAG, WireError } from "../../wire/index.ts";
import { AgentClientMessage } from "../agent/index.ts";
import type { CursorError } from "../session/errors.ts";
import type { Action, Event } from "../session/events.ts";
import { reopen } from "../session/open.ts";
import type { PendingCall, Session } from "../session/session.ts";
import { step, take } from "../session/step.ts";
import { TIMERS, type Timer } from "../session/timers.ts";
import type { Diagnostic, Message, ToolMessage, TurnEvent } from "../session/turn.ts";
import { estimate } from "../session/usage.ts";
import { recordedRequest, type RecordedRequest } from "./recorded-request.ts";
import { recordedResult } from "./recorded-result.ts";
import { clientMessage, type RecordedAnswer, type RecordedFrame, type Recording } from "./recording.ts";

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
  readonly taken: Taken;
}

/** What the core was given of the capture, so that it says nothing about the core. */
export interface Taken {
  /** Whether the Run goes on from a checkpoint, of which only workspace, client name and rules are the core's. */
  readonly checkpoint: boolean;
  /** Ids of the prompt's blobs: of the history, and of rules that nobody asked for. */
  readonly promptIds: number;
  /** The lines of client frames: blobs, and answers of native execs. */
  readonly lines: ReadonlySet<number>;
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
  readonly #taken: Taken & { readonly lines: Set<number> };
  #connected = false;
  #now = 0;
  #end: Replayed["end"] | undefined;

  constructor(recording: Recording, listener: ReplayListener, chunk: number) {
    this.#recording = recording;
    this.#listener = listener;
    this.#chunk = chunk;
    const recorded = recordedRequest(recording);
    const { base, written } = recorded;
    const lines = [...recording.blobAnswers].filter(([, id]) => !written.has(id)).map(([line]) => line);
    this.#taken = { checkpoint: base.checkpoint !== undefined, promptIds: base.roots.length, lines: new Set(lines) };
    this.#prompt = recorded.prompt;
    this.#session = sessionOf(recorded);
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
    return { sent: this.#sent, end: this.#end ?? { type: "unfinished", parked: this.#session.phase === "parked" }, taken: this.#taken };
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
    const answers = calls.map((one) => this.#recording.answers.get(one.id)?.find((answer) => answer.index >= index));
    const found = calls.map((one, at) => answers[at] && recordedResult(one, answers[at].answer));
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
  #asRecorded({ id, tool }: PendingCall, { answer, lines }: RecordedAnswer, own: readonly Uint8Array[]): Uint8Array[] {
    for (const line of lines) this.#taken.lines.add(line);
    this.#listener.onDiagnostic({ type: "as_recorded", message: `The answer of exec ${id}, by ${tool}, is sent as it was recorded.` });
    return [...answer.map((execClientMessage) => AgentClientMessage.encode({ execClientMessage })), ...own.slice(-1)];
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

function sessionOf({ request, workspaceUri, mcpMeta, ids, base }: RecordedRequest): Session {
  const left = ids.values();
  return reopen(
    {
      request,
      workspaceUri,
      settings: {
        clocks: {},
        mcpMeta,
        resendTools: false,
        uuid: () => left.next().value ?? "",
        estimate,
      },
    },
    base,
  );
}

function isStreamClose(payload: Uint8Array): boolean {
  return AgentClientMessage.decode(payload).execClientControlMessage?.streamClose !== undefined;
}

function calling(calls: readonly PendingCall[]): Message {
  return { role: "assistant", content: calls.map(({ callId, tool, arguments: args }) => ({ type: "tool_call", id: callId, name: tool, arguments: args })) };
}
