/** What tells a remote conversation that still fits the host's transcript from one that does not (PROTOCOL §10). */
import { blobId, hex } from "../agent/blob-id.ts";
import type { ImagePart, Message, Tool, UserMessage } from "./turn.ts";

/** Levels of a schema that the key looks at; the codec refuses deeper ones (DESIGN §3). */
const DEPTH = 100;

const encoder = new TextEncoder();

/**
 * Hex SHA-256 over the user messages' texts and images (type and data) in order. What the assistant, the tools and the
 * system said does not matter. Each part and each message is delimited by its length, so that no two conversations
 * share a form; a string content equals the same text as the only part. Lone surrogates count as the U+FFFD that is sent.
 */
export function fingerprint(messages: readonly Message[]): string {
  const users = messages.filter((message) => message.role === "user");
  const digests = new Uint8Array(users.length * 32);
  for (const [index, user] of users.entries()) digests.set(digestOf(user), index * 32);
  return hex(blobId(digests));
}

/** The digests of messages that were seen before, so that a turn costs what is new in it, not what its history holds. */
const known = new WeakMap<UserMessage, { content: string; digest: Uint8Array }>();

/** Only a string is remembered here: what is in a list of parts may change without a sign. */
function digestOf(user: UserMessage): Uint8Array {
  const { content } = user;
  const before = known.get(user);
  if (before !== undefined && before.content === content) return before.digest;
  const digest = blobId(encoder.encode(userForm(user)));
  if (typeof content === "string") known.set(user, { content, digest });
  return digest;
}

/** Hex SHA-256 over the tools' names, descriptions and schemas. The order of tools, or of a schema's keys, does not matter. Never throws. */
export function toolsetKey(tools: readonly Tool[]): string {
  const forms = tools.map(({ name, description, inputSchema }) => canonical({ name, description, inputSchema }, 0));
  return hex(blobId(encoder.encode(forms.sort().join("\n"))));
}

function userForm({ content }: UserMessage): string {
  if (typeof content === "string") return sized("text", content);
  return content.map((part) => (part.type === "text" ? sized("text", part.text) : sized("image", imageDigest(part)))).join("");
}

/** The digests of images that were seen before: a session may hold many megabytes of them. */
const knownImages = new WeakMap<ImagePart, { mimeType: string; data: string; digest: string }>();

function imageDigest(part: ImagePart): string {
  const { mimeType, data } = part;
  const before = knownImages.get(part);
  // Comparing a string with itself costs nothing, and a part that was changed is hashed anew.
  if (before !== undefined && before.data === data && before.mimeType === mimeType) return before.digest;
  const digest = hex(blobId(encoder.encode(sized("type", mimeType) + sized("data", data))));
  knownImages.set(part, { mimeType, data, digest });
  return digest;
}

function sized(kind: string, text: string): string {
  return `${kind} ${text.length}:${text}`;
}

/** JSON with sorted keys, on one line. */
function canonical(value: unknown, depth: number): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (depth > DEPTH) return "too deep";
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join()}]`;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  const pairs = entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item, depth + 1)}`);
  return `{${pairs.sort().join()}}`;
}
