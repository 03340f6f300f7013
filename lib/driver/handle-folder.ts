import { homedir } from "node:os";
import { resolve } from "node:path";
import { VARIABLES, type Environment } from "./config.ts";

/** The absolute path of the folder that holds handles: `CURSOR_PROVIDER_HANDLE_DIR`, in which a leading `~` expands (DESIGN §7). */
export function handleFolder(env: Environment): string {
  const folder = env["CURSOR_PROVIDER_HANDLE_DIR"] || VARIABLES.CURSOR_PROVIDER_HANDLE_DIR.initial;
  return resolve(folder.replace(/^~(?=$|[/\\])/, () => env["HOME"] || homedir()));
}
