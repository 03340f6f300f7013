import { encodeValue, type Decoded, type UnknownField } from "../../wire/index.ts";
import { AgentServerMessage, asksMcpState, blobId, camel, execByName, ExecServerMessage, hex, InteractionQuery, queryByName, type RequestContext } from "../agent/index.ts";
import { answerName, at, type Properties } from "./answer.ts";
import type { Ask } from "./asks.ts";
import { readContext, readRootPrompt } from "./prompt.ts";
import type { Run } from "./run.ts";
import type { Steps } from "./script.ts";
import { filler, fromHex, tableOf, valueFromJson } from "./value.ts";
import { contextBlobViolations, contextViolations } from "./verify.ts";

type ServerMessage = Decoded<typeof AgentServerMessage>;

/** The identifier under which the client's tools are registered (§2.2). */
const SERVER = "pi";

/** Asks for blobs, checks what comes, and reads the root prompt out of them. */
export async function askBlobs({ getBlob, wait }: Steps["getBlob"], run: Run): Promise<void> {
  const state = run.received.request!.conversationState;
  const context = run.received.request!.action?.userMessageAction?.userMessage?.selectedContextBlob;
  const ids = getBlob === "root" ? (state?.rootPromptMessagesJson ?? []) : getBlob === "context" ? (context ? [context] : []) : [fromHex(getBlob)];
  const asks: Ask[] = [];
  const messages: ServerMessage[] = [];
  for (const wanted of ids) {
    const id = run.id("kv");
    const onAnswer = (answer: Properties): void => {
      takeBlob(wanted, at(answer, "getBlobResult.blobData"), run);
      if (getBlob === "context" && run.received.blobs.has(hex(wanted)))
        run.received.violations.push(...contextBlobViolations(run.received.blobs.get(hex(wanted))!, run.received.request!));
    };
    asks.push({ channel: "kv", id, case: "getBlobArgs", answeredBy: "getBlobResult", onAnswer });
    messages.push({ kvServerMessage: { ...given(id), getBlobArgs: { blobId: wanted } } });
  }
  await run.ask(asks, messages, wait);
  readRootPrompt(run.received);
}

function takeBlob(wanted: Uint8Array, data: unknown, run: Run): void {
  const name = `blob ${hex(wanted).slice(0, 12)}…`;
  if (!(data instanceof Uint8Array)) run.violation(`${name} was not given`);
  else if (hex(blobId(data)) !== hex(wanted)) run.violation(`${name} has other content than its id says: ${data.length} bytes (§6)`);
  else run.received.blobs.set(hex(wanted), data);
}

/** Gives a blob to keep. */
export async function giveBlob({ setBlob, expect = "stored", wait }: Steps["setBlob"], run: Run): Promise<void> {
  const { text, bytes, size = 32, blobId: other, reference = false } = setBlob;
  const data = text !== undefined ? new TextEncoder().encode(text) : bytes !== undefined ? fromHex(bytes) : filler(size);
  const name = other === undefined ? blobId(data) : fromHex(other);
  const id = run.id("kv");
  run.given.push(name);
  const onAnswer = (answer: Properties): void => {
    const refused = at(answer, "setBlobResult.error") !== undefined;
    if (refused !== (expect === "refused")) run.violation(`blob ${hex(name).slice(0, 12)}… was ${refused ? "refused" : "stored"}, not ${expect} (§6)`);
  };
  const ask: Ask = { channel: "kv", id, case: "setBlobArgs", answeredBy: "setBlobResult", onAnswer };
  await run.ask([ask], [{ kvServerMessage: { ...given(id), setBlobArgs: reference ? { blobId: name } : { blobId: name, blobData: data } } }], wait);
}

/** Asks for the request context. */
export function askRequestContext({ wait }: Steps["requestContext"], run: Run): Promise<void> {
  const step = { case: "requestContextArgs", expect: { arm: "requestContextResult.success.requestContext" } };
  return askExec({ exec: wait === undefined ? step : { ...step, wait } }, run);
}

