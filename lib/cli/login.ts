import { login as logIn } from "../account/index.ts";
import type { Context } from "./verb.ts";

/**
 * Logs in through the browser and prints the access token, for use as PI_CURSOR_TOKEN. Never on a terminal, where it
 * would stay in the scrollback; nothing is stored.
 * @throws CursorError as the login does
 */
export async function login({ arguments: args, out, env, signal }: Context): Promise<number> {
  const origin = args.value("origin");
  const onAddress = (address: string): void => {
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
