import { either, flag, hexadecimal, inside, isRecord, milliseconds, object, ScriptError, shown, status, text, texts, whole, type Shape } from "./shape.ts";

/** What goes wrong. A number of bytes or a code that is left out has the value that the failure usually has. */
export interface Faults {
  /** The TCP connection closes; with `reset` by RST instead of FIN. */
  cut: { type: "cut"; reset?: boolean };
  /** Nothing more is sent. The connection stays open, and PINGs are still acknowledged. */
  stall: { type: "stall" };
  /** The whole connection stands still: nothing is read, sent or acknowledged, PINGs included. */
  freeze: { type: "freeze" };
  /** RST_STREAM with a code of HTTP/2; default 8, CANCEL. */
  reset: { type: "reset"; code?: number };
  /** GOAWAY. `code` is 0 by default, `lastStreamId` this stream's, `data` text. The Run goes on unless `cut` ends it. */
  goaway: { type: "goaway"; code?: number; lastStreamId?: number; data?: string; cut?: boolean };
  /** Other response headers; with a `body` that is all there is, else the script is played under them. */
  response: { type: "response"; status?: number; contentType?: string; headers?: Record<string, string>; body?: string };
  /** Response headers that end the stream, with trailers among them. */
  trailers_only: { type: "trailers_only"; status?: number; trailers: Record<string, string> };
  /** Trailers instead of END_STREAM on a DATA frame. */
  trailers: { type: "trailers"; trailers: Record<string, string> };
  /** END_STREAM without an end-stream envelope. */
  end_stream: { type: "end_stream" };
  /** The first `sent` bytes (8) of an envelope that declares `declared` bytes (64), then END_STREAM. */
  partial_frame: { type: "partial_frame"; sent?: number; declared?: number };
  /** An envelope's header that declares `length` bytes (2^32 - 1), then silence. */
  oversize: { type: "oversize"; length?: number };
  /** Bytes behind the end-stream envelope, then END_STREAM. Default: a text delta. */
  data_after_end: { type: "data_after_end"; bytes?: string };
  /** The client's bytes are left unread for a time, or for good; PINGs are still acknowledged. */
  slow_reader: { type: "slow_reader"; forMs?: number };
}

/** One thing that goes wrong: a {@link FaultStep} of a script, or a {@link Fault} of the options. */
export type FaultAction = Faults[keyof Faults];

/** What strikes only where no step stands, and what to do instead. */
const NO_STEPS = {
  response: "comes with the headers, which go out before any step: give it to startLoopback as one of its faults",
  trailers_only: "comes with the headers, which go out before any step: give it to startLoopback as one of its faults",
  data_after_end: 'comes behind the last step: write {"raw": "7b7d", "flags": 2}, {"bytes": …}, {"fault": {"type": "end_stream"}}, or give it to startLoopback as one of its faults',
} as const satisfies Partial<Record<keyof Faults, string>>;

/** One thing that goes wrong where a step stands. */
export type FaultStep = Exclude<FaultAction, { type: keyof typeof NO_STEPS }>;

/** Where in a Run: as it arrives, behind so many frames or bytes of the body, or behind the end-stream envelope. */
export type Place = "request" | "end" | { frame: number } | { byte: number };

/**
 * A fault of the options: in every Run, or only in the one with index `run`. `at` is by default where it usually is.
 * `silent_connection` is TCP that is accepted and left alone: no SETTINGS, nothing; `connection` is its index, and
 * after `cutAfterMs` it is cut.
 */
export type Fault =
  | (FaultAction & { run?: number; at?: Place })
  | { type: "silent_connection"; connection?: number; cutAfterMs?: number };

/** A fault that belongs to a Run. */
export type RunFault = Extract<Fault, FaultAction>;

/** Where each fault is when it does not say, and what it may say. */
const FAULTS: { readonly [Type in keyof Faults]: { readonly at: Place; readonly properties: Readonly<Record<string, Shape>>; readonly required?: readonly string[] } } = {
  cut: { at: { frame: 0 }, properties: { reset: flag } },
  stall: { at: { frame: 0 }, properties: {} },
  freeze: { at: { frame: 0 }, properties: {} },
  reset: { at: { frame: 0 }, properties: { code: whole } },
  goaway: { at: { frame: 0 }, properties: { code: whole, lastStreamId: whole, data: text, cut: flag } },
  response: { at: "request", properties: { status, contentType: text, headers: texts, body: text } },
  trailers_only: { at: "request", properties: { status, trailers: texts }, required: ["trailers"] },
  trailers: { at: "end", properties: { trailers: texts }, required: ["trailers"] },
  end_stream: { at: { frame: 0 }, properties: {} },
  partial_frame: { at: { frame: 0 }, properties: { sent: whole, declared: whole } },
  oversize: { at: { frame: 0 }, properties: { length: whole } },
  data_after_end: { at: "end", properties: { bytes: hexadecimal } },
  slow_reader: { at: "request", properties: { forMs: milliseconds } },
};

const place = either(
  '"request", "end", {"frame": n} or {"byte": n}',
  (value, at) => {
    if (value !== "request" && value !== "end") throw new ScriptError(at, "");
  },
  object({ frame: whole }, ["frame"]),
  object({ byte: whole }, ["byte"]),
);

const silent = object({ type: text, connection: whole, cutAfterMs: milliseconds }, ["type"]);

/** Checks a fault that is a step of a script. */
export const faultStep: Shape = (value, at) => {
  const type = isRecord(value) ? value["type"] : undefined;
  if (typeof type === "string" && Object.hasOwn(NO_STEPS, type)) throw new ScriptError(inside(at, "type"), `${type} ${NO_STEPS[type as keyof typeof NO_STEPS]}`);
  checkFault(value, at, {}, Object.keys(FAULTS).filter((name) => !Object.hasOwn(NO_STEPS, name)));
};

/** Checks a fault of the options. */
export const fault: Shape = (value, at) => {
  if (isRecord(value) && value["type"] === "silent_connection") silent(value, at);
  else checkFault(value, at, { run: whole, at: place }, Object.keys(FAULTS));
};

/** Where a fault of the options strikes. */
export function placeOf(of: RunFault): Place {
  return of.at ?? FAULTS[of.type].at;
}

function checkFault(value: unknown, at: string, more: Readonly<Record<string, Shape>>, types: readonly string[]): void {
  const type = isRecord(value) ? value["type"] : undefined;
  const known = typeof type === "string" && Object.hasOwn(FAULTS, type) ? FAULTS[type as keyof Faults] : undefined;
  if (known === undefined) throw new ScriptError(inside(at, "type"), `must be one of ${types.join(", ")}, not ${shown(type)}`);
  object({ type: text, ...more, ...known.properties }, ["type", ...(known.required ?? [])])(value, at);
}
