import { checkToken } from "../driver/access-token.ts";
import { CursorError } from "../session/errors.ts";
import { failed } from "./failures.ts";

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

/** The most ms since 1970 that a Date can show. */
export const LAST_MS = 8.64e15;

/**
 * What the service gave, where the token can be used.
 * @throws CursorError `auth` with `code` where no header can hold the token
 */
export function newCredentials(access: string, refresh: string, now: number, code: string): Credentials {
  try {
    return { access: checkToken(access), refresh, expires: tokenExpiry(access, now) };
  } catch (error) {
    if (!(error instanceof CursorError)) throw error;
    throw failed("auth", code, `The service gave a token that cannot be used. ${error.message}`);
  }
}

/** When a JWT ends by its `exp`, in ms since 1970, read without verifying it; undefined where it cannot be read. */
export function tokenEnd(token: string): number | undefined {
  const exp = claims(token)?.["exp"];
  if (typeof exp !== "number") return undefined;
  const end = exp * 1000;
  return end >= 0 && end <= LAST_MS ? end : undefined;
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
    const parsed: unknown = JSON.parse(Buffer.from(checkToken(token).split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
