import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { accountOrigin, tokenEnd } from "../account/index.ts";
import { handleFolder } from "../driver/handle-folder.ts";
import { isHeaderText } from "../driver/headers.ts";
import { isLoopback, shownOrigin } from "../driver/origin.ts";
import { variable, VARIABLES, wrongVariables } from "../driver/variables.ts";
import { nearest } from "../loopback/nearest.ts";
import { cursorError, type CursorError } from "../session/errors.ts";
import { peerText } from "../session/failures.ts";
import { fileFailure } from "./failure.ts";
import type { Output } from "./output.ts";
import { printable } from "./printable.ts";
import type { Context } from "./verb.ts";
import { version } from "./version.ts";

/** One thing that was looked at. `fail`: no Run can start; `warn`: something is not as it was meant; `note`: worth knowing. */
interface Finding {
  readonly subject: string;
  readonly state: "ok" | "note" | "warn" | "fail";
  readonly detail: string;
  readonly nextStep?: string;
}

type Env = Context["env"];

/** Looks at what a Run needs, without opening a connection (DESIGN §5). Resolves to 1 where a Run could not start. */
export async function doctor({ out, env }: Context): Promise<number> {
  const found = [nodeVersion(), ...wrongVariables(env).map(invalid), ...settings(env), token(env), pi(env), ...misspelt(env)];
  // A token may stand in the wrong variable.
  const findings = found.map((finding) => ({ ...finding, detail: peerText(finding.detail) }));
  if (out.json) for (const finding of findings) out.object({ type: "finding", ...finding });
  else for (const finding of findings) show(out, finding);
  table(out, env);
  return findings.some(({ state }) => state === "fail") ? 1 : 0;
}

function show(out: Output, { subject, state, detail, nextStep }: Finding): void {
  const { style } = out;
  const mark = { ok: style.dim, note: style.cyan, warn: style.yellow, fail: style.red }[state];
  out.line(`${mark(state.padEnd(4))} ${subject.padEnd(13)} ${printable(detail)}`);
  if (nextStep) out.line(`     ${"".padEnd(13)} ${style.dim(printable(nextStep))}`);
}

/** The lowest Node that is tested. */
const NODE = [20, 19] as const;

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const good = major > NODE[0] || (major === NODE[0] && minor >= NODE[1]);
  const detail = `${process.version}; cursor-wire ${version()}`;
  return good ? { subject: "Node", state: "ok", detail } : { subject: "Node", state: "fail", detail, nextStep: `Install Node ${NODE.join(".")} or later.` };
}

function invalid({ message, nextStep }: CursorError): Finding {
  return { subject: "environment", state: "fail", detail: message, nextStep };
}

/** What the environment says, as a Run would read it; nothing of a variable that is wrong. */
function settings(env: Env): Finding[] {
  const readings: readonly (() => Finding | undefined)[] = [
    () => ({ subject: "origin", state: "ok", detail: variable(env, "CURSOR_PROVIDER_AGENT_ORIGIN").origin }),
    () => ({ subject: "account", state: "ok", detail: accountOrigin({ env }).origin }),
    () => clocks(env),
    () => debug(env),
    () => folder(env),
  ];
  return readings.flatMap((read) => valid(read) ?? []);
}

/** What is read, or undefined where its variable is wrong, which is told by itself. */
function valid<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (cursorError(error) === undefined) throw error;
    return undefined;
  }
}

function clocks(env: Env): Finding | undefined {
  const clock = (name: string, read: () => number): string[] => {
    const ms = valid(read);
    return ms === undefined ? [] : [`${name} ${ms} ms`];
  };
  const known = [
    ...clock("first", () => variable(env, "CURSOR_PROVIDER_FIRST_TOKEN_MS")),
    ...clock("idle", () => variable(env, "CURSOR_PROVIDER_IDLE_MS")),
    ...clock("tool use", () => variable(env, "CURSOR_PROVIDER_TOOLUSE_WATCHDOG_MS")),
  ];
  return known.length === 0 ? undefined : { subject: "clocks", state: "ok", detail: known.join(", ") };
}

function debug(env: Env): Finding | undefined {
  const path = variable(env, "CURSOR_PROVIDER_DEBUG");
  return path === undefined ? undefined : debugFile(path);
}

