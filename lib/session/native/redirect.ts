/**
 * The words that turn a model from what this client refuses to what the host offers (PROTOCOL §5). A list of names does
 * not redirect a model, one call that it can copy does; and from the third miss on it is ordered, no longer advised.
 */
import type { ExecRow } from "../../agent/exec-row.ts";
import { LIMITS } from "../../agent/limits.ts";
import type { Tool } from "../turn.ts";
import { callText, template } from "./call-text.ts";
import { readOperation } from "./operation.ts";
import { capable, fit, likeName, modelName, readTraits } from "./tools.ts";
import { callFor } from "./translate.ts";
import { VOCABULARY, type Slot } from "./vocabulary.ts";

const NOTHING_DONE = "No operation was performed.";
const NATIVE = `Cursor native tools do not run on this host. ${NOTHING_DONE}`;
const STOP = `STOP calling Cursor native tools. ${NOTHING_DONE}`;
const NO_TOOLS = "This session has no tools.";
/** Tools besides the best that are named. */
const ALTERNATIVES = 2;
/** Tools that are listed where none is better than another. */
const LISTED = 60;
/** What a case's name holds besides its meaning. */
const SUFFIX = /(?:_exec)?_(?:args|request)$/;

/**
 * Why a native exec is refused and what to call instead: the best tool for it by the name that the model knows, with
 * arguments from that tool's own schema which hold the original command or path.
 * @param row undefined for a case that no row names
 * @param misses the turn's requests that became no call of a tool, this one counted
 */
export function redirect(row: ExecRow | undefined, args: object, tools: readonly Tool[], misses: number): string {
  const intent = row?.native;
  const all = readTraits(tools);
  const purpose = intent === undefined ? "do that" : VOCABULARY[intent].asked;
  const found = row !== undefined && intent === undefined ? alike(row.name.replace(SUFFIX, ""), tools) : fit(all, intent ?? "shell");
  const operation = row && readOperation(row, args);
  const call = operation && callFor(operation, all);
  if (call !== undefined) return advice(purpose, call.tool, call.arguments, found, misses);
  const [best] = found;
  if (best === undefined) return unknown(tools, misses);
  const slots: readonly Slot[] = intent === undefined ? [] : VOCABULARY[intent].properties;
  return advice(purpose, best.name, template(best, operation?.values ?? scalars(args), slots), found, misses);
}

/** The name by which the model knows the host's best command tool; undefined where there is none. */
export function commandTool(tools: readonly Tool[]): string | undefined {
  const tool = capable(tools, "shell");
  return tool && modelName(tool.name);
}

function alike(name: string, tools: readonly Tool[]): Tool[] {
  return likeName(name, tools)
    .filter(({ likeness }) => likeness > 0)
    .map(({ tool }) => tool);
}

function advice(purpose: string, name: string, args: Record<string, unknown>, found: readonly Tool[], misses: number): string {
  const call = callText(name, args);
  if (misses >= LIMITS.escalate) return `${STOP} Call the MCP tool ${call} now.`;
  const others = found.filter((tool) => tool.name !== name).slice(0, ALTERNATIVES);
  const alternatives = others.length === 0 ? "" : ` Alternatives: ${others.map(shown).join(", ")}.`;
  return `${NATIVE} To ${purpose} from Pi, call the MCP tool ${call}. It is a dynamic tool of the namespace \`pi\`.${alternatives}`;
}

/** No tool is better than another: all of them, in their order of registration. */
function unknown(tools: readonly Tool[], misses: number): string {
  const start = misses >= LIMITS.escalate ? STOP : NATIVE;
  if (tools.length === 0) return `${start} ${NO_TOOLS}`;
  const more = tools.length > LISTED ? ` and ${tools.length - LISTED} more` : "";
  return `${start} Call one of the MCP tools of the namespace \`pi\` instead: ${tools.slice(0, LISTED).map(shown).join(", ")}${more}.`;
}

function shown({ name }: Tool): string {
  return `\`${modelName(name)}\``;
}

/** The arguments of a case that stands for no operation, as far as they are texts, numbers or yes and no. */
function scalars(args: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).filter(([name, value]) => ["string", "number", "boolean"].includes(typeof value) && name !== "toolCallId"));
}
