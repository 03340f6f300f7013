import { encodeFields, WIRE_TYPE, type Decoded } from "../../wire/index.ts";
import { AgentServerMessage, ConversationStateStructure } from "../agent/index.ts";
import { askBlobs, askExec, askMcp, askQuery, askRequestContext, giveBlob } from "./question.ts";
import type { ToolResult } from "./received.ts";
import type { Run } from "./run.ts";
import { stepName } from "./script-json.ts";
import type { Expectation, Pace, Script, StepName, Steps } from "./script.ts";
import { strike } from "./strike.ts";
import { filler, fromHex, valueFromJson } from "./value.ts";
import { toolsOf } from "./verify.ts";

type Update = NonNullable<Decoded<typeof AgentServerMessage>["interactionUpdate"]>;

/** What each step does. */
const PERFORM: { readonly [Name in StepName]: (step: Steps[Name], run: Run) => void | Promise<void> } = {
  thinking: (step, run) => deltas(step.thinking, step, (text) => update(run, { thinkingDelta: { text } }), run),
  text: (step, run) => deltas(step.text, step, (text) => update(run, { textDelta: { text } }), run),
  textFrom: (step, run) => deltas(textFrom(step, run), step, (text) => update(run, { textDelta: { text } }), run),
  tokens: (step, run) => update(run, { tokenDelta: { tokens: step.tokens } }),
  announce: (step, run) => update(run, { toolRequestsListed: { callCount: step.announce } }),
  heartbeats: async ({ heartbeats, everyMs = 0 }, run) => {
    for (let index = 0; index < heartbeats; index++) {
      await run.sleep(everyMs);
      await update(run, { heartbeat: {} });
    }
  },
  getBlob: (step, run) => askBlobs(step, run),
  setBlob: (step, run) => giveBlob(step, run),
  requestContext: (step, run) => askRequestContext(step, run),
  mcp: (step, run) => askMcp(step, run),
  exec: (step, run) => askExec(step, run),
  query: (step, run) => askQuery(step, run),
  awaitResults: (_step, run) => run.answered(run.outstanding.splice(0)),
  checkpoint: async ({ checkpoint }, run) => {
    const bytes = checkpointBytes(checkpoint === true ? {} : checkpoint, run);
    const known = run.conversation();
    if (known !== undefined) known.checkpoint = bytes;
    await run.send({ conversationCheckpointUpdate: bytes });
  },
  turnEnded: ({ turnEnded }, run) => update(run, { turnEnded: (turnEnded !== true && turnEnded.usage) || {} }),
  message: ({ message }, run) => run.send(valueFromJson(AgentServerMessage, message, "message")),
  raw: ({ raw, flags = 0 }, run) => run.response.frame(flags, fromHex(raw)),
  bytes: ({ bytes }, run) => run.response.write(fromHex(bytes)),
  wait: ({ wait }, run) => run.sleep(wait),
  expect: ({ expect }, run) => {
    for (const wrong of unexpectedRun(expect, run)) run.violation(wrong);
  },
  fault: ({ fault }, run) => strike(fault, run.response),
  repeat: async ({ repeat, steps }, run) => {
    for (let index = 0; index < repeat; index++) await perform(steps, run);
  },
  end: ({ end }, run) => (end === true ? run.response.end() : run.response.end(end.error, end.metadata)),
  hang: (_step, run) => run.sleep(),
};

/**
 * Plays a script once the run request has come, and ends the response where the script does not.
 * @throws Over where the response is over before that
 */
export async function play(script: Script, run: Run): Promise<void> {
  await run.until(() => (run.received.request === undefined ? ["the run request"] : []));
  await perform(script, run);
  await run.response.end();
}

async function perform(script: Script, run: Run): Promise<void> {
  for (const step of script) {
    await run.until(() => []);
    const name = stepName(step)!;
    await (PERFORM[name] as (step: object, run: Run) => void | Promise<void>)(step, run);
  }
}

function update(run: Run, interactionUpdate: Update): Promise<void> {
  return run.send({ interactionUpdate });
}

