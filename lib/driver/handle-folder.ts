import { homedir } from "node:os";
import { resolve } from "node:path";
import { variable, type Environment } from "./variables.ts";

/**
 * The absolute path of the folder that holds handles: `CURSOR_PROVIDER_HANDLE_DIR`, in which a leading `~` expands (DESIGN §7).
 * @throws CursorError `invalid_environment` at a `~` with a name
 */
export function handleFolder(env: Environment): string {
  return resolve(variable(env, "CURSOR_PROVIDER_HANDLE_DIR").replace(/^~(?=$|[/\\])/, () => env["HOME"] || homedir()));
}
