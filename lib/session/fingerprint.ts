/** What tells a remote conversation that still fits the host's transcript from one that does not (PROTOCOL §10). */
import { LIMITS as WIRE } from "../../wire/index.ts";
import { blobId, hex } from "../agent/blob-id.ts";
import { remembering } from "./remember.ts";
import type { ImagePart, Message, TextPart, Tool, UserMessage } from "./turn.ts";

const encoder = new TextEncoder();

/**
 * Hex SHA-256 over the user messages' texts and images (type and data) in order. What the assistant, the tools and the
 * system said does not matter. Each part and each message is delimited by its length, so that no two conversations
 * share a form; a string content equals the same text as the only part. Lone surrogates count as the U+FFFD that is sent.
 */
export function fingerprint(messages: readonly Message[]): string {
  const users = messages.filter((message) => message.role === "user");
  const joined = new Uint8Array(users.length * 32);
  for (const [index, { digest }] of digests(users).entries()) joined.set(digest, index * 32);
  return hex(blobId(joined));
}

/** A digest with copies of the parts that it is of, because a host may change them in place. */
interface Digested {
  readonly parts: readonly (TextPart | ImagePart)[];
  readonly digest: Uint8Array;
}

const digests = remembering(digested, hasSameParts);

function digested({ content }: UserMessage): Digested {
  return { parts: typeof content === "string" ? [] : content.map((part) => ({ ...part })), digest: blobId(encoder.encode(userForm(content))) };
}

function hasSameParts({ parts }: Digested, { content }: UserMessage): boolean {
  return typeof content === "string" || content.every((part, index) => samePart(part, parts[index]!));
}

/** Comparing a string with itself costs nothing, however long it is. */
function samePart(one: TextPart | ImagePart, other: TextPart | ImagePart): boolean {
  if (one.type === "text") return other.type === "text" && one.text === other.text;
  return other.type === "image" && one.mimeType === other.mimeType && one.data === other.data;
}

/** Hex SHA-256 over the tools' names, descriptions and schemas. The order of tools, or of a schema's keys, does not matter. Never throws. */
export function toolsetKey(tools: readonly Tool[]): string {
  const forms = tools.map(({ name, description, inputSchema }) => canonical({ name, description, inputSchema }, 0));
  return hex(blobId(encoder.encode(forms.sort().join("\n"))));
}

function userForm(content: UserMessage["content"]): string {
  if (typeof content === "string") return sized("text", content);
  return content.map((part) => (part.type === "text" ? sized("text", part.text) : sized("image", imageDigest(part)))).join("");
}

function imageDigest({ mimeType, data }: ImagePart): string {
  return hex(blobId(encoder.encode(sized("type", mimeType) + sized("data", data))));
}

function sized(kind: string, text: string): string {
  return `${kind} ${text.length}:${text}`;
}

/** JSON with sorted keys, on one line. */
function canonical(value: unknown, depth: number): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (depth > WIRE.depth) return "too deep";
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join()}]`;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  const pairs = entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item, depth + 1)}`);
  return `{${pairs.sort().join()}}`;
}
