/** The host's next leg: its results go back on the same stream (PROTOCOL §8, DESIGN D5). */
import { LIMITS as WIRE, type Decoded } from "../../wire/index.ts";
import { execIds, type McpSuccess } from "../agent/index.ts";
import { LIMITS } from "../agent/limits.ts";
import { fingerprint } from "./fingerprint.ts";
import { noResult, split } from "./history.ts";
import { decodeImage, imageNote } from "./images.ts";
import { capText, utf8Size } from "./native/cap-text.ts";
import { nativeResults } from "./native/translate.ts";
import { checkLeg } from "./open.ts";
import { say, settleBurst } from "./on-update.ts";
import { answerExec } from "./reply.ts";
import { arm, disarm, enter, note, type PendingCall, type Session } from "./session.ts";
import type { ToolMessage, TurnRequest } from "./turn.ts";

/** Bytes of one result's images: what an envelope holds beside the text. */
const IMAGES = WIRE.envelope - 2 * LIMITS.toolResult;

/** @throws CursorError `local` where the request itself is wrong */
export function onContinue(session: Session, request: TurnRequest): void {
  checkLeg(request);
  startLeg(session, request);
  // Of several results for one call the first counts, as it does in a replay.
  const results = new Map(split(request.messages).results.toReversed().map((result) => [result.toolCallId, result]));
  for (const call of [...session.pending.values()]) {
    if (!call.delivered) continue;
    session.pending.delete(call.id);
    writeResult(session, call, results.get(call.callId) ?? noResult(call.callId, call.tool));
  }
  enter(session, "running");
  if (session.pending.size === 0) disarm(session, "execHeartbeat");
  arm(session, "first");
  const { held } = session;
  session.held = [];
  session.heldSize = 0;
  for (const { event, size } of held) say(session, event, size);
  settleBurst(session);
}

/** Whether this request, in which nothing is wrong, answers the calls that the Run waits for, and nothing more (PROTOCOL §8). */
export function answers(session: Session, request: TurnRequest): boolean {
  if (session.phase !== "parked" || request.model.id !== session.request.model.id) return false;
  const { users, results } = split(request.messages);
  if (users.length > 0) return false;
  const waiting = new Set([...session.pending.values()].filter(({ delivered }) => delivered).map(({ callId }) => callId));
  return results.some(({ toolCallId }) => waiting.has(toolCallId));
}

/** Whether this request goes on from what the Run was asked: its ids alone may be those of another Run as well. */
export function follows(session: Session, request: TurnRequest): boolean {
  return request.systemPrompt === session.request.systemPrompt && fingerprint(request.messages) === fingerprint(session.request.messages);
}

function startLeg(session: Session, request: TurnRequest): void {
  session.request = request;
  session.input = session.settings.estimate(request);
  session.output = session.heldOutput;
  session.heldOutput = 0;
  session.text = [];
  session.thinking = [];
  session.kept = 0;
  session.spoke = false;
}

function writeResult(session: Session, call: PendingCall, result: ToolMessage): void {
  const { id, translation } = call;
  const bodies = translation ? nativeResults(translation, result) : [{ mcpResult: { success: mcpSuccess(session, result) } }];
  answerExec(session, id, bodies.map((body) => ({ execClientMessage: { ...execIds(call), ...body } })));
}

/** At least one text item, images as they are; what cannot be sent is said in words, never left out in silence. */
function mcpSuccess(session: Session, result: ToolMessage): Decoded<typeof McpSuccess> {
  const content: NonNullable<Decoded<typeof McpSuccess>["content"]> = [];
  let textRoom: number = LIMITS.toolResult;
  let imageRoom = IMAGES;
  const addText = (text: string): void => {
    const capped = capText(text, textRoom);
    if (capped !== text) note(session, "result_truncated", `A result of ${result.toolName} was cut to ${LIMITS.toolResult} bytes.`);
    content.push({ text: { text: capped } });
    textRoom = Math.max(0, textRoom - utf8Size(capped));
  };
  for (const part of result.content) {
    if (part.type === "text") {
      addText(part.text);
      continue;
    }
    const decoded = decodeImage(part);
    if (decoded.ok && decoded.image.data.length <= imageRoom) {
      content.push({ image: decoded.image });
      imageRoom -= decoded.image.data.length;
      continue;
    }
    const words = decoded.ok ? imageNote("the images of this result are too large together") : decoded.note;
    note(session, "image_omitted", words);
    addText(words);
  }
  if (!content.some((item) => item.text)) content.unshift({ text: { text: content.length > 0 ? "(image)" : "" } });
  return { content, ...(result.isError === true && { isError: true }) };
}
