/** Every environment variable, as one table (DESIGN §7). */
import { LIMITS } from "../agent/limits.ts";
import { CursorError } from "../session/errors.ts";
import type { Clocks } from "../session/timers.ts";
import { checkOrigin, DEFAULT_ORIGIN } from "./origin.ts";

/** The environment: names and values. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The version of the CLI that the service is told (PROTOCOL §1). */
export const CLI_VERSION = "cli-2026.09.25";

/** The variables by name, with their default and meaning; secret ones are never printed. */
export const VARIABLES = {
  CURSOR_PROVIDER_CHANNEL: { initial: "agent", meaning: "the RPC; only `agent` is built in", secret: false },
  CURSOR_PROVIDER_AGENT_ORIGIN: { initial: DEFAULT_ORIGIN, meaning: "where a Run goes; must be on the allowlist", secret: false },
  CURSOR_PROVIDER_IDLE_MS: { initial: String(LIMITS.idle), meaning: "ms between two work frames", secret: false },
  CURSOR_PROVIDER_FIRST_TOKEN_MS: { initial: String(LIMITS.first), meaning: "ms to the first work frame", secret: false },
  CURSOR_PROVIDER_TOOLUSE_WATCHDOG_MS: { initial: String(LIMITS.toolUse), meaning: "ms that a call may stay with the host", secret: false },
  CURSOR_PROVIDER_NATIVE_EXEC: { initial: "pi", meaning: "`inproc` only inside `cursor-wire probe native --inproc`", secret: false },
  CURSOR_PROVIDER_RESEND_MCP_ON_RESUME: { initial: "off", meaning: "`1`: send the tools again on a resume", secret: false },
  CURSOR_PROVIDER_MCP_META: { initial: "on", meaning: "`0`: leave out the newer tool catalogue", secret: false },
  CURSOR_PROVIDER_HANDLE_DIR: { initial: "~/.config/pi/agent/cursor-provider/handles", meaning: "where handles are kept; `~` expands", secret: false },
  CURSOR_PROVIDER_DEBUG: { initial: "off", meaning: "a file for redacted summaries, one JSON object a line", secret: false },
  CURSOR_CLI_VERSION: { initial: CLI_VERSION, meaning: "the header x-cursor-client-version", secret: false },
  PI_CURSOR_TOKEN: { initial: "", meaning: "access token for headless use", secret: true },
} as const satisfies Record<string, { initial: string; meaning: string; secret: boolean }>;

/** What the environment says about a Run. */
export interface Config {
  readonly origin: URL;
  readonly clocks: Clocks;
  readonly resendTools: boolean;
  readonly mcpMeta: boolean;
  readonly debug: string | undefined;
  readonly cliVersion: string;
}

/**
 * Reads the environment. `origin`, where given, beats the variable.
 * @throws CursorError `local` where a value is none that the table allows
 */
export function readConfig(env: Environment, origin?: string): Config {
  const channel = env["CURSOR_PROVIDER_CHANNEL"] || "agent";
  if (channel === "inference") throw invalid("CURSOR_PROVIDER_CHANNEL", "this build has the agent channel only", "Unset it, or set it to agent.");
  if (channel !== "agent") throw invalid("CURSOR_PROVIDER_CHANNEL", `${shown(channel)} is no channel`, "Unset it, or set it to agent.");
  const native = env["CURSOR_PROVIDER_NATIVE_EXEC"] || "pi";
  if (native === "inproc") throw invalid("CURSOR_PROVIDER_NATIVE_EXEC", "inproc is refused outside `cursor-wire probe native --inproc`", "Unset it.");
  if (native !== "pi") throw invalid("CURSOR_PROVIDER_NATIVE_EXEC", `${shown(native)} is no way to answer native execs`, "Unset it.");
  const version = env["CURSOR_CLI_VERSION"] || CLI_VERSION;
  if (!/^[\x21-\x7e]{1,100}$/.test(version)) throw invalid("CURSOR_CLI_VERSION", "it is no header value", "Unset it.");
  return {
    origin: checkOrigin(origin || env["CURSOR_PROVIDER_AGENT_ORIGIN"] || DEFAULT_ORIGIN),
    clocks: {
      first: milliseconds(env, "CURSOR_PROVIDER_FIRST_TOKEN_MS"),
      idle: milliseconds(env, "CURSOR_PROVIDER_IDLE_MS"),
      toolUse: milliseconds(env, "CURSOR_PROVIDER_TOOLUSE_WATCHDOG_MS"),
    },
    resendTools: flag(env, "CURSOR_PROVIDER_RESEND_MCP_ON_RESUME"),
    mcpMeta: flag(env, "CURSOR_PROVIDER_MCP_META"),
    debug: env["CURSOR_PROVIDER_DEBUG"] || undefined,
    cliVersion: version,
  };
}

/** The longest that a timer of the platform can run. */
const MAX_MS = 2 ** 31 - 1;

function milliseconds(env: Environment, name: keyof typeof VARIABLES): number {
  const value = env[name] || VARIABLES[name].initial;
  const ms = Number(value);
  if (!/^\d+$/.test(value) || ms < 1 || ms > MAX_MS) throw invalid(name, `${shown(value)} is no positive whole number of milliseconds`, `Unset it, or set it to 1 to ${MAX_MS}.`);
  return ms;
}

const FLAGS: Readonly<Record<string, boolean>> = { "1": true, on: true, true: true, "0": false, off: false, false: false };

function flag(env: Environment, name: keyof typeof VARIABLES): boolean {
  const value = FLAGS[(env[name] || VARIABLES[name].initial).toLowerCase()];
  if (value === undefined) throw invalid(name, `${shown(env[name]!)} is neither on nor off`, "Unset it, or set it to 1 or 0.");
  return value;
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 60));
}

function invalid(name: string, why: string, nextStep: string): CursorError {
  return new CursorError({ kind: "local", code: "invalid_environment", message: `${name}: ${why}.`, nextStep });
}
