import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { EnvelopeReader, FLAG, type ConnectCode, type Decoded, type Envelope } from "../../wire/index.ts";
import { AgentClientMessage, AgentServerMessage } from "../agent/index.ts";
import { ANSWERS, Asks, type Ask } from "./asks.ts";
import type { Connection } from "./connection.ts";
import type { RunFault } from "./fault.ts";
import { isHeartbeat } from "./heartbeat.ts";
import { beginPrompt, type Conversation } from "./prompt.ts";
import { open, type Received, type ToolResult } from "./received.ts";
import { Over, Response, type Ending } from "./response.ts";
import { headerViolations, overlayViolations, refusal, requestViolations, stateOf } from "./verify.ts";

/** Bytes of one client that are kept: more than any Run needs. */
const KEPT = 256 * 1024 * 1024;

/** Conversations that are kept. */
const CONVERSATIONS = 1000;

/** What a Run belongs to. */
export interface RunOptions {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly connection: Connection;
  readonly faults: readonly RunFault[];
  /** Whether a fault of the script may send trailers. */
  readonly trailers: boolean;
  readonly conversations: Map<string, Conversation>;
  /** The Run before this one. */
  readonly previous: Received | undefined;
}

/** One Run: what the client says goes into `received`, what the script says goes out; in between is who waits for whom. */
export class Run {
  readonly received: Received;
  readonly response: Response;
  readonly asks: Asks;
  readonly conversations: Map<string, Conversation>;
  readonly previous: Received | undefined;
  /** The bytes of the conversation state as the client sent it. */
  state: Uint8Array = new Uint8Array(0);
  /** The execs whose results nobody has waited for yet. */
  outstanding: Ask[] = [];
  /** The results that were waited for last. */
  burst: ToolResult[] = [];
  /** Whether an answer to exec 36 said that no MCP server exists (§5). */
  toolsLost = false;
  /** Ids of the blobs that the host gave the client in this Run. */
  readonly given: Uint8Array[] = [];
  readonly #reader = new EnvelopeReader({ compressed: true });
  readonly #opened = performance.now();
  readonly #ids = new Map<string, number>();
  #kept = 0;
  #failed = false;
  #wake = (): void => {};

