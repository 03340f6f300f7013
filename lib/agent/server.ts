import {
  bytes,
  message,
  nested,
  oneof,
  Reader,
  uint32,
  WIRE_TYPE,
  WireError,
  type Decoded,
  type OnUnknown,
  type UnknownField,
} from "../../wire/index.ts";
import { ExecServerMessage } from "./exec-server.ts";
import { hot } from "./hot.ts";
import { LIMITS } from "./limits.ts";
import { KvServerMessage } from "./kv.ts";
import { InteractionQuery } from "./query-message.ts";
import { InteractionUpdate } from "./update.ts";

/** §4: an exec that is no longer wanted. */
export const ExecServerAbort = message({ id: uint32(1) });

/** §4: about an exec; informational. */
export const ExecServerControlMessage = message({ ...oneof("message", { abort: nested(1, ExecServerAbort) }) });

/**
 * §4: what the service sends. `conversationCheckpointUpdate` is kept as its bytes. Read a payload with {@link arms}:
 * one message may carry several.
 */
export const AgentServerMessage = message(
  {
    ...oneof("message", {
      interactionUpdate: nested(1, InteractionUpdate),
      execServerMessage: nested(2, ExecServerMessage),
      conversationCheckpointUpdate: bytes(3),
      kvServerMessage: nested(4, KvServerMessage),
      execServerControlMessage: nested(5, ExecServerControlMessage),
      interactionQuery: nested(7, InteractionQuery),
      ttftBreakdown: bytes(8),
    }),
  },
  hot,
);

const ARM_TAGS = new Set(Object.values(AgentServerMessage.fields).map(({ no }) => no * 8 + WIRE_TYPE.length));

/** What {@link arms} finds in a payload. */
export interface ServerArms {
  /** One value an arm, in wire order; each has exactly one property. */
  readonly arms: Decoded<typeof AgentServerMessage>[];
  /** The bytes of each arm, in the same order: views of the payload, each an AgentServerMessage of its own. */
  readonly bytes: Uint8Array[];
  /** The fields that are no arm. */
  readonly unknown: UnknownField[];
}

/**
 * Every arm of one AgentServerMessage in wire order, each decoded alone: a message may carry several, and the rule that
 * a oneof keeps its last arm would lose a request that wants an answer (§4). `onUnknown` hears of unknown fields inside
 * the arms, not of those in `unknown`. Behind one arm more than {@link LIMITS} allows nothing is read.
 * @throws WireError where the bytes are malformed; its offset counts from the payload's start
 */
export function arms(payload: Uint8Array, onUnknown?: OnUnknown): ServerArms {
  const found: ServerArms = { arms: [], bytes: [], unknown: [] };
  const reader = new Reader(payload);
  while (reader.pos < reader.end) {
    const start = reader.pos;
    const tag = reader.tag();
    reader.skip(tag);
    reader.element(start);
    const bytes = payload.subarray(start, reader.pos);
    if (!ARM_TAGS.has(tag)) found.unknown.push({ no: tag >>> 3, type: tag & 7, bytes });
    else {
      found.arms.push(decodeArm(bytes, start, onUnknown));
      found.bytes.push(bytes);
      if (found.arms.length > LIMITS.arms) break;
    }
  }
  return found;
}

function decodeArm(bytes: Uint8Array, start: number, onUnknown: OnUnknown | undefined): Decoded<typeof AgentServerMessage> {
  try {
    return AgentServerMessage.decode(bytes, onUnknown);
  } catch (error) {
    if (!(error instanceof WireError) || start === 0) throw error;
    throw new WireError(error.code, error.offset + start, error.path, error.detail);
  }
}
