import { bytes, decodeValue, encodeFields, fields, LIMITS as WIRE, message, nested, WIRE_TYPE } from "../../wire/index.ts";
import type { ConnectCode, Decoded, Json, WireField } from "../../wire/index.ts";
import { LIMITS, SelectedContextBlob, type AgentRunRequest, type McpToolDefinition, type RequestContext } from "../agent/index.ts";
import { parseJson } from "./json.ts";
import { isRecord, shown } from "./shape.ts";

type RunRequest = Decoded<typeof AgentRunRequest>;

/** The headers of a Run (§1): an exact value, or what it looks like. */
const HEADERS: readonly { readonly name: string; readonly value: string | RegExp }[] = [
  { name: "connect-protocol-version", value: "1" },
  { name: "te", value: "trailers" },
  { name: "authorization", value: /^Bearer \S+$/ },
  { name: "x-cursor-client-type", value: "cli" },
  { name: "x-cursor-client-version", value: /\S/ },
  { name: "x-ghost-mode", value: "true" },
];

/** What is wrong with the headers of a Run, in words that repeat no value. */
export function headerViolations(headers: Readonly<Record<string, string>>): string[] {
  const wrong = HEADERS.filter(({ name, value }) => (typeof value === "string" ? headers[name] !== value : !value.test(headers[name] ?? "")));
  const encoded = Object.hasOwn(headers, "connect-content-encoding") ? ["header connect-content-encoding: frames of a Run are not compressed (§1)"] : [];
  return [...wrong.map(({ name }) => `header ${name} ${Object.hasOwn(headers, name) ? "has another value" : "is missing"} (§1)`), ...encoded];
}

const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp|bmp)$/;

/** The rules for a run request: what is wrong where one does not hold. A checkpoint is as the host made it. */
const REQUEST: readonly { readonly wrong: string; readonly holds: (request: RunRequest, resumes: boolean) => boolean }[] = [
  { wrong: "conversation_state is missing (§3)", holds: (r) => r.conversationState !== undefined },
  { wrong: "conversation_state.mode is not 1 (§3)", holds: (r, resumes) => resumes || r.conversationState?.mode === 1 },
  { wrong: 'conversation_state.client_name is not "pi" (§3)', holds: (r) => r.conversationState?.clientName === "pi" },
  { wrong: "previous_workspace_uris is not one file URL (§3)", holds: (r) => urisOf(r).length === 1 && urisOf(r)[0]!.startsWith("file://") },
  {
    wrong: "a root prompt blob id is not 32 bytes (§3)",
    holds: (r) => r.conversationState?.rootPromptMessagesJson?.every((id) => id.length === 32) ?? true,
  },
  { wrong: "custom_system_prompt is set (§2.1)", holds: (r) => r.customSystemPrompt === undefined },
  { wrong: "model_details is set beside requested_model (§2.1)", holds: (r) => !r.unknown?.some(({ no }) => no === 3) },
  { wrong: "requested_model has no slug (§2.1)", holds: (r) => !!r.requestedModel?.modelId },
  { wrong: "client_supports_inline_images is not true (§2.1)", holds: (r) => r.clientSupportsInlineImages === true },
  { wrong: "conversation_id is missing (§2.1)", holds: (r) => !!r.conversationId },
  { wrong: "action is not a user_message_action (§2.1)", holds: (r) => r.action?.userMessageAction?.userMessage !== undefined },
  { wrong: "user_message.mode is not 1 (§2.1)", holds: (r) => userOf(r)?.mode === 1 },
  {
    wrong: "user_message.message_id and correlation_id differ or are missing (§2.1)",
    holds: (r) => !!userOf(r)?.messageId && userOf(r)?.messageId === userOf(r)?.correlationId,
  },
  { wrong: "user_message.selected_context_blob is not 32 bytes (§2.1)", holds: (r) => userOf(r)?.selectedContextBlob?.length === 32 },
  {
    wrong: "an image has another mime type than png, jpeg, gif, webp or bmp (§2.1)",
    holds: (r) => imagesOf(r).every(({ mimeType = "" }) => IMAGE_TYPE.test(mimeType)),
  },
  {
    wrong: "an image is empty or over 16 MiB (§2.1)",
    holds: (r) => imagesOf(r).every(({ data: { length = 0 } = {} }) => length > 0 && length <= LIMITS.blob),
  },
  {
    wrong: 'a tool has another provider_identifier than "pi" (§2.2)',
    holds: (r) => toolsOf(r).every(({ providerIdentifier }) => providerIdentifier === "pi"),
  },
  { wrong: "a tool's name and tool_name differ (§2.2)", holds: (r) => toolsOf(r).every(({ name, toolName }) => name === toolName) },
];

/** What is wrong with a run request, in words. */
export function requestViolations(request: RunRequest, resumes: boolean): string[] {
  return REQUEST.filter(({ holds }) => !holds(request, resumes)).map(({ wrong }) => wrong);
}