/** Whether the debug file can be written: what is there already, or else its folder. */
function debugFile(path: string): Finding {
  const subject = "debug";
  try {
    const there = statSync(path, { throwIfNoEntry: false });
    if (there?.isDirectory() || there?.isFIFO()) return { subject, state: "warn", detail: `${path} is a ${there.isFIFO() ? "pipe" : "folder"}: nothing is written there`, nextStep: "Set CURSOR_PROVIDER_DEBUG to a file." };
    // With the dot it has to be a folder.
    accessSync(there === undefined ? `${dirname(path)}/.` : path, constants.W_OK);
  } catch (error) {
    return { subject, state: "warn", detail: fileFailure("write", path, error).message, nextStep: "Set CURSOR_PROVIDER_DEBUG to a file that can be written." };
  }
  return { subject, state: "note", detail: `redacted summaries are written to ${path}` };
}

/** The token that a Run would take: a host of this machine needs none. */
function token(env: Env): Finding {
  const subject = "token";
  const value = env["PI_CURSOR_TOKEN"];
  if (!value && onThisMachine(env["CURSOR_PROVIDER_AGENT_ORIGIN"])) return { subject, state: "ok", detail: "PI_CURSOR_TOKEN is not set; a host of this machine needs none" };
  const nextStep = `${value ? "Set it anew" : "Set it"}: export PI_CURSOR_TOKEN=$(cursor-wire login). Pi logs in by itself, and --loopback needs none.`;
  if (!value) return { subject, state: "fail", detail: "PI_CURSOR_TOKEN is not set", nextStep };
  if (!isHeaderText(value)) return { subject, state: "fail", detail: "PI_CURSOR_TOKEN holds characters that no header may hold", nextStep };
  const end = new Date(tokenEnd(value) ?? NaN);
  if (Number.isNaN(end.getTime())) return { subject, state: "ok", detail: "PI_CURSOR_TOKEN is set" };
  if (end.getTime() <= Date.now()) return { subject, state: "fail", detail: `PI_CURSOR_TOKEN ran out at ${end.toISOString()}`, nextStep };
  return { subject, state: "ok", detail: `PI_CURSOR_TOKEN is set; it runs out at ${end.toISOString()}` };
}

function onThisMachine(origin: string | undefined): boolean {
  return origin !== undefined && URL.canParse(origin) && isLoopback(new URL(origin));
}

/** Whether handles can be kept: the folder itself, or the nearest one above that is there. */
function folder(env: Env): Finding {
  const path = handleFolder(env);
  const subject = "handles";
  let there = path;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  try {
    if (!statSync(there).isDirectory())
      return { subject, state: "fail", detail: `${there} is no folder`, nextStep: "Set CURSOR_PROVIDER_HANDLE_DIR to a folder." };
    accessSync(there, constants.W_OK | constants.X_OK);
  } catch {
    const detail = `${path} can't be written: conversations are rebuilt each turn`;
    return { subject, state: "warn", detail, nextStep: "Check its permissions, or set CURSOR_PROVIDER_HANDLE_DIR." };
  }
  return { subject, state: "ok", detail: there === path ? path : `${path} (made when it is needed)` };
}

/** Pi, the agent that the extension is for: its command on the PATH. */
function pi(env: Env): Finding {
  const names = process.platform === "win32" ? ["pi.cmd", "pi.exe"] : ["pi"];
  for (const place of (env["PATH"] ?? "").split(delimiter).filter(Boolean))
    for (const name of names) if (executable(join(place, name))) return { subject: "Pi", state: "ok", detail: join(place, name) };
  return { subject: "Pi", state: "note", detail: "no pi command is on the PATH", nextStep: "Only the Pi extension needs it." };
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Variables that look like ours and are none. */
function misspelt(env: Env): Finding[] {
  const known = Object.keys(VARIABLES);
  return Object.keys(env)
    .filter((name) => /^(?:CURSOR_PROVIDER|PI_CURSOR)_/.test(name) && !known.includes(name))
    .map((name) => {
      const near = nearest(name, known);
      return { subject: "environment", state: "warn", detail: `${name} means nothing here`, ...(near !== undefined && { nextStep: `Did you mean ${near}?` }) };
    });
}

/** Every variable: set or its default. The value of a secret one is never printed. */
function table(out: Output, env: Env): void {
  if (!out.json) out.line();
  for (const [name, { initial, meaning, secret }] of Object.entries(VARIABLES)) {
    const value = env[name];
    const shown = secret ? undefined : value ? shownValue(name, value) : initial;
    if (out.json) out.object({ type: "variable", name, set: Boolean(value), ...(shown !== undefined && { value: shown }), meaning });
    else out.line(`${name.padEnd(37)} ${(value ? "set" : "default").padEnd(8)} ${printable(shown || (value ? "(secret)" : "–"))}`);
  }
}

/** The origin may hold a password, wherever it was put. */
function shownValue(name: string, value: string): string {
  return name === "CURSOR_PROVIDER_AGENT_ORIGIN" ? (shownOrigin(value) ?? "(no plain http or https URL)") : peerText(value);
}
