/**
 * One HTTP/2 connection with one stream: a Run's, and closed with it (DESIGN D23). Turns what node:http2 says into the
 * core's events. Whatever the peer does, it ends in exactly one `closed` or `malformed`, and no error event goes unheard.
 */
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import { encodeEnvelope, EnvelopeReader, FLAG, WireError, type Envelope } from "../../wire/index.ts";
import { LIMITS } from "../agent/limits.ts";
import type { Event } from "../session/events.ts";
import { dial } from "./dial.ts";
import { readRefusal, readTrailer, type Refusal, type Trailer } from "./response.ts";
import { transportEnd } from "./transport-end.ts";

/** Bytes waiting to be written above which nothing more is read: a peer that does not read gets no more answers. */
const UNWRITTEN = 4 * 1024 * 1024;
/** ms that the body of a response which is none of ours may take. */
const REFUSAL = 500;
/** ms after which a connection that does not close by itself is destroyed. */
const LINGER = 500;
/** ms after END_STREAM, or an end-stream, in which what comes behind it still counts: it travels with it. */
const AFTER_END = 50;

/** What a connection tells. */
export interface Listener {
  /** For the core. May be called inside `paused`, which hands over what has waited. */
  onEvent(event: Event): void;
  /** Every envelope, both ways. */
  onEnvelope(from: "client" | "server", envelope: Envelope): void;
}

/** A Run's connection. What it writes and tells is whole envelopes and the core's events. */
export class Connection {
  readonly #listener: Listener;
  readonly #socket: Socket;
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  readonly #reader = new EnvelopeReader();
  #refusal: Refusal | undefined;
  #trailer: Trailer | undefined;
  #goaway: number | undefined;
  #error: Error | undefined;
  /** Envelopes that nobody has taken yet, and how the stream ended behind them. */
  readonly #inbox: Envelope[] = [];
  #last: Event | undefined;
  #delivering = false;
  /** The end-stream's payload, until it is told. */
  #endStream: Uint8Array | undefined;
  /** END_STREAM has come. */
  #ended = false;
  /** Over for the listener: nothing more is told, nothing more is written. */
  #over = false;
  #readerPaused = false;
  #writerFull = false;
  readonly #closed: Promise<void>;

