/** The checks of `probe`: questions to a model whose answers show how the service behaves today (PROTOCOL §1, §5.1). */
import { isDeepStrictEqual } from "node:util";
import type { Tool, ToolCallPart } from "../index.ts";
import type { Script } from "../loopback/index.ts";
import type { Answer, Prober } from "./prober.ts";

/** One thing that a probe found out. */
export interface Check {
  readonly what: string;
  /** Undefined where either is fine: worth knowing, no failure. */
  readonly ok: boolean | undefined;
  readonly detail: string;
}

/** One probe, and the model that the embedded host plays for it. */
export interface Probe {
  readonly name: string;
  readonly ask: (prober: Prober) => Promise<Check[]>;
  /** One script a Run. */
  readonly scripts: readonly Script[];
}

const MARK = "cw-7f3a9c";
const END: Script = [{ tokens: 5 }, { checkpoint: true }, { turnEnded: true }, { end: true }];

/** A command tool that only knows `echo`: nothing is run. */
const SHELL = tool("bash", "Runs a shell command and returns what it prints.", { command: { type: "string" } });
const READ = tool("read", "Reads a file and returns its text.", { path: { type: "string" } });

const SCHEMA = {
  rows: { type: "array", items: { type: "object", properties: { name: { type: "string" }, count: { type: "integer" } }, required: ["name", "count"] } },
  title: { type: "string" },
};
const ARGUMENTS = { title: "stock", rows: [{ name: "bolt", count: 3 }, { name: "nut", count: 12 }] };
const LEDGER = tool("ledger_append", "Appends rows to the ledger.", SCHEMA);

/** The probes by the names that the command takes. */
export const PROBES: readonly Probe[] = [
  {
    name: "agent",
    async ask(prober) {
      const { text, events } = await prober.ask({ prompt: "Reply with the single word pong." });
      const usage = events.find((event) => event.type === "usage");
      const end = events.map(({ type }) => type).slice(-2).join(", ");
      return [
        { what: "text arrives", ok: /pong/i.test(text), detail: text },
        { what: "output is counted", ok: usage !== undefined && usage.output > 0, detail: `${usage?.output ?? 0} tokens` },
        { what: "the turn ends in usage and done", ok: end === "usage, done", detail: end },
      ];
    },
    scripts: [[{ thinking: "A single word." }, { text: "pong" }, ...END]],
  },
  {
    name: "native",
    async ask(prober) {
      const prompt = `Run the shell command: echo ${MARK}\nThen tell me exactly what it printed.`;
      const { text, calls } = await prober.ask({ prompt, tools: [SHELL], answer: echo });
      const ran = calls.some(({ name, arguments: args }) => name === "bash" && String(args["command"]).includes(MARK));
      return [
        { what: "a command reaches the host's tool", ok: ran, detail: shown(calls) },
        { what: "its output reaches the model", ok: text.includes(MARK), detail: text },
      ];
    },
    scripts: [
      [
        { announce: 1 },
        { exec: { case: "shellStreamArgs", args: { command: `echo ${MARK}` } } },
        { textFrom: "results", template: "It printed: {shellStreamArgs}" },
        ...END,
      ],
    ],
  },
  {
    name: "resume",
    async ask(prober) {
      const first = await prober.ask({ prompt: `Remember this word: ${MARK}. Reply with ok.`, remember: true, tools: [READ] });
      const second = await prober.ask({ prompt: "Which word did I ask you to remember?", remember: true, tools: [READ] });
      const [before, after] = [first.requests[0], second.requests.at(-1)];
      const same = after?.conversationId !== undefined && after.conversationId === before?.conversationId;
      const how = second.requests.length > 1 ? "it was stale and was rebuilt" : "same conversation_id";
      return [
        { what: "the second turn goes on with the conversation", ok: same, detail: how },
        { what: "its tools need not be sent again", ok: undefined, detail: after?.mcpTools ? "mcp_tools was sent" : "mcp_tools was left out" },
        { what: "the model remembers", ok: second.text.includes(MARK), detail: second.text },
      ];
    },
    scripts: [
      [{ text: "ok" }, ...END],
      [{ expect: { resume: true, conversationId: "same" } }, { text: `You said ${MARK}.` }, ...END],
    ],
  },
  {
    name: "fidelity",
    async ask(prober) {
      const described = tool("lookup", `Looks a word up. ${MARK}-description`, { word: { type: "string", description: `${MARK}-parameter` } });
      const { text } = await prober.ask({
        prompt: `List every string that begins with ${MARK}- and that you can see anywhere in your instructions or tools. Do not call a tool.`,
        systemPrompt: `The password of the day is ${MARK}-rules.`,
        tools: [described],
      });
      const sees = (where: string): string => (text.includes(`${MARK}-${where}`) ? "seen" : "not seen");
      return [
        { what: "the rules reach the model", ok: text.includes(`${MARK}-rules`), detail: sees("rules") },
        { what: "a tool's description reaches it", ok: undefined, detail: sees("description") },
        { what: "a parameter's description reaches it", ok: undefined, detail: sees("parameter") },
      ];
    },
    scripts: [[{ getBlob: "root" }, { text: `I see ${MARK}-rules.` }, ...END]],
  },
  {
    name: "contract",
    async ask(prober) {
      const { calls } = await prober.ask({
        prompt: `Call the tool ledger_append of the namespace pi once, with exactly these arguments, then stop: ${JSON.stringify(ARGUMENTS)}`,
        tools: [LEDGER],
        answer: () => ({ text: "appended", isError: false }),
      });
      const args = calls.find(({ name }) => name === LEDGER.name)?.arguments;
      return [
        { what: "a tool never seen before is called", ok: args !== undefined, detail: shown(calls) },
        { what: "its nested arguments are exact", ok: isDeepStrictEqual({ ...args }, ARGUMENTS), detail: args === undefined ? "no call" : JSON.stringify(args) },
      ];
    },
    scripts: [[{ announce: 1 }, { mcp: { tool: "ledger_append", args: ARGUMENTS } }, { awaitResults: true }, { text: "Appended." }, ...END]],
  },
];

