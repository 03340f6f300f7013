/** What a host asks and hears: one request and its events are one leg of a turn (DESIGN §4). */

/** Text of a message. */
export interface TextPart {
  type: "text";
  text: string;
}
/** What the model thought; replayed by no one, kept so that a host can hand its transcript over as it is. */
export interface ThinkingPart {
  type: "thinking";
  text: string;
}
/** A call of one of the host's tools. */
export interface ToolCallPart {
  type: "tool_call";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}
/** An image; `data` is base64. */
export interface ImagePart {
  type: "image";
  mimeType: string;
  data: string;
}

/** What the user said. */
export interface UserMessage {
  role: "user";
  content: string | (TextPart | ImagePart)[];
}
/** What the model said, and the tools that it called. */
export interface AssistantMessage {
  role: "assistant";
  content: (TextPart | ThinkingPart | ToolCallPart)[];
}
/** The result of one tool call. */
export interface ToolMessage {
  role: "tool";
  toolCallId: string;
  toolName: string;
  content: (TextPart | ImagePart)[];
  isError?: boolean;
}
/** One message of the host's transcript. The system prompt is {@link TurnRequest.systemPrompt}, not a message. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** A tool of the host; `inputSchema` is a JSON Schema. */
export interface Tool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
}

/** One leg of a turn: the whole transcript, whose last user or tool messages are the current ones. */
export interface TurnRequest {
  /** The host's session. Absent: a one-off, of which nothing is kept. */
  sessionId?: string;
  model: {
    /** The published slug (PROTOCOL §2.1). */
    id: string;
    maxMode?: boolean;
    parameters?: { id: string; value: string }[];
    /** Tokens; default 200,000. */
    contextWindow?: number;
  };
  systemPrompt?: string;
  /**
   * Oldest first. A message that was handed over before may be taken for what it held then: where something in its parts
   * changes, hand a new message, or a new list of its parts.
   */
  messages: Message[];
  tools: Tool[];
  /** An absolute path; default the process's working directory. */
  workspace?: string;
}

/** What a leg says, in order. It ends with `usage` and `done`, or the stream of events throws a CursorError. */
export type TurnEvent =
  | { type: "text"; delta: string }
  | { type: "thinking"; delta: string }
  | { type: "tool_call"; id: string; name: string; arguments: Record<string, unknown> }
  /** Forget this leg's deltas: the remote conversation was stale and the turn starts again (DESIGN D9). */
  | { type: "reset" }
  /** Tokens: `input` estimated, `output` counted (DESIGN D15). */
  | { type: "usage"; input: number; output: number }
  | { type: "done"; reason: "stop" | "tool_use" };

/** Something worth knowing that costs the turn nothing: drift, a retry, a truncation. Never holds a secret. */
export interface Diagnostic {
  type: string;
  message: string;
  [detail: string]: unknown;
}

/** What is kept of a remote conversation between turns (PROTOCOL §10, DESIGN D3). */
export interface Handle {
  conversationId: string;
  /** The last checkpoint's bytes, never interpreted. */
  checkpoint: Uint8Array;
  /** Hex SHA-256 → content: every blob the checkpoint may ask for. */
  blobs: Map<string, Uint8Array>;
  /** Hex SHA-256 over the completed user texts and images. */
  fingerprint: string;
  /** Hex SHA-256 over the tools that the remote conversation knows. */
  toolsetKey: string;
}
