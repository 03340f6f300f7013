/** A client of the agent host that is nothing but node:http2 and the codec, and that does exactly what a test says. */
import { connect, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import { AgentClientMessage, AgentServerMessage, answerQuery, blobId, encodeRunRequest, execByName, hex, overlayCheckpoint, queryByName, refuse, SelectedContextBlob } from "../lib/agent/index.ts";
import { startLoopback, type Loopback, type LoopbackOptions, type Received, type Script } from "../lib/loopback/index.ts";
import { decodeEndStream, decodeValue, encodeEnvelope, EnvelopeReader, encodeValue, FLAG, type Decoded, type EndStream, type Envelope } from "../wire/index.ts";

type ServerMessage = Decoded<typeof AgentServerMessage>;
type ClientMessage = Decoded<typeof AgentClientMessage>;
type RunRequest = NonNullable<ClientMessage["runRequest"]>;

/** The headers that a Run has (PROTOCOL §1). */
export const HEADERS: Readonly<Record<string, string>> = {
  ":method": "POST",
  ":path": "/agent.v1.AgentService/Run",
  "content-type": "application/connect+proto",
  "connect-protocol-version": "1",
  te: "trailers",
  authorization: "Bearer test",
  "x-cursor-client-type": "cli",
  "x-cursor-client-version": "test",
  "x-ghost-mode": "true",
};

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
export const RULES = encode(JSON.stringify({ role: "user", content: "<rules>\nBe brief.\n</rules>" }));

/** How a stream was over: everything that node:http2 says about it. */
export interface Over {
  readonly rstCode: number;
  readonly trailers: IncomingHttpHeaders | undefined;
  readonly error: NodeJS.ErrnoException | undefined;
}

/** One Run from the client's side. */
export class Client {
  readonly session: ClientHttp2Session;
  readonly stream: ClientHttp2Stream;
  /** What can be asked for by id. */
  readonly blobs = new Map<string, Uint8Array>();
  /** The texts that came. */
  text = "";
  /** The GOAWAY frames that came. */
  readonly goaways: { code: number; lastStreamId: number; data: string }[] = [];
  readonly headers: Promise<IncomingHttpHeaders>;
  readonly over: Promise<Over>;
  /** Bytes of the body. */
  bytes = 0;
  readonly #reader = new EnvelopeReader({ compressed: true });
  readonly #envelopes: Envelope[] = [];
  #isOver = false;
  #wake = (): void => {};

  /** @param lingers whether the request stays open when the response has ended, instead of ending too */
  constructor(origin: string, headers: Readonly<Record<string, string>> = {}, lingers = false) {
    this.session = connect(origin);
    this.session.on("error", () => {});
    this.session.on("goaway", (code, lastStreamId, data) => this.goaways.push({ code, lastStreamId, data: data ? Buffer.from(data).toString() : "" }));
    this.stream = this.session.request({ ...HEADERS, ...headers });
    this.headers = new Promise((resolve) => {
      this.stream.once("response", resolve);
      this.stream.once("close", () => resolve({}));
    });
    let trailers: IncomingHttpHeaders | undefined;
    let error: NodeJS.ErrnoException | undefined;
    this.stream.on("trailers", (came) => (trailers = came));
    this.stream.on("error", (came) => (error = came));
    if (!lingers) this.stream.on("end", () => this.stream.end());
    this.over = new Promise((resolve) =>
      this.stream.once("close", () => {
        this.#isOver = true;
        this.#wake();
        this.session.destroy();
        resolve({ rstCode: this.stream.rstCode ?? 0, trailers, error });
      }),
    );
    this.stream.on("data", (chunk: Uint8Array) => {
      this.bytes += chunk.length;
      try {
        this.#envelopes.push(...this.#reader.push(chunk));
      } catch {
        // Some bodies are no envelopes: `bytes` counts them.
      }
      this.#wake();
    });
  }

  send(message: ClientMessage): void {
    this.sendFrame(0, AgentClientMessage.encode(message));
  }

  /** Sends messages in one piece, so that they arrive together. */
  sendAll(messages: readonly ClientMessage[]): void {
    if (messages.length > 0) this.stream.write(Buffer.concat(messages.map((message) => encodeEnvelope(0, AgentClientMessage.encode(message)))));
  }

  sendFrame(flags: number, payload: Uint8Array): void {
    this.stream.write(encodeEnvelope(flags, payload));
  }

  /** The next envelope; undefined once the stream is over. */
  async nextEnvelope(): Promise<Envelope | undefined> {
    while (this.#envelopes.length === 0 && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#envelopes.shift();
  }

  /**
   * The next message.
   * @throws Error where the end comes instead
   */
  async next(): Promise<ServerMessage> {
    const envelope = await this.nextEnvelope();
    if (envelope === undefined || (envelope.flags & FLAG.endStream) !== 0) throw new Error(`a message was expected, not ${envelope ? Buffer.from(envelope.payload).toString() : "the end"}`);
    return AgentServerMessage.decode(envelope.payload);
  }

  /** Reads on, by default without answering, until the end-stream envelope; undefined where none comes. */
  async end(onMessage: (message: ServerMessage) => void = () => {}): Promise<EndStream | undefined> {
    for (;;) {
      const envelope = await this.nextEnvelope();
      if (envelope === undefined) return undefined;
      if ((envelope.flags & FLAG.endStream) !== 0) return decodeEndStream(envelope.payload);
      const message = AgentServerMessage.decode(envelope.payload);
      this.text += message.interactionUpdate?.textDelta?.text ?? "";
      onMessage(message);
    }
  }

  /** Reads to the end and answers everything as a client should: tools run, natives are refused. */
  obey(tools: Readonly<Record<string, (args: Record<string, unknown>) => string>> = {}): Promise<EndStream | undefined> {
    return this.end((message) => this.answer(message, tools));
  }

  /** Answers one message as a client should. */
  answer(message: ServerMessage, tools: Readonly<Record<string, (args: Record<string, unknown>) => string>> = {}): void {
    const { kvServerMessage: kv, execServerMessage: exec, interactionQuery: query } = message;
    if (kv?.getBlobArgs) this.send({ kvClientMessage: { id: kv.id ?? 0, getBlobResult: { blobData: this.blobs.get(hex(kv.getBlobArgs.blobId!))! } } });
    if (kv?.setBlobArgs) {
      this.blobs.set(hex(kv.setBlobArgs.blobId!), kv.setBlobArgs.blobData?.slice() ?? new Uint8Array(0));
      this.send({ kvClientMessage: { id: kv.id ?? 0, setBlobResult: {} } });
    }
    if (query) {
      const name = Object.keys(query).find((key) => queryByName.has(key))!;
      this.send({ interactionResponse: answerQuery(queryByName.get(name)!, query.id ?? 0, "refused in a test") });
    }
    if (exec) this.#answerExec(exec, tools);
  }

  #answerExec(exec: NonNullable<ServerMessage["execServerMessage"]>, tools: Readonly<Record<string, (args: Record<string, unknown>) => string>>): void {
    const { id = 0, execId, mcpArgs } = exec;
    const ids = execId === undefined ? { id } : { id, execId };
    const name = Object.keys(exec).find((key) => execByName.has(key)) ?? "";
    if (mcpArgs) {
      const args = Object.fromEntries([...(mcpArgs.args ?? [])].map(([key, value]) => [key, decodeValue(value)]));
      const text = tools[mcpArgs.toolName ?? ""]?.(args) ?? "no such tool";
      this.send({ execClientMessage: { ...ids, mcpResult: { success: { content: [{ text: { text } }] } } } });
    } else if (name === "requestContextArgs") this.send({ execClientMessage: { ...ids, requestContextResult: { success: { requestContext: { env: { workspacePaths: ["file:///work"] }, tools: this.tools } } } } });
    else this.send(refuse(execByName.get(name), ids, exec[name as "shellArgs"] ?? {}, "refused in a test"));
    this.send({ execClientControlMessage: { streamClose: { id } } });
  }

  /** The tools of the run request. */
  tools: NonNullable<NonNullable<RunRequest["mcpTools"]>["mcpTools"]> = [];

  /** Sends a run request as PROTOCOL §2.1 wants it, with what a test changes. */
  request(change: Partial<RunRequest> = {}, tools: readonly string[] = ["calculator", "clock"]): void {
    const rules = this.give(RULES);
    const context = this.give(SelectedContextBlob.encode({ rootPromptBlobIds: [rules], clientName: "pi" }));
    this.tools = tools.map((name) => ({ name, description: name, inputSchema: encodeValue({ type: "object" }), providerIdentifier: "pi", toolName: name }));
    this.send({
      runRequest: {
        conversationState: { rootPromptMessagesJson: [rules], previousWorkspaceUris: ["file:///work"], mode: 1, clientName: "pi" },
        action: { userMessageAction: { userMessage: { text: "What is 6 * 7?", messageId: "m1", mode: 1, selectedContextBlob: context, correlationId: "m1" } } },
        mcpTools: { mcpTools: this.tools },
        conversationId: "c1",
        requestedModel: { modelId: "model-1" },
        clientSupportsInlineImages: true,
        ...change,
      },
    });
  }

  /** Sends a run request that goes on from a checkpoint, without tools; a test may spoil the checkpoint's bytes. */
  resume(checkpoint: Uint8Array, spoil = (state: Uint8Array): Uint8Array => state): void {
    const rules = this.give(encode(JSON.stringify({ role: "user", content: "<rules>\nBe brief, again.\n</rules>" })));
    this.stream.write(
      encodeEnvelope(0, encodeRunRequest({
        conversationState: spoil(overlayCheckpoint(checkpoint, { rules: [rules], workspaceUris: ["file:///work"], clientName: "pi" })),
        action: { userMessageAction: { userMessage: { text: "And again?", messageId: "m2", mode: 1, selectedContextBlob: rules, correlationId: "m2" } } },
        conversationId: "c1",
        requestedModel: { modelId: "model-1" },
        clientSupportsInlineImages: true,
      })),
    );
  }

  /** Keeps a blob and returns its id. */
  give(blob: Uint8Array): Uint8Array {
    const id = blobId(blob);
    this.blobs.set(hex(id), blob);
    return id;
  }

  close(): void {
    this.session.destroy();
  }
}

/** Starts a host, lets one client act, and returns what the host saw once both are gone. */
export async function conversation(
  options: LoopbackOptions | Script,
  act: (client: Client, loopback: Loopback) => Promise<unknown>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Received> {
  const loopback = await startLoopback(Array.isArray(options) ? { script: options } : options);
  const client = new Client(loopback.origin, headers);
  try {
    await act(client, loopback);
    return await loopback.run(0);
  } finally {
    client.close();
    await loopback.close();
  }
}

/** Waits until something holds, for five seconds at most. */
export async function until(holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds(); waited += 5) {
    if (waited > 5000) throw new Error(`waited in vain for ${String(holds)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
