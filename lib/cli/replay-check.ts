/** What the core sent against what the capture's client sent, frame by frame (DESIGN §5). */
import { isDeepStrictEqual } from "node:util";
import { WireError, type Decoded } from "../../wire/index.ts";
import { AgentClientMessage } from "../agent/index.ts";
import { clientMessage, isTrueTo, payloadOf, type RecordedFrame, type Recording } from "./recording.ts";
import { redactPayload } from "./redact.ts";
import type { Replayed, Taken } from "./replay-run.ts";

/** The first difference; one of the two is undefined where there is no such frame. */
export interface Difference {
  /** Counted over the client frames that are no heartbeats, from 1. */
  readonly index: number;
  /** The line of the capture: of its frame, or undefined. */
  readonly line: number | undefined;
  /** The path to the first field that differs, where both can be read. */
  readonly field: string | undefined;
  /** Where the difference is between a blob and its id: that id, in hex. */
  readonly blobId: string | undefined;
  readonly recorded: Uint8Array | undefined;
  readonly sent: Uint8Array | undefined;
}

/** What a check came to. */
export interface Checked {
  /** How many frames are equal, each written by the core. */
  readonly equal: number;
  /** How many frames hold a blob, or the answer of a native exec, that the core was given of the capture. */
  readonly blobs: number;
  readonly answers: number;
  readonly difference: Difference | undefined;
}

/**
 * Compares frames in order, heartbeats excepted. Two are equal where they say the same, whatever the order of their
 * fields; a blob that the core was given must be what its id says. Of a redacted capture, both sides are
 * redacted before they are compared. Where the capture ends before the turn, what the core sends beyond it is no difference.
 */
export function check(recording: Recording, { sent, end, taken }: Replayed): Checked {
  const expected = recording.frames.filter((frame) => frame.from === "client" && !isHeartbeat(frame));
  const actual = sent.map((payload) => comparable(recording, payload)).filter((payload) => !isHeartbeatPayload(payload));
  const stopped = end.type === "unfinished" || end.type === "restarted";
  const counts = { equal: 0, blobs: 0, answers: 0 };
  for (let index = 0; index < (stopped ? expected.length : Math.max(expected.length, actual.length)); index++) {
    const difference = differenceAt(index, recording, taken, expected[index], actual[index]);
    if (difference) return { ...counts, difference };
    const { line } = expected[index]!;
    counts[!taken.lines.has(line) ? "equal" : recording.blobAnswers.has(line) ? "blobs" : "answers"]++;
  }
  return { ...counts, difference: undefined };
}

function differenceAt(index: number, recording: Recording, taken: Taken, frame: RecordedFrame | undefined, sent: Uint8Array | undefined): Difference | undefined {
  const recorded = frame && comparable(recording, payloadOf(frame));
  const found = { index: index + 1, line: frame?.line, recorded };
  if (!recorded || !sent || !same(recorded, sent)) return { ...found, field: recorded && sent && differing(read(recorded), read(sent)), blobId: undefined, sent };
  const blobId = taken.lines.has(frame.line) && !recording.header.redacted ? recording.blobAnswers.get(frame.line) : undefined;
  if (blobId === undefined || isTrueTo(blobId, clientMessage(frame)!.kvClientMessage!.getBlobResult!.blobData!)) return undefined;
  return { ...found, field: "kvClientMessage.getBlobResult.blobData", blobId, sent: undefined };
}

function comparable({ header }: Recording, payload: Uint8Array): Uint8Array {
  if (!header.redacted) return payload;
  const copy = new Uint8Array(payload);
  redactPayload(copy, "client");
  return copy;
}

function isHeartbeat(frame: RecordedFrame): boolean {
  const message = clientMessage(frame);
  return message?.clientHeartbeat !== undefined || message?.execClientControlMessage?.heartbeat !== undefined;
}

function isHeartbeatPayload(payload: Uint8Array): boolean {
  const { clientHeartbeat, execClientControlMessage } = AgentClientMessage.decode(payload);
  return clientHeartbeat !== undefined || execClientControlMessage?.heartbeat !== undefined;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(canonical(a), canonical(b)) === 0;
}

/** The message in the order of its table. */
function canonical(payload: Uint8Array): Uint8Array {
  const message = read(payload);
  return message ? AgentClientMessage.encode(message) : payload;
}

function read(payload: Uint8Array): Decoded<typeof AgentClientMessage> | undefined {
  try {
    return AgentClientMessage.decode(new Uint8Array(payload));
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

/** The path from two values to the first of their fields that differs: empty where they are no messages or lists. */
function differing(a: unknown, b: unknown): string | undefined {
  if (!hasFields(a) || !hasFields(b)) return undefined;
  const name = Object.keys({ ...a, ...b }).find((key) => !isDeepStrictEqual(a[key], b[key]));
  if (name === undefined) return undefined;
  const step = Array.isArray(a) ? `[${name}]` : name;
  const rest = differing(a[name], b[name]);
  return rest === undefined ? step : `${step}${rest.startsWith("[") ? "" : "."}${rest}`;
}

function hasFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array) && !(value instanceof Map);
}
