/**
 * Pi as this extension needs it, both lines: 0.73 (@mariozechner) and 1.x (@earendil-works). Shapes only: nothing of Pi
 * is imported, so the extension runs in whichever Pi loads it. What only one line has is optional.
 */

/** A model as Pi hands it to a provider. */
export interface PiModel {
  id: string;
  api: string;
  provider: string;
  input?: readonly string[];
  /** Dollars per million tokens. */
  cost?: PiRates;
  /** Tokens. */
  contextWindow?: number;
  thinkingLevelMap?: Readonly<Record<string, string | null>>;
  samplingParams?: Readonly<Record<string, unknown>>;
}

/** Dollars per million tokens, or dollars. */
export interface PiRates {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** A model as a provider declares it; 0.73 keeps only what it knows itself. */
export interface PiModelConfig {
  id: string;
  name: string;
  reasoning: boolean;
  thinkingLevelMap?: Record<string, string | null>;
  input: ("text" | "image")[];
  cost: PiRates;
  contextWindow: number;
  maxTokens: number;
  samplingParams?: Record<string, unknown>;
}

/** Text of a message. */
export interface PiText {
  type: "text";
  text: string;
}
/** What a model thought; other providers add more to it. */
export interface PiThinking {
  type: "thinking";
  thinking: string;
}
/** An image; `data` is base64. */
export interface PiImage {
  type: "image";
  data: string;
  mimeType: string;
}
/** A call of a tool. */
export interface PiToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}
/** A tool as it is declared to the model. */
export interface PiTool {
  name: string;
  description: string;
  /** A JSON Schema, or an object that is one as JSON. */
  parameters: object;
}

/** 1.x: the prompt and the tools at one point of the transcript. */
export interface PiSystemMessage {
  role: "system";
  content: string | readonly PiText[];
  sections?: Readonly<Record<string, string | null>>;
  toolsAdded?: readonly PiTool[];
  toolsRemoved?: readonly { name: string }[];
}
/** What a person, or Pi in their place, said. */
export interface PiUserMessage {
  role: "user";
  content: string | readonly (PiText | PiImage)[];
}
/** What a tool gave back. */
export interface PiToolResult {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: readonly (PiText | PiImage)[];
  isError?: boolean;
}

/** Tokens and what they cost. */
export interface PiUsage extends PiRates {
  totalTokens: number;
  cost: PiRates & { total: number };
}
/** Why a message ended; `pending` while it grows. */
export type PiStopReason = "pending" | "stop" | "length" | "toolUse" | "error" | "aborted";

/** What a model said. */
export interface PiAssistantMessage {
  role: "assistant";
  content: (PiText | PiThinking | PiToolCall)[];
  api: string;
  provider: string;
  model: string;
  usage: PiUsage;
  stopReason: PiStopReason;
  errorMessage?: string;
  /** ms since 1970. */
  timestamp: number;
}
/** One message of the transcript. */
export type PiMessage = PiSystemMessage | PiUserMessage | PiAssistantMessage | PiToolResult;

/** 0.73 gives `systemPrompt` and `tools`; 1.x gives messages of role `system` instead. */
export interface PiContext {
  systemPrompt?: string;
  messages: readonly PiMessage[];
  tools?: readonly PiTool[];
}

/** What Pi says about one call; of what a line adds, only what matters here. */
export interface PiStreamOptions {
  apiKey?: string;
  signal?: AbortSignal;
  sessionId?: string;
  /** The thinking level; absent: off. */
  reasoning?: string;
  cacheRetention?: string;
  disableContinuation?: boolean;
  env?: Readonly<Record<string, string>>;
  onPayload?: (payload: unknown, model: PiModel) => unknown;
  onResponse?: (response: { status: number; headers: Record<string, string> }, model: PiModel) => unknown;
  onProviderStreamEvent?: (data: unknown, model: PiModel) => unknown;
}

interface Partially {
  partial: PiAssistantMessage;
}
interface InBlock extends Partially {
  contentIndex: number;
}
/** What a stream tells; `partial` is the growing message itself, not a copy. */
export type PiEvent =
  | ({ type: "start" } & Partially)
  | ({ type: "text_start" | "thinking_start" | "toolcall_start" } & InBlock)
  | ({ type: "text_delta" | "thinking_delta" | "toolcall_delta"; delta: string } & InBlock)
  | ({ type: "text_end" | "thinking_end"; content: string } & InBlock)
  | ({ type: "toolcall_end"; toolCall: PiToolCall } & InBlock)
  | { type: "done"; reason: "stop" | "toolUse"; message: PiAssistantMessage }
  | { type: "error"; reason: "error" | "aborted"; error: PiAssistantMessage };

/** What a provider answers a call with. It works whether or not anybody iterates. */
export interface PiStream extends AsyncIterable<PiEvent> {
  result(): Promise<PiAssistantMessage>;
}

/** Credentials as Pi stores them; `expires` is in ms since 1970. */
export interface PiCredentials {
  access: string;
  refresh: string;
  expires: number;
  [more: string]: unknown;
}

/** What Pi's login dialog offers. */
export interface PiLoginCallbacks {
  onAuth(info: { url: string; instructions?: string }): void;
  onProgress?(message: string): void;
  signal?: AbortSignal;
}

/** 1.x: why and how the model list may be refreshed. */
export interface PiRefreshContext {
  allowNetwork: boolean;
  force?: boolean;
  signal?: AbortSignal;
  credential?: { type: string; access?: unknown; key?: unknown };
}

/** A provider as it is registered. */
export interface PiProviderConfig {
  name: string;
  baseUrl: string;
  apiKey: string;
  api: string;
  models: PiModelConfig[];
  streamSimple(model: PiModel, context: PiContext, options?: PiStreamOptions): PiStream;
  refreshModels(context: PiRefreshContext): Promise<PiModelConfig[]>;
  oauth: {
    name: string;
    isSubscription: boolean;
    login(callbacks: PiLoginCallbacks): Promise<PiCredentials>;
    refreshToken(credentials: PiCredentials, signal?: AbortSignal): Promise<PiCredentials>;
    getApiKey(credentials: PiCredentials): string;
  };
}

/** What handlers are told of the session. */
export interface PiSessionContext {
  cwd?: string;
  hasUI?: boolean;
  ui?: { notify(message: string, type?: "info" | "warning" | "error"): void };
  sessionManager?: {
    getSessionId(): string;
    /** Undefined for a session that is not kept. */
    getSessionFile?(): string | undefined;
  };
  modelRegistry?: { getApiKeyForProvider?(provider: string): Promise<string | undefined> };
}

/** The part of Pi's extension interface that is used. */
export interface PiExtensionApi {
  registerProvider(name: string, config: PiProviderConfig): void;
  registerCommand?(name: string, command: { description: string; handler(args: string, context: PiSessionContext): Promise<void> }): void;
  on?(event: "session_start" | "session_tree" | "session_shutdown", handler: (event: unknown, context: PiSessionContext) => unknown): void;
  getActiveTools?(): string[];
  /** 1.x only. */
  registerVirtualModel?: unknown;
}
