import { accountOrigin, login as logIn } from "../account/index.ts";
import { isLoopback } from "../driver/origin.ts";
import type { Context } from "./verb.ts";

/**
 * Logs in through the browser and prints the access token, for use as PI_CURSOR_TOKEN. Never on a terminal, where it
 * would stay in the scrollback; nothing is stored.
 * @throws CursorError as the login does
 */
export async function login({ arguments: args, out, env, signal }: Context): Promise<number> {
  const origin = args.value("origin");
  const place = accountOrigin({ env, ...(origin !== undefined && { origin }) });
  const onAddress = (address: string): void => {
    // The page would be the service's, which knows nothing of a login here.
    if (isLoopback(place)) return out.note(`${place.origin} is a host of this machine: there is no page to open.`);
    out.note("Open this page in a browser and log in:");
    out.note(address);
  };
  const { access, expires } = await logIn({ onAddress, env, signal, ...(origin !== undefined && { origin }) });
  const until = new Date(expires).toISOString();
  if (out.stdout.isTTY) out.line(`Logged in until ${until}. The token isn't shown on a terminal; to use it: export PI_CURSOR_TOKEN=$(cursor-wire login)`);
  else if (out.json) out.object({ type: "login", accessToken: access, expires: until });
  else out.line(access);
  return 0;
}
