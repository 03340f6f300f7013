/** Runs the command for tests: as the built program, or in this process with stand-ins for its streams. */
import { spawn, type ChildProcess } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { command } from "../lib/cli/command.ts";

/** What a command line came to. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What it came to in this process. */
export interface RanHere extends Ran {
  /** Both streams, as a terminal shows them. */
  readonly both: string;
}

/** The program beside this file: built, or as TypeScript where the tests run so. */
export const MAIN = fileURLToPath(new URL(`../lib/cli/main.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url));

/** The environment without what would change the outcome. */
export function cleanEnv(env: Record<string, string> = {}): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(CURSOR_|PI_|NO_COLOR|FORCE_COLOR)/.test(name));
  return { ...Object.fromEntries(kept), ...env };
}

/** Starts the program; its streams are pipes. */
export function start(line: readonly string[], env: Record<string, string> = {}, cwd?: string): ChildProcess {
  return spawn(process.execPath, [MAIN, ...line], { env: cleanEnv(env), ...(cwd && { cwd }) });
}

/** Waits for a started program. */
export function ended(child: ChildProcess): Promise<Ran> {
  return new Promise((resolve, reject) => {
    let stdout = "";
    let stderr = "";
    child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** Runs the program to its end. */
export function spawned(line: readonly string[], options: { env?: Record<string, string>; input?: Uint8Array | string; cwd?: string } = {}): Promise<Ran> {
  const child = start(line, options.env, options.cwd);
  child.stdin!.on("error", () => {});
  child.stdin!.end(options.input ?? "");
  return ended(child);
}

/** Runs a command line in this process. `tty`: the streams are a terminal. */
export async function cli(line: readonly string[], options: { env?: Record<string, string>; input?: Uint8Array | string; tty?: boolean; signal?: AbortSignal } = {}): Promise<RanHere> {
  const { env = {}, input = "", tty = false, signal = new AbortController().signal } = options;
  const both: Buffer[] = [];
  const [stdout, stderr] = [sink(tty, both), sink(tty, both)];
  const stdin = Object.assign(Readable.from(input.length > 0 ? [Buffer.from(input)] : []), { isTTY: tty });
  const code = await command(line, { stdin, stdout: stdout.stream, stderr: stderr.stream, env: env as Record<string, string | undefined>, signal });
  return { code, stdout: stdout.text(), stderr: stderr.text(), both: Buffer.concat(both).toString() };
}

function sink(isTTY: boolean, both: Buffer[]): { stream: Writable & { isTTY: boolean }; text(): string } {
  const pieces: Buffer[] = [];
  const write = (chunk: Buffer, _: string, done: () => void): void => {
    pieces.push(chunk);
    both.push(chunk);
    done();
  };
  return { stream: Object.assign(new Writable({ write }), { isTTY }), text: () => Buffer.concat(pieces).toString() };
}

/** The JSON objects of a command's stdout. */
export function objects({ stdout }: Ran): Record<string, unknown>[] {
  return stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Record<string, unknown>);
}
