/**
 * Hosts can hide their tools behind one that runs scripts which call them (PROTOCOL §5.1). The hidden tools are not
 * declared, so the script looks for its executor when it runs: by whole names, then by the words of names.
 */
import type { NativeIntent } from "../../agent/exec-row.ts";
import type { Tool } from "../turn.ts";
import type { Operation } from "./operation.ts";
import { enter } from "./quote.ts";
import { accepts, readSchema, rulesOf } from "./schema.ts";
import { SCRIPT_TOOL, VOCABULARY } from "./vocabulary.ts";
import { compact } from "./words.ts";

/** Tokens of output that the host hands on, at 4 characters each: as much as we send. */
const OPTIONS = '// @options: {"max_output_tokens": 131072}';

/** After `wanted` and `args`: calls the first tool there is, and says what it said as a plain text. */
const BODY = [
  "const names = ALL_TOOLS.map((tool) => tool.name);",
  'const words = (name) => name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z0-9]+/);',
  "const name = wanted.find((word) => names.includes(word)) ?? names.find((name) => words(name).some((word) => wanted.includes(word)));",
  'if (name === undefined) throw new Error("No tool of this host can do that. ALL_TOOLS: " + names.join(", "));',
  "const result = await tools[name](args);",
  'if (typeof result === "string") return result;',
  'if (result?.type === "image") { image(result); return result.note ?? ""; }',
  'const parts = Array.isArray(result?.content) ? result.content.filter((part) => part.type === "text").map((part) => part.text).join("\\n") : undefined;',
  "if (result?.isError) throw new Error(parts ?? JSON.stringify(result));",
  'if (typeof result?.output !== "string") return parts ?? result;',
  'const rest = result.full_output_path ? "\\n\\n[Full output: " + result.full_output_path + "]" : "";',
  'return result.output + rest + (result.exit_code ? "\\n\\nCommand exited with code " + result.exit_code : "");',
];

/** The arguments by which the script tool does the operation; undefined where it has no property for a script. */
export function fillScript(tool: Tool, operation: Operation): Record<string, unknown> | undefined {
  const { properties, required, scope } = readSchema(tool.inputSchema);
  for (const [name, property] of properties) {
    if (!SCRIPT_TOOL.properties.some((spelling) => spelling === compact(name)) || [...required].some((other) => other !== name)) continue;
    const code = script(operation);
    if (accepts(rulesOf(property, scope), code)) return { [name]: code };
  }
  return undefined;
}

function script({ intent, values }: Operation): string {
  const { cwd, description, ...rest } = values;
  const args: Record<string, unknown> = rest;
  if (cwd !== undefined) args["command"] = enter(cwd, rest.command!);
  return [OPTIONS, `const wanted = ${JSON.stringify(executors(intent))};`, `const args = ${JSON.stringify(args)};`, ...BODY].join("\n");
}

/** Names to look for, best first: the aliases as they may be written, then the single words of names. */
function executors(intent: NativeIntent): string[] {
  const { aliases, names } = VOCABULARY[intent];
  return [...new Set([...aliases, ...names.filter((name) => !name.includes(" "))])];
}
