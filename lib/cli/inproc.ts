/**
 * Runs commands and touches files in this process: only for `cursor-wire probe native --inproc`, which shows what the
 * service makes of real results. Nothing else imports this file, and no other file starts processes. Files are touched
 * in a new temporary folder only, which goes when the probe is over. Commands begin there, and nothing confines them.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve, sep } from "node:path";
import type { Tool, ToolCallPart } from "../index.ts";
import type { Answer } from "./prober.ts";

/** ms that a command may take. */
const TIMEOUT = 20_000;
/** Bytes of a command's output that are kept. */
const OUTPUT = 1024 * 1024;

/** The tools that a probe may really use. */
export interface Workbench {
  readonly folder: string;
  readonly tools: readonly Tool[];
  /** Runs a call. Never throws: what goes wrong is the result's text. */
  answer(call: ToolCallPart): Answer;
  /** Removes the folder. */
  close(): void;
}

/** Opens a workbench in a new temporary folder. */
export function openWorkbench(): Workbench {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "cursor-wire-probe-")));
  const close = (): void => {
    process.off("exit", close);
    rmSync(folder, { recursive: true, force: true });
  };
  // A second signal ends the process at once.
  process.once("exit", close);
  return {
    folder,
    tools: TOOLS.map(({ name, description, properties }) => {
      const required = Object.keys(properties);
      return { name, description, inputSchema: { type: "object", properties, required, additionalProperties: false } };
    }),
    answer({ name, arguments: args }) {
      const tool = TOOLS.find((one) => one.name === name);
      if (tool === undefined) return { text: `There is no tool ${name}.`, isError: true };
      try {
        return tool.run(folder, args);
      } catch (error) {
        return { text: error instanceof Error ? error.message : String(error), isError: true };
      }
    },
    close,
  };
}

interface Bench {
  readonly name: string;
  readonly description: string;
  readonly properties: Readonly<Record<string, { type: "string" }>>;
  run(folder: string, args: Readonly<Record<string, unknown>>): Answer;
}

const TOOLS: readonly Bench[] = [
  {
    name: "bash",
    description: "Runs a shell command and returns what it prints.",
    properties: { command: { type: "string" } },
    run(folder, { command }) {
      const options = { cwd: folder, env: environment(folder), timeout: TIMEOUT, maxBuffer: OUTPUT, encoding: "utf8" } as const;
      const { status, signal, stdout, stderr, error } = spawnSync("sh", ["-c", String(command)], options);
      const output = `${stdout}${stderr}` || "(no output)";
      if (status === 0) return { text: output, isError: false };
      if (signal !== null || error !== undefined) return { text: `${output}\n\n${error?.message ?? `Command ended by ${signal}`}`, isError: true };
      return { text: `${output}\n\nCommand exited with code ${status}`, isError: true };
    },
  },
  {
    name: "read",
    description: "Reads a file and returns its text.",
    properties: { path: { type: "string" } },
    run: (folder, { path }) => ({ text: readFileSync(inside(folder, path), "utf8"), isError: false }),
  },
  {
    name: "write",
    description: "Writes a text to a file.",
    properties: { path: { type: "string" }, content: { type: "string" } },
    run(folder, { path, content }) {
      writeFileSync(inside(folder, path), String(content));
      return { text: `Successfully wrote to ${String(path)}`, isError: false };
    },
  },
];

/** What a command is told: where programs are, and nothing of the person's, a token least of all. */
function environment(folder: string): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], LANG: process.env["LANG"], HOME: folder, TMPDIR: folder };
}

/** The path, if it lies in the folder. */
function inside(folder: string, path: unknown): string {
  const full = resolve(folder, String(path));
  if (!full.startsWith(folder + sep)) throw new Error(`${String(path)} is outside the probe's folder ${folder}`);
  return full;
}
