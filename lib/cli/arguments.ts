import { parseArgs, type ParseArgsConfig } from "node:util";
import { nearest } from "../loopback/nearest.ts";
import { UsageError } from "./failure.ts";
import type { Arguments, Option, Verb } from "./verb.ts";

/** The options that every verb has. */
export const COMMON: readonly Option[] = [
  { name: "json", meaning: "print one JSON object a line" },
  { name: "help", short: "h", meaning: "print this help" },
];

/**
 * Parses what follows a verb. `parseArgs` knows no optional values, so it only cuts the line into tokens and the
 * rules are applied here; that also gives the errors a suggestion.
 * @throws UsageError at an unknown option, a value too many or too few, a wrong number of positional arguments
 */
export function parseArguments(verb: Verb, line: readonly string[]): Arguments {
  const options = [...verb.options, ...COMMON];
  const { tokens } = parseArgs({ args: [...line], options: configOf(options), strict: false, allowPositionals: true, tokens: true });
  const values = new Map<string, string | undefined>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const option = options.find(({ name }) => name === token.name);
    if (option === undefined) throw new UsageError(unknownOption(token.rawName, options), verb.name);
    values.set(option.name, valueOf(option, token, verb));
  }
  if (!values.has("help")) checkCount(verb, positionals);
  return { positionals, has: (name) => values.has(name), value: (name) => values.get(name) };
}

function configOf(options: readonly Option[]): NonNullable<ParseArgsConfig["options"]> {
  const entries = options.map(({ name, short, value, optional }) => [
    name,
    { type: value !== undefined && !optional ? ("string" as const) : ("boolean" as const), ...(short && { short }) },
  ]);
  return Object.fromEntries(entries);
}

function valueOf(option: Option, token: { rawName: string; value?: string | undefined; inlineValue?: boolean | undefined }, verb: Verb): string | undefined {
  const { rawName, value, inlineValue } = token;
  if (option.value === undefined) {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`, verb.name);
    return undefined;
  }
  if (value === "" || (value === undefined && !option.optional)) throw new UsageError(`${rawName} needs a value: ${option.value}`, verb.name);
  if (!inlineValue && value !== undefined && value.startsWith("-") && value !== "-")
    throw new UsageError(`${rawName} needs a value: ${option.value} (write ${rawName}=${value} if you mean that)`, verb.name);
  return value;
}

function unknownOption(rawName: string, options: readonly Option[]): string {
  const near = nearest(rawName.replace(/^-+/, ""), options.map(({ name }) => name));
  return `there is no option ${rawName}${near === undefined ? "" : `; did you mean --${near}?`}`;
}

function checkCount(verb: Verb, positionals: readonly string[]): void {
  const { least, most } = verb.count;
  if (positionals.length < least) throw new UsageError(`${verb.name} needs ${verb.operands}`, verb.name);
  if (positionals.length > most)
    throw new UsageError(most === 0 ? `${verb.name} takes no arguments` : `${verb.name} takes ${verb.operands} only`, verb.name);
}
