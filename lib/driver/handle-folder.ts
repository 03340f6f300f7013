import { homedir } from "node:os";
import { resolve } from "node:path";
import { variable, type Environment } from "./variables.ts";

/**
 * The absolute path of the folder that holds handles: `CURSOR_PROVIDER_HANDLE_DIR`, in which a leading `~` expands (DESIGN §7).
 * @throws CursorError `invalid_environment` at a `~` with a name
 */
export function handleFolder(env: Environment): string {
  return resolve(expandHome(variable(env, "CURSOR_PROVIDER_HANDLE_DIR"), env));
}

/** A path whose leading `~` is the folder of whoever runs this: `HOME`, else what the platform says. */
export function expandHome(path: string, env: Environment): string {
  return path.replace(/^~(?=$|[/\\])/, () => env["HOME"] || homedir());
}
