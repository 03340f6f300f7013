import { textOf, type Outcome } from "./outcome.ts";

/** How a command ended: by itself with a code, cut short by the host, or without ever having run. */
export type Exit =
  | { readonly how: "exited"; readonly code: number; readonly output: string }
  | { readonly how: "stopped"; readonly code: number; readonly reason: "timeout" | "user" | "unknown"; readonly output: string }
  | { readonly how: "refused"; readonly output: string };

/** Characters at either end of an output in which a host says how it ended. */
const END = 400;

/** Texts for a command that printed nothing. */
const NOTHING = "(no output)";

/** How hosts say an exit code, and at which end; the first group is the code, and the match is theirs, not the command's. */
const CODES: readonly { readonly at: "start" | "end"; readonly pattern: RegExp }[] = [
  { at: "end", pattern: /(?:^|\n\n|\n)Command exited with code (-?\d{1,10})$/ },
  {
    at: "end",
    pattern:
      /(?:^|\n)[ \t]*[[(]?(?:process |command |script )?(?:exited with (?:code|status)|exit(?: code| status)?)[:= ] *(-?\d{1,10})[\])]?\.?\s*$/i,
  },
  { at: "start", pattern: /^exit(?: code| status)?[:=] *(-?\d{1,10})(?:\n|$)/i },
];

/** How hosts say that they stopped a command, with the code that shells use for it. The words stay in the output. */
const STOPS = [
  { pattern: /(?:^|\n)Command timed out after [^\n]*$/, reason: "timeout", code: 124 },
  { pattern: /(?:^|\n)Command aborted$/, reason: "user", code: 130 },
  { pattern: /(?:^|\n)Command terminated without an exit code$/, reason: "unknown", code: 137 },
] as const;

/** Reads how a command ended from what the host's tool said (DESIGN D21). Only a result marked as an error can be other than code 0. */
export function readExit(outcome: Outcome): Exit {
  const text = textOf(outcome);
  if (!outcome.isError) return { how: "exited", code: 0, output: printed(text) };
  const ends = { start: text.slice(0, END), end: text.slice(-END) };
  const stop = STOPS.find(({ pattern }) => pattern.test(ends.end));
  if (stop !== undefined) return { how: "stopped", code: stop.code, reason: stop.reason, output: text };
  for (const { at, pattern } of CODES) {
    const match = pattern.exec(ends[at]);
    const code = Number(match?.[1] ?? 0);
    if (match === null || code === 0) continue;
    const { length } = match[0];
    return { how: "exited", code, output: printed(at === "start" ? text.slice(length) : text.slice(0, -length)) };
  }
  return { how: "refused", output: text };
}

function printed(output: string): string {
  return output === NOTHING ? "" : output;
}
