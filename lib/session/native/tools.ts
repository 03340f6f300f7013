/** Which of the host's tools a request means: by its name, or by what it can do (PROTOCOL §5). */
import { LIMITS } from "../../agent/limits.ts";
import type { NativeIntent } from "../../agent/exec-row.ts";
import type { Tool } from "../turn.ts";
import { isRecord, readSchema } from "./schema.ts";
import { INTENTS, SCRIPT_TOOL, VOCABULARY, type Vocabulary } from "./vocabulary.ts";
import { compact, wordsOf } from "./words.ts";

const PREFIX = "mcp_pi_";
const NAME = /^[A-Za-z0-9_-]+$/;
/** Characters of a description that are looked at. */
const DESCRIPTION = 2_000;
/** Characters from which a word may be found at the start or end of a longer one. */
const AFFIX = 4;

/** What each signal is worth, strongest first; all weaker ones together never outweigh a stronger one. */
const WEIGHTS = { alias: 1_000, name: 100, property: 10, affix: 5, description: 1 } as const;

/** A tool with what it is ranked by, so that several intents cost one reading. */
export interface Traits {
  readonly tool: Tool;
  readonly name: string;
  readonly nameWords: ReadonlySet<string>;
  readonly properties: ReadonlySet<string>;
  readonly descriptionWords: ReadonlySet<string>;
}

/** The name by which the model knows a tool (PROTOCOL §2.2). */
export function modelName(name: string): string {
  return PREFIX + name;
}

/** The tool of a name on the wire: matched exactly first, then with one `mcp_pi_` taken off (DESIGN D18). */
export function findTool(wireName: string, tools: readonly Tool[]): Tool | undefined {
  const exact = tools.find(({ name }) => name === wireName);
  if (exact !== undefined || !wireName.startsWith(PREFIX)) return exact;
  const plain = wireName.slice(PREFIX.length);
  return tools.find(({ name }) => name === plain);
}

/** The tool that is best for the intent; undefined where none shows any sign of it. */
export function capable(tools: readonly Tool[], intent: NativeIntent): Tool | undefined {
  return fit(readTraits(tools), intent)[0];
}

/** Why the tools can not be declared, naming the first culprit: a name that the service refuses, or one that occurs twice (DESIGN D18). */
export function checkTools(tools: readonly Tool[]): string | undefined {
  const seen = new Set<string>();
  for (const tool of tools) {
    const { name, description, inputSchema } = tool ?? {};
    const shown = JSON.stringify(String(name).slice(0, LIMITS.toolName));
    if (typeof name !== "string" || name === "") return "A tool has an empty name, or none.";
    if (name.length > LIMITS.toolName) return `The tool name ${shown}… is longer than ${LIMITS.toolName} characters.`;
    if (!NAME.test(name)) return `The tool name ${shown} holds something else than letters, digits, _ and -.`;
    if (seen.has(name)) return `The tool ${shown} is declared twice.`;
    if (typeof description !== "string") return `The tool ${shown} has no description: give a text, which may be empty.`;
    if (inputSchema !== undefined && !isRecord(inputSchema)) return `The inputSchema of the tool ${shown} is no JSON Schema object.`;
    seen.add(name);
  }
  return undefined;
}

/**
 * The model's names of all tools, those first that share a word or a capability with `name`: what is offered for a tool
 * that nobody registered (PROTOCOL §5).
 */
export function rankByName(name: string, tools: readonly Tool[]): string[] {
  return likeName(name, tools).map(({ tool }) => modelName(tool.name));
}

/** The tools by likeness to a name; `likeness` 0 is none. */
export function likeName(name: string, tools: readonly Tool[]): { tool: Tool; likeness: number }[] {
  const plain = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
  const asked = readTrait({ name: plain.slice(0, DESCRIPTION), description: "", inputSchema: {} });
  const intents = INTENTS.filter((intent) => score(asked, intent) > 0);
  const likes = readTraits(tools).map((traits) => {
    const shared = [...traits.nameWords].filter((word) => asked.nameWords.has(word)).length;
    const able = Math.max(0, ...intents.map((intent) => score(traits, intent)));
    const all = asked.nameWords.size > 0 && shared === asked.nameWords.size ? 2 * WEIGHTS.alias : 0;
    return { tool: traits.tool, likeness: all + shared * WEIGHTS.name + able };
  });
  return likes.sort((a, b) => b.likeness - a.likeness);
}

