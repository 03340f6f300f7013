import { constants, createServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { accountAnswers, answerStream, type AccountOptions } from "./account.ts";
import { playCapture, readCapture, type PlayedFrame } from "./capture.ts";
import { Connection } from "./connection.ts";
import { fault as faultShape, type Fault, type FaultAction, type RunFault } from "./fault.ts";
import { play } from "./player.ts";
import type { Conversation } from "./prompt.ts";
import { withResolvers, type Received } from "./received.ts";
import { Over } from "./response.ts";
import { Run } from "./run.ts";
import { scriptsFromJson } from "./script-json.ts";
import type { Script } from "./script.ts";

/** How the host listens and what it does. */
export interface LoopbackOptions {
  /** Default: any free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** What it does: one script a Run, of which the last repeats. Default: a short answer. */
  script?: Script | Script[];
  /** Plays a capture's server frames instead: its frames, or the path of its file. */
  capture?: readonly PlayedFrame[] | string;
  /** Answers the calls of an account as well, on the same origin; absent: they get 404. */
  account?: AccountOptions;
  /** If set, a Run with another token gets 401. */
  token?: string;
  /** What goes wrong. */
  faults?: readonly Fault[];
}

/** A running host. */
export interface Loopback {
  /** `http://127.0.0.1:port`: what a provider takes as its origin. */
  readonly origin: string;
  /** Every Run so far, in the order in which they came. */
  readonly received: readonly Received[];
  /** TCP connections so far, and how many of them are open. */
  readonly connections: { readonly accepted: number; readonly open: number };
  /** The Run with this index, as soon as it has come; rejects where the host is closed before. */
  run(index: number): Promise<Received>;
  /** Ends every session and socket at once. Afterwards nothing of the host keeps the process alive. */
  close(): Promise<void>;
}

const PATH = "/agent.v1.AgentService/Run";

const ANSWER: Script = [{ text: "Hello from the loopback host." }, { tokens: 7 }, { turnEnded: true }, { end: true }];

/**
 * Starts an agent host: a real HTTP/2 server, without TLS, that speaks the service's side of
 * `agent.v1.AgentService/Run` as PROTOCOL.md says.
 * @throws ScriptError where a script, a fault or a capture is not what it should be; Error where the port is taken
 */
export async function startLoopback(options: LoopbackOptions = {}): Promise<Loopback> {
  const { host = "127.0.0.1", port = 0, token, faults = [], script = ANSWER } = options;
  const scripts = scriptsFromJson(script);
  for (const [index, one] of faults.entries()) faultShape(one, `fault ${index + 1}`);
  const capture = typeof options.capture === "string" ? await readCapture(options.capture) : options.capture;
  const served = new Served(scripts, capture, token, faults, options.account && accountAnswers(options.account));
  await served.listen(port, host);
  return served;
}

class Served implements Loopback {
  origin = "";
  readonly received: Received[] = [];
  readonly #scripts: readonly Script[];
  readonly #capture: readonly PlayedFrame[] | undefined;
  readonly #token: string | undefined;
  readonly #faults: readonly Fault[];
  readonly #account: ReturnType<typeof accountAnswers> | undefined;
  readonly #freezable: boolean;
  readonly #conversations = new Map<string, Conversation>();
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Map<ServerHttp2Session, { connection: Connection; latest: Received | undefined }>();
  readonly #waiting: { index: number; resolve: () => void }[] = [];
  readonly #tcp = createTcpServer((socket) => this.#onSocket(socket));
  readonly #http2 = createServer({ settings: { initialWindowSize: WINDOW } });
  #accepted = 0;
  #connecting: Connection | undefined;

  constructor(scripts: readonly Script[], capture: readonly PlayedFrame[] | undefined, token: string | undefined, faults: readonly Fault[], account: ReturnType<typeof accountAnswers> | undefined) {
    this.#scripts = scripts;
    this.#capture = capture;
    this.#token = token;
    this.#faults = faults;
    this.#account = account;
    this.#freezable = faults.some(({ type }) => type === "freeze") || scripts.some((script) => faultsIn(script).some(({ type }) => type === "freeze"));
    this.#http2.on("session", (session) => this.#onSession(session));
    this.#http2.on("stream", (stream, headers) => this.#onStream(stream, headers));
    this.#http2.on("sessionError", () => {});
  }

  get connections(): { accepted: number; open: number } {
    return { accepted: this.#accepted, open: this.#sockets.size };
  }

  async listen(port: number, host: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#tcp.once("error", reject);
      this.#tcp.listen(port, host, resolve);
    });
    const address = this.#tcp.address() as AddressInfo;
    this.origin = `http://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`;
  }

  async run(index: number): Promise<Received> {
    if (this.received[index] === undefined) {
      const { promise, resolve } = withResolvers();
      this.#waiting.push({ index, resolve });
      await promise;
    }
    const received = this.received[index];
    if (received === undefined) throw new Error(`the host was closed before the Run with index ${index} came`);
    return received;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#tcp.close(() => resolve()));
    for (const { resolve } of this.#waiting) resolve();
    for (const session of this.#sessions.keys()) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    this.#http2.close();
    await closed;
  }

  #onSocket(socket: Socket): void {
    const index = this.#accepted++;
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    const silent = this.#faults.find((one) => one.type === "silent_connection" && (one.connection ?? index) === index);
    if (silent?.type === "silent_connection") {
      socket.resume();
      if (silent.cutAfterMs !== undefined) setTimeout(() => socket.resetAndDestroy(), silent.cutAfterMs).unref();
      return;
    }
    this.#connecting = new Connection(socket, this.#freezable);
    this.#http2.emit("connection", this.#connecting.stream);
  }

  #onSession(session: ServerHttp2Session): void {
    const known = { connection: this.#connecting!, latest: undefined as Received | undefined };
    this.#sessions.set(session, known);
    session.setLocalWindowSize(WINDOW);
    session.on("error", () => {});
    session.on("close", () => this.#sessions.delete(session));
    session.on("ping", () => {
      if (known.latest !== undefined) known.latest.pings++;
    });
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const wrong = wrongRequest(headers);
    if (wrong === 404 && this.#account !== undefined) return void answerStream(stream, headers, this.#account);
    if (wrong !== undefined) {
      stream.on("error", () => {});
      stream.respond({ ":status": wrong }, { endStream: true });
      stream.resume();
      return;
    }
    const session = this.#sessions.get(stream.session as ServerHttp2Session)!;
    const index = this.received.length;
    const script = this.#scripts[Math.min(index, this.#scripts.length - 1)]!;
    const faults = this.#faults.filter((one): one is RunFault => one.type !== "silent_connection" && (one.run ?? index) === index);
    const refused = this.#token !== undefined && headers.authorization !== `Bearer ${this.#token}`;
    if (refused) faults.unshift(UNAUTHENTICATED);
    const trailers = [...faults, ...faultsIn(script)].some(({ type }) => type === "trailers");
    const { connection } = session;
    const run = new Run({ stream, headers, connection, faults, trailers, conversations: this.#conversations, previous: this.received.at(-1) });
    session.latest = run.received;
    this.received.push(run.received);
    for (const waiting of this.#waiting.filter((one) => one.index === index)) waiting.resolve();
    void this.#play(run, script);
  }

  async #play(run: Run, script: Script): Promise<void> {
    try {
      await run.response.start();
      if (this.#capture === undefined) await play(script, run);
      else await playCapture(this.#capture, run);
    } catch (error) {
      if (error instanceof Over) return;
      run.violation(`the host failed: ${(error as Error).message}`);
      run.response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  }
}

/** Bytes of the HTTP/2 windows for what the client sends (§1). */
const WINDOW = 1024 * 1024;

const UNAUTHENTICATED: RunFault = {
  type: "response",
  status: 401,
  contentType: "application/json",
  body: JSON.stringify({ code: "unauthenticated", message: "another token is expected" }),
};

/** The status of a request that is no Run. */
function wrongRequest(headers: IncomingHttpHeaders): number | undefined {
  if (headers[":path"] !== PATH) return 404;
  if (headers[":method"] !== "POST") return 405;
  return headers["content-type"] === "application/connect+proto" ? undefined : 415;
}

/** The faults among the steps of a script. */
function faultsIn(script: Script): FaultAction[] {
  return script.flatMap((step) => ("fault" in step ? [step.fault] : "steps" in step ? faultsIn(step.steps) : []));
}
