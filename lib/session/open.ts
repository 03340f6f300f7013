/**
 * The beginning of a Run: new, resumed from a handle, or rebuilt from the transcript, and the request that says so
 * (PROTOCOL §2.1, §3, §10).
 */
import { LIMITS as WIRE } from "../../wire/index.ts";
import { ConversationStateStructure, encodeRunRequest, LIMITS, overlayCheckpoint, SelectedContextBlob, type RawRunRequest } from "../agent/index.ts";
import { Blobs } from "./blobs.ts";
import { checkRequest } from "./check-request.ts";
import { idCleaner } from "./call-ids.ts";
import { requestContext, toolDefinitions } from "./context.ts";
import { localError, type CursorError } from "./errors.ts";
import { fingerprint, toolsetKey } from "./fingerprint.ts";
import { split } from "./history.ts";
import { policyText } from "./native/policy.ts";
import { checkTools } from "./native/tools.ts";
import { historyBlobs, rulesBlob, userText } from "./prompt.ts";
import { arm, note, type Session, type Settings } from "./session.ts";
import type { Diagnostic, Handle, Message, TurnRequest } from "./turn.ts";

/** The name that the service knows this client by (PROTOCOL §3). */
export const CLIENT_NAME = "pi";
/** The mode of a conversation and of a user message (PROTOCOL §2.1, §3). */
const AGENT_MODE = 1;
/** Sent where a turn goes on from tool results alone, because the Run that asked for them is gone. */
const CONTINUE = "Continue from the tool results above.";
const MIB = 1024 * 1024;

/** What a Run is opened with. */
export interface Opener {
  readonly request: TurnRequest;
  /** The `file:` URL of the workspace. */
  readonly workspaceUri: string;
  /** The session's handle, if there is one. */
  readonly handle: Handle | undefined;
  /** Whether the session's last Run ended with a call open: the service waits for its answer, and would for ever. */
  readonly openCall?: boolean;
  readonly settings: Settings;
}

/**
 * A Run that is about to connect: its first actions are in `out`.
 * @throws CursorError `local` where the request itself is wrong; nothing has been asked of the driver then
 */
export function open({ request, workspaceUri, handle, openCall = false, settings }: Opener): Session {
  checkLeg(request);
  const { history, users } = split(request.messages);
  const session: Session = {
    settings,
    workspaceUri,
    phase: "connecting",
    request,
    catalog: request.tools,
    opening: history.length === 0 ? "new" : "rebuild",
    conversationId: settings.uuid(),
    opener: new Uint8Array(0),
    blobs: new Blobs(),
    checkpoint: undefined,
    handle: undefined,
    pending: new Map(),
    callIds: callIdsOf(request.messages),
    cleanCallId: idCleaner(),
    misses: 0,
    lifted: 0,
    liftedSize: 0,
    announced: 0,
    held: [],
    heldSize: 0,
    heldOutput: 0,
    text: [],
    thinking: [],
    output: 0,
    input: settings.estimate(request),
    productive: false,
    spoke: false,
    heard: false,
    reconnected: false,
    answered: 0,
    drift: new Map(),
    armed: new Set(),
    out: [],
  };
  // A turn that goes on from tool results is not complete, so no handle covers it.
  const fits = handle !== undefined && users.length > 0 && handle.fingerprint === fingerprint(history) && !openCall;
  if (fits) resume(session, handle);
  else session.opener = runRequest(session);
  if (handle !== undefined && !fits) {
    const why = openCall ? "The remote conversation was left with a call open" : "The transcript is not the one that the remote conversation was kept for";
    note(session, "handle_mismatch", `${why}: the turn starts again from the transcript.`);
  }
  if (handle !== undefined && session.opening !== "resume") session.out.push({ type: "drop" });
  arm(session, "first");
  session.out.push({ type: "connect" });
  return session;
}

/**
 * Starts again from the transcript with a new conversation, because the remote one is stale (DESIGN D9).
 * @throws CursorError `local` as {@link open}
 */
export function rebuild(session: Session): void {
  session.opening = "rebuild";
  session.catalog = session.request.tools;
  session.handle = undefined;
  session.checkpoint = undefined;
  session.conversationId = session.settings.uuid();
  session.blobs = new Blobs();
  session.opener = runRequest(session);
}

