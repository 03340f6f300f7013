/** A Pi without Pi: what the extension registers, and calls as either line makes them. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { startLoopback, type Loopback, type LoopbackOptions, type Script } from "../lib/loopback/index.ts";
import { createExtension } from "../lib/pi/extension.ts";
import type {
  PiAssistantMessage,
  PiContext,
  PiEvent,
  PiExtensionApi,
  PiMessage,
  PiModel,
  PiProviderConfig,
  PiSessionContext,
  PiStream,
  PiStreamOptions,
  PiTool,
} from "../lib/pi/pi.ts";
import { Sessions } from "../lib/pi/sessions.ts";

/** The two lines that the extension serves. */
export type Line = "1.6" | "0.73";
export const LINES: readonly Line[] = ["1.6", "0.73"];

type Handler = (event: unknown, context: PiSessionContext) => unknown;

/** What Pi gives to a factory, with what it got from it. */
export class FakePi implements PiExtensionApi {
  readonly registered: { name: string; config: PiProviderConfig }[] = [];
  readonly commands = new Map<string, Parameters<NonNullable<PiExtensionApi["registerCommand"]>>[1]>();
  readonly handlers = new Map<string, Handler[]>();
  tools: string[] = [];
  /** Set where Pi has replaced this extension: every call throws then. */
  stale = false;
  registerVirtualModel?: () => void;

  constructor(line: Line) {
    if (line === "1.6") this.registerVirtualModel = () => {};
  }

  registerProvider(name: string, config: PiProviderConfig): void {
    if (this.stale) throw new Error("This extension instance is stale.");
    this.registered.push({ name, config });
  }

  registerCommand(name: string, command: Parameters<NonNullable<PiExtensionApi["registerCommand"]>>[1]): void {
    this.commands.set(name, command);
  }

  on(event: string, handler: Handler): void {
    this.handlers.set(event, [...(this.handlers.get(event) ?? []), handler]);
  }

  getActiveTools(): string[] {
    if (this.stale) throw new Error("This extension instance is stale.");
    return this.tools;
  }

  /** The provider as it was registered last. */
  get config(): PiProviderConfig {
    return this.registered.at(-1)!.config;
  }

  async fire(event: "session_start" | "session_tree" | "session_shutdown", sessionId?: string, cwd?: string, more: Partial<NonNullable<PiSessionContext["sessionManager"]>> = {}): Promise<void> {
    const context: PiSessionContext = { ...(sessionId !== undefined && { sessionManager: { getSessionId: () => sessionId, ...more } }), ...(cwd !== undefined && { cwd }) };
    for (const handler of this.handlers.get(event) ?? []) await handler({ type: event, reason: "startup" }, context);
  }
}

/** An extension in a Pi, before a host. */
export interface Stage {
  line: Line;
  pi: FakePi;
  host: Loopback;
  env: Record<string, string>;
  folder: string;
  sessions: Sessions;
  model: PiModel;
  /** Calls the provider as Pi does; the key is a token unless it is given. */
  stream(messages: PiMessage[], options?: PiStreamOptions, extra?: { system?: string; tools?: PiTool[]; model?: Partial<PiModel> }): PiStream;
  /** The same, read to its end. */
  ask(messages: PiMessage[], options?: PiStreamOptions, extra?: { system?: string; tools?: PiTool[]; model?: Partial<PiModel> }): Promise<{ events: PiEvent[]; message: PiAssistantMessage }>;
}

export interface StageOptions extends LoopbackOptions {
  line?: Line;
  env?: Record<string, string>;
  /** Whether the factory is called. Default: yes. */
  activate?: boolean;
}