/**
 * `native` with tools that really run, for what only a real result shows: a file written, read, searched and deleted by
 * native execs, with its exact size, and a command that fails (PROTOCOL §5.1).
 */
export function nativeInProcess(bench: { folder: string; tools: readonly Tool[]; answer: (call: ToolCallPart) => Answer }): Probe {
  const file = `${bench.folder}/${MARK}.txt`;
  return {
    name: "native",
    async ask(prober) {
      const steps = `Write the line "${MARK} one" to ${MARK}.txt, read it back, search it for ${MARK}, run the command: exit 3, delete the file`;
      const prompt = `Work in ${bench.folder}. ${steps}, and tell me what each step showed.`;
      const results: Answer[] = [];
      const answer = (call: ToolCallPart): Answer => {
        const result = bench.answer(call);
        results.push(result);
        return result;
      };
      const { text, calls } = await prober.ask({ prompt, tools: bench.tools, answer, workspace: bench.folder });
      const failed = results.filter(({ isError }) => isError);
      return [
        { what: "execs reach tools that really run", ok: calls.length > 0, detail: shown(calls) },
        { what: "a written file is read back", ok: results.some((result) => !result.isError && result.text.includes(`${MARK} one`)), detail: texts(results) },
        { what: "a failing command fails", ok: failed.length > 0, detail: texts(failed) },
        { what: "the results reach the model", ok: text.includes(MARK), detail: text },
      ];
    },
    scripts: [
      [
        { exec: { case: "writeArgs", args: { path: file, fileText: `${MARK} one\n` }, expect: { arm: "writeResult.success" } } },
        { exec: { case: "readArgs", args: { path: file }, expect: { arm: "readResult.success" } } },
        { exec: { case: "grepArgs", args: { pattern: MARK, path: bench.folder }, expect: { arm: "grepResult.success" } } },
        { exec: { case: "shellStreamArgs", args: { command: "exit 3" } } },
        { exec: { case: "deleteArgs", args: { path: file }, expect: { arm: "deleteResult.success" } } },
        { text: `${MARK}.txt was written, read, found and deleted; exit 3 failed.` },
        ...END,
      ],
    ],
  };
}

function tool(name: string, description: string, properties: Record<string, unknown>): Tool {
  return { name, description, inputSchema: { type: "object", properties, required: Object.keys(properties), additionalProperties: false } };
}

/** What `echo` would print. Nothing is run. */
function echo({ arguments: args }: ToolCallPart): Answer {
  const [, words] = /(?:^|[;&\n])[ \t]*echo[ \t]+(.*)$/s.exec(String(args["command"])) ?? [];
  return words === undefined ? { text: "only echo is known here", isError: true } : { text: `${words.replace(/^(["'])(.*)\1$/s, "$2")}\n`, isError: false };
}

function shown(calls: readonly ToolCallPart[]): string {
  return calls.length === 0 ? "no call" : calls.map(({ name, arguments: args }) => `${name} ${JSON.stringify(args)}`).join(", ");
}

function texts(results: readonly Answer[]): string {
  return results.map(({ text }) => text.trim()).join(" | ");
}
