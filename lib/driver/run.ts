/** One Run in the world: performs what the core asks for, in order, and tells it what happened. */
import type { Envelope } from "../../wire/index.ts";
import { LIMITS } from "../agent/limits.ts";
import { aborted, CursorError } from "../session/errors.ts";
import type { Action, Event } from "../session/events.ts";
import { defectFailure } from "../session/failures.ts";
import { partial } from "../session/finish.ts";
import { answers, follows } from "../session/on-continue.ts";
import type { Session } from "../session/session.ts";
import { step, take } from "../session/step.ts";
import { duration, type Timer } from "../session/timers.ts";
import type { Diagnostic, Handle, TurnRequest } from "../session/turn.ts";
import type { Clock, ClockFactory } from "./clock.ts";
import { Connection } from "./connection.ts";
import type { Leg } from "./leg.ts";
import { whenAborted } from "./settle.ts";
import type { OutgoingHttpHeaders } from "node:http2";

/** What a Run needs of its provider. */
export interface RunWorld {
  readonly origin: URL;
  readonly headers: OutgoingHttpHeaders;
  readonly clock: ClockFactory;
  /** Keeps or forgets the session's handle; never rejects. */
  keep(handle: Handle | undefined): Promise<void>;
  onEnvelope(from: "client" | "server", envelope: Envelope): void;
  onDiagnostic(diagnostic: Diagnostic): void;
  /** The error as the host may see it. */
  onFailure(error: CursorError): CursorError;
  /** The Run is over: nothing of it is left but a closing socket. */
  onOver(): void;
}

/** The clocks of the service's silence. */
const SILENCE: readonly Timer[] = ["first", "idle"];
/** Bytes that a parked Run keeps for the next leg before it stops reading (DESIGN D23). */
const HELD = LIMITS.undelivered / 2;

/** A Run of one session, from its first leg to the end of its socket. */
export class Run {
  readonly #session: Session;
  readonly #world: RunWorld;
  readonly #clock: Clock;
  #connection: Connection | undefined;
  /** The leg that events go to: none while the Run is parked or over. */
  #leg: Leg | undefined;
  /** The leg that began last, whose reader may still be behind. */
  #latest: Leg | undefined;
  #dropSignal: (() => void) | undefined;
  #closing: Promise<void> = Promise.resolve();
  /** Actions to perform, from {@link #next} on: those that another brings about, or that wait for a handle to be kept. */
  readonly #queue: Action[] = [];
  #next = 0;
  #busy = false;
  #over = false;
  #pressed = false;
  /** ms that a reader may still stay behind: as long as a call may stay with the host. */
  #patience = 0;

  constructor(session: Session, world: RunWorld) {
    this.#session = session;
    this.#world = world;
    this.#clock = world.clock((timer) => this.#onTimer(timer));
  }

  /** Whether the Run waits for the host's results. */
  get parked(): boolean {
    return this.#session.phase === "parked";
  }

  /** Whether a call waits for its answer; once the Run is over, for ever. */
  get hasOpenCall(): boolean {
    return this.#session.pending.size > 0;
  }

  /** Whether `request` goes on with this Run. */
  isAnsweredBy(request: TurnRequest): boolean {
    // Its leg may not have heard of the end: this may come from a callback before it.
    return this.#leg === undefined && answers(this.#session, request);
  }

