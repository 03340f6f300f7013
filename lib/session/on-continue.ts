/** The host's next leg: its results go back on the same stream (PROTOCOL §8, DESIGN D5). */
import type { Decoded } from "../../wire/index.ts";
import type { ExecClientMessage, McpSuccess } from "../agent/index.ts";
import { LIMITS } from "../agent/limits.ts";
import { fail } from "./finish.ts";
import { split } from "./history.ts";
import { decodeImage } from "./images.ts";
import { capText } from "./native/cap-text.ts";
import { checkTools } from "./native/tools.ts";
import { nativeResults } from "./native/translate.ts";
import { say, settleBurst } from "./on-update.ts";
import { answerExec } from "./reply.ts";
import { arm, disarm, note, type PendingCall, type Session } from "./session.ts";
import type { ToolMessage, TurnRequest } from "./turn.ts";

export function onContinue(session: Session, request: TurnRequest): void {
  const badTool = checkTools(request.tools);
  if (badTool !== undefined) {
    fail(session, { kind: "local", code: "invalid_tool", message: badTool, nextStep: "Rename the tool or declare it once." });
    return;
  }
  startLeg(session, request);
  const results = new Map(split(request.messages).results.map((result) => [result.toolCallId, result]));
  for (const call of [...session.pending.values()]) {
    if (!call.delivered) continue;
    session.pending.delete(call.id);
    writeResult(session, call, results.get(call.callId) ?? noResult(call));
  }
  disarm(session, "toolUse");
  if (session.pending.size === 0) disarm(session, "execHeartbeat");
  session.phase = "running";
  arm(session, "first", session.settings.clocks.first);
  const { held } = session;
  session.held = [];
  session.heldSize = 0;
  for (const event of held) say(session, event);
  settleBurst(session);
}

/** Whether this request answers the calls that the Run waits for, and nothing more (PROTOCOL §8). */
export function answers(session: Session, request: TurnRequest): boolean {
  const { users, results } = split(request.messages);
  if (session.phase !== "parked" || users.length > 0 || request.model.id !== session.request.model.id) return false;
  const waiting = new Set([...session.pending.values()].filter(({ delivered }) => delivered).map(({ callId }) => callId));
  return results.some(({ toolCallId }) => waiting.has(toolCallId));
}

function startLeg(session: Session, request: TurnRequest): void {
  session.request = request;
  session.input = session.settings.estimate(request);
  session.output = session.heldOutput;
  session.heldOutput = 0;
  session.text = [];
  session.thinking = [];
  session.lifted = session.pending.size - [...session.pending.values()].filter(({ delivered }) => delivered).length;
}

function noResult({ callId, tool }: PendingCall): ToolMessage {
  return { role: "tool", toolCallId: callId, toolName: tool, content: [{ type: "text", text: "No result provided" }], isError: true };
}

function writeResult(session: Session, { id, execId, translation }: PendingCall, result: ToolMessage): void {
  const bodies = translation ? nativeResults(translation, result) : [{ mcpResult: { success: mcpSuccess(session, result) } }];
  const ids: Decoded<typeof ExecClientMessage> = execId === undefined ? { id } : { id, execId };
  answerExec(session, id, bodies.map((body) => ({ execClientMessage: { ...ids, ...body } })));
}

/** At least one text item, images as they are; what cannot be sent is said in words, never left out in silence. */
function mcpSuccess(session: Session, result: ToolMessage): Decoded<typeof McpSuccess> {
  const content: NonNullable<Decoded<typeof McpSuccess>["content"]> = [];
  for (const part of result.content) {
    if (part.type === "text") {
      content.push({ text: { text: part.text } });
      continue;
    }
    const decoded = decodeImage(part);
    if (decoded.ok) content.push({ image: decoded.image });
    else {
      note(session, "image_omitted", decoded.note);
      content.push({ text: { text: decoded.note } });
    }
  }
  let room: number = LIMITS.toolResult;
  for (const item of content) {
    if (item.text === undefined) continue;
    const capped = capText(item.text.text ?? "", room);
    if (capped !== item.text.text) note(session, "result_truncated", `A result of ${result.toolName} was cut to ${LIMITS.toolResult} bytes.`);
    item.text = { text: capped };
    room = Math.max(0, room - capped.length);
  }
  if (!content.some((item) => item.text)) content.unshift({ text: { text: content.length > 0 ? "(image)" : "" } });
  return { content, isError: result.isError ?? false };
}
