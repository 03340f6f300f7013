import type { Decoded, Json } from "../../wire/index.ts";
import type { AgentClientMessage, AgentRunRequest, RequestContext } from "../agent/index.ts";

/**
 * How a Run stands: `open` while the script goes on, `parked` while it waits for the client, `ended` once the host has
 * ended the response, `reset` where the stream or its connection was lost before that.
 */
export type RunState = "open" | "parked" | "ended" | "reset";

/** One envelope from the client. */
export interface ReceivedFrame {
  /** Milliseconds since the Run opened. */
  readonly at: number;
  readonly flags: number;
  readonly payload: Uint8Array;
}

/** What became of one tool call or exec. */
export interface ToolResult {
  /** The tool's name, or the value name of the exec's case. */
  readonly name: string;
  /** Names from the answer's field inwards: `mcpResult.success`, `shellStream.rejected`, `throw`. */
  readonly arm: string;
  /** What it says: its text, output, error or reason. */
  readonly text: string;
  readonly isError: boolean;
  /** Sizes of its images in bytes. */
  readonly images: readonly number[];
}

/** What the model gets to see (§3.1). */
export interface Prompt {
  /** The root prompt messages whose blobs were asked for, in order, without those of `role: "system"`. */
  messages: Json[];
  /** The user's turn; images count only with `client_supports_inline_images`. */
  user: { text: string; images: { mimeType: string; bytes: number }[] };
  /** The tools that it can call: `mcp_tools`, those of the conversation where it resumes without, or what exec 36 said. */
  tools: string[];
  /** The tools that its catalogue lists: `mcp_meta_tool_options` of either request context. */
  catalogue: string[];
}

/** One Run as the host saw it. It is filled as the Run goes on. */
export interface Received {
  readonly headers: Record<string, string>;
  readonly frames: ReceivedFrame[];
  /** What the frames say. */
  readonly messages: Decoded<typeof AgentClientMessage>[];
  /** The run request, once it has come. */
  request?: Decoded<typeof AgentRunRequest>;
  /** The answer to exec 10. */
  requestContext?: Decoded<typeof RequestContext>;
  /** What the client did that the protocol forbids, in words. */
  readonly violations: string[];
  state: RunState;
  /** What the script waits for, while it is parked. */
  awaiting: string[];
  /** Why the Run never goes on, where the client did what stalls a turn. */
  parkedBy?: string;
  /** HTTP/2 PINGs of the connection since this Run opened and before the next one. */
  pings: number;
  readonly prompt: Prompt;
  /** How many root prompt messages were dropped because their role is `system`. */
  dropped: number;
  /** Hex id → content of every blob that the client gave. */
  readonly blobs: Map<string, Uint8Array>;
  readonly results: ToolResult[];
  /** The code of the client's RST_STREAM, 8 (CANCEL) also where the connection was lost; 0 otherwise. */
  rstCode: number;
  /** Resolves when the stream is gone. */
  readonly closed: Promise<void>;
}

/** The record of a Run that has just arrived, and what resolves its `closed`. */
export function open(headers: Record<string, string>): { received: Received; close: () => void } {
  const { promise, resolve } = withResolvers();
  const received: Received = {
    headers,
    frames: [],
    messages: [],
    violations: [],
    state: "open",
    awaiting: [],
    pings: 0,
    prompt: { messages: [], user: { text: "", images: [] }, tools: [], catalogue: [] },
    dropped: 0,
    blobs: new Map(),
    results: [],
    rstCode: 0,
    closed: promise,
  };
  return { received, close: resolve };
}

/** A promise and what resolves it: Promise.withResolvers is newer than Node 20. */
export function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
