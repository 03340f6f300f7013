/** Before its end a token counts as expired: a turn that starts now should not lose it, in ms. */
const MARGIN_MS = 5 * 60_000;
/** The life of a token that does not say when it ends, in ms. */
const UNREADABLE_MS = 60 * 60_000;

/** What a login or a refresh gives. `expires` is in ms since 1970, five minutes before the token's own end. */
export interface Credentials {
  access: string;
  refresh: string;
  expires: number;
}

/** When a JWT ends by its `exp`, in ms since 1970, read without verifying it; undefined where it cannot be read. */
export function tokenEnd(token: string): number | undefined {
  const exp = claims(token)?.["exp"];
  return typeof exp === "number" && Number.isFinite(exp) ? exp * 1000 : undefined;
}

/** Whom a JWT is for by its `sub`, read without verifying it; undefined where it cannot be read. */
export function tokenSubject(token: string): string | undefined {
  const sub = claims(token)?.["sub"];
  return typeof sub === "string" ? sub : undefined;
}

/** When to refresh a token, in ms since 1970. */
export function tokenExpiry(token: string, now: number): number {
  const end = tokenEnd(token);
  return end === undefined ? now + UNREADABLE_MS : end - MARGIN_MS;
}

function claims(token: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