async function deltas(text: string, { chunks = 1, everyMs = 0 }: Pace, send: (text: string) => Promise<void>, run: Run): Promise<void> {
  for (const [index, piece] of pieces(text, chunks).entries()) {
    if (index > 0 && everyMs > 0) await run.sleep(everyMs);
    await send(piece);
  }
}

/** A text word by word, or in so many parts of about one size; never in the middle of a code point. */
function pieces(text: string, chunks: number | "words"): string[] {
  if (chunks === "words") return text.match(/\s*\S+\s*$|\s*\S+/g) ?? [text];
  const points = Array.from(text);
  const size = Math.max(1, Math.ceil(points.length / Math.max(1, chunks)));
  const count = Math.max(1, Math.ceil(points.length / size));
  return Array.from({ length: count }, (_, index) => points.slice(index * size, (index + 1) * size).join(""));
}

function textFrom({ textFrom: source, template }: Steps["textFrom"], { received, burst }: Run): string {
  if (source === "prompt") return (template ?? "{prompt}").replaceAll("{prompt}", () => received.prompt.user.text);
  if (template === undefined) return burst.map((result) => `${result.name}: ${saying(result)}`).join("\n");
  return template.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const result = received.results.findLast((result) => result.name === name);
    return result === undefined ? whole : saying(result);
  });
}

/** What a result comes to in a text: where the host lacks the tool, its answer holds names only. */
function saying({ name, arm, text }: ToolResult): string {
  return arm === "mcpResult.toolNotFound" ? `(the host has no tool ${name})` : text;
}

/** The field that pads a checkpoint: no table knows it, so a client keeps it as it is (§3). */
const PADDING = 1000;
/** Bytes in front of its value: two of the tag, and about three of the length. */
const PADDING_HEAD = 5;

function checkpointBytes({ bytes, size }: { bytes?: string; size?: number }, { state, given }: Run): Uint8Array {
  if (bytes !== undefined) return fromHex(bytes);
  const turn = ConversationStateStructure.encode({ turns: given, tokenDetails: { usedTokens: 1000, maxTokens: 200_000 } });
  const room = (size ?? 0) - state.length - turn.length - PADDING_HEAD;
  const padding = size === undefined ? new Uint8Array(0) : encodeFields([{ no: PADDING, type: WIRE_TYPE.length, value: filler(Math.max(0, room)) }]);
  const whole = new Uint8Array(state.length + turn.length + padding.length);
  whole.set(state);
  whole.set(turn, state.length);
  whole.set(padding, state.length + turn.length);
  return whole;
}

/** Where a Run is not as expected: in words. */
function unexpectedRun(expect: Expectation, run: Run): string[] {
  const request = run.received.request!;
  const id = request.conversationId ?? "";
  const before = run.previous?.request?.conversationId;
  const compared = { same: id === before, new: id !== before } as Readonly<Record<string, boolean>>;
  const tools = toolsOf(request).map(({ name }) => name);
  const checks: readonly [boolean, string][] = [
    [expect.resume === undefined || run.resumes() === expect.resume, `a Run that ${expect.resume ? "resumes a" : "begins a new"} conversation was expected`],
    [expect.conversationId === undefined || (compared[expect.conversationId] ?? id === expect.conversationId), `conversation_id ${expect.conversationId} was expected`],
    [expect.mcpTools === undefined || (request.mcpTools !== undefined) === expect.mcpTools, `mcp_tools was expected to be ${expect.mcpTools ? "sent" : "left out"}`],
    [expect.model === undefined || request.requestedModel?.modelId === expect.model, `model ${expect.model} was expected`],
    [expect.text === undefined || run.received.prompt.user.text === expect.text, `the text ${JSON.stringify(expect.text)} was expected`],
    [expect.tools === undefined || expect.tools.join("\n") === tools.join("\n"), `the tools ${expect.tools?.join(", ")} were expected`],
  ];
  return checks.filter(([holds]) => !holds).map(([, wrong]) => wrong);
}
