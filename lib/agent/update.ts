import { int32, message, nested, oneof, safe64, string, text, uint64, type Decoded } from "../../wire/index.ts";
import { ShellStreamExit, ShellStreamStart, ShellStreamStderr, ShellStreamStdout } from "./exec-shell.ts";
import { camel, type Snake } from "./name.ts";
import { UserMessage } from "./run-request.ts";

/** §4.1: more of the answer. */
export const TextDeltaUpdate = message({ text: text(1) });

/** §4.1: the model begins a tool call. */
export const ToolCallStartedUpdate = message({ callId: string(1), modelCallId: string(3) });

/** §4.1: a tool call is over. */
export const ToolCallCompletedUpdate = message({ callId: string(1), modelCallId: string(3) });

/** §4.1: more of the thinking. */
export const ThinkingDeltaUpdate = message({ text: text(1) });

/** §4.1: the thinking is over. */
export const ThinkingCompletedUpdate = message({ thinkingDurationMs: int32(1) });

/** §4.1: the user's turn was taken. */
export const UserMessageAppendedUpdate = message({ userMessage: nested(1, UserMessage) });

/** §4.1: more of a tool call's arguments. */
export const PartialToolCallUpdate = message({ callId: string(1), argsTextDelta: text(3), modelCallId: string(4) });

/** §4.1: output tokens since the last one. */
export const TokenDeltaUpdate = message({ tokens: int32(1) });

/** §4.1: a summary of the conversation. */
export const SummaryUpdate = message({ summary: text(1) });

/** §4.1: the conversation is being summarised. */
export const SummaryStartedUpdate = message({});

/** §4.1: the conversation was summarised. */
export const SummaryCompletedUpdate = message({});

/** §4.1: output of a command, for display. */
export const ShellOutputDeltaUpdate = message({
  ...oneof("event", {
    stdout: nested(1, ShellStreamStdout),
    stderr: nested(2, ShellStreamStderr),
    exit: nested(3, ShellStreamExit),
    start: nested(4, ShellStreamStart),
  }),
});

/** §4.1: the connection lives. */
export const HeartbeatUpdate = message({});

/** §4.1: the turn is over. Tokens summed over its internal calls: billing, not the size of the context. */
export const TurnEndedUpdate = message({
  inputTokens: safe64(1),
  outputTokens: safe64(2),
  cacheRead: safe64(3),
  cacheWrite: safe64(4),
  reasoning: safe64(5),
});

/** §4.1: more of a tool call. */
export const ToolCallDeltaUpdate = message({ callId: string(1), modelCallId: string(3) });

/** §4.1: a step begins. */
export const StepStartedUpdate = message({ stepId: uint64(1) });

/** §4.1: a step is over. */
export const StepCompletedUpdate = message({ stepId: uint64(1), stepDurationMs: safe64(2) });

/** §4.1: how many tool calls the current generation will make. */
export const ToolRequestsListedUpdate = message({ callCount: int32(1) });

/** §4.1: what the model is doing. Its cases are the rows of {@link UPDATES}. */
export const InteractionUpdate = message({
  ...oneof("message", {
    textDelta: nested(1, TextDeltaUpdate),
    toolCallStarted: nested(2, ToolCallStartedUpdate),
    toolCallCompleted: nested(3, ToolCallCompletedUpdate),
    thinkingDelta: nested(4, ThinkingDeltaUpdate),
    thinkingCompleted: nested(5, ThinkingCompletedUpdate),
    userMessageAppended: nested(6, UserMessageAppendedUpdate),
    partialToolCall: nested(7, PartialToolCallUpdate),
    tokenDelta: nested(8, TokenDeltaUpdate),
    summary: nested(9, SummaryUpdate),
    summaryStarted: nested(10, SummaryStartedUpdate),
    summaryCompleted: nested(11, SummaryCompletedUpdate),
    shellOutputDelta: nested(12, ShellOutputDeltaUpdate),
    heartbeat: nested(13, HeartbeatUpdate),
    turnEnded: nested(14, TurnEndedUpdate),
    toolCallDelta: nested(15, ToolCallDeltaUpdate),
    stepStarted: nested(16, StepStartedUpdate),
    stepCompleted: nested(17, StepCompletedUpdate),
    toolRequestsListed: nested(27, ToolRequestsListedUpdate),
  }),
});

/** What an update means to a turn. `none` is read past. */
export type UpdateMeaning = "text" | "thinking" | "tokens" | "heartbeat" | "turnEnded" | "toolCall" | "burst" | "none";

/** One case of {@link InteractionUpdate}. */
export interface UpdateRow {
  readonly no: number;
  readonly name: Snake<Exclude<keyof Decoded<typeof InteractionUpdate>, "unknown">>;
  readonly meaning: UpdateMeaning;
  /** Whether it counts as work, which restarts the idle clock (§1). */
  readonly work: boolean;
}

/** §4.1: the cases of an interaction update. */
export const UPDATES = [
  { no: 1, name: "text_delta", meaning: "text", work: true },
  { no: 2, name: "tool_call_started", meaning: "toolCall", work: true },
  { no: 3, name: "tool_call_completed", meaning: "toolCall", work: true },
  { no: 4, name: "thinking_delta", meaning: "thinking", work: true },
  { no: 5, name: "thinking_completed", meaning: "none", work: false },
  { no: 6, name: "user_message_appended", meaning: "none", work: false },
  { no: 7, name: "partial_tool_call", meaning: "toolCall", work: true },
  { no: 8, name: "token_delta", meaning: "tokens", work: true },
  { no: 9, name: "summary", meaning: "none", work: false },
  { no: 10, name: "summary_started", meaning: "none", work: false },
  { no: 11, name: "summary_completed", meaning: "none", work: false },
  { no: 12, name: "shell_output_delta", meaning: "none", work: false },
  { no: 13, name: "heartbeat", meaning: "heartbeat", work: false },
  { no: 14, name: "turn_ended", meaning: "turnEnded", work: false },
  { no: 15, name: "tool_call_delta", meaning: "toolCall", work: true },
  { no: 16, name: "step_started", meaning: "none", work: false },
  { no: 17, name: "step_completed", meaning: "none", work: false },
  { no: 27, name: "tool_requests_listed", meaning: "burst", work: false },
] as const satisfies readonly UpdateRow[];

/** The rows of {@link UPDATES} by the value name of their case: `textDelta`. */
export const updateByName: ReadonlyMap<string, UpdateRow> = new Map(UPDATES.map((row) => [camel(row.name), row]));
