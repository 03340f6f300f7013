/** Drives a Pi process: one prompt by `-p` or `--mode json`, or a conversation by `--mode rpc`. */
import { spawn, type ChildProcess } from "node:child_process";
import type { Pi } from "./install.ts";

/** What a process said before it ended. */
export interface Output {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** ms from start to end. */
  readonly took: number;
}

/** One JSON object that Pi printed. */
export type Line = Record<string, unknown> & { type: string };

/** ms that any process may take. */
const LIMIT = 90_000;

function start(pi: Pi, args: readonly string[], cwd: string, env: Record<string, string>): ChildProcess {
  // No variable of this process but these: a login or a key of the machine must not reach the test.
  return spawn(pi.node, [pi.script, ...args], { cwd, env: { PATH: pi.path, TERM: "dumb", ...env }, stdio: ["pipe", "pipe", "pipe"] });
}

/** Runs Pi to its end with nothing on its input. */
export async function runPi(pi: Pi, args: readonly string[], cwd: string, env: Record<string, string>): Promise<Output> {
  const began = Date.now();
  const child = start(pi, args, cwd, env);
  child.stdin!.end();
  const [stdout, stderr] = [collect(child.stdout!), collect(child.stderr!)];
  const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  clearTimeout(timer);
  return { code, stdout: stdout(), stderr: stderr(), took: Date.now() - began };
}

/** The JSON objects of an output. */
export function linesOf({ stdout }: Output): Line[] {
  return stdout.split("\n").flatMap((text) => (text.startsWith("{") ? [JSON.parse(text) as Line] : []));
}

/** A Pi in RPC mode. */
export class RpcPi {
  readonly lines: Line[] = [];
  readonly #child: ChildProcess;
  readonly #stderr: () => string;
  #rest = "";
  #waiting: (() => void)[] = [];
  #closed = false;
  readonly #end: Promise<number | null>;

  constructor(pi: Pi, args: readonly string[], cwd: string, env: Record<string, string>) {
    this.#child = start(pi, ["--mode", "rpc", ...args], cwd, env);
    this.#stderr = collect(this.#child.stderr!);
    this.#child.stdout!.setEncoding("utf8").on("data", (text: string) => this.#onText(text));
    this.#end = new Promise((resolve) =>
      this.#child.on("close", (code) => {
        this.#closed = true;
        this.#wake();
        resolve(code);
      }),
    );
  }

  /** How many lines there are: a place to wait from. */
  get mark(): number {
    return this.lines.length;
  }

  /** Sends a command and gives its response. */
  async ask(command: Record<string, unknown> & { type: string }): Promise<Line> {
    const from = this.mark;
    this.#child.stdin!.write(`${JSON.stringify({ id: `r${from}`, ...command })}\n`);
    return this.until((line) => line.type === "response" && line["command"] === command.type, from, command.type);
  }

  /** Sends a prompt and waits until Pi has settled; gives the lines in between. */
  async prompt(message: string): Promise<Line[]> {
    const from = this.mark;
    await this.ask({ type: "prompt", message });
    await this.settled(from);
    return this.lines.slice(from);
  }

  /** Waits until Pi is idle, after `from`. */
  async settled(from: number): Promise<void> {
    await this.until((line) => line.type === "agent_settled" || line.type === "agent_end", from, "the end of the agent");
    for (;;) {
      const { data } = await this.ask({ type: "get_state" });
      if (!(data as { isStreaming: boolean }).isStreaming) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** The first line after `from` that fits. */
  async until(fits: (line: Line) => boolean, from: number, what: string): Promise<Line> {
    const deadline = Date.now() + LIMIT / 2;
    for (let at = from; ; ) {
      for (; at < this.lines.length; at++) if (fits(this.lines[at]!)) return this.lines[at]!;
      if (this.#closed || Date.now() > deadline) throw new Error(`waited in vain for ${what}; Pi said:\n${this.lines.slice(from).map((line) => JSON.stringify(line).slice(0, 300)).join("\n")}\n${this.#stderr()}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 250);
        this.#waiting.push(() => (clearTimeout(timer), resolve()));
      });
    }
  }

  /** Closes Pi's input and waits for its end. */
  async close(): Promise<number | null> {
    this.#child.stdin!.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 10_000);
    const code = await this.#end;
    clearTimeout(timer);
    return code;
  }

  /** Sends SIGTERM; gives the exit code. */
  async terminate(): Promise<number | null> {
    this.#child.kill("SIGTERM");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 10_000);
    const code = await this.#end;
    clearTimeout(timer);
    return code;
  }

  #onText(text: string): void {
    const parts = (this.#rest + text).split("\n");
    this.#rest = parts.pop()!;
    for (const part of parts) if (part.startsWith("{")) this.lines.push(JSON.parse(part) as Line);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => (text += chunk));
  return () => text;
}