/** Takes the handle up; rebuilds where that makes no request: a checkpoint that cannot be read, or no room beside its blobs. */
function resume(session: Session, handle: Handle): void {
  session.opening = "resume";
  session.handle = handle;
  session.conversationId = handle.conversationId;
  try {
    if (!session.blobs.restore(handle.blobs)) throw tooLarge("The handle's blobs do not fit the blob store.");
    session.opener = runRequest(session);
  } catch (error) {
    note(session, "unusable_handle", `The remote conversation cannot be resumed (${(error as Error).message}): the turn starts again from the transcript.`);
    rebuild(session);
  }
}

/** @throws CursorError `local` where the request cannot be answered, or its tools cannot be declared (DESIGN D18) */
export function checkLeg(request: TurnRequest): void {
  const wrong = checkRequest(request);
  if (wrong !== undefined) throw localError("invalid_request", wrong, "Correct the request.");
  const badTool = checkTools(request.tools);
  if (badTool !== undefined) throw localError("invalid_tool", badTool, "Rename the tool or declare it once.");
}

function callIdsOf(messages: readonly Message[]): Set<string> {
  const ids = new Set<string>();
  for (const { role, content } of messages) if (role === "assistant") for (const part of content) if (part.type === "tool_call") ids.add(part.id);
  return ids;
}

/** The bytes of the run request. Everything it refers to is in the blob store afterwards. */
function runRequest(session: Session): Uint8Array {
  const { request, settings, workspaceUri, handle } = session;
  const tell = ({ type, message, ...detail }: Diagnostic): void => note(session, type, message, detail);
  const { history, users } = split(request.messages);
  const { text, images } = userText(users, tell);
  const rules = rulesText(request);
  const prompt = session.opening === "resume" ? [] : historyBlobs(history, tell);
  const roots = [...(rules === "" ? [] : [rulesBlob(rules)]), ...prompt].map((blob) => store(session, blob));
  const contextBlob = store(session, SelectedContextBlob.encode({ rootPromptBlobIds: roots, clientName: CLIENT_NAME }));
  const messageId = settings.uuid();
  const sendTools = session.opening !== "resume" || settings.resendTools || handle?.toolsetKey !== toolsetKey(request.tools);
  const selectedImages = images.map(({ mimeType, data }) => {
    const uuid = settings.uuid();
    return { data, uuid, path: `${uuid}.${mimeType.slice("image/".length)}`, mimeType };
  });
  const parameters = request.model.parameters?.filter(({ id }) => id !== "context") ?? [];
  const raw: RawRunRequest = {
    conversationState:
      session.opening === "resume"
        ? overlayCheckpoint(handle!.checkpoint, { rules: roots, workspaceUris: [workspaceUri], clientName: CLIENT_NAME })
        : ConversationStateStructure.encode({ rootPromptMessagesJson: roots, previousWorkspaceUris: [workspaceUri], mode: AGENT_MODE, clientName: CLIENT_NAME }),
    action: {
      userMessageAction: {
        userMessage: {
          text: users.length === 0 ? CONTINUE : text,
          messageId,
          ...(selectedImages.length > 0 && { selectedContext: { selectedImages } }),
          mode: AGENT_MODE,
          selectedContextBlob: contextBlob,
          correlationId: messageId,
        },
        ...(settings.mcpMeta && { requestContext: requestContext(request.tools, workspaceUri, true) }),
      },
    },
    // None at all is said too, where the service knows of some.
    ...(sendTools && (request.tools.length > 0 || session.opening === "resume") && { mcpTools: { mcpTools: toolDefinitions(request.tools) } }),
    conversationId: session.conversationId,
    requestedModel: { modelId: request.model.id, ...(request.model.maxMode && { maxMode: true }), ...(parameters.length > 0 && { parameters }) },
    clientSupportsInlineImages: true,
  };
  const payload = encodeRunRequest(raw);
  if (payload.length > WIRE.envelope) throw tooLarge(`The request takes more than ${WIRE.envelope / MIB} MiB.`);
  return payload;
}

/** The system prompt and what the model must know of the host's tools (PROTOCOL §3.1, §5). */
function rulesText(request: TurnRequest): string {
  return [request.systemPrompt ?? "", policyText(request.tools)].filter((part) => part !== "").join("\n\n");
}

function store(session: Session, content: Uint8Array): Uint8Array {
  const id = session.blobs.add(content);
  if (id === undefined) throw tooLarge(`The prompt does not fit the blob store of ${LIMITS.blobStore / MIB} MiB.`);
  return id;
}

function tooLarge(message: string): CursorError {
  return localError("prompt_too_large", message, "Compact the conversation or start a new one.");
}
