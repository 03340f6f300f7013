import { CONNECT_CODES } from "../../wire/index.ts";
import { AgentServerMessage, ExecServerMessage, InteractionQuery } from "../agent/index.ts";
import { faultStep } from "./fault.ts";
import { nearest } from "./nearest.ts";
import type { Script, StepName, Steps } from "./script.ts";
import { byteCount, either, flag, hexadecimal, inside, isRecord, list, milliseconds, object, record, ScriptError, shown, text, whole, words, yes, type Shape } from "./shape.ts";
import { tableOf, valueFromJson } from "./value.ts";

/** What a step says: the shape of the property that names it, and of those beside it. */
interface StepShape {
  readonly value: Shape;
  readonly beside?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
}

const pace = { chunks: either('a whole number from 0 or "words"', whole, words("words")), everyMs: milliseconds };
const wait = { wait: flag };
const expected = object({ arm: text, says: text });
const texts = list(text);
const connectCode = words(...CONNECT_CODES);

const STEPS: { readonly [Name in StepName]: StepShape } = {
  thinking: { value: text, beside: pace },
  text: { value: text, beside: pace },
  textFrom: { value: words("results", "prompt"), beside: { ...pace, template: text } },
  tokens: { value: whole },
  announce: { value: whole },
  heartbeats: { value: whole, beside: { everyMs: milliseconds } },
  getBlob: { value: either('"root", "context" or a blob id in hex', words("root", "context"), hexadecimal), beside: wait },
  setBlob: {
    value: object({ text, bytes: hexadecimal, size: byteCount, blobId: hexadecimal, reference: flag }),
    beside: { ...wait, expect: words("stored", "refused") },
  },
  requestContext: { value: yes, beside: wait },
  mcp: { value: object({ tool: text, args: record, toolCallId: text, execId: text, id: whole, provider: text }, ["tool"]) },
  exec: { value: asked(ExecServerMessage.fields, ["id", "execId", "spanContext"], { execId: text }) },
  query: { value: asked(InteractionQuery.fields, ["id"], {}) },
  awaitResults: { value: yes },
  checkpoint: { value: trueOr(object({ bytes: hexadecimal, size: byteCount })) },
  turnEnded: {
    value: trueOr(object({ usage: object({ inputTokens: whole, outputTokens: whole, cacheRead: whole, cacheWrite: whole, reasoning: whole }) })),
  },
  message: { value: (value, place) => void valueFromJson(AgentServerMessage, value, place) },
  raw: { value: hexadecimal, beside: { flags: whole } },
  bytes: { value: hexadecimal },
  wait: { value: milliseconds },
  expect: { value: object({ resume: flag, conversationId: text, mcpTools: flag, model: text, text, tools: texts }) },
  fault: { value: faultStep },
  repeat: { value: whole, beside: { steps: (value, place) => checkSteps(value, `${place.replace(": ", ", ")}, `) }, required: ["steps"] },
  end: { value: trueOr(object({ error: object({ code: connectCode, message: text }, ["code"]), metadata: record })) },
  hang: { value: yes },
};

const NAMES = Object.keys(STEPS) as StepName[];

/** The property that names a step. */
export function stepName(step: object): StepName | undefined {
  return NAMES.find((name) => Object.hasOwn(step, name) && !(name === "wait" && isOption(step)) && !(name === "expect" && Object.hasOwn(step, "setBlob")));
}

/** `wait` and `expect` are steps, and also properties of steps that ask something. */
function isOption(step: object): boolean {
  return ["getBlob", "setBlob", "requestContext"].some((name) => Object.hasOwn(step, name));
}

/**
 * A script out of a JSON file: a list of steps.
 * @throws ScriptError that names the step, counted from 1, and the property
 */
export function scriptFromJson(json: unknown): Script {
  checkSteps(json, "");
  return json as Script;
}

/**
 * The scripts out of a JSON file, one a Run: a list of scripts, or one script.
 * @throws ScriptError that names the script and step, counted from 1, and the property
 */
export function scriptsFromJson(json: unknown): Script[] {
  if (!Array.isArray(json) || json.length === 0 || !json.every(Array.isArray)) return [scriptFromJson(json)];
  for (const [index, script] of json.entries()) checkSteps(script, `script ${index + 1}, `);
  return json as Script[];
}

function checkSteps(json: unknown, prefix: string): void {
  if (!Array.isArray(json)) throw new ScriptError(`${prefix}script`, `must be a list of steps, not ${shown(json)}`);
  for (const [index, step] of json.entries()) checkStep(step, `${prefix}step ${index + 1}`);
}

function checkStep(step: unknown, place: string): void {
  if (!isRecord(step)) throw new ScriptError(place, `must be an object, not ${shown(step)}`);
  const name = stepName(step);
  if (name === undefined) throw new ScriptError(place, `${shown(Object.keys(step))} names no step${meant(Object.keys(step)) ?? `: ${NAMES.join(", ")} do`}`);
  const { value, beside, required = [] } = STEPS[name];
  object({ [name]: value, ...beside, note: text }, [name, ...required])(step, place);
}

/** The step that one of these names most probably meant. */
function meant(names: readonly string[]): string | undefined {
  const near = names.map((name) => nearest(name, NAMES)).find((found) => found !== undefined);
  return near === undefined ? undefined : `; did you mean ${near}?`;
}

/** The shape of an exec or a query: one of the table's cases with its arguments, or raw bytes. */
function asked(fields: typeof ExecServerMessage.fields, besides: readonly string[], more: Readonly<Record<string, Shape>>): Shape {
  const cases = Object.keys(fields).filter((name) => !besides.includes(name) && tableOf(fields[name]!) !== undefined);
  const shape = object({ case: words(...cases), args: record, raw: hexadecimal, id: whole, ...more, expect: expected, wait: flag });
  return (value, place) => {
    shape(value, place);
    const { case: name, args = {}, raw } = value as Steps["exec"]["exec"];
    if ((name === undefined) === (raw === undefined)) throw new ScriptError(place, "needs either a case or raw bytes");
    if (name !== undefined) valueFromJson(tableOf(fields[name]!)!, args, inside(place, "args"));
  };
}

/** True, or an object that says more. */
function trueOr(shape: Shape): Shape {
  return (value, place) => {
    if (value !== true) shape(value, place);
  };
}
