import { homedir } from "node:os";
import { resolve } from "node:path";
import { VARIABLES, type Environment } from "../driver/config.ts";

/** The folder that holds handles (DESIGN §7), as an absolute path. */
export function handleFolder(env: Environment): string {
  const folder = env["CURSOR_PROVIDER_HANDLE_DIR"] || VARIABLES.CURSOR_PROVIDER_HANDLE_DIR.initial;
  return resolve(folder.replace(/^~(?=$|[/\\])/, () => env["HOME"] || homedir()));
}
