import type { IncomingHttpHeaders } from "node:http2";
import { CONTENT_TYPE } from "./headers.ts";

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

/** What a response is instead of a Connect stream; undefined where it is one, or trailers alone, whose status says more. */
export function readRefusal(headers: IncomingHttpHeaders): { status: number; contentType: string } | undefined {
  const status = Number(headers[":status"]);
  const contentType = headers["content-type"] ?? "";
  const isStream = contentType.split(";")[0]!.trim().toLowerCase() === CONTENT_TYPE;
  return status === 200 && (isStream || readTrailer(headers) !== undefined) ? undefined : { status, contentType };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
