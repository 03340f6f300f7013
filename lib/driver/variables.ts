/** Every environment variable, as one table (DESIGN §7). */
import { LIMITS } from "../agent/limits.ts";
import { cursorError, localError, type CursorError } from "../session/errors.ts";
import { isHeaderText } from "./headers.ts";
import { checkOrigin, DEFAULT_ORIGIN } from "./origin.ts";

/** The environment: names and values. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable's default, what it means, whether it is never printed, and what its value gives or that it is none. */
interface Variable {
  readonly initial: string;
  readonly meaning: string;
  readonly secret: boolean;
  /** @throws CursorError where the value is none that the variable may have */
  readonly read: (value: string, name: string) => unknown;
}

/** The version of the CLI that the service is told (PROTOCOL §1). */
const CLI_VERSION = "cli-2026.09.25";
/** The longest that a timer of the platform can run, in ms. */
const MAX_MS = 2 ** 31 - 1;
const FLAGS: ReadonlyMap<string, boolean> = new Map([["1", true], ["on", true], ["true", true], ["0", false], ["off", false], ["false", false]]);

const channel = only("agent", "is no channel", { inference: "this build has the agent channel only" });
const native = only("pi", "is no way to answer native execs", { inproc: "inproc is refused outside `cursor-wire probe native --inproc`" });

/** The variables by name. A variable that is not set, or empty, has its default. */
export const VARIABLES = {
  CURSOR_PROVIDER_CHANNEL: { initial: "agent", meaning: "the RPC; only `agent` is built in", secret: false, read: channel },
  CURSOR_PROVIDER_AGENT_ORIGIN: { initial: DEFAULT_ORIGIN, meaning: "where a Run goes; must be on the allowlist", secret: false, read: checkOrigin },
  CURSOR_PROVIDER_IDLE_MS: { initial: String(LIMITS.idle), meaning: "ms between two work frames", secret: false, read: milliseconds },
  CURSOR_PROVIDER_FIRST_TOKEN_MS: { initial: String(LIMITS.first), meaning: "ms to the first work frame", secret: false, read: milliseconds },
  CURSOR_PROVIDER_TOOLUSE_WATCHDOG_MS: { initial: String(LIMITS.toolUse), meaning: "ms that a call may stay with the host", secret: false, read: milliseconds },
  CURSOR_PROVIDER_NATIVE_EXEC: { initial: "pi", meaning: "`inproc` only inside `cursor-wire probe native --inproc`", secret: false, read: native },
  CURSOR_PROVIDER_RESEND_MCP_ON_RESUME: { initial: "off", meaning: "`1`: send the tools again on a resume", secret: false, read: flag },
  CURSOR_PROVIDER_MCP_META: { initial: "on", meaning: "`0`: leave out the newer tool catalogue", secret: false, read: flag },
  CURSOR_PROVIDER_HANDLE_DIR: { initial: "~/.config/pi/agent/cursor-provider/handles", meaning: "where handles are kept; `~` expands", secret: false, read: folder },
  CURSOR_PROVIDER_DEBUG: { initial: "off", meaning: "a file for redacted summaries, one JSON object a line", secret: false, read: fileOrOff },
  CURSOR_CLI_VERSION: { initial: CLI_VERSION, meaning: "the header x-cursor-client-version", secret: false, read: version },
  PI_CURSOR_TOKEN: { initial: "", meaning: "access token for headless use", secret: true, read: text },
} as const satisfies Record<string, Variable>;

/** The name of a variable. */
export type VariableName = keyof typeof VARIABLES;

/**
 * The value of a variable, or of its default.
 * @param given beats what is set
 * @throws CursorError `invalid_environment`, or `origin_not_allowed`
 */
export function variable<Name extends VariableName>(env: Environment, name: Name, given?: string): ReturnType<(typeof VARIABLES)[Name]["read"]> {
  const { initial, read } = VARIABLES[name];
  return read(given || env[name] || initial, name) as ReturnType<(typeof VARIABLES)[Name]["read"]>;
}

/** What is wrong with the environment: an error for each variable that is set to what it may not be. */
export function wrongVariables(env: Environment): CursorError[] {
  return (Object.keys(VARIABLES) as VariableName[]).flatMap((name) => {
    try {
      variable(env, name);
      return [];
    } catch (error) {
      const wrong = cursorError(error);
      if (wrong === undefined) throw error;
      return wrong;
    }
  });
}

function text(value: string): string {
  return value;
}

function folder(value: string, name: string): string {
  if (/^~[^/\\]/.test(value)) throw invalid(name, `${shown(value)} begins with the home of somebody else, which is not looked up`, "Write the whole path.");
  return value;
}

function fileOrOff(value: string): string | undefined {
  return value === VARIABLES.CURSOR_PROVIDER_DEBUG.initial ? undefined : value;
}

function version(value: string, name: string): string {
  if (!isHeaderText(value) || value.length > 100) throw invalid(name, "it is no header value", "Unset it.");
  return value;
}

function milliseconds(value: string, name: string): number {
  const ms = Number(value);
  if (!/^\d+$/.test(value) || ms < 1 || ms > MAX_MS) throw invalid(name, `${shown(value)} is no positive whole number of milliseconds`, `Unset it, or set it to 1 to ${MAX_MS}.`);
  return ms;
}

function flag(value: string, name: string): boolean {
  const on = FLAGS.get(value.toLowerCase());
  if (on === undefined) throw invalid(name, `${shown(value)} is neither on nor off`, "Unset it, or set it to 1 or 0.");
  return on;
}

/** A variable with one good value; of the others some are known, with why they are refused. */
function only(good: string, isNone: string, refused: Readonly<Record<string, string>>): (value: string, name: string) => string {
  return (value, name) => {
    if (value !== good) throw invalid(name, Object.hasOwn(refused, value) ? refused[value]! : `${shown(value)} ${isNone}`, `Unset it, or set it to ${good}.`);
    return value;
  };
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 60));
}

function invalid(name: string, why: string, nextStep: string): CursorError {
  return localError("invalid_environment", `${name}: ${why}.`, nextStep);
}
