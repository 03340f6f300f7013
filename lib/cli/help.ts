import { COMMON } from "./arguments.ts";
import type { Option, Verb } from "./verb.ts";

/** The help of the whole command. */
export function overview(verbs: readonly Verb[]): string {
  return [
    "cursor-wire: Cursor's models over agent.v1.AgentService/Run",
    "",
    "Usage: cursor-wire VERB [options]",
    "",
    ...columns(verbs.map(({ name, summary }) => [name, summary])),
    "",
    "Each verb explains itself: cursor-wire VERB --help",
    "",
    ...columns([
      ["--json", "print one JSON object a line on stdout (every verb)"],
      ["--version", "print the version"],
      ["-h, --help", "print this help"],
    ]),
    "",
    "Exit status: 0 done, 1 failed (kind, code and next step on stderr), 2 wrong usage, 130 interrupted",
    "(143 by SIGTERM, 129 by SIGHUP). It is 0, too, where the reader of the output leaves, as head does.",
    "",
  ].join("\n");
}

/** The help of one verb. */
export function verbHelp(verb: Verb): string {
  const options = [...verb.options, ...COMMON];
  return [
    `Usage: cursor-wire ${verb.name}${verb.operands && ` ${verb.operands}`} [options]`,
    "",
    capital(`${verb.summary}.`),
    ...verb.details.flatMap((paragraph) => ["", ...wrapped(paragraph)]),
    "",
    ...columns(options.map((option) => [written(option), option.meaning])),
    ...(verb.examples.length > 0 ? ["", "Examples:", ...verb.examples.map((example) => `  ${example}`)] : []),
    "",
  ].join("\n");
}

function written({ name, short, value, optional }: Option): string {
  const long = value === undefined ? `--${name}` : optional ? `--${name}[=${value}]` : `--${name} ${value}`;
  return short === undefined ? long : `-${short}, ${long}`;
}

function columns(rows: readonly (readonly [left: string, right: string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

function wrapped(paragraph: string): string[] {
  return paragraph.match(/\S.{0,98}(?=\s|$)/g)!;
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}