/** What each tool is ranked by. */
export function readTraits(tools: readonly Tool[]): Traits[] {
  return tools.map(readTrait);
}

/** The tools that show any sign of the intent, best first; those that are equally fit in their order of registration. */
export function fit(all: readonly Traits[], intent: NativeIntent): Tool[] {
  return rank(all, intent).map(({ traits }) => traits.tool);
}

function rank(all: readonly Traits[], intent: NativeIntent): { traits: Traits; own: number }[] {
  const scored = all.map((traits) => ({ traits, own: score(traits, intent) }));
  return scored.filter(({ own }) => own > 0).sort((a, b) => b.own - a.own);
}

/**
 * The tools that an exec of this intent may be handed to, best first. A tool that another intent claims by a stronger
 * sign is left to that: the description of a shell tells of grep and ls, and a file search may find names or contents.
 */
export function candidates(all: readonly Traits[], intent: NativeIntent): Tool[] {
  const unclaimed = rank(all, intent).filter(({ traits, own }) => !INTENTS.some((other) => tier(score(traits, other)) > tier(own)));
  return unclaimed.map(({ traits }) => traits.tool);
}

/** The sign behind a score: 2 an alias, 1 a word of the name, 0 anything less. */
function tier(value: number): number {
  return value >= WEIGHTS.alias ? 2 : value >= WEIGHTS.name ? 1 : 0;
}

/** The tool that runs scripts, by its name. */
export function scriptTool(all: readonly Traits[]): Tool | undefined {
  return all.find(isScriptTool)?.tool;
}

function isScriptTool({ name }: Traits): boolean {
  return SCRIPT_TOOL.aliases.some((alias) => alias === name);
}

function score(traits: Traits, intent: NativeIntent): number {
  if (isScriptTool(traits)) return 0;
  const { aliases, names, tells, descriptions } = READY[intent];
  const alias = aliases.indexOf(traits.name);
  let sum = 0;
  if (alias >= 0) sum += WEIGHTS.alias + aliases.length - alias;
  else if (names.some((phrase) => holds(traits.nameWords, phrase))) sum += WEIGHTS.name;
  else if (names.some((phrase) => phrase.length === 1 && hasAffix(traits.nameWords, phrase[0]!))) sum += WEIGHTS.affix;
  if (tells.some((name) => traits.properties.has(name))) sum += WEIGHTS.property;
  if (descriptions.some((phrase) => holds(traits.descriptionWords, phrase))) sum += WEIGHTS.description;
  return sum;
}

function readTrait(tool: Tool): Traits {
  return {
    tool,
    name: compact(tool.name),
    nameWords: wordsOf(tool.name),
    properties: new Set([...readSchema(tool.inputSchema).properties.keys()].map(compact)),
    descriptionWords: wordsOf(String(tool.description ?? "").slice(0, DESCRIPTION)),
  };
}

function holds(words: ReadonlySet<string>, phrase: readonly string[]): boolean {
  return phrase.every((word) => words.has(word));
}

function hasAffix(words: ReadonlySet<string>, affix: string): boolean {
  return affix.length >= AFFIX && [...words].some((word) => word.startsWith(affix) || word.endsWith(affix));
}

/** The vocabulary in the form it is compared in. */
const READY = Object.fromEntries(Object.entries(VOCABULARY).map(([intent, row]) => [intent, ready(row)])) as Record<NativeIntent, ReturnType<typeof ready>>;

function ready({ aliases, names, properties, descriptions }: Vocabulary) {
  const phrases = (list: readonly string[]): string[][] => list.map((phrase) => [...wordsOf(phrase)]);
  return {
    aliases: aliases.map(compact),
    names: phrases(names),
    tells: properties.filter(({ tells }) => tells).flatMap((slot) => slot.names.map(compact)),
    descriptions: phrases(descriptions),
  };
}
