import { CursorError, cursorError, localError } from "../session/errors.ts";
import { thrownText } from "../session/failures.ts";
import { isHeaderText } from "./headers.ts";
import { within } from "./settle.ts";

/** Characters of the longest token: servers refuse headers of less. */
const LONGEST = 16_384;

/** The access token, or what gives one: asked for once a Run, and given up with its signal. */
export type AccessToken = string | ((options: { signal?: AbortSignal }) => string | Promise<string>);

/**
 * The token that a Run's headers take.
 * @param ms that the host's function may take
 * @throws CursorError where there is none, where it is none, or where the function fails or takes too long
 */
export async function accessTokenOf(given: AccessToken, ms: number, signal: AbortSignal): Promise<string> {
  const token = typeof given === "function" ? await within(ms, () => asked(given, signal), "access_token_timeout", signal) : given;
  return checkToken(token);
}

/**
 * The token itself, where a header can hold it.
 * @throws CursorError `no_access_token` or `invalid_access_token`
 */
export function checkToken(token: unknown): string {
  if (typeof token !== "string" || token === "") throw refused("no_access_token", "There is no access token.", "Log in, or set PI_CURSOR_TOKEN.");
  if (token.length > LONGEST) throw refused("invalid_access_token", `The access token has ${token.length} characters, more than a header takes.`, "Log in again, or set PI_CURSOR_TOKEN to a token.");
  if (!isHeaderText(token)) throw refused("invalid_access_token", "The access token holds characters that no header may hold.", "Log in again, or set PI_CURSOR_TOKEN without spaces and line breaks.");
  return token;
}

function refused(code: string, message: string, nextStep: string): CursorError {
  return new CursorError({ kind: "auth", code, message, nextStep });
}

/** What the host's own function gives. Its error may hold the token: only its words are kept. */
async function asked(accessToken: Exclude<AccessToken, string>, signal: AbortSignal): Promise<string> {
  try {
    return await accessToken({ signal });
  } catch (error) {
    const message = `The access token could not be had: ${thrownText(error)}`;
    throw cursorError(error) ?? localError("access_token_failed", message, "Log in again, or set PI_CURSOR_TOKEN.");
  }
}
