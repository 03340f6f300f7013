import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import type { Handle } from "../lib/session/turn.ts";

/** A handle whose blobs are these words. */
export function handleOf(conversationId: string, ...words: string[]): Handle {
  return {
    conversationId,
    checkpoint: bytesOf(`checkpoint of ${conversationId}`),
    blobs: new Map(words.map((word) => [sha256(word), bytesOf(word)])),
    fingerprint: "f".repeat(64),
    toolsetKey: "e".repeat(64),
  };
}

/** A handle of {@link handleOf} as one line: `conversation: words`. Fails where a blob's id is not its content's. */
export function wordsOf(handle: Handle | undefined): string | undefined {
  if (handle === undefined) return undefined;
  const words = Array.from(handle.blobs, ([id, content]) => {
    if (sha256(content) !== id) throw new Error(`${id} is another blob`);
    return Buffer.from(content).toString();
  });
  if (Buffer.from(handle.checkpoint).toString() !== `checkpoint of ${handle.conversationId}`) throw new Error("another checkpoint");
  return [`${handle.conversationId}:`, ...words].join(" ");
}

/** Hex SHA-256. */
export function sha256(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}

/** The names in a folder, sorted. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).sort();
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text));
}
