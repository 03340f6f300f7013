/**
 * The beginning of a Run: new, resumed from a handle, or rebuilt from the transcript (PROTOCOL §3, §10). What its
 * request refers to is stored here; what it says is in run-request.ts.
 */
import { LIMITS as WIRE } from "../../wire/index.ts";
import { encodeRunRequest, LIMITS } from "../agent/index.ts";
import { Blobs } from "./blobs.ts";
import { checkRequest } from "./check-request.ts";
import { idCleaner } from "./call-ids.ts";
import { localError, type CursorError } from "./errors.ts";
import { fingerprint, toolsetKey } from "./fingerprint.ts";
import { split } from "./history.ts";
import { policyText } from "./native/policy.ts";
import { historyBlobs, rulesBlob, userText } from "./prompt.ts";
import { contextBlob, rawRequest } from "./run-request.ts";
import { arm, note, type Session, type Settings } from "./session.ts";
import type { Diagnostic, Handle, Message, TurnRequest } from "./turn.ts";

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

/** What a run request goes on from: what came before this turn's user messages, and the rules. */
interface Base {
  /** Undefined for a new conversation. */
  readonly checkpoint: Uint8Array | undefined;
  /** The ids of the prompt's blobs; of a resume, those that the checkpoint lacks. */
  readonly roots: readonly Uint8Array[];
  /** Whether the service lacks the tools. */
  readonly sendTools: boolean;
}