/** Calls a tool of the host's, unless the model has come to know none. */
export async function askMcp({ mcp }: Steps["mcp"], run: Run): Promise<void> {
  const { tool, args = {}, toolCallId = `call_${run.id("call")}`, id = run.id("exec"), execId = `exec-${id}`, provider = SERVER } = mcp;
  if (run.toolsLost) return run.violation(`the model knows no tools, so it cannot call ${tool} (§5)`);
  const values = new Map(Object.entries(args).map(([name, value]) => [name, encodeValue(value)]));
  const mcpArgs = { name: tool, args: values, toolCallId, providerIdentifier: provider, toolName: tool };
  const ask: Ask = { channel: "exec", id, execId, case: "mcpArgs", tool, answeredBy: "mcpResult" };
  await run.ask([ask], [{ execServerMessage: { ...given(id), mcpArgs, execId } }], false);
}

/** The execs that come without an exec_id (§5). */
const WITHOUT_EXEC_ID = ["requestContextArgs", "startGrindPlanningArgs"];

/** Asks for any exec. */
export async function askExec({ exec }: Steps["exec"], run: Run): Promise<void> {
  const { raw, id = run.id("exec"), expect, wait } = exec;
  const name = exec.case ?? caseOf(ExecServerMessage, raw!);
  const execId = exec.execId ?? (exec.case === undefined || WITHOUT_EXEC_ID.includes(exec.case) ? undefined : `exec-${id}`);
  const ids = { ...given(id), ...(execId !== undefined && { execId }) };
  const body = raw === undefined ? { [name!]: argsOf(exec, id) } : asTheyAre(raw);
  const message: ServerMessage = { execServerMessage: { ...ids, ...body } };
  const result = execByName.get(name ?? "")?.result?.name;
  const ask: Ask = {
    channel: "exec",
    id,
    case: name ?? "raw",
    ...(execId !== undefined && { execId }),
    ...(result !== undefined && { answeredBy: camel(result) }),
    ...(expect !== undefined && { expect }),
    onAnswer: (answer) => learn(answer, message, run),
  };
  await run.ask([ask], [message], wait);
}

/** Asks an interaction query. */
export async function askQuery({ query }: Steps["query"], run: Run): Promise<void> {
  const { raw, id = run.id("query"), args = {}, expect, wait } = query;
  const name = query.case ?? caseOf(InteractionQuery, raw!);
  const body = raw === undefined ? { [name!]: valueFromJson(tableOf(InteractionQuery.fields[name!]!)!, args, "args") } : asTheyAre(raw);
  const response = queryByName.get(name ?? "")?.response;
  const ask: Ask = {
    channel: "query",
    id,
    case: name ?? "raw",
    ...(response !== undefined && { answeredBy: camel(response) }),
    ...(expect !== undefined && { expect }),
  };
  await run.ask([ask], [{ interactionQuery: { ...given(id), ...body } }], wait);
}

/** What the model learns from an answer: its request context, or which tools there are (§5). */
function learn(answer: Properties, asked: ServerMessage, run: Run): void {
  const context = at(answer, "requestContextResult.success.requestContext") as Decoded<typeof RequestContext> | undefined;
  if (context !== undefined) {
    run.received.requestContext = context;
    run.received.violations.push(...contextViolations(context, run.received.request!));
    readContext(run.received, context);
  }
  const state = at(answer, "startGrindPlanningResult.success") as { servers?: { tools?: { name?: string }[] }[] } | undefined;
  if (state === undefined || !asksMcpState(AgentServerMessage.encode(asked), [SERVER])) return;
  const servers = state.servers ?? [];
  run.received.prompt.tools = servers.flatMap(({ tools = [] }) => tools.map(({ name = "" }) => name));
  run.toolsLost = servers.length === 0;
}

/** The arguments of a named exec, with a tool-call id where the case has one and the script gives none. */
function argsOf({ case: name, args = {} }: Steps["exec"]["exec"], id: number): object {
  const table = tableOf(ExecServerMessage.fields[name!]!)!;
  const value = valueFromJson(table, args, "args") as Record<string, unknown>;
  return "toolCallId" in table.fields && !("toolCallId" in value) ? { ...value, toolCallId: `native_${id}` } : value;
}

/** The case that raw fields carry, where a table knows it. */
function caseOf(table: typeof ExecServerMessage | typeof InteractionQuery, raw: string): string | undefined {
  try {
    return answerName(table.decode(fromHex(raw)));
  } catch {
    return undefined;
  }
}

/** Fields that are written as they are: the table's way to keep what it does not know. */
function asTheyAre(raw: string): { unknown: UnknownField[] } {
  return { unknown: [{ no: 0, type: 0, bytes: fromHex(raw) }] };
}

/** An id as the wire has it: 0 is left out. */
function given(id: number): { id?: number } {
  return id === 0 ? {} : { id };
}
