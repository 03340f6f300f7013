import type { Environment } from "../driver/config.ts";
import { checkOrigin, isLoopback } from "../driver/origin.ts";

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
  if (origin !== undefined) return checkOrigin(origin);
  const agent = env["CURSOR_PROVIDER_AGENT_ORIGIN"];
  const url = agent ? checkOrigin(agent) : undefined;
  return url !== undefined && isLoopback(url) ? url : new URL(ACCOUNT_ORIGIN);
}
