/** The prompt: root-prompt blobs, each the JSON of one message, and the text of the current turn (PROTOCOL §2.1, §3.1). */
import { LIMITS } from "../agent/limits.ts";
import { idCleaner } from "./call-ids.ts";
import { localError, type CursorError } from "./errors.ts";
import { repaired } from "./history.ts";
import { decodeImage, imageNote, type ImageFailure, type LiveImage } from "./images.ts";
import { modelName } from "./native/tools.ts";
import { wellFormedJson } from "./surrogates.ts";
import type { AssistantMessage, Diagnostic, ImagePart, Message, TextPart, ToolMessage, UserMessage } from "./turn.ts";

type OnDiagnostic = (diagnostic: Diagnostic) => void;
type CleanId = (raw: string) => string;
/** A message as the service's prompt holds it. */
type PromptMessage = { role: "user" | "assistant" | "tool"; content: object[] };

/** Bytes of a blob that are left for JSON's own characters and for the envelope that carries the blob. */
const BLOB_SLACK = 64 * 1024;
/** The most bytes that one UTF-16 unit takes in JSON: a control character's escape. */
const JSON_UNIT = 6;

const encoder = new TextEncoder();

/** The blob of the rules: the service drops system messages, so they are a user's (PROTOCOL §3.1). */
export function rulesBlob(rules: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(wellFormedJson({ role: "user", content: [textPart(`<rules>\n${rules}\n</rules>`)] }));
}

/**
 * The blobs that replay a transcript, one a message, in order. The transcript is {@link repaired} first; thinking is left
 * out, names and ids are cleaned, a tool result's text is cut at `LIMITS.replayText` characters with a marker, and an
 * image that can not be sent, or would make its blob too large, leaves a note in its place. Each of these costs a
 * diagnostic. Never throws.
 */
export function historyBlobs(history: readonly Message[], onDiagnostic: OnDiagnostic): Uint8Array<ArrayBuffer>[] {
  const clean = idCleaner();
  return repaired(history).map((message) => encoder.encode(wellFormedJson(promptMessage(message, clean, onDiagnostic))));
}

/**
 * The current turn: exactly the user's text, and the images as bytes, both in order. The texts of one message are joined
 * by a line break, those of several messages by a blank line. An image of an unsupported type, or with corrupt data,
 * becomes a note in the text and a diagnostic.
 * @throws CursorError `local` `image_too_large` at an image over `LIMITS.blob` bytes
 */
export function userText(users: readonly UserMessage[], onDiagnostic: OnDiagnostic): { text: string; images: LiveImage[] } {
  const images: LiveImage[] = [];
  const texts: string[] = [];
  for (const { content } of users) {
    const { text, parts } = contentOf(content);
    const notes: string[] = [];
    for (const part of parts) {
      const decoded = decodeImage(part);
      if (decoded.ok) images.push(decoded.image);
      else if (decoded.reason === "oversize") throw tooLarge();
      else notes.push(omitted(decoded, onDiagnostic));
    }
    texts.push(lines([text, ...notes]));
  }
  return { text: texts.filter((text) => text !== "").join("\n\n"), images };
}

function promptMessage(message: Message, clean: CleanId, onDiagnostic: OnDiagnostic): PromptMessage {
  switch (message.role) {
    case "user":
      return { role: "user", content: userParts(message, onDiagnostic) };
    case "assistant":
      return { role: "assistant", content: assistantParts(message, clean, onDiagnostic) };
    case "tool":
      return { role: "tool", content: [resultPart(message, clean, onDiagnostic)] };
  }
}

function userParts({ content }: UserMessage, onDiagnostic: OnDiagnostic): object[] {
  const { text, parts } = contentOf(content);
  const { images, notes } = replayImages(parts, text, onDiagnostic);
  const said = lines([text, ...notes]);
  const query = said === "" && images.length > 0 ? [] : [textPart(`<user_query>\n${said}\n</user_query>`)];
  return [...query, ...images.map(({ mimeType, data }) => ({ type: "image", image: `data:${mimeType};base64,${data}` }))];
}

