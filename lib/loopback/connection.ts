import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/** What a frame of HTTP/2 is for: the two that node:http2 does not send exactly as asked. */
const FRAME = { rstStream: 3, goaway: 7 } as const;

/** One TCP connection of the host, with the ways in which it can fail. */
export class Connection {
  /** What node:http2 reads from and writes to. */
  readonly stream: Duplex;
  readonly #socket: Socket;
  readonly #pipe: Pipe | undefined;

  /** @param freezable whether {@link freeze} is needed: it costs a copy of everything */
  constructor(socket: Socket, freezable: boolean) {
    this.#socket = socket;
    this.#pipe = freezable ? new Pipe(socket) : undefined;
    this.stream = this.#pipe ?? socket;
  }

  /** Closes the connection, by RST where `reset` is true. */
  cut(reset: boolean): void {
    if (reset) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }

  /** Stops every byte in both directions, for good. */
  freeze(): void {
    this.#pipe?.freeze();
  }

  /** Sends RST_STREAM and nothing else: node:http2 would end the stream first. */
  resetStream(id: number, code: number): Promise<void> {
    return this.#frame(FRAME.rstStream, id, [code], new Uint8Array(0));
  }

  /** Sends GOAWAY: node:http2 takes a last stream id of 0 for "the newest". */
  goaway(lastStreamId: number, code: number, data: string): Promise<void> {
    return this.#frame(FRAME.goaway, 0, [lastStreamId, code], new TextEncoder().encode(data));
  }

  #frame(type: number, id: number, numbers: readonly number[], data: Uint8Array): Promise<void> {
    const bytes = new Uint8Array(9 + numbers.length * 4 + data.length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, (bytes.length - 9) * 256 + type);
    view.setUint32(5, id);
    for (const [index, number] of numbers.entries()) view.setUint32(9 + index * 4, number);
    bytes.set(data, 9 + numbers.length * 4);
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()));
  }
}

/** A socket that can stand still. node:http2 takes a socket's handle for itself, so that pausing it does nothing. */
class Pipe extends Duplex {
  readonly #socket: Socket;
  #frozen = false;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on("data", (chunk: Uint8Array) => {
      if (!this.#frozen && !this.push(chunk)) socket.pause();
    });
    socket.on("end", () => this.push(null));
    socket.on("close", () => this.destroy());
  }

  freeze(): void {
    this.#frozen = true;
    this.#socket.pause();
  }

  override _read(): void {
    if (!this.#frozen) this.#socket.resume();
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.#frozen) return;
    this.#socket.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (!this.#frozen) this.#socket.end();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
