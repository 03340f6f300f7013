import { constants } from "node:http2";
import type { TransportEnd } from "../session/failures.ts";

/** What node:http2 has said by the time a stream is closed. */
export interface Signs {
  /** The code of a GOAWAY. */
  readonly goaway: number | undefined;
  /** The first error of stream or session. */
  readonly error: Error | undefined;
  /** The code of an RST_STREAM; also Node's own, where it closed the stream itself. */
  readonly reset: number | undefined;
  /** Whether the session is destroyed. */
  readonly destroyed: boolean;
}

/** How a stream ended that no end-stream, trailer or response explains: what says most comes first. */
export function transportEnd({ goaway, error, reset, destroyed }: Signs): TransportEnd {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  if (goaway !== undefined) return { type: "goaway", code: goaway };
  if (error !== undefined && code !== "ERR_HTTP2_STREAM_ERROR") return { type: "socket", code: code ?? error.name, message: error.message };
  // Node cancels the stream of a socket that closed without a word.
  if (destroyed && reset === constants.NGHTTP2_CANCEL && code === undefined) return { type: "socket", code: "ECONNRESET", message: "the peer closed the socket" };
  return { type: "reset", code: reset ?? constants.NGHTTP2_NO_ERROR };
}