function assistantParts({ content }: AssistantMessage, clean: CleanId, onDiagnostic: OnDiagnostic): object[] {
  return content.flatMap((part): object[] => {
    switch (part.type) {
      case "text":
        return part.text.trim() === "" ? [] : [textPart(part.text)];
      case "thinking":
        return [];
      case "tool_call":
        return [{ type: "tool-call", toolCallId: clean(part.id), toolName: toolName(part.name), args: jsonOrEmpty(part.arguments, onDiagnostic) }];
    }
  });
}

function resultPart(message: ToolMessage, clean: CleanId, onDiagnostic: OnDiagnostic): object {
  const { text, parts } = contentOf(message.content);
  const result = cut(text, message.toolName, onDiagnostic);
  const { images, notes } = replayImages(parts, result, onDiagnostic);
  return {
    type: "tool-result",
    toolCallId: clean(message.toolCallId),
    toolName: toolName(message.toolName),
    result: lines([result, ...notes]),
    ...(message.isError && { isError: true }),
    ...(images.length > 0 && { experimental_content: images.map(({ mimeType, data }) => ({ type: "image", data, mimeType })) }),
  };
}

/** The images of a replayed message that fit its blob beside `text`, still in base64, and the notes for the others. */
function replayImages(parts: readonly ImagePart[], text: string, onDiagnostic: OnDiagnostic): { images: Omit<ImagePart, "type">[]; notes: string[] } {
  const images: Omit<ImagePart, "type">[] = [];
  const notes: string[] = [];
  let room = LIMITS.blob - BLOB_SLACK - text.length * JSON_UNIT;
  for (const part of parts) {
    const decoded = decodeImage(part);
    if (!decoded.ok) notes.push(omitted(decoded, onDiagnostic));
    else if (part.data.length > room) notes.push(omitted({ reason: "oversize", note: imageNote("it is too large to be replayed") }, onDiagnostic));
    else {
      images.push({ mimeType: decoded.image.mimeType, data: part.data });
      room -= part.data.length;
    }
  }
  return { images, notes };
}

function omitted({ reason, note }: Omit<ImageFailure, "ok">, onDiagnostic: OnDiagnostic): string {
  onDiagnostic({ type: "image", message: note, reason });
  return note;
}

/** At most `LIMITS.replayText` characters, the marker included. */
function cut(text: string, name: string, onDiagnostic: OnDiagnostic): string {
  if (text.length <= LIMITS.replayText) return text;
  const marker = `\n[truncated: the result had ${text.length} characters]`;
  onDiagnostic({ type: "truncation", message: `A result of ${text.length} characters is replayed cut.`, tool: name, chars: text.length });
  const end = LIMITS.replayText - marker.length;
  return text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end) + marker;
}

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

/** The arguments of a call, or none where the host put in what JSON can not say. */
function jsonOrEmpty(value: Record<string, unknown>, onDiagnostic: OnDiagnostic): Record<string, unknown> {
  try {
    JSON.stringify(value);
    return value;
  } catch (error) {
    onDiagnostic({ type: "history", message: `The arguments of a replayed call are no JSON: ${(error as Error).message.slice(0, LIMITS.peerText)}` });
    return {};
  }
}

/** Histories of other providers hold names that make the service refuse the whole request. */
function toolName(name: string): string {
  return modelName(name.slice(0, LIMITS.toolName).replaceAll(/[^A-Za-z0-9_-]/g, "_"));
}

function contentOf(content: string | readonly (TextPart | ImagePart)[]): { text: string; parts: ImagePart[] } {
  if (typeof content === "string") return { text: content, parts: [] };
  return {
    text: lines(content.filter((part) => part.type === "text").map(({ text }) => text)),
    parts: content.filter((part) => part.type === "image"),
  };
}

function lines(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n");
}

function textPart(text: string): TextPart {
  return { type: "text", text };
}

function tooLarge(): CursorError {
  return localError("image_too_large", `An image takes more than ${LIMITS.blob} bytes.`, "Attach a smaller image.");
}
