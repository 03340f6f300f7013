/** One of Pi's calls, from its arguments to the end of its stream. Nothing here throws into Pi. */
import { unlessAborted } from "../driver/settle.ts";
import type { Environment } from "../driver/variables.ts";
import { checkRequest } from "../session/check-request.ts";
import { aborted, CursorError } from "../session/errors.ts";
import type { TurnRequest } from "../session/turn.ts";
import { Answer } from "./answer.ts";
import { tokenOf } from "./credentials.ts";
import { failureOf } from "./failure.ts";
import type { ModelTable } from "./models.ts";
import type { PiContext, PiModel, PiStream, PiStreamOptions } from "./pi.ts";
import { readRequest } from "./request.ts";
import type { Sessions } from "./sessions.ts";
import type { Slot, SlotLeg } from "./slot.ts";
import { EventStream } from "./stream.ts";

/** What a call needs of the extension. */
export interface LegWorld {
  readonly models: ModelTable;
  readonly sessions: Sessions;
  readonly env: Environment;
  /** Whether Pi has tools switched on. */
  hasTools(): boolean;
}

/** Pi's `streamSimple`: returns at once, and produces whether or not anybody reads. */
export function streamSimple(world: LegWorld, model: PiModel, context: PiContext, options: PiStreamOptions = {}): PiStream {
  const stream = new EventStream();
  const answer = new Answer(stream, model, Date.now());
  run(world, model, context, options, answer).catch((error: unknown) => answer.fail(failureOf(error)));
  return stream;
}

async function run(world: LegWorld, model: PiModel, context: PiContext, options: PiStreamOptions, answer: Answer): Promise<void> {
  if (options.signal?.aborted) throw aborted();
  const env = options.env === undefined ? world.env : { ...world.env, ...options.env };
  const read = readRequest(model, context, options, world.models, world.sessions);
  checkNothingLost(world, options, read);
  const slot = world.sessions.slot(read, env);
  const leg = slot.enter(options.signal);
  try {
    const request = await unlessAborted(payload(read, model, options), leg.signal);
    slot.token = tokenOf(options.apiKey, env);
    await play(slot, leg, request, model, options, answer);
  } catch (error) {
    // Pi never hears of the calls then, so nobody would come back to a parked Run.
    slot.drop(leg);
    throw error;
  } finally {
    slot.leave(leg);
  }
}

async function play(slot: Slot, leg: SlotLeg, request: TurnRequest, model: PiModel, options: PiStreamOptions, answer: Answer): Promise<void> {
  const { signal } = leg;
  const calls: string[] = [];
  let answered = false;
  slot.begin(leg, request.model.id);
  for await (const event of slot.provider.stream(request, { signal })) {
    if (!answered) {
      answered = true;
      await unlessAborted(options.onResponse?.({ status: 200, headers: { "content-type": "application/connect+proto" } }, model), signal);
    }
    if (event.type === "tool_call") calls.push(event.id);
    if (event.type === "reset") calls.length = 0;
    // Before the hook, so that an abort which strikes it finds the parked Run.
    if (event.type === "done") slot.park(leg, calls);
    await unlessAborted(options.onProviderStreamEvent?.(event, model), signal);
    answer.take(event);
  }
}

/** Lets a hook see and replace the request; the session stays what it is, or a hook could mix two. */
async function payload(request: TurnRequest, model: PiModel, { onPayload }: PiStreamOptions): Promise<TurnRequest> {
  // A request that is wrong already is none to show: the provider says what is wrong.
  if (onPayload === undefined || checkRequest(request) !== undefined) return request;
  const { sessionId } = request;
  const given = await onPayload(request, model);
  const replaced = (given === undefined ? request : given) as TurnRequest;
  const wrong = checkRequest(replaced);
  if (wrong !== undefined) throw new CursorError({ kind: "local", code: "invalid_payload", message: `An extension replaced the request with what is none: ${wrong.message}`, nextStep: "Look for a before_provider_request handler that does not know this provider." });
  const { sessionId: _, ...rest } = replaced;
  return { ...rest, ...(sessionId !== undefined && { sessionId }) };
}

/** A context whose shape is not understood would look like one without prompt and tools: say so loudly. */
function checkNothingLost(world: LegWorld, { sessionId }: PiStreamOptions, { systemPrompt, tools }: TurnRequest): void {
  if (systemPrompt !== undefined || tools.length > 0 || !world.sessions.has(sessionId) || !world.hasTools()) return;
  throw new CursorError({ kind: "local", code: "context_not_understood", message: "Pi's context holds neither a system prompt nor tools, although Pi has tools.", nextStep: "Update cursor-wire: this Pi gives them in a way that it does not know." });
}
