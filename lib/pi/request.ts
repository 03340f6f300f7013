/** From one of Pi's calls to a request: whose it is, what it asks, and with which model. */
import type { TurnRequest } from "../session/turn.ts";
import { readContext } from "./context.ts";
import type { ModelTable } from "./models.ts";
import type { PiContext, PiModel, PiStreamOptions } from "./pi.ts";
import type { Sessions } from "./sessions.ts";

/** The request for a call. It never holds the token, so a payload hook may see it. */
export function readRequest(model: PiModel, context: PiContext, options: PiStreamOptions, models: ModelTable, sessions: Sessions): TurnRequest {
  const { systemPrompt, messages, tools } = readContext(context, model);
  const sessionId = isOneOff(options, tools.length, sessions) ? undefined : options.sessionId;
  const workspace = sessions.folderOf(options.sessionId);
  return {
    ...(sessionId !== undefined && { sessionId }),
    model: models.requested(model, options.reasoning),
    ...(systemPrompt !== "" && { systemPrompt }),
    messages,
    tools,
    ...(workspace !== undefined && { workspace }),
  };
}

/**
 * Whether a call stands apart from the conversation: it must not touch the conversation's handle or its parked Run.
 * Compactions and summaries come without a session, or with an id of their own and no tools.
 */
function isOneOff({ sessionId, cacheRetention, disableContinuation }: PiStreamOptions, tools: number, sessions: Sessions): boolean {
  return sessionId === undefined || sessionId === "" || cacheRetention === "none" || disableContinuation === true || (tools === 0 && sessions.any && !sessions.has(sessionId));
}