/** What makes the service end a Run at once with an error, the first that applies. */
const REFUSALS: readonly { readonly code: ConnectCode; readonly message: string; readonly applies: (request: RunRequest) => boolean }[] = [
  { code: "not_found", message: "Error", applies: (r) => r.requestedModel?.parameters?.some(({ id }) => id === "context") ?? false },
  { code: "resource_exhausted", message: "Error", applies: (r) => toolsOf(r).some(({ name }) => !/^[A-Za-z0-9_-]{1,64}$/.test(name ?? "")) },
  { code: "invalid_argument", message: "duplicate tool names", applies: (r) => new Set(toolsOf(r).map(({ name }) => name)).size < toolsOf(r).length },
  {
    code: "invalid_argument",
    message: "invalid end group tag",
    applies: (r) => !toolsOf(r).every(({ inputSchema }) => inputSchema !== undefined && isRecord(json(inputSchema))),
  },
];

/** The error that ends a Run with this request at once, if any does (§2.1, §2.2). */
export function refusal(request: RunRequest): { code: ConnectCode; message: string } | undefined {
  return REFUSALS.find(({ applies }) => applies(request));
}

/** What is wrong with the answer to exec 10 (§5): only the workspace of the run request and the tools, which a continuation may have added to. */
export function contextViolations(context: Decoded<typeof RequestContext>, request: RunRequest): string[] {
  const workspace = context.env?.workspacePaths ?? [];
  const names = new Set(context.tools?.map(({ name }) => name));
  const besides = [...Object.keys(context), ...(context.unknown ?? []).map(({ no }) => `field ${no}`)];
  return [
    ...(workspace.join("\n") === urisOf(request).join("\n") ? [] : ["request_context: workspace_paths differ from previous_workspace_uris (§5)"]),
    ...(toolsOf(request).every(({ name }) => names.has(name)) ? [] : ["request_context: a tool of mcp_tools is missing (§5)"]),
    ...besides.filter((name) => !["env", "tools", "mcpMetaToolOptions", "unknown"].includes(name)).map((name) => `request_context: ${name} is set (§5)`),
  ];
}

/** What is wrong with the blob that `selected_context_blob` names (§2.1). */
export function contextBlobViolations(blob: Uint8Array, request: RunRequest): string[] {
  const { rootPromptBlobIds = [], clientName } = SelectedContextBlob.decode(blob);
  const ids = request.conversationState?.rootPromptMessagesJson ?? [];
  const same = ids.length === rootPromptBlobIds.length && ids.every((id, index) => equal(id, rootPromptBlobIds[index]!));
  return [
    ...(same ? [] : ["selected_context_blob names other blobs than the root prompt (§2.1)"]),
    ...(clientName === "pi" ? [] : ['selected_context_blob does not say "pi" (§2.1)']),
  ];
}

const RawState = message({ runRequest: nested(1, message({ conversationState: bytes(1) })) });

/** The bytes of `conversation_state` in the payload that brought the run request. */
export function stateOf(payload: Uint8Array): Uint8Array {
  return RawState.decode(payload).runRequest?.conversationState ?? new Uint8Array(0);
}

/** What a resumed state changes of its checkpoint that §3 does not allow: it appends to field 1 and replaces 9 and 22. */
export function overlayViolations(state: Uint8Array, checkpoint: Uint8Array): string[] {
  const [now, before] = [split(state), split(checkpoint)];
  const kept = before.prompt.every((id, index) => now.prompt[index] !== undefined && equal(id, now.prompt[index]));
  return [
    ...(kept && now.prompt.length >= before.prompt.length ? [] : ["resume: the checkpoint's root prompt is not kept (§3)"]),
    ...(equal(now.rest, before.rest) ? [] : ["resume: the checkpoint's other fields are not kept byte for byte (§3)"]),
  ];
}

/** A state's root prompt, and everything but it and what an overlay replaces. */
function split(state: Uint8Array): { prompt: Uint8Array[]; rest: Uint8Array } {
  const all = fields(state);
  const is = ({ no, type }: WireField, ...numbers: number[]): boolean => type === WIRE_TYPE.length && numbers.includes(no);
  return {
    prompt: all.filter((field) => is(field, 1)).map(({ value }) => value as Uint8Array),
    rest: encodeFields(all.filter((field) => !is(field, 1, 9, 22))),
  };
}

/** JSON in the bytes of a root prompt blob, or what is wrong with it. */
export function promptMessage(blob: Uint8Array): { json: Json } | { wrong: string } {
  try {
    const parsed = parseJson(new TextDecoder("utf-8", { fatal: true }).decode(blob), WIRE.elements) as Json;
    return isRecord(parsed) ? { json: parsed } : { wrong: `a root prompt message is ${shown(parsed)} (§3)` };
  } catch {
    return { wrong: "a root prompt message is no UTF-8 JSON (§3)" };
  }
}

/** The tools of a run request. */
export function toolsOf(request: RunRequest): Decoded<typeof McpToolDefinition>[] {
  return request.mcpTools?.mcpTools ?? [];
}

/** The images of the user's turn. */
export function imagesOf(request: RunRequest): { mimeType?: string; data?: Uint8Array }[] {
  return userOf(request)?.selectedContext?.selectedImages ?? [];
}

function urisOf(request: RunRequest): string[] {
  return request.conversationState?.previousWorkspaceUris ?? [];
}

function userOf(request: RunRequest): NonNullable<NonNullable<NonNullable<RunRequest["action"]>["userMessageAction"]>["userMessage"]> | undefined {
  return request.action?.userMessageAction?.userMessage;
}

function json(value: Uint8Array): Json | undefined {
  try {
    return decodeValue(value);
  } catch {
    return undefined;
  }
}

function equal(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
