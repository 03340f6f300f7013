import type { OutgoingHttpHeaders } from "node:http2";
import { CLI_VERSION, type Environment } from "../driver/config.ts";
import { identity } from "../driver/headers.ts";
import { failed } from "./failures.ts";

/**
 * The headers of a unary call: the identity of a Run, and what the body is (PROTOCOL §1).
 * @throws CursorError `auth` where the token cannot stand in a header
 */
export function unaryHeaders(env: Environment, body?: { contentType: string; length: number }, accessToken?: string): OutgoingHttpHeaders {
  if (accessToken !== undefined && !/^[\x21-\x7e]+$/.test(accessToken)) throw failed("auth", "malformed_token", "The access token is empty or holds characters that no token has.");
  const { authorization, ...identityOnly } = identity(accessToken ?? "", env["CURSOR_CLI_VERSION"] || CLI_VERSION);
  return {
    ...identityOnly,
    ...(accessToken !== undefined && { authorization }),
    ...(body !== undefined && { "content-type": body.contentType, "content-length": body.length }),
  };
}
