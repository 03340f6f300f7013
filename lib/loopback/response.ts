import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { encodeEnvelope, encodeEndStream, FLAG, type ConnectCode } from "../../wire/index.ts";
import type { Connection } from "./connection.ts";
import { placeOf, type Place, type RunFault } from "./fault.ts";
import { strike } from "./strike.ts";

/** Thrown where the script wants to go on and the response is over; it only ends the script. */
export class Over extends Error {}

/** How a response is over: `ended` by the host, `reset` or cut by a fault, or it just says nothing more. */
export type Ending = "ended" | "reset" | "silent";

/** The host's half of a Run: headers, envelopes and their end, with the options' faults at their places. */
export class Response {
  readonly stream: ServerHttp2Stream;
  readonly connection: Connection;
  readonly #faults: RunFault[];
  readonly #onEnding: (ending: Ending) => void;
  readonly #waitForTrailers: boolean;
  readonly #headers: OutgoingHttpHeaders = { ":status": 200, "content-type": "application/connect+proto" };
  #trailers: OutgoingHttpHeaders = {};
  #frames = 0;
  #bytes = 0;
  #unwritten = 0;
  #onFlush = (): void => {};
  #over = false;

  constructor(options: {
    stream: ServerHttp2Stream;
    connection: Connection;
    faults: readonly RunFault[];
    /** Whether a fault may send trailers: HTTP/2 wants to know that with the headers. */
    trailers: boolean;
    onEnding: (ending: Ending) => void;
  }) {
    this.stream = options.stream;
    this.connection = options.connection;
    this.#faults = [...options.faults];
    this.#waitForTrailers = options.trailers;
    this.#onEnding = options.onEnding;
    this.stream.on("wantTrailers", () => this.stream.sendTrailers(this.#trailers));
  }

  /** Whether nothing more may be sent. */
  get over(): boolean {
    return this.#over || this.stream.destroyed || this.stream.closed;
  }

  /** Meets the faults of the request, then sends the headers. */
  async start(): Promise<void> {
    await this.#at("request");
    this.respond({});
    await this.#at({ frame: 0 });
    await this.#at({ byte: 0 });
  }

  /** Other headers than the usual ones, before they are sent. */
  change(headers: OutgoingHttpHeaders): void {
    Object.assign(this.#headers, headers);
  }

  /** Sends the headers; with `endStream` they are all there is. A later call does nothing. */
  respond(headers: OutgoingHttpHeaders, endStream = false): void {
    this.#check();
    if (this.stream.headersSent) return;
    this.stream.respond({ ...this.#headers, ...headers }, { endStream, waitForTrailers: this.#waitForTrailers && !endStream });
    if (endStream) this.settle("ended");
  }

  /** Sends one envelope. */
  frame(flags: number, payload: Uint8Array): Promise<void> {
    return this.envelope(encodeEnvelope(flags, payload));
  }

  /** Sends the bytes of one envelope, and meets the faults behind it. */
  async envelope(bytes: Uint8Array): Promise<void> {
    await this.write(bytes);
    this.#frames++;
    await this.#at({ frame: this.#frames });
  }

  /** Sends the end-stream envelope and ends the response. */
  async end(error?: { code: ConnectCode; message?: string }, metadata?: Record<string, string[]>): Promise<void> {
    const payload = metadata ? new TextEncoder().encode(JSON.stringify({ error, metadata })) : encodeEndStream(error);
    await this.endWith(encodeEnvelope(FLAG.endStream, payload));
  }

  /** Sends the bytes of an end-stream envelope, meets the faults behind it and ends the response. */
  async endWith(envelope: Uint8Array): Promise<void> {
    await this.envelope(envelope);
    await this.#at("end");
    this.finish();
  }

  /** Ends the response where it is: END_STREAM, on trailers where there are any. */
  finish(trailers: OutgoingHttpHeaders = {}): void {
    this.#check();
    this.respond({});
    this.#trailers = trailers;
    this.stream.end();
    this.settle("ended");
  }

  /** Sends bytes of the body, with the faults that strike among them, and waits where the client is slow. */
  async write(bytes: Uint8Array): Promise<void> {
    this.respond({});
    let at = 0;
    for (const stop of this.#stops(this.#bytes, bytes.length)) {
      await this.#send(bytes.subarray(at, stop));
      at = stop;
      await this.#at({ byte: this.#bytes });
    }
    if (at < bytes.length) await this.#send(bytes.subarray(at));
  }

  /** Resolves when all that was sent is with the socket, or the stream is gone. */
  async flush(): Promise<void> {
    if (this.#unwritten > 0 && !this.stream.destroyed)
      await new Promise<void>((resolve) => {
        this.#onFlush = resolve;
        this.stream.once("close", resolve);
      });
    // node:http2 sends headers that no data follows at the end of the turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Nothing more may be sent. */
  settle(ending: Ending): void {
    if (this.#over) return;
    this.#over = true;
    this.#onEnding(ending);
  }

  #check(): void {
    if (this.over) throw new Over();
  }

  async #send(bytes: Uint8Array): Promise<void> {
    this.#unwritten++;
    this.#bytes += bytes.length;
    const { stream } = this;
    const written = (): void => {
      if (--this.#unwritten === 0) this.#onFlush();
    };
    if (!stream.write(bytes, written)) await room(stream);
    this.#check();
  }

  /** Where in the next `length` bytes a fault strikes, the last byte included. */
  #stops(from: number, length: number): number[] {
    const bytes = this.#faults.map(placeOf).flatMap((place) => (typeof place === "object" && "byte" in place ? place.byte - from : []));
    return [...new Set(bytes)].filter((stop) => stop > 0 && stop <= length).sort((one, other) => one - other);
  }

  async #at(place: Place): Promise<void> {
    const key = JSON.stringify(place);
    const here = this.#faults.filter((fault) => JSON.stringify(placeOf(fault)) === key);
    for (const fault of here) {
      this.#faults.splice(this.#faults.indexOf(fault), 1);
      await strike(fault, this);
    }
    this.#check();
  }
}

/** Resolves when the stream takes more, or is gone. */
function room(stream: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}
