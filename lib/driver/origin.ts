import { CursorError } from "../session/errors.ts";

/** Where a Run goes unless it is told otherwise (PROTOCOL §1). */
export const DEFAULT_ORIGIN = "https://agentn.us.api5.cursor.sh";

/** Hosts that are spoken to over TLS: the account's, and the agent's with one regional label or none. */
const HOSTS = /^(?:api2\.cursor\.sh|agentn\.(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)?api5\.cursor\.sh)$/;
/** Hosts that are this machine: plain HTTP is allowed to them, for tests. */
const LOOPBACK = new Set(["127.0.0.1", "[::1]", "localhost"]);

/**
 * The URL of an origin on the allowlist (DESIGN §7). Parsed and compared by its parts: no user, path, query, fragment,
 * and no port but the default one, except on loopback.
 * @throws CursorError `local`, `origin_not_allowed`
 */
export function checkOrigin(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // A trailing "?" or "#" leaves no trace in the parsed URL, so the text is looked at too.
  const bare = url !== undefined && url.username === "" && url.password === "" && url.pathname === "/" && url.search === "" && url.hash === "" && !/[?#@\\\s]/.test(text);
  if (bare && url.protocol === "https:" && url.port === "" && HOSTS.test(url.hostname)) return url;
  if (bare && url.protocol === "http:" && LOOPBACK.has(url.hostname)) return url;
  throw new CursorError({
    kind: "local",
    code: "origin_not_allowed",
    message: `The origin ${JSON.stringify(url === undefined ? text.slice(0, 100) : `${url.protocol}//${url.host}`)} is not on the allowlist.`,
    nextStep: `Use ${DEFAULT_ORIGIN}, another region's https://agentn.<region>.api5.cursor.sh, or http://127.0.0.1:PORT for tests.`,
  });
}

/** Whether an origin is this machine. */
export function isLoopback(origin: URL): boolean {
  return LOOPBACK.has(origin.hostname);
}
