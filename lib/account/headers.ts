import type { OutgoingHttpHeaders } from "node:http2";
import { checkToken } from "../driver/access-token.ts";
import { identity } from "../driver/headers.ts";
import { variable, type Environment } from "../driver/variables.ts";

/**
 * The headers of a unary call: the identity of a Run, and what the body is (PROTOCOL §1).
 * @throws CursorError where the token, or CURSOR_CLI_VERSION, cannot stand in a header
 */
export function unaryHeaders(env: Environment, body?: { contentType: string; length: number }, accessToken?: string): OutgoingHttpHeaders {
  const token = accessToken === undefined ? undefined : checkToken(accessToken);
  return {
    ...identity(token, variable(env, "CURSOR_CLI_VERSION")),
    ...(body !== undefined && { "content-type": body.contentType, "content-length": body.length }),
  };
}
