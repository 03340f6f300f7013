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
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
  const host = url !== undefined && ((url.protocol === "https:" && HOSTS.test(url.hostname)) || (url.protocol === "http:" && LOOPBACK.has(url.hostname)));
  const extra = url === undefined ? [] : PARTS.filter(({ has }) => has(url, text)).map(({ name }) => name);
  if (host && extra.length === 0) return url;
  const shown = shownOrigin(text);
  const wrong = host ? `may have no ${extra.join(" and no ")}` : "is not on the allowlist";
  throw new CursorError({
    kind: "local",
    code: "origin_not_allowed",
    message: shown === undefined ? "The origin is no plain http or https URL." : `The origin ${JSON.stringify(shown)} ${wrong}.`,
    nextStep: `Use ${DEFAULT_ORIGIN}, another region's https://agentn.<region>.api5.cursor.sh, or http://127.0.0.1:PORT for tests.`,
  });
}

/** What an origin may not have beside its protocol and host. A "?", "#" or "@" with nothing to it shows in the text only. */
const PARTS: readonly { readonly name: string; readonly has: (url: URL, text: string) => boolean }[] = [
  { name: "credentials", has: (_, text) => text.includes("@") },
  { name: "port but the default one", has: ({ port, hostname }) => port !== "" && !LOOPBACK.has(hostname) },
  { name: "path", has: ({ pathname }) => pathname !== "/" },
  { name: "query", has: (_, text) => text.split("#")[0]!.includes("?") },
  { name: "fragment", has: (_, text) => text.includes("#") },
  { name: "backslash or blank", has: (_, text) => /[\\\s]/.test(text) },
];

/**
 * Protocol and host of an http or https URL: all of it that may be shown, as the rest may hold a password. Undefined
 * where the text is none, or where its host may be a part of a user or a password.
 */
export function shownOrigin(text: string): string | undefined {
  if (typeof text !== "string" || !URL.canParse(text)) return undefined;
  const { protocol, host, pathname, search, hash } = new URL(text);
  // In https://user:12/3@host/ the user is read as the host, and the "@" stands in the path.
  const cut = (pathname + search + hash).includes("@");
  return cut || !/^https?:$/.test(protocol) ? undefined : `${protocol}//${host}`;
}

/** Whether an origin is this machine. */
export function isLoopback(origin: URL): boolean {
  return LOOPBACK.has(origin.hostname);
}
