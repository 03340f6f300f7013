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
  const shown = shownOrigin(text);
  throw new CursorError({
    kind: "local",
    code: "origin_not_allowed",
    message: shown === undefined ? "The origin is no plain http or https URL." : `The origin ${JSON.stringify(shown)} is not on the allowlist.`,
    nextStep: `Use ${DEFAULT_ORIGIN}, another region's https://agentn.<region>.api5.cursor.sh, or http://127.0.0.1:PORT for tests.`,
  });
}

/**
 * Protocol and host of an http or https URL: all of it that may be shown, as the rest may hold a password. Undefined
 * where the text is none, or where its host may be a part of a user or a password.
 */
export function shownOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, host, pathname, search, hash } = new URL(text);
  // In https://user:12/3@host/ the user is read as the host, and the "@" stands in the path.
  const cut = (pathname + search + hash).includes("@");
  return cut || !/^https?:$/.test(protocol) ? undefined : `${protocol}//${host}`;
}

/** Whether an origin is this machine. */
export function isLoopback(origin: URL): boolean {
  return LOOPBACK.has(origin.hostname);
}
