/** The contract of the core: what it is told and what it asks for. It never does anything itself. */
import type { WireError } from "../../wire/index.ts";
import type { CursorError } from "./errors.ts";
import type { TransportEnd } from "./failures.ts";
import type { Timer } from "./timers.ts";
import type { Diagnostic, Handle, TurnEvent, TurnRequest } from "./turn.ts";

/** What happened. */
export type Event =
  /** The HTTP/2 stream is open: envelopes can be written. */
  | { type: "opened" }
  /** Bytes, or the answer to a PING, arrived. */
  | { type: "alive" }
  /** The payload of one envelope; it may be a view that is gone after the call. */
  | { type: "frame"; payload: Uint8Array }
  /** The payload of the end-stream envelope. */
  | { type: "endStream"; payload: Uint8Array }
  /** The envelopes cannot be read on, or the stream ended inside one. */
  | { type: "malformed"; error: WireError }
  /** The stream is over. */
  | { type: "closed"; end: TransportEnd }
  /** A clock that was armed ran out. */
  | { type: "timer"; timer: Timer }
  /** The host's next leg, with results for the parked calls. */
  | { type: "continue"; request: TurnRequest }
  /** The host wants no more of it. */
  | { type: "abort" };

/** What is to be done, in order. */
export type Action =
  /** Open a connection and a stream (again): answer with `opened`. */
  | { type: "connect" }
  /** Write the payload as one envelope with flag 0. */
  | { type: "send"; payload: Uint8Array }
  /** Send an HTTP/2 PING. */
  | { type: "ping" }
  /** Start a clock, or start it anew. */
  | { type: "arm"; timer: Timer; ms: number }
  | { type: "disarm"; timer: Timer }
  /** Tell the reader of the current leg. `size`: about the bytes that the event holds in memory. */
  | { type: "emit"; event: TurnEvent; size: number }
  /** Keep the handle; only then go on. */
  | { type: "save"; handle: Handle }
  /** Forget the session's handle. */
  | { type: "drop" }
  /** The leg is over, its stream stays open for the next. */
  | { type: "park" }
  /** The Run is over: close stream and connection. `cancel`: by RST_STREAM(CANCEL). */
  | { type: "close"; cancel: boolean }
  /** The leg failed, and the Run with it. */
  | { type: "fail"; error: CursorError }
  | { type: "diagnostic"; diagnostic: Diagnostic };
