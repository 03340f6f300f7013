import { variable, type Environment } from "./variables.ts";

/** What the environment says about a Run. */
export interface Config {
  readonly origin: URL;
  /** ms. */
  readonly clocks: { readonly first: number; readonly idle: number; readonly toolUse: number };
  readonly resendTools: boolean;
  readonly mcpMeta: boolean;
  readonly debug: string | undefined;
  readonly cliVersion: string;
}

/**
 * Reads the environment. `origin`, where given, beats the variable.
 * @throws CursorError `invalid_environment` or `origin_not_allowed`, where a value is none that its variable may have
 */
export function readConfig(env: Environment, origin?: string): Config {
  variable(env, "CURSOR_PROVIDER_CHANNEL");
  variable(env, "CURSOR_PROVIDER_NATIVE_EXEC");
  return {
    cliVersion: variable(env, "CURSOR_CLI_VERSION"),
    origin: variable(env, "CURSOR_PROVIDER_AGENT_ORIGIN", origin),
    clocks: {
      first: variable(env, "CURSOR_PROVIDER_FIRST_TOKEN_MS"),
      idle: variable(env, "CURSOR_PROVIDER_IDLE_MS"),
      toolUse: variable(env, "CURSOR_PROVIDER_TOOLUSE_WATCHDOG_MS"),
    },
    resendTools: variable(env, "CURSOR_PROVIDER_RESEND_MCP_ON_RESUME"),
    mcpMeta: variable(env, "CURSOR_PROVIDER_MCP_META"),
    debug: variable(env, "CURSOR_PROVIDER_DEBUG"),
  };
}
