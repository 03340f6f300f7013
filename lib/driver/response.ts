import type { IncomingHttpHeaders } from "node:http2";
import { CONTENT_TYPE } from "./headers.ts";

/** Bytes of a body that is none of ours, kept for the error's words. */
const BODY = 2048;

/** A `grpc-status` among headers or trailers. */
export interface Trailer {
  readonly status: string;
  readonly message: string;
}

/** What headers or trailers say of the stream's end, if anything. */
export function readTrailer(headers: IncomingHttpHeaders): Trailer | undefined {
  const status = headers["grpc-status"];
  if (typeof status !== "string") return undefined;
  const message = headers["grpc-message"];
  return { status, message: typeof message === "string" ? percentDecoded(message) : "" };
}

/** A response that is no Connect stream, and the start of its body. */
export class Refusal {
  readonly status: number;
  readonly contentType: string;
  body = "";

  constructor(status: number, contentType: string) {
    this.status = status;
    this.contentType = contentType;
  }

  /** Takes more of the body. False where there is enough of it. */
  push(chunk: Uint8Array): boolean {
    if (this.body.length >= BODY) return false;
    this.body += new TextDecoder().decode(chunk.subarray(0, BODY));
    return true;
  }
}

/** What a response is instead of a Connect stream; undefined where it is one, or trailers alone, whose status says more. */
export function readRefusal(headers: IncomingHttpHeaders): Refusal | undefined {
  const status = Number(headers[":status"]);
  const contentType = headers["content-type"] ?? "";
  const isStream = contentType.split(";")[0]!.trim().toLowerCase() === CONTENT_TYPE;
  return status === 200 && (isStream || readTrailer(headers) !== undefined) ? undefined : new Refusal(status, contentType);
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
