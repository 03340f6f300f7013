import { expandHome } from "../driver/handle-folder.ts";
import type { Environment } from "../driver/variables.ts";

/** Where Pi keeps its files: `PI_CODING_AGENT_DIR`, in which a leading `~` expands. */
export function agentFolder(env: Environment): string {
  return expandHome(env["PI_CODING_AGENT_DIR"] || "~/.pi/agent", env);
}