/** What a recorded Run went on from. */
export interface RecordedBase extends Base {
  /** Whether the rules are written anew: then `roots` are those behind them. */
  readonly writeRules: boolean;
  /** By hex id, the blobs that the client had. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/**
 * A Run that is about to connect: its first actions are in `out`.
 * @throws CursorError `local` where the request itself is wrong; nothing has been asked of the driver then
 */
export function open(opener: Opener): Session {
  const { request, handle, openCall = false } = opener;
  checkLeg(request);
  const { history, users } = split(request.messages);
  const session = begin(opener, false);
  // A turn that goes on from tool results is not complete, so no handle covers it.
  const fits = handle !== undefined && users.length > 0 && handle.fingerprint === fingerprint(history) && !openCall;
  if (fits) resume(session, handle);
  else session.opener = runRequest(session, baseOf(session));
  if (handle !== undefined && !fits) {
    const why = openCall ? "The remote conversation was left with a call open" : "The transcript is not the one that the remote conversation was kept for";
    note(session, "handle_mismatch", `${why}: the turn starts again from the transcript.`);
  }
  if (handle !== undefined && !session.resumed) session.out.push({ type: "drop" });
  connect(session);
  return session;
}

/**
 * A recorded Run about to connect again. Its request is written anew: of the recording it has only what the host's
 * request cannot tell, and the ids, which `settings.uuid` gives in order: conversation, message, images.
 * @throws CursorError `local` as {@link open}
 */
export function reopen(opener: Omit<Opener, "handle">, { blobs, writeRules, ...base }: RecordedBase): Session {
  checkLeg(opener.request);
  const session = begin(opener, base.checkpoint !== undefined);
  restore(session, blobs);
  const rules = writeRules ? storeRules(session) : [];
  session.opener = runRequest(session, { ...base, roots: [...rules, ...base.roots] });
  connect(session);
  return session;
}

function begin({ request, workspaceUri, settings }: Omit<Opener, "handle">, resumed: boolean): Session {
  return {
    settings,
    workspaceUri,
    phase: "connecting",
    request,
    catalog: request.tools,
    resumed,
    conversationId: settings.uuid(),
    opener: new Uint8Array(0),
    blobs: new Blobs(),
    checkpoint: undefined,
    pending: new Map(),
    callIds: callIdsOf(request.messages),
    cleanCallId: idCleaner(),
    misses: 0,
    liftedSize: 0,
    announced: 0,
    held: [],
    heldSize: 0,
    heldOutput: 0,
    text: [],
    thinking: [],
    kept: 0,
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
}

function connect(session: Session): void {
  arm(session, "first");
  session.out.push({ type: "connect" });
}

/**
 * Starts again from the transcript with a new conversation, because the remote one is stale (DESIGN D9).
 * @throws CursorError `local` as {@link open}
 */
export function rebuild(session: Session): void {
  session.resumed = false;
  session.catalog = session.request.tools;
  session.checkpoint = undefined;
  session.conversationId = session.settings.uuid();
  session.blobs = new Blobs();
  session.opener = runRequest(session, baseOf(session));
}

/** Takes the handle up; rebuilds where that makes no request: a checkpoint that cannot be read, or no room beside its blobs. */
function resume(session: Session, handle: Handle): void {
  session.resumed = true;
  session.conversationId = handle.conversationId;
  try {
    restore(session, handle.blobs);
    session.opener = runRequest(session, baseOf(session, handle));
  } catch (error) {
    note(session, "unusable_handle", `The remote conversation cannot be resumed (${(error as Error).message}): the turn starts again from the transcript.`);
    rebuild(session);
  }
}

/** @throws CursorError `local` as {@link checkRequest} says */
export function checkLeg(request: TurnRequest): void {
  const wrong = checkRequest(request);
  if (wrong !== undefined) throw wrong;
}

function callIdsOf(messages: readonly Message[]): Set<string> {
  const ids = new Set<string>();
  for (const { role, content } of messages) if (role === "assistant") for (const part of content) if (part.type === "tool_call") ids.add(part.id);
  return ids;
}

/** What the handle holds, or else the transcript. The blobs of the prompt are in the blob store afterwards. */
function baseOf(session: Session, handle?: Handle): Base {
  const { request, settings } = session;
  const rules = storeRules(session);
  if (handle !== undefined) return { checkpoint: handle.checkpoint, roots: rules, sendTools: settings.resendTools || handle.toolsetKey !== toolsetKey(request.tools) };
  const history = historyBlobs(split(request.messages).history, teller(session)).map((blob) => store(session, blob));
  return { checkpoint: undefined, roots: [...rules, ...history], sendTools: true };
}

/** The bytes of the run request. Everything it refers to is in the blob store afterwards. */
function runRequest(session: Session, base: Base): Uint8Array {
  const { request, settings, workspaceUri, conversationId } = session;
  const { users } = split(request.messages);
  const { text, images } = userText(users, teller(session));
  const raw = rawRequest({
    ...base,
    conversationId,
    contextBlobId: store(session, contextBlob(base.roots)),
    workspaceUri,
    text: users.length === 0 ? CONTINUE : text,
    messageId: settings.uuid(),
    images: images.map((image) => ({ ...image, uuid: settings.uuid() })),
    tools: request.tools,
    mcpMeta: settings.mcpMeta,
    model: request.model,
  });
  const payload = encodeRunRequest(raw);
  if (payload.length > WIRE.envelope) throw tooLarge(`The request takes more than ${WIRE.envelope / MIB} MiB.`);
  return payload;
}

function teller(session: Session): (diagnostic: Diagnostic) => void {
  return ({ type, message, ...detail }) => note(session, type, message, detail);
}

/** The system prompt and what the model must know of the host's tools (PROTOCOL §3.1, §5): the id of their blob, if they say anything. */
function storeRules(session: Session): Uint8Array[] {
  const { systemPrompt = "", tools } = session.request;
  const rules = [systemPrompt, policyText(tools)].filter((part) => part !== "").join("\n\n");
  return rules === "" ? [] : [store(session, rulesBlob(rules))];
}

function restore(session: Session, blobs: ReadonlyMap<string, Uint8Array>): void {
  if (!session.blobs.restore(blobs)) throw tooLarge("The conversation's blobs do not fit the blob store.");
}

function store(session: Session, content: Uint8Array): Uint8Array {
  const id = session.blobs.add(content);
  if (id === undefined) throw tooLarge(`The prompt does not fit the blob store of ${LIMITS.blobStore / MIB} MiB.`);
  return id;
}

function tooLarge(message: string): CursorError {
  return localError("prompt_too_large", message, "Compact the conversation or start a new one.");
}