/** Sets up a host and an activated extension, runs `work`, and takes everything down. */
export async function onStage(options: StageOptions, work: (stage: Stage) => Promise<void>): Promise<void> {
  const { line = "1.6", activate = true } = options;
  const host = await startLoopback(options);
  const folder = await mkdtemp(join(tmpdir(), "cursor-wire-pi-"));
  const env = { HOME: folder, CURSOR_PROVIDER_AGENT_ORIGIN: host.origin, CURSOR_PROVIDER_HANDLE_DIR: join(folder, "handles"), ...options.env };
  const sessions = new Sessions();
  const pi = new FakePi(line);
  if (activate) await createExtension({ env, sessions })(pi);
  const model: PiModel = { id: "composer-2.5", api: "cursor-agent", provider: "cursor", input: ["text", "image"], cost: { input: 2, output: 10, cacheRead: 1, cacheWrite: 1 }, contextWindow: 200_000 };
  const stream: Stage["stream"] = (messages, callOptions = {}, { system = "Be brief.", tools = [], model: change = {} } = {}) =>
    pi.config.streamSimple({ ...model, ...change }, contextOf(line, messages, system, tools), { apiKey: "token-1", sessionId: "s1", ...callOptions });
  const ask: Stage["ask"] = (...args) => read(stream(...args));
  try {
    await work({ line, pi, host, env, folder, sessions, model, stream, ask });
  } finally {
    await pi.fire("session_shutdown");
    await sessions.close();
    await host.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A context in the shape of a line. */
export function contextOf(line: Line, messages: readonly PiMessage[], system: string, tools: readonly PiTool[]): PiContext {
  if (line === "0.73") return { ...(system !== "" && { systemPrompt: system }), messages: [...messages], tools };
  if (system === "" && tools.length === 0) return { messages: [...messages] };
  return { messages: [{ role: "system", content: "", sections: { preamble: system }, toolsAdded: tools }, ...messages] };
}

/** Reads a stream to its end. */
export async function read(stream: PiStream): Promise<{ events: PiEvent[]; message: PiAssistantMessage }> {
  const events: PiEvent[] = [];
  for await (const event of stream) events.push(event);
  return { events, message: await stream.result() };
}

export const user = (text: string): PiMessage => ({ role: "user", content: text });
export const result = (toolCallId: string, toolName: string, text: string, isError = false): PiMessage => ({ role: "toolResult", toolCallId, toolName, content: [{ type: "text", text }], isError });

/** An object schema with string properties. */
export const tool = (name: string, ...properties: string[]): PiTool => ({
  name,
  description: `The ${name} tool.`,
  parameters: { type: "object", properties: Object.fromEntries(properties.map((property) => [property, { type: "string" }])), required: properties },
});

/** The text of a message. */
export const textOf = (message: PiAssistantMessage): string => message.content.flatMap((block) => (block.type === "text" ? block.text : [])).join("");

/** The tool calls of a message. */
export const callsOf = (message: PiAssistantMessage) => message.content.flatMap((block) => (block.type === "toolCall" ? [block] : []));

/** What a turn ends in. */
export const END: Script = [{ checkpoint: true }, { turnEnded: true }, { end: true }];
/** A turn of a word. */
export const SAY: Script = [{ text: "One." }, ...END];
/** A turn of one call, which says what the call has given. */
export const CALL: Script = [{ mcp: { tool: "read", args: { path: "a.txt" } } }, { awaitResults: true }, { textFrom: "results", template: "{read}" }, ...END];
/** A turn of one call, which says nothing more. */
export const PARK: Script = [{ mcp: { tool: "read", args: { path: "a.txt" } } }, { hang: true }];
/** The tool that they call. */
export const tools = [tool("read", "path")];

/** Parks a Run of a session and gives the message that asks for the tool. */
export async function parked({ ask }: Stage, options: PiStreamOptions = {}) {
  const { message } = await ask([user("read it")], options, { tools });
  assert.is(message.stopReason, "toolUse");
  return { message, results: [user("read it"), message, result(callsOf(message)[0]!.id, "read", "BLUE")] };
}

/** The files of the handles that are kept. */
export async function handles({ folder }: Stage): Promise<string[]> {
  return (await readdir(join(folder, "handles")).catch(() => [])).filter((name) => name.endsWith(".json")).sort();
}
