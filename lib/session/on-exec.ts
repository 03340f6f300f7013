/**
 * A request for local work (PROTOCOL §5). It is answered from what we know, lifted to a call of the host's tools, or
 * refused. Nothing is ever executed here.
 */
import { decodeValue, type Decoded, type Json, type WireError } from "../../wire/index.ts";
import { asksMcpState, execByName, execIds, LIMITS, refuse, type ExecRow, type ExecServerMessage, type McpArgs } from "../agent/index.ts";
import { mcpState, requestContext, SERVER } from "./context.ts";
import { toolLoop } from "./failures.ts";
import { fail } from "./finish.ts";
import { commandTool, redirect } from "./native/redirect.ts";
import { findTool, rankByName } from "./native/tools.ts";
import { translate } from "./native/translate.ts";
import { say, settleBurst, work } from "./on-update.ts";
import { answerExec, type ClientMessage } from "./reply.ts";
import { arm, liveTools, note, type PendingCall, type Session } from "./session.ts";

type Exec = Decoded<typeof ExecServerMessage>;

/** @param bytes the AgentServerMessage of this arm alone: exec 36 has two meanings, told apart by its wire types */
export function onExec(session: Session, exec: Exec, bytes: Uint8Array): void {
  work(session);
  const id = exec.id ?? 0;
  if (session.pending.has(id)) {
    note(session, "repeated_exec", "The service repeated an exec that the host has already.", { id });
    return;
  }
  const name = Object.keys(exec).find((key) => execByName.has(key));
  const row = name === undefined ? undefined : execByName.get(name);
  const args = (name === undefined ? {} : exec[name as keyof Exec]) as object;
  switch (row?.decision) {
    case "context":
      answer(session, exec, { requestContextResult: { success: { requestContext: requestContext(liveTools(session), session.workspaceUri, session.settings.mcpMeta) } } });
      return;
    case "lift":
      liftMcp(session, exec, row, args as Decoded<typeof McpArgs>, bytes);
      return;
    case "ack":
      if (asksMcpState(bytes, [SERVER])) answer(session, exec, { startGrindPlanningResult: mcpState(liveTools(session)) });
      else if (miss(session)) answerExec(session, id, [refuse(row, exec, args, "")]);
      return;
    default:
      row?.decision satisfies "reject" | "error" | "failure" | "throw" | "status" | "allowlisted" | undefined;
      onNative(session, exec, row, args, bytes);
  }
}

/** A native exec becomes a call of a capable tool, or is refused with words that lead to one. */
function onNative(session: Session, exec: Exec, row: ExecRow | undefined, args: object, bytes: Uint8Array): void {
  const tools = liveTools(session);
  const translation = row?.translated && session.phase !== "draining" ? translate(row, kept(args), tools, session.workspaceUri) : undefined;
  if (translation !== undefined) {
    const raw = (args as { toolCallId?: string }).toolCallId ?? "";
    lift(session, exec, bytes.length, { rawCallId: raw, tool: translation.tool, arguments: translation.arguments, translation });
  } else if (miss(session)) answerExec(session, exec.id ?? 0, [refuse(row, exec, args, redirect(row, args, tools, session.misses))]);
}

function liftMcp(session: Session, exec: Exec, row: ExecRow, args: Decoded<typeof McpArgs>, bytes: Uint8Array): void {
  const id = exec.id ?? 0;
  if (session.phase === "draining") {
    answerExec(session, id, [refuse(row, exec, args, "The turn is over. No operation was performed.")]);
    return;
  }
  const wanted = args.toolName || args.name || "";
  const tools = liveTools(session);
  const tool = findTool(wanted, tools);
  if (tool === undefined) {
    if (miss(session)) answer(session, exec, { mcpResult: { toolNotFound: { name: wanted, availableTools: rankByName(wanted, tools) } } });
    return;
  }
  let values: Record<string, unknown>;
  try {
    values = decodeArguments(args.args ?? new Map());
  } catch (error) {
    if (miss(session)) answerExec(session, id, [refuse(row, exec, args, `The arguments cannot be read (${(error as WireError).message}). No operation was performed. Call ${wanted} again with valid JSON arguments.`)]);
    return;
  }
  lift(session, exec, bytes.length, { rawCallId: args.toolCallId ?? "", tool: tool.name, arguments: values, translation: undefined });
}

function decodeArguments(args: ReadonlyMap<string, Uint8Array>): Record<string, Json> {
  const values: Record<string, Json> = {};
  const count = { elements: args.size };
  // Defined, not assigned: a key may be called __proto__.
  for (const [key, bytes] of args) Object.defineProperty(values, key, { value: decodeValue(bytes, count), writable: true, enumerable: true, configurable: true });
  return values;
}

/** Arguments that outlive their frame: bytes are copied, what no table names is left out. */
function kept(args: object): object {
  const known = Object.entries(args).filter(([name]) => name !== "unknown");
  return Object.fromEntries(known.map(([name, value]) => [name, value instanceof Uint8Array ? value.slice() : value]));
}

/** @param size bytes of the request, for the count of what waits for the host */
function lift(session: Session, { id = 0, execId }: Exec, size: number, call: Pick<PendingCall, "rawCallId" | "tool" | "arguments" | "translation">): void {
  const callId = newCallId(session, call.rawCallId, id);
  session.pending.set(id, { id, execId, callId, ...call, delivered: false });
  session.misses = 0;
  session.liftedSize += size;
  if (!session.armed.has("execHeartbeat")) arm(session, "execHeartbeat");
  say(session, { type: "tool_call", id: callId, name: call.tool, arguments: call.arguments }, size);
  settleBurst(session);
}

/** The call's own id where the host has not seen it, else one made of it and the exec's. */
function newCallId({ callIds, cleanCallId }: Session, raw: string, id: number): string {
  let callId = raw === "" ? "" : cleanCallId(raw);
  for (let wanted = `${raw}exec-${id}`; callId === "" || callIds.has(callId); wanted += "-") callId = cleanCallId(wanted);
  callIds.add(callId);
  return callId;
}

/** Counts a request that became no tool call. False where that was one too many: then the Run has failed (PROTOCOL §5). */
function miss(session: Session): boolean {
  // The turn is over, and what still comes is no loop.
  if (session.phase === "draining") return true;
  session.misses += 1;
  if (session.misses < LIMITS.missBudget) return true;
  fail(session, toolLoop(session.misses, commandTool(liveTools(session))));
  return false;
}

function answer(session: Session, exec: Exec, result: ClientMessage["execClientMessage"] & object): void {
  answerExec(session, exec.id ?? 0, [{ execClientMessage: { ...execIds(exec), ...result } }]);
}
