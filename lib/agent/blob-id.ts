import { createHash } from "node:crypto";

/** §6: the id of a blob: the SHA-256 of its content, 32 bytes. */
export function blobId(content: Uint8Array): Uint8Array {
  return new Uint8Array(createHash("sha256").update(content).digest());
}

const PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Bytes as lower-case hex: what a blob is kept under (§6). */
export function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += PAIRS[byte];
  return text;
}
