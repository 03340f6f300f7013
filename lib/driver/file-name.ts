import { createHash } from "node:crypto";

/**
 * The name of a session's files: safe in any folder, and no other session's. An id of up to 100 characters
 * `[A-Za-z0-9_-]` is its own name; any other has its SHA-256 behind a `=`, which no plain id holds.
 */
export function fileName(sessionId: string): string {
  if (/^[A-Za-z0-9_-]{1,100}$/.test(sessionId)) return sessionId;
  // As UTF-16: in UTF-8 all lone surrogates are the same.
  return `=${createHash("sha256").update(Buffer.from(sessionId, "utf16le")).digest("hex")}`;
}
