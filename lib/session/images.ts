import { LIMITS } from "../agent/limits.ts";
import { base64Size, decodeBase64 } from "./base64.ts";
import type { ImagePart } from "./turn.ts";

/** The image types that the service takes (PROTOCOL §2.1). */
const TYPES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"];

/** An image as its bytes. */
export interface LiveImage {
  /** One of those that the service takes, in lower case. */
  mimeType: string;
  data: Uint8Array;
}

/** Why an image can not be sent. `note` says so to the model in place of the image: nothing is left out silently. */
export interface ImageFailure {
  ok: false;
  reason: "unsupported" | "corrupt" | "oversize";
  note: string;
}

/** Characters of a foreign type that a note repeats. */
const QUOTED = 60;

/**
 * An image's bytes, or why it has none: the service does not take its type (upper case is allowed), it is over
 * `LIMITS.blob` bytes, which is checked before anything is allocated, or its data is empty or no canonical base64.
 */
export function decodeImage(part: ImagePart): { ok: true; image: LiveImage } | ImageFailure {
  const mimeType = part.mimeType.toLowerCase();
  if (!TYPES.includes(mimeType)) return failure("unsupported", `the type ${JSON.stringify(mimeType.slice(0, QUOTED))} is not supported`);
  if (base64Size(part.data) > LIMITS.blob) return failure("oversize", `it is larger than ${LIMITS.blob} bytes`);
  const data = decodeBase64(part.data);
  if (data === undefined || data.length === 0) return failure("corrupt", "its base64 data is corrupt");
  return { ok: true, image: { mimeType, data } };
}

/** The words that stand for an image that is left out. */
export function imageNote(why: string): string {
  return `[image omitted: ${why}]`;
}

function failure(reason: ImageFailure["reason"], why: string): ImageFailure {
  return { ok: false, reason, note: imageNote(why) };
}