  /** Starts to connect. */
  constructor(origin: URL, headers: OutgoingHttpHeaders, listener: Listener) {
    this.#listener = listener;
    // Ours from the start: a session lends its own to nobody.
    const socket = dial(origin);
    this.#socket = socket;
    const session = connect(origin, { createConnection: () => socket, settings: { initialWindowSize: LIMITS.window, enablePush: false } });
    this.#session = session;
    // Kept to the very end: an error after we have let go must not reach the process.
    session.on("error", (error) => this.#lost(error));
    session.on("goaway", (code) => this.#onGoaway(code));
    session.once("connect", () => this.#onConnect());
    session.on("close", () => this.#lost());
    this.#closed = new Promise((resolve) => socket.once("close", () => resolve()));
    const stream = session.request(headers, { endStream: false });
    this.#stream = stream;
    stream.on("error", (error) => (this.#error ??= error));
    stream.on("response", (response) => this.#onResponse(response));
    stream.on("trailers", (trailers) => this.#onTrailers(trailers));
    stream.on("data", (chunk: Uint8Array) => this.#onData(chunk));
    stream.on("end", () => this.#onEnd());
    stream.on("drain", () => this.#onDrain());
    stream.on("close", () => this.#onStreamClose());
  }

  /** Writes one envelope with flag 0. */
  send(payload: Uint8Array): void {
    if (this.#over || this.#stream.destroyed || this.#stream.writableEnded) return;
    this.#listener.onEnvelope("client", { flags: 0, payload });
    // Who was told of it may have ended the Run (DESIGN D19).
    if (this.#over) return;
    this.#stream.write(encodeEnvelope(0, payload));
    if (!this.#writerFull && this.#stream.writableLength > UNWRITTEN) {
      this.#writerFull = true;
      this.#flow();
    }
  }

  /** Sends a PING; its answer is told as `alive`. Behind a GOAWAY Node sends none, but SETTINGS, which are answered, too. */
  ping(): void {
    if (this.#over || this.#session.destroyed) return;
    const answered = (error: Error | null): void => {
      if (error === null) this.#tell({ type: "alive" });
    };
    try {
      if (this.#session.closed) this.#session.settings({ enablePush: false }, answered);
      else this.#session.ping(answered);
    } catch {
      // A session that is just being destroyed refuses the ping; its close event follows.
    }
  }

  /** Stops or goes on reading: bytes then stay with the peer. */
  set paused(paused: boolean) {
    if (paused === this.#readerPaused) return;
    this.#readerPaused = paused;
    this.#flow();
  }

  /** Whether the socket keeps the process alive. */
  set referenced(referenced: boolean) {
    if (this.#session.destroyed) return;
    if (referenced) this.#session.ref();
    else this.#session.unref();
  }

  /** Ends stream and connection; nothing is told after it. Resolves when the socket is gone, soon in any case. */
  close(cancel: boolean): Promise<void> {
    if (!this.#over) {
      this.#over = true;
      this.#letGo(cancel);
    }
    return this.#closed;
  }

  /** In a turn of its own: Node 20 corrupts its heap where a session ends inside one of its own callbacks (seen with valgrind). */
  #letGo(cancel: boolean): void {
    setImmediate(() => this.#release(cancel));
  }

  #release(cancel: boolean): void {
    if (this.#socket.destroyed) return;
    if (this.#session.destroyed || this.#socket.connecting) {
      this.#session.destroy();
      this.#socket.destroy();
      return;
    }
    // Unread data would keep the stream from closing.
    this.#stream.resume();
    this.#stream.close(cancel ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_NO_ERROR);
    this.#session.close();
    // A session that the peer never answered closes neither by close() nor by destroy(): its socket does.
    const linger = setTimeout(() => {
      this.#session.destroy();
      this.#socket.destroy();
    }, LINGER);
    this.#socket.once("close", () => clearTimeout(linger));
  }

  #tell(event: Event): void {
    if (!this.#over) this.#listener.onEvent(event);
  }

  /** Tells how it ended, once, and after everything that came before. */
  #finish(event: Event): void {
    if (this.#over) return;
    // A refusal counts, however its stream went on.
    if (event.type === "closed" && this.#refusal) event = { type: "closed", end: { type: "response", ...this.#refusal } };
    if (this.#inbox.length > 0) {
      this.#last ??= event;
      return this.#deliver();
    }
    if (event.type === "closed" && event.end.type !== "trailer") this.#tellEndStream();
    if (this.#over) return;
    this.#over = true;
    this.#listener.onEvent(event);
    this.#letGo(true);
  }

  #onConnect(): void {
    this.#session.setLocalWindowSize(LIMITS.window);
    this.#tell({ type: "opened" });
  }

  #onResponse(headers: IncomingHttpHeaders): void {
    this.#tell({ type: "alive" });
    this.#onTrailers(headers);
    this.#refusal = readRefusal(headers);
    // The status says enough: a body that never ends only lends its words.
    if (this.#refusal) setTimeout(() => this.#onEnd(), REFUSAL).unref();
  }

  #onTrailers(headers: IncomingHttpHeaders): void {
    this.#trailer = readTrailer(headers) ?? this.#trailer;
  }

  #onData(chunk: Uint8Array): void {
    if (this.#over) return;
    this.#tell({ type: "alive" });
    if (this.#refusal) {
      if (!this.#refusal.push(chunk)) this.#onEnd();
      return;
    }
    let envelopes: Envelope[];
    try {
      envelopes = this.#reader.push(chunk);
    } catch (error) {
      this.#finish({ type: "malformed", error: error as WireError });
      return;
    }
    for (const envelope of envelopes) this.#inbox.push(envelope);
    this.#deliver();
    if (this.#reader.failure) this.#finish({ type: "malformed", error: this.#reader.failure });
  }

  /** Hands over what has come, as long as somebody takes it: one chunk may ask for more than the peer will read. */
  #deliver(): void {
    // What is told may write, which may call back here: the loop below goes on by itself.
    if (this.#delivering) return;
    this.#delivering = true;
    while (!this.#over && !this.#blocked && this.#inbox.length > 0) {
      const envelope = this.#inbox.shift()!;
      this.#listener.onEnvelope("server", envelope);
      if ((envelope.flags & FLAG.endStream) !== 0) this.#onEndStream(envelope.payload);
      else this.#tell({ type: "frame", payload: envelope.payload });
    }
    this.#delivering = false;
    if (this.#last && this.#inbox.length === 0) this.#finish(this.#last);
  }

  /** Kept until the stream is over: a trailer, or bytes where none may be, say more (DESIGN D2, D11). */
  #onEndStream(payload: Uint8Array): void {
    this.#endStream = payload.slice();
    setTimeout(() => this.#tellEndStream(), AFTER_END).unref();
  }

  #tellEndStream(): void {
    const payload = this.#endStream;
    this.#endStream = undefined;
    if (payload !== undefined) this.#tell({ type: "endStream", payload });
  }

  get #blocked(): boolean {
    return this.#readerPaused || (this.#writerFull && !this.#stream.destroyed);
  }

  /** The readable side is over: by END_STREAM, or because a reset closed the stream as a whole. */
  #onEnd(): void {
    if (this.#over) return;
    if (this.#refusal) this.#finish({ type: "closed", end: { type: "end" } });
    else if (this.#trailer !== undefined && this.#trailer.status !== "0") this.#finish({ type: "closed", end: { type: "trailer", ...this.#trailer } });
    // Node reports RST_STREAM(NO_ERROR) as an end, but only then is the side closed that we have not ended.
    else if (!this.#stream.closed || this.#trailer !== undefined) {
      this.#ended = true;
      // A reset may be on its heels (DESIGN D11): the close that it brings tells. Behind an end-stream it would change nothing.
      if (this.#endStream !== undefined) this.#finishEnd();
      else setTimeout(() => this.#finishEnd(), AFTER_END).unref();
    }
  }

  #finishEnd(): void {
    if (this.#over) return;
    try {
      this.#reader.end();
    } catch (error) {
      this.#finish({ type: "malformed", error: error as WireError });
      return;
    }
    this.#finish({ type: "closed", end: { type: "end" } });
  }

  #onStreamClose(): void {
    if (this.#over) return;
    if (this.#ended && (this.#stream.rstCode ?? 0) === constants.NGHTTP2_NO_ERROR) this.#finishEnd();
    // A lost socket closes the stream as well, and its error may come a moment later.
    else setImmediate(() => this.#lost());
  }

  #onGoaway(code: number): void {
    this.#goaway = code;
    if (code !== constants.NGHTTP2_NO_ERROR) this.#finish({ type: "closed", end: { type: "goaway", code } });
  }

  /** The stream or its connection is gone. With the socket Node cancels a stream that had ended, too: then its end counts. */
  #lost(error = this.#error): void {
    this.#error = error;
    const end = transportEnd({ goaway: this.#goaway, error: this.#error, reset: this.#stream.rstCode, destroyed: this.#session.destroyed });
    if (this.#ended && end.type === "socket" && this.#error === undefined) this.#finishEnd();
    else this.#finish({ type: "closed", end });
  }

  #onDrain(): void {
    this.#writerFull = false;
    this.#flow();
  }

  #flow(): void {
    if (this.#over) return;
    if (this.#blocked) this.#stream.pause();
    else {
      this.#stream.resume();
      this.#deliver();
    }
  }
}