  /** Whether `request` goes on from what the Run was asked. */
  isFollowedBy(request: TurnRequest): boolean {
    return follows(this.#session, request);
  }

  /** Starts the first leg. */
  start(leg: Leg, signal: AbortSignal | undefined): void {
    this.#attach(leg, signal);
    this.#perform(take(this.#session));
  }

  /** Goes on with the next leg. */
  continue(request: TurnRequest, leg: Leg, signal: AbortSignal | undefined): void {
    this.#attach(leg, signal);
    this.#dispatch({ type: "continue", request });
    this.#throttle();
  }

  /** Ends the Run for the host, whatever it is doing; resolves when its socket is gone. */
  abort(): Promise<void> {
    const error = aborted(partial(this.#session));
    const actions = step(this.#session, { type: "abort" });
    // What else was asked for is not done any more (DESIGN D19): this may come from a callback in its midst.
    this.#queue.length = this.#next;
    for (const action of actions) void this.#do(action);
    if (!this.#over) {
      // Complete, but its handle is still being kept: the host does not hear of the end, so it does not go on from there.
      if (this.#session.phase === "over") void this.#world.keep(undefined);
      this.#detach()?.fail(this.#world.onFailure(error));
      this.#close(true);
    }
    return this.#closing;
  }

  #attach(leg: Leg, signal: AbortSignal | undefined): void {
    // One listener a leg, gone with it: an abort of a finished leg does nothing (DESIGN D19). First, for it may throw.
    this.#dropSignal = whenAborted(signal, () => void this.abort());
    this.#leg = this.#latest = leg;
    // A reader that is behind a leg which the next one has followed concerns the Run no more.
    leg.owner = {
      onAbandoned: () => void (this.#latest === leg && this.abort()),
      onPressure: (high) => this.#latest === leg && this.#onPressure(high),
    };
    if (this.#connection) this.#connection.referenced = true;
  }

  #detach(): Leg | undefined {
    const leg = this.#leg;
    this.#leg = undefined;
    this.#dropSignal?.();
    this.#dropSignal = undefined;
    this.#pressed = false;
    if (this.#connection) this.#connection.referenced = false;
    return leg;
  }

  #dispatch(event: Event): void {
    this.#perform(step(this.#session, event));
  }

  #onTimer(timer: Timer): void {
    // A host that does not read makes the service look idle: its silence is our doing.
    if (this.#pressed && SILENCE.includes(timer) && this.#patience > 0) {
      this.#patience -= duration(timer, this.#session.settings.clocks);
      this.#await();
    } else this.#dispatch({ type: "timer", timer });
  }

  /** Gives the service its time anew. */
  #await(): void {
    for (const timer of SILENCE) if (this.#session.armed.has(timer)) this.#clock.arm(timer, duration(timer, this.#session.settings.clocks));
  }

  #onPressure(high: boolean): void {
    this.#pressed = high;
    this.#patience = duration("toolUse", this.#session.settings.clocks);
    this.#await();
    // Nobody is reading: that keeps no process alive (DESIGN D23).
    if (this.#connection) this.#connection.referenced = !high && this.#leg !== undefined;
    this.#throttle();
  }

  #throttle(): void {
    if (this.#connection) this.#connection.paused = this.#pressed || this.#session.heldSize > HELD;
  }

  #perform(actions: readonly Action[]): void {
    if (actions.length === 0) return;
    for (const action of actions) this.#queue.push(action);
    if (this.#busy) return;
    this.#busy = true;
    this.#drain().catch((error: unknown) => this.#onDefect(error));
  }

  /** What failed here is our fault: the leg hears of it, and the host's process goes on. */
  #onDefect(error: unknown): void {
    this.#fail(this.#world.onFailure(new CursorError(defectFailure(error), partial(this.#session))));
    this.#close(true);
  }

  /** Performs the queue. Synchronous but for `save`: what follows it waits (DESIGN D3). */
  async #drain(): Promise<void> {
    // By index: taking from the front of a long array moves all that is behind it.
    while (this.#next < this.#queue.length) {
      const pending = this.#do(this.#queue[this.#next++]!);
      if (pending) await pending;
    }
    this.#queue.length = this.#next = 0;
    this.#busy = false;
  }

  #do(action: Action): Promise<void> | undefined {
    switch (action.type) {
      case "connect":
        this.#connect();
        return undefined;
      case "send":
        this.#connection?.send(action.payload);
        return undefined;
      case "ping":
        this.#connection?.ping();
        return undefined;
      case "arm":
        this.#clock.arm(action.timer, action.ms);
        return undefined;
      case "disarm":
        this.#clock.disarm(action.timer);
        return undefined;
      case "emit":
        this.#leg?.push(action.event, action.size);
        return undefined;
      case "save":
        return this.#world.keep(action.handle);
      case "drop":
        void this.#world.keep(undefined);
        return undefined;
      case "park":
        this.#detach()?.end();
        this.#throttle();
        return undefined;
      case "close":
        this.#close(action.cancel);
        return undefined;
      case "fail":
        this.#fail(this.#world.onFailure(action.error));
        return undefined;
      case "diagnostic":
        this.#world.onDiagnostic(action.diagnostic);
        return undefined;
      default:
        return action satisfies never;
    }
  }

  #connect(): void {
    void this.#connection?.close(true);
    let connection: Connection;
    try {
      connection = this.#open();
    } catch (error) {
      const { code = "ERR", message } = error as NodeJS.ErrnoException;
      this.#dispatch({ type: "closed", end: { type: "socket", code, message } });
      return;
    }
    this.#connection = connection;
    if (this.#leg === undefined) connection.referenced = false;
  }

  #open(): Connection {
    const connection: Connection = new Connection(this.#world.origin, this.#world.headers, {
      onEvent: (event) => {
        // What a connection says after it was given up concerns nobody.
        if (connection === this.#connection) this.#dispatch(event);
        this.#throttle();
      },
      onEnvelope: (from, envelope) => this.#world.onEnvelope(from, envelope),
    });
    return connection;
  }

  #close(cancel: boolean): void {
    this.#over = true;
    this.#clock.clear();
    this.#closing = this.#connection?.close(cancel) ?? Promise.resolve();
    this.#connection = undefined;
    this.#detach()?.end();
    this.#world.onOver();
  }

  #fail(error: CursorError): void {
    const leg = this.#detach();
    if (leg) leg.fail(error);
    else if (error.kind !== "aborted") this.#world.onDiagnostic({ type: "parked_run_lost", message: error.message, kind: error.kind, code: error.code });
  }
}
