/** One envelope from the service: every arm it carries, in wire order (PROTOCOL §4, DESIGN D4). */
import type { Decoded, UnknownField } from "../../wire/index.ts";
import { arms, LIMITS, type AgentServerMessage } from "../agent/index.ts";
import { describeField, driftFailure } from "./failures.ts";
import { fail } from "./finish.ts";
import { onExec } from "./on-exec.ts";
import { onKv } from "./on-kv.ts";
import { onQuery } from "./on-query.ts";
import { onUpdate } from "./on-update.ts";
import { note, type Session } from "./session.ts";

/** @throws WireError where the payload is malformed */
export function onFrame(session: Session, payload: Uint8Array): void {
  session.heard = true;
  const found = arms(payload, (field) => onDrift(session, field));
  if (found.arms.length === 0) {
    fail(session, driftFailure("a message", found.unknown));
    return;
  }
  // Each may ask for an answer, and answers are large: a message of thousands would cost gigabytes before one goes out.
  if (found.arms.length > LIMITS.arms) {
    fail(session, driftFailure(`a message of more than ${LIMITS.arms} parts`));
    return;
  }
  session.answered = 0;
  for (const field of found.unknown) onDrift(session, field);
  for (const [index, arm] of found.arms.entries()) {
    if (session.phase === "over" || session.phase === "connecting") return;
    onArm(session, arm, found.bytes[index]!);
  }
}

function onArm(session: Session, arm: Decoded<typeof AgentServerMessage>, bytes: Uint8Array): void {
  if (arm.interactionUpdate) onUpdate(session, arm.interactionUpdate);
  else if (arm.execServerMessage) onExec(session, arm.execServerMessage, bytes);
  else if (arm.kvServerMessage) onKv(session, arm.kvServerMessage);
  else if (arm.interactionQuery) onQuery(session, arm.interactionQuery);
  else if (arm.conversationCheckpointUpdate) onCheckpoint(session, arm.conversationCheckpointUpdate);
  else if (arm.execServerControlMessage) note(session, "exec_control", "The service gave up on an exec.", { id: arm.execServerControlMessage.abort?.id ?? 0 });
}

/** Kept as its bytes, never interpreted (PROTOCOL §3). An empty one is none. */
function onCheckpoint(session: Session, bytes: Uint8Array): void {
  if (bytes.length === 0) return;
  session.checkpoint = bytes.length <= LIMITS.checkpoint ? bytes.slice() : undefined;
  if (session.checkpoint !== undefined) return;
  note(session, "checkpoint_too_large", `A checkpoint of ${bytes.length} bytes is not kept: the next turn rebuilds the conversation.`);
}

/** Each kind of unknown field is worth one diagnostic a Run, up to a number that a peer cannot raise. */
function onDrift(session: Session, field: UnknownField): void {
  const key = `${field.no}:${field.type}`;
  const times = session.drift.get(key) ?? 0;
  if (times === 0 && session.drift.size >= LIMITS.driftKinds) return;
  session.drift.set(key, times + 1);
  if (times === 0) note(session, "drift", `The service sends what no table names: ${describeField(field)}.`, { field: field.no, wireType: field.type });
}
