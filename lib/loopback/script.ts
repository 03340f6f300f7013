import type { ConnectCode } from "../../wire/index.ts";
import type { FaultStep } from "./fault.ts";

/** How a text is spread over frames: in `chunks` about equal parts, or word by word, with a pause between two. */
export interface Pace {
  chunks?: number | "words";
  everyMs?: number;
}

/** What an answer must look like; where it does not, that is a violation. */
export interface Expected {
  /** Names from the answer's field inwards: `shellResult.rejected`, or `throw`. */
  arm?: string;
  /** Words that some text of the answer holds. */
  says?: string;
}

/** What a Run must look like; where it does not, that is a violation. */
export interface Expectation {
  /** Whether it goes on with a conversation of this host: the same id, and its checkpoint with only §3's overlay. */
  resume?: boolean;
  /** An exact id, or how it compares with the Run before. */
  conversationId?: "same" | "new" | (string & {});
  /** Whether `mcp_tools` is sent. */
  mcpTools?: boolean;
  /** The slug. */
  model?: string;
  /** The user's text. */
  text?: string;
  /** The names in `mcp_tools`, in order. */
  tools?: string[];
}

/**
 * Every step by the property that names it. `bytes` and `raw` are hex. A step that asks the client something waits for
 * the answer and, where it is an exec, for its stream_close, unless `wait` is false; `mcp` never waits.
 */
export interface Steps {
  thinking: { thinking: string } & Pace;
  text: { text: string } & Pace;
  /** Text out of the last tool results or the user's text; `{name}` in the template is a result's. */
  textFrom: { textFrom: "results" | "prompt"; template?: string } & Pace;
  /** Output tokens (token_delta). */
  tokens: { tokens: number };
  /** So many tool calls will follow (tool_requests_listed). */
  announce: { announce: number };
  heartbeats: { heartbeats: number; everyMs?: number };
  /** Asks for every root prompt blob, for the blob that `selected_context_blob` names, or for one id in hex. */
  getBlob: { getBlob: "root" | "context" | (string & {}); wait?: boolean };
  /**
   * Gives a blob to keep: a text, bytes, or `size` bytes of filler; with `reference` only its id goes out, `blobId` is
   * another id than the content's. `expect` is "stored" by default.
   */
  setBlob: {
    setBlob: { text?: string; bytes?: string; size?: number; blobId?: string; reference?: boolean };
    expect?: "stored" | "refused";
    wait?: boolean;
  };
  /** Exec 10, as it comes: without an exec_id. */
  requestContext: { requestContext: true; wait?: boolean };
  /** A call of a host's tool. Several in a row are one burst. */
  mcp: {
    mcp: { tool: string; args?: Record<string, unknown>; toolCallId?: string; execId?: string; id?: number; provider?: string };
  };
  /** An exec by the value name of its case, or `raw`: the bytes of the fields behind `id`, tags included. */
  exec: {
    exec: { case?: string; args?: Record<string, unknown>; raw?: string; id?: number; execId?: string; expect?: Expected; wait?: boolean };
  };
  /** A query by the value name of its case, or `raw` as for an exec. */
  query: {
    query: { case?: string; args?: Record<string, unknown>; raw?: string; id?: number; expect?: Expected; wait?: boolean };
  };
  /** Waits for every answer and every stream_close that is still missing. */
  awaitResults: { awaitResults: true };
  /** A checkpoint: the conversation's state grown by the turn, `bytes`, or padded to `size` bytes. */
  checkpoint: { checkpoint: true | { bytes?: string; size?: number } };
  turnEnded: { turnEnded: true | { usage?: { inputTokens?: number; outputTokens?: number; cacheRead?: number; cacheWrite?: number; reasoning?: number } } };
  /** Any AgentServerMessage as JSON. */
  message: { message: Record<string, unknown> };
  /** One envelope with these bytes as payload. */
  raw: { raw: string; flags?: number };
  /** Bytes of the body without an envelope. */
  bytes: { bytes: string };
  wait: { wait: number };
  expect: { expect: Expectation };
  fault: { fault: FaultStep };
  repeat: { repeat: number; steps: Script };
  /** The end-stream envelope, with an error or without. A script that has none ends without an error. */
  end: { end: true | { error?: { code: ConnectCode; message?: string }; metadata?: Record<string, string[]> } };
  /** Nothing more happens, and the stream stays open. */
  hang: { hang: true };
}

/** The name of a step. */
export type StepName = keyof Steps;

/** One thing that the host does. `note` is for the reader of the script. */
export type Step = Steps[StepName] & { note?: string };

/** What the host does in one Run, in order: plain data, as it stands in a JSON file. */
export type Script = Step[];
