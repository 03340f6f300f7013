/** One HTTP/2 connection for a few unary calls: opened for them, closed with them, never kept (PROTOCOL §1). */
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from "node:http2";
import type { CursorError } from "../session/errors.ts";
import { failed, timedOut, lost, stopped } from "./failures.ts";

/** One request. */
export interface UnaryRequest {
  readonly method: "GET" | "POST";
  /** With the query. */
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Uint8Array;
  /** Until the whole answer is there, in ms. */
  readonly timeoutMs: number;
  /** The most bytes of the answer that are read; default {@link ANSWER_BYTES}. */
  readonly answerBytes?: number;
}

/** One answer, whatever its status. Only of a success is the body sure to be whole. */
export interface UnaryAnswer {
  readonly status: number;
  /** Lower case, without parameters. */
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Makes one call on the connection. */
export type Call = (request: UnaryRequest) => Promise<UnaryAnswer>;

/** The most bytes of an answer that are read where the call says nothing. JSON of a few MiB takes seconds to parse. */
export const ANSWER_BYTES = 64 * 1024;

/**
 * Opens a connection to `origin`, runs `work` with it and closes it, however `work` ends. Redirects are answers like any
 * other: they are never followed.
 * @param origin what the allowlist let pass
 * @throws CursorError of kind `aborted` at the signal; the calls throw `network` where the connection, the time or the
 *   size of an answer fails them
 */
export async function withConnection<T>(origin: URL, signal: AbortSignal | undefined, work: (call: Call) => Promise<T>): Promise<T> {
  if (signal?.aborted) throw stopped();
  const session = connect(origin.origin);
  // A late error of a session that is being destroyed must find a listener.
  let broken: unknown;
  session.on("error", (error) => (broken ??= error));
  try {
    return await work((request) => exchange(session, request, signal, () => broken));
  } finally {
    // Not inside a callback of the session: Node 20 then frees a stream that is still being read, and the heap is broken.
    await new Promise((resolve) => setImmediate(resolve));
    session.destroy();
  }
}

function exchange(session: ClientHttp2Session, request: UnaryRequest, signal: AbortSignal | undefined, broken: () => unknown): Promise<UnaryAnswer> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream | undefined;
    const timer = setTimeout(() => settle(() => reject(timedOut(request.timeoutMs))), request.timeoutMs);
    const onAbort = () => settle(() => reject(stopped()));
    let settled = false;
    const settle = (end: () => void) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      end();
      if (stream === undefined) return;
      if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
      stream.resume();
    };
    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort);
    try {
      stream = session.request({ ":method": request.method, ":path": request.path, ...request.headers }, { endStream: request.body === undefined });
    } catch (error) {
      return settle(() => reject(lost(broken() ?? error)));
    }
    receive(stream, request.answerBytes ?? ANSWER_BYTES, broken, (answer) => settle(() => resolve(answer)), (error) => settle(() => reject(error)));
    if (request.body !== undefined) stream.end(request.body);
  });
}

/** Reads an answer. May tell more than once: the first counts. */
function receive(stream: ClientHttp2Stream, limit: number, broken: () => unknown, onAnswer: (answer: UnaryAnswer) => void, onError: (error: CursorError) => void): void {
  let status = 0;
  let contentType = "";
  let length = 0;
  const chunks: Uint8Array[] = [];
  const answer = (): UnaryAnswer => ({ status, contentType, body: Buffer.concat(chunks) });
  const cutOff = watchEnd(stream);
  stream.on("response", (headers) => {
    status = Number(headers[":status"]);
    contentType = String(headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase();
  });
  stream.on("data", (chunk: Uint8Array) => {
    length += chunk.length;
    if (length <= limit) chunks.push(chunk);
    else if (status === 200) onError(failed("remote", "answer_too_large", `The service sent more than ${limit} bytes where a short answer was due.`));
    // Another status says enough: a long page only lends its first words.
    else onAnswer(answer());
  });
  stream.on("error", (error) => onError(lost(broken() ?? error)));
  stream.on("close", () => {
    const code = stream.rstCode;
    if (status !== 0 && stream.readableEnded && !cutOff() && code === constants.NGHTTP2_NO_ERROR) onAnswer(answer());
    else onError(lost(broken() ?? `RST_STREAM code ${code}`));
  });
}

/**
 * Tells whether RST_STREAM ended the answer, and not END_STREAM. Node shows RST_STREAM(NO_ERROR) as a clean end, and only
 * the moment in which it ends the readable side tells: after END_STREAM the stream is not closed yet. At `end` it may
 * be, over TLS, and a unary call cannot keep its own side open until then. Of RST_STREAM behind END_STREAM Node tells
 * nothing, whatever its code: both sides have ended, and the answer is whole.
 */
function watchEnd(stream: ClientHttp2Stream): () => boolean {
  let cutOff: boolean | undefined;
  const push = stream.push.bind(stream);
  stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk === null) cutOff ??= stream.closed;
    return push(chunk, encoding);
  };
  return () => cutOff === true;
}
