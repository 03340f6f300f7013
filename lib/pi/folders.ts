import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../driver/variables.ts";

/** Where Pi keeps its files: `PI_CODING_AGENT_DIR`, in which a leading `~` expands. */
export function agentFolder(env: Environment): string {
  const home = env["HOME"] || homedir();
  const folder = env["PI_CODING_AGENT_DIR"];
  return folder ? folder.replace(/^~(?=$|[/\\])/, () => home) : join(home, ".pi", "agent");
}
