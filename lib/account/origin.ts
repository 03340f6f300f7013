import type { Environment } from "../driver/variables.ts";
import { checkOrigin, isLoopback } from "../driver/origin.ts";
import { CursorError } from "../session/errors.ts";

/** Where accounts live (PROTOCOL §1). */
export const ACCOUNT_ORIGIN = "https://api2.cursor.sh";

/** Where a call for the account goes. */
export interface OriginOptions {
  /** Beats the environment; same allowlist. */
  origin?: string;
  /** Default: the process's. */
  env?: Environment;
}

/**
 * The origin of account calls: the one given, else the loopback that `CURSOR_PROVIDER_AGENT_ORIGIN` names (so that one
 * host on this machine can serve both), else {@link ACCOUNT_ORIGIN}. A region's agent host serves no accounts.
 * @throws CursorError `origin_not_allowed`
 */
export function accountOrigin({ origin, env = process.env }: OriginOptions): URL {
  if (origin !== undefined) return allowed(origin, `Use ${ACCOUNT_ORIGIN}, where accounts live, or http://127.0.0.1:PORT for tests.`);
  const agent = env["CURSOR_PROVIDER_AGENT_ORIGIN"];
  const url = agent ? allowed(agent, `Unset CURSOR_PROVIDER_AGENT_ORIGIN: accounts live at ${ACCOUNT_ORIGIN}, whatever the agent's region is.`) : undefined;
  return url !== undefined && isLoopback(url) ? url : new URL(ACCOUNT_ORIGIN);
}

/** The URL of an origin on the allowlist; `nextStep` in place of what would help an agent's. */
function allowed(origin: string, nextStep: string): URL {
  try {
    return checkOrigin(origin);
  } catch (error) {
    throw error instanceof CursorError ? new CursorError({ kind: error.kind, code: error.code, message: error.message, nextStep }) : error;
  }
}