  constructor(options: RunOptions) {
    const { stream, connection, faults, trailers } = options;
    const headers = Object.fromEntries(Object.entries(options.headers).map(([name, value]) => [name, String(value)]));
    const { received, close } = open(headers);
    this.received = received;
    this.conversations = options.conversations;
    this.previous = options.previous;
    this.asks = new Asks({ violation: (what) => this.violation(what), park: (why) => this.#park(why) });
    this.response = new Response({ stream, connection, faults, trailers, onEnding: (ending) => this.#onEnding(ending) });
    received.violations.push(...headerViolations(headers));
    stream.on("data", (chunk: Uint8Array) => this.#read(chunk));
    stream.on("end", () => this.#readEnd());
    // A paused stream would never close; its error says no more than its close does.
    stream.on("aborted", () => stream.resume());
    stream.on("error", () => {});
    stream.on("close", () => {
      received.rstCode = stream.rstCode ?? 0;
      if (received.state !== "ended") received.state = "reset";
      this.#wake();
      close();
    });
  }

  /** The next id of a kind: each counts from 0, which is valid (§5). */
  id(kind: string): number {
    const id = this.#ids.get(kind) ?? 0;
    this.#ids.set(kind, id + 1);
    return id;
  }

  violation(what: string): void {
    this.received.violations.push(what);
  }

  /** Sends one AgentServerMessage. */
  async send(message: Decoded<typeof AgentServerMessage>): Promise<void> {
    this.check();
    await this.response.frame(0, AgentServerMessage.encode(message));
  }

  /** Sends a question and, unless told otherwise, waits until it is answered and closed. */
  async ask(asks: readonly Ask[], messages: readonly Decoded<typeof AgentServerMessage>[], wait = true): Promise<void> {
    for (const ask of asks) this.asks.add(ask);
    for (const message of messages) await this.send(message);
    if (wait) await this.answered(asks);
    else this.outstanding.push(...asks);
  }

  /** Waits until these questions are answered and closed. */
  async answered(asks: readonly Ask[]): Promise<void> {
    await this.until(() => this.asks.missing(asks));
    this.burst = this.asks.results(asks);
    this.received.results.push(...this.burst);
  }

  /**
   * Waits until nothing is missing and the client did nothing that stalls the turn.
   * @throws Over once the response is over
   */
  async until(missing: () => string[]): Promise<void> {
    const { received } = this;
    for (;;) {
      this.check();
      const awaiting = missing();
      if (awaiting.length === 0 && received.parkedBy === undefined) break;
      received.state = received.request === undefined && received.parkedBy === undefined ? "open" : "parked";
      received.awaiting = awaiting;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    received.state = "open";
    received.awaiting = [];
  }

  /** Waits so many milliseconds, or for good. */
  async sleep(ms = Infinity): Promise<void> {
    const end = performance.now() + ms;
    for (let rest = ms; rest > 0; rest = end - performance.now()) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (rest < Infinity) timer = setTimeout(resolve, rest);
      });
      clearTimeout(timer);
      this.check();
    }
  }

  /** @throws Over once the response is over */
  check(): void {
    if (this.#failed || this.response.over) throw new Over();
  }

  /** Ends the Run with an error. */
  async fail(code: ConnectCode, message: string): Promise<void> {
    if (this.#failed || this.response.over) return;
    this.#failed = true;
    try {
      await this.response.end({ code, message });
    } catch (error) {
      if (!(error instanceof Over)) throw error;
    }
  }

  #onEnding(ending: Ending): void {
    if (ending !== "silent") this.received.state = ending;
    this.#wake();
  }

  #park(why: string): void {
    this.received.parkedBy ??= why;
    this.violation(why);
  }

  /** A heartbeat may have been on its way when the Run ended; nothing else may. */
  #late(chunk: Uint8Array): void {
    let allowed: boolean;
    try {
      allowed = this.#reader.push(chunk).every(({ flags, payload }) => flags === 0 && isHeartbeat(AgentClientMessage.decode(payload)));
    } catch {
      allowed = false;
    }
    if (!allowed) this.violation(`${chunk.length} bytes came after the host ended the Run`);
  }

  #read(chunk: Uint8Array): void {
    if (this.received.state === "ended") return this.#late(chunk);
    if (this.#failed) return;
    try {
      for (const envelope of this.#reader.push(chunk)) if (!this.#failed) this.#frame(envelope);
      if (this.#reader.failure) throw this.#reader.failure;
    } catch (error) {
      void this.fail("invalid_argument", (error as Error).message);
    }
    this.#wake();
  }

  #readEnd(): void {
    if (this.#failed || this.response.over) return;
    const partial = this.#reader.pending > 0;
    if (partial || this.received.request === undefined) void this.fail("invalid_argument", partial ? "the request ends inside an envelope" : "there was no run request");
  }

  #frame({ flags, payload }: Envelope): void {
    const { received } = this;
    this.#kept += payload.length;
    if (this.#kept > KEPT) return void this.fail("resource_exhausted", "more bytes than any Run needs");
    const copy = payload.slice();
    received.frames.push({ at: performance.now() - this.#opened, flags, payload: copy });
    if ((flags & FLAG.compressed) !== 0) return this.#park("a frame is compressed (§1)");
    if (flags !== 0) return this.violation("an end-stream envelope came from the client");
    const message = AgentClientMessage.decode(copy);
    received.messages.push(message);
    this.#message(message, copy);
  }

  #message(message: Decoded<typeof AgentClientMessage>, payload: Uint8Array): void {
    const { runRequest, execClientControlMessage } = message;
    if (this.received.request === undefined) {
      if (runRequest === undefined) return void this.fail("invalid_argument", "the first message is no run request");
      return this.#request(runRequest, payload);
    }
    if (Object.keys(message).length === 0) this.violation("an AgentClientMessage says nothing (§2)");
    for (const [name, value] of Object.entries(message)) {
      const channel = ANSWERS[name as keyof typeof ANSWERS];
      if (channel !== undefined) this.asks.answer(channel, value as Record<string, unknown>);
    }
    if (execClientControlMessage !== undefined) this.asks.control(execClientControlMessage);
    if (runRequest !== undefined) this.violation("a second run request (§2)");
    if (message.conversationAction !== undefined) this.violation("a conversation_action outside a run request (§2)");
    if (message.unknown !== undefined) this.violation(`fields ${message.unknown.map(({ no }) => no).join(", ")} of AgentClientMessage are not sent (§2)`);
  }

  #request(request: NonNullable<Received["request"]>, payload: Uint8Array): void {
    const { received } = this;
    const known = this.conversations.get(request.conversationId ?? "");
    received.request = request;
    this.state = stateOf(payload);
    received.violations.push(...requestViolations(request, known?.checkpoint !== undefined));
    beginPrompt(received, known);
    this.conversations.set(request.conversationId ?? "", { ...known, tools: received.prompt.tools });
    // A host that serves for long keeps the newest.
    if (this.conversations.size > CONVERSATIONS) this.conversations.delete(this.conversations.keys().next().value!);
    const refused = refusal(request);
    if (refused !== undefined) void this.fail(refused.code, refused.message);
  }

  /** Whether this Run goes on with a conversation of which the host has a checkpoint; what it does wrong is noted. */
  resumes(): boolean {
    const checkpoint = this.conversation()?.checkpoint;
    if (checkpoint === undefined) return false;
    this.received.violations.push(...overlayViolations(this.state, checkpoint));
    return true;
  }

  /** What the host knows of this Run's conversation. */
  conversation(): Conversation | undefined {
    return this.conversations.get(this.received.request?.conversationId ?? "");
  }
}
