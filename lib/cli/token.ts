import type { Environment } from "../driver/variables.ts";
import { isLoopback } from "../driver/origin.ts";
import { CursorError } from "../session/errors.ts";

/**
 * The access token for an origin: PI_CURSOR_TOKEN, without which only a host of this machine can be talked to.
 * @throws CursorError `auth`, `no_access_token`
 */
export function accessToken(env: Environment, origin: URL): string {
  const token = env["PI_CURSOR_TOKEN"];
  if (token) return token;
  if (isLoopback(origin)) return "loopback";
  throw new CursorError({
    kind: "auth",
    code: "no_access_token",
    message: "There is no access token.",
    nextStep: "Set PI_CURSOR_TOKEN to an access token, or add --loopback to talk to the embedded host, which needs no account.",
  });
}
