import type { NativeIntent } from "../../agent/exec-row.ts";
import type { Tool } from "../turn.ts";
import { utf8Size } from "./cap-text.ts";
import { signature } from "./signature.ts";
import { modelName, readTraits, type Traits } from "./tools.ts";
import { callFor } from "./translate.ts";
import { INTENTS, VOCABULARY } from "./vocabulary.ts";

/** Bytes of the whole text: names are always told, signatures and descriptions as far as they fit. */
const LIMIT = 4_000;
/** Bytes of one signature, and characters of one description. */
const SIGNATURE = 600;
const DESCRIPTION = 100;

const INTRODUCTION = [
  "Local work is done by the tools of Pi, the program you run in.",
  "They are MCP tools of the namespace `pi` and are always there, also when your tool list does not show them: then they are dynamic tools.",
  "Look them up with GetDynamicTools (namespace `pi`) and call them with CallDynamicTool (namespace `pi`, the tool's name, its arguments as one JSON object).",
  "Look there before you conclude that a tool is missing.",
  `The model-facing name of a tool is \`${modelName("")}\` and its name.`,
].join(" ");
const CONTRACTS = "Tools only Pi has, with their arguments (? may be left out). Call them by these names with exactly these arguments:";
const NAMES = "More tools of Pi; GetDynamicTools tells their arguments:";

/**
 * The part of the rules that makes the host's tools known (PROTOCOL §5, §5.1): the model sees neither their descriptions
 * nor their schemas, and sometimes not even their names. First how to find them, then what each kind of work is done
 * with, then the signatures of the tools that no native exec stands for, as far as there is room; what is left out is
 * named. Empty without tools. Under 4 KB for 40 tools; every tool is named however many there are.
 */
export function policyText(tools: readonly Tool[]): string {
  if (tools.length === 0) return "";
  const all = readTraits(tools);
  const map = intentMap(all);
  const mapped = new Set([...map.values()]);
  const covered = new Set([...map].filter(([intent]) => !VOCABULARY[intent].told).map(([, name]) => name));
  const lines = [...map].map(([intent, name]) => `- ${VOCABULARY[intent].purpose}: \`${modelName(name)}\``);
  const start = [INTRODUCTION, ...(lines.length > 0 ? ["What to use for what:", ...lines] : [])].join("\n");
  const rest = tools.filter(({ name }) => !covered.has(name));
  const named = rest.filter(({ name }) => !mapped.has(name)).map(({ name }) => name);
  const contracts = contractsFor(rest, LIMIT - utf8Size(start) - utf8Size(CONTRACTS) - utf8Size(NAMES) - utf8Size(named.join(", ")) - 4);
  const left = named.filter((name) => !contracts.has(name));
  return [
    start,
    ...(contracts.size > 0 ? [CONTRACTS, ...contracts.values()] : []),
    ...(left.length > 0 ? [`${NAMES} ${left.join(", ")}`] : []),
  ].join("\n");
}

/** The tool that does each kind of work, in the order of the table. */
function intentMap(all: readonly Traits[]): Map<NativeIntent, string> {
  const map = new Map<NativeIntent, string>();
  for (const intent of INTENTS) {
    const call = callFor({ intent, values: VOCABULARY[intent].example, skip: 0, take: Infinity }, all);
    if (call?.unwrap === "plain") map.set(intent, call.tool);
  }
  return map;
}

/** Signatures, in the order of registration as far as they fit `room` bytes; then descriptions in what is left of it. */
function contractsFor(tools: readonly Tool[], room: number): Map<string, string> {
  const contracts = new Map<string, string>();
  let left = room;
  for (const { name, inputSchema } of tools) {
    const text = signature(inputSchema);
    if (text === undefined || utf8Size(text) > SIGNATURE) continue;
    const line = `- \`${modelName(name)}${text}\``;
    if (utf8Size(line) + 1 > left) continue;
    left -= utf8Size(line) + 1;
    contracts.set(name, line);
  }
  for (const { name, description } of tools) {
    const line = contracts.get(name);
    const words = firstSentence(String(description ?? ""));
    if (line === undefined || words === "" || utf8Size(words) + 2 > left) continue;
    left -= utf8Size(words) + 2;
    contracts.set(name, `${line}: ${words}`);
  }
  return contracts;
}

function firstSentence(description: string): string {
  const line = description.slice(0, 10 * DESCRIPTION).replace(/\s+/g, " ").trim();
  const sentence = /^.*?[.!?](?= |$)/.exec(line)?.[0] ?? line;
  return sentence.length > DESCRIPTION ? `${sentence.slice(0, DESCRIPTION).replace(/[\ud800-\udbff]$/, "")}…` : sentence;
}
