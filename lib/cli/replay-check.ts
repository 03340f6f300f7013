/** What the core sent against what the capture's client sent, frame by frame (DESIGN §5). */
import { WireError } from "../../wire/index.ts";
import { AgentClientMessage } from "../agent/index.ts";
import { clientMessage, payloadOf, type RecordedFrame, type Recording } from "./recording.ts";
import { redactPayload } from "./redact.ts";

/** The first difference; one of the two is undefined where there is no such frame. */
export interface Difference {
  /** Counted over the compared client frames, from 1. */
  readonly index: number;
  /** The line of the capture: of its frame, or undefined. */
  readonly line: number | undefined;
  readonly recorded: Uint8Array | undefined;
  readonly sent: Uint8Array | undefined;
}

/** What a check came to. */
export interface Checked {
  /** How many frames are equal. */
  readonly equal: number;
  readonly difference: Difference | undefined;
}

/**
 * Compares frames in order, heartbeats excepted. Two are equal where they say the same, whatever the order of their
 * fields. Of a redacted capture, what the core sends is redacted before it is compared.
 * @param stopped the capture ends before the turn, so that what the core sends beyond it is no difference
 */
export function check(recording: Recording, sent: readonly Uint8Array[], stopped = false): Checked {
  const expected = recording.frames.filter((frame) => frame.from === "client" && !isHeartbeat(frame));
  const actual = sent.map((payload) => (recording.header.redacted ? redacted(payload) : payload)).filter((payload) => !isHeartbeatPayload(payload));
  for (let index = 0; index < (stopped ? expected.length : Math.max(expected.length, actual.length)); index++) {
    const frame = expected[index];
    const recorded = frame && payloadOf(frame);
    const own = actual[index];
    if (recorded && own && same(recorded, own)) continue;
    return { equal: index, difference: { index: index + 1, line: frame?.line, recorded, sent: own } };
  }
  return { equal: expected.length, difference: undefined };
}

function redacted(payload: Uint8Array): Uint8Array {
  const copy = payload.slice();
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
  try {
    return AgentClientMessage.encode(AgentClientMessage.decode(payload));
  } catch (error) {
    if (error instanceof WireError) return payload;
    throw error;
  }
}
