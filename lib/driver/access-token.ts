import { CursorError, cursorError } from "../session/errors.ts";
import { thrownText } from "../session/failures.ts";
import { within } from "./settle.ts";

/** The access token, or what gives one: asked for once a Run, and given up with its signal. */
export type AccessToken = string | ((options: { signal?: AbortSignal }) => string | Promise<string>);

/**
 * The token that a Run's headers take.
 * @param ms that the host's function may take
 * @throws CursorError where there is none, where it is none, or where the function fails or takes too long
 */
export async function accessTokenOf(given: AccessToken, ms: number, signal: AbortSignal): Promise<string> {
  const token = typeof given === "function" ? await within(ms, () => asked(given, signal), "access_token_timeout", signal) : given;
  if (typeof token !== "string" || token === "") throw new CursorError({ kind: "auth", code: "no_access_token", message: "There is no access token.", nextStep: "Log in, or set PI_CURSOR_TOKEN." });
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CursorError({ kind: "auth", code: "invalid_access_token", message: "The access token holds characters that no header may hold.", nextStep: "Log in again, or set PI_CURSOR_TOKEN without spaces and line breaks." });
  return token;
}

/** What the host's own function gives. Its error may hold the token: only its words are kept. */
async function asked(accessToken: Exclude<AccessToken, string>, signal: AbortSignal): Promise<string> {
  try {
    return await accessToken({ signal });
  } catch (error) {
    throw cursorError(error) ?? new CursorError({ kind: "local", code: "access_token_failed", message: `The access token could not be had: ${thrownText(error)}`, nextStep: "Log in again, or set PI_CURSOR_TOKEN." });
  }
}
