/** A bare HTTP/2 server for tests of the driver: it does exactly what the test says, and nothing by itself. */
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Server, Socket } from "node:net";
import { AgentClientMessage, AgentServerMessage } from "../lib/agent/index.ts";
import type { CursorError, TurnEvent, TurnRequest } from "../lib/index.ts";
import { encodeEndStream, encodeEnvelope, EnvelopeReader, FLAG, type ConnectCode, type Decoded } from "../wire/index.ts";
import { waiting } from "./waiting.ts";

type ServerMessage = Decoded<typeof AgentServerMessage>;
type ClientMessage = Decoded<typeof AgentClientMessage>;

/** Accepted sockets by the client's port. */
const SOCKETS = new Map<number, Socket>();

/** The server's side of one Run. */
export class Peer {
  readonly stream: ServerHttp2Stream;
  readonly received: ClientMessage[] = [];
  readonly #waiting: { matches: (message: ClientMessage) => boolean; resolve: (message: ClientMessage) => void }[] = [];

  readonly headers: IncomingHttpHeaders;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.stream = stream;
    this.headers = headers;
    const reader = new EnvelopeReader({ compressed: true });
    stream.on("error", () => {});
    stream.on("data", (chunk: Uint8Array) => {
      for (const { payload } of reader.push(chunk)) this.#take(AgentClientMessage.decode(payload));
    });
  }

  get session(): ServerHttp2Session {
    return this.stream.session as ServerHttp2Session;
  }

  /** The TCP socket itself: a session's own may not be touched. */
  get socket(): Socket {
    return SOCKETS.get(this.session.socket!.remotePort!)!;
  }

  /** RST_STREAM and nothing else: `stream.close()` would end the stream first. */
  reset(code: number): void {
    const symbol = Object.getOwnPropertySymbols(this.stream).find(({ description }) => description === "kHandle")!;
    (this.stream as unknown as Record<symbol, { rstStream(code: number): void }>)[symbol]!.rstStream(code);
  }

  respond(headers: Record<string, string | number> = {}): this {
    this.stream.respond({ ":status": 200, "content-type": "application/connect+proto", ...headers });
    return this;
  }

  send(...messages: ServerMessage[]): this {
    for (const message of messages) this.stream.write(encodeEnvelope(0, AgentServerMessage.encode(message)));
    return this;
  }

  text(text: string): this {
    return this.send({ interactionUpdate: { textDelta: { text } } });
  }

  turnEnded(): this {
    return this.send({ interactionUpdate: { turnEnded: {} } });
  }

  endStream(error?: { code: ConnectCode; message?: string }): this {
    this.stream.write(encodeEnvelope(FLAG.endStream, encodeEndStream(error)));
    return this;
  }

  /** The next message of the client, or one that came already, that matches. */
  wants(matches: (message: ClientMessage) => boolean): Promise<ClientMessage> {
    const found = this.received.find(matches);
    if (found) return Promise.resolve(found);
    return new Promise((resolve) => this.#waiting.push({ matches, resolve }));
  }

  #take(message: ClientMessage): void {
    this.received.push(message);
    for (const waiting of this.#waiting.filter(({ matches }) => matches(message))) {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.resolve(message);
    }
  }
}

/** What a test's server is doing. */
export interface Host {
  readonly origin: string;
  readonly peers: Peer[];
  /** TCP connections that are open now, and how many there ever were. */
  readonly sockets: Set<Socket>;
  accepted: number;
  close(): Promise<void>;
}

/** Listens on 127.0.0.1 and hands each stream to `onPeer`, once its run request has come. */
export async function rawHost(onPeer: (peer: Peer, index: number) => void): Promise<Host> {
  const server: Http2Server = createServer();
  const peers: Peer[] = [];
  server.on("session", (session) => session.on("error", () => {}));
  server.on("stream", (stream, headers) => {
    const peer = new Peer(stream, headers);
    const index = peers.push(peer) - 1;
    void peer.wants((message) => message.runRequest !== undefined).then(() => onPeer(peer, index));
  });
  return listen(server, peers);
}

/** A TCP server that hands over its sockets: for peers that speak no HTTP/2 at all. */
export async function listen(server: Server | Http2Server, peers: Peer[] = []): Promise<Host> {
  const sockets = new Set<Socket>();
  const host: Host = {
    origin: "",
    peers,
    sockets,
    accepted: 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  server.on("connection", (socket: Socket) => {
    host.accepted += 1;
    const port = socket.remotePort!;
    sockets.add(socket);
    SOCKETS.set(port, socket);
    socket.on("error", () => {});
    socket.on("close", () => void (sockets.delete(socket), SOCKETS.delete(port)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(host, { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

/** A request of one user message. */
export function ask(text = "hello", more: Partial<TurnRequest> = {}): TurnRequest {
  return { model: { id: "test-model" }, messages: [{ role: "user", content: text }], tools: [], ...more };
}

/** How a leg went: its events, and the error that ended it, if one did. */
export interface Outcome {
  events: TurnEvent[];
  text: string;
  error: CursorError | undefined;
  /** ms from the call to the end. */
  took: number;
  /** Of these the ms that the code waited, whatever else the machine did. */
  waited: number;
}

/** Reads a leg to its end. */
export async function outcome(stream: AsyncIterable<TurnEvent>): Promise<Outcome> {
  const started = performance.now();
  const events: TurnEvent[] = [];
  let error: CursorError | undefined;
  const { waited } = await waiting(async () => {
    try {
      for await (const event of stream) events.push(event);
    } catch (thrown) {
      error = thrown as CursorError;
    }
  });
  const text = events.map((event) => (event.type === "text" ? event.delta : "")).join("");
  return { events, text, error, took: performance.now() - started, waited };
}

/** Resolves once `done` is true; rejects after so many ms of looking every 2 ms. */
export async function until(done: () => boolean, what: string, ms = 2000): Promise<void> {
  for (let looks = 0; !done(); looks++) {
    if (looks * 2 > ms) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
