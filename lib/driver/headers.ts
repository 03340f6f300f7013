import type { OutgoingHttpHeaders } from "node:http2";

/** The RPC's path (PROTOCOL §1). */
const RUN_PATH = "/agent.v1.AgentService/Run";
/** The content type of a Connect stream of protobuf. */
export const CONTENT_TYPE = "application/connect+proto";

/** Whether a token, a version or another word can stand in a header: printable ASCII without blanks, and some of it. */
export function isHeaderText(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value);
}

/** Who we say we are, on every call to the service (PROTOCOL §1); without a token where the call has none. */
export function identity(token: string | undefined, cliVersion: string): OutgoingHttpHeaders {
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    "x-cursor-client-type": "cli",
    "x-cursor-client-version": cliVersion,
    "x-ghost-mode": "true",
  };
}

/** The headers that open a Run (PROTOCOL §1). */
export function runHeaders(token: string, cliVersion: string): OutgoingHttpHeaders {
  return {
    ":method": "POST",
    ":path": RUN_PATH,
    "content-type": CONTENT_TYPE,
    "connect-protocol-version": "1",
    te: "trailers",
    ...identity(token, cliVersion),
  };
}
