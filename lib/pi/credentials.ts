/** Tokens as Pi gives and keeps them. */
import { login, refresh } from "../account/index.ts";
import type { Environment } from "../driver/variables.ts";
import { cursorError, CursorError } from "../session/errors.ts";
import type { StoredCredentials } from "./auth-file.ts";
import type { PiCredentials, PiLoginCallbacks } from "./pi.ts";

/** The variable that holds a token for headless use (DESIGN §7). */
export const TOKEN_VARIABLE = "PI_CURSOR_TOKEN";

/**
 * The token behind an API key of Pi's. A key that is only the variable's name, in the syntax of either line, is what Pi
 * makes of a syntax it does not know: then the variable is meant.
 * @throws CursorError `auth` where there is none
 */
export function tokenOf(apiKey: string | undefined, env: Environment): string {
  const named = apiKey === undefined || [TOKEN_VARIABLE, `$${TOKEN_VARIABLE}`, `\${${TOKEN_VARIABLE}}`].includes(apiKey);
  const token = named ? env[TOKEN_VARIABLE] : apiKey;
  if (token) return token;
  throw new CursorError({ kind: "auth", code: "no_access_token", message: "Nobody is logged in to Cursor.", nextStep: `Run /login and choose Cursor, or set ${TOKEN_VARIABLE}.` });
}

/** Logs in as Pi's dialog shows it. */
export async function loginInPi(callbacks: PiLoginCallbacks, env: Environment): Promise<PiCredentials> {
  const onAddress = (url: string) => {
    callbacks.onAuth({ url, instructions: "Log in to Cursor in the browser; this page waits for it." });
    callbacks.onProgress?.("Waiting for the login in the browser…");
  };
  return { ...(await login({ onAddress, env, ...(callbacks.signal && { signal: callbacks.signal }) })) };
}

/**
 * Refreshes what Pi has stored; what else it holds is kept. Where the service refuses, another process may have been
 * faster: what is stored by then counts, if it is newer and still good. Nothing is ever removed.
 * @throws CursorError as `refresh` does
 */
export async function refreshInPi(credentials: PiCredentials, signal: AbortSignal | undefined, env: Environment, stored: () => Promise<StoredCredentials | undefined>): Promise<PiCredentials> {
  try {
    return { ...credentials, ...(await refresh({ refresh: credentials.refresh, env, ...(signal && { signal }) })) };
  } catch (error) {
    if (cursorError(error)?.kind !== "auth") throw error;
    const now = await stored();
    if (now === undefined || now.access === credentials.access || now.expires <= Date.now()) throw error;
    return { ...credentials, ...now };
  }
}
