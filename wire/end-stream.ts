/** The JSON of Connect's end-stream envelope. */
import { WireError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { decodeUtf8 } from "./utf8.ts";

/** How a stream ended. Without `error` it ended well. */
export interface EndStream {
  /** `code` is Connect's word, or "unknown" where it is missing, null or none that Connect knows (DESIGN D11). */
  error?: { code: ConnectCode; message: string };
  /** Trailing metadata: name → values. */
  metadata: Map<string, string[]>;
}

/** The error codes of Connect, in the order of their gRPC numbers from 1. */
export const CONNECT_CODES = [
  "canceled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
] as const;
/** One of {@link CONNECT_CODES}. */
export type ConnectCode = (typeof CONNECT_CODES)[number];

/** Connect's code for a word, or for a gRPC status number as text; "unknown" for anything else. */
export function connectCode(code: unknown): ConnectCode {
  if (typeof code !== "string") return "unknown";
  return CONNECT_CODES.find((known, index) => known === code || String(index + 1) === code) ?? "unknown";
}

/**
 * Reads the payload of an end-stream envelope.
 * @throws WireError `end_stream` where it is over 256 KiB, where it is no JSON object, or its error no object
 */
export function decodeEndStream(payload: Uint8Array): EndStream {
  if (payload.length > LIMITS.endStream) throw new WireError("end_stream", 0, "", `${payload.length} bytes, ${LIMITS.endStream} allowed`);
  const text = decodeUtf8(payload, 0, payload.length, false);
  let json: unknown;
  try {
    json = JSON.parse(text ?? "");
  } catch {
    throw new WireError("end_stream", 0);
  }
  if (!isObject(json)) throw new WireError("end_stream", 0);
  const metadata = new Map<string, string[]>();
  if (isObject(json["metadata"]))
    for (const [name, values] of Object.entries(json["metadata"]))
      if (Array.isArray(values)) metadata.set(name, values.filter((value) => typeof value === "string"));
  const error = json["error"];
  if (error === undefined || error === null) return { metadata };
  if (!isObject(error)) throw new WireError("end_stream", 0, "error");
  const message = typeof error["message"] === "string" ? error["message"] : "";
  const code = CONNECT_CODES.find((known) => known === error["code"]) ?? "unknown";
  return { error: { code, message }, metadata };
}

/** The payload of an end-stream envelope. */
export function encodeEndStream(error?: { code: ConnectCode; message?: string }): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(error ? { error } : {}));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
