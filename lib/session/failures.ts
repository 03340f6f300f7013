/**
 * How a Run can fail, as tables: Connect's codes, HTTP statuses, HTTP/2 error codes and sockets, each with the kind, the
 * code and the next step that a host gets (PROTOCOL §9, DESIGN D8).
 */
import { LIMITS } from "../agent/limits.ts";
import { connectCode, type ConnectCode, type UnknownField, type WireError } from "../../wire/index.ts";
import type { ErrorKind, Failure } from "./errors.ts";

/** How the transport ended, as the driver saw it. */
export type TransportEnd =
  /** END_STREAM, or the stream closed without an error. */
  | { type: "end" }
  /** A `grpc-status` trailer. */
  | { type: "trailer"; status: string; message: string }
  /** The response is none of ours: an HTTP status other than 200, or another content type. */
  | { type: "response"; status: number; contentType: string; body: string }
  /** RST_STREAM with this HTTP/2 error code. */
  | { type: "reset"; code: number }
  /** GOAWAY with this HTTP/2 error code. */
  | { type: "goaway"; code: number }
  /** The socket, its name lookup or its TLS failed; `code` is the system's, such as ECONNRESET. */
  | { type: "socket"; code: string; message: string };

interface Row {
  readonly kind: ErrorKind;
  readonly code: string;
  /** What happened, in words. Only rows worth a retry use the words that hosts retry on. */
  readonly words: string;
  readonly nextStep: string;
}

const AGAIN = "Try again; if it stays, check the connection to the service.";
const REPORT = "Record the Run with `cursor-wire run --record FILE` and report it with the code.";
const LOGIN = "Log in again, or set PI_CURSOR_TOKEN to a current access token.";

const auth: Row = { kind: "auth", code: "unauthenticated", words: "the service does not accept the access token", nextStep: LOGIN };
const entitlement: Row = { kind: "auth", code: "permission_denied", words: "the account may not use this model or channel", nextStep: "Check the account's plan and choose a model that it includes." };
const unavailable: Row = { kind: "network", code: "unavailable", words: "service unavailable", nextStep: AGAIN };
const rateLimited: Row = { kind: "network", code: "rate_limited", words: "the service reports a rate limit", nextStep: "Wait a minute, then try again." };
const deadline: Row = { kind: "network", code: "deadline_exceeded", words: "the request timed out in the service", nextStep: AGAIN };
const lost: Row = { kind: "network", code: "connection_lost", words: "connection lost", nextStep: AGAIN };

const remote = (code: string, words: string, nextStep = REPORT): Row => ({ kind: "remote", code, words, nextStep });
const drift = (code: string, words: string, nextStep = REPORT): Row => ({ kind: "protocol-drift", code, words, nextStep });

/** Connect's codes, in Connect's order (PROTOCOL §9). `not_found` and `resource_exhausted` depend on more: see {@link connectFailure}. */
export const CONNECT_FAILURES: Readonly<Record<ConnectCode, Row>> = {
  canceled: remote("canceled", "the service cancelled the turn", "Send the message again."),
  unknown: remote("unknown", "the service failed without saying why"),
  invalid_argument: remote("invalid_argument", "the service refused the request as malformed"),
  deadline_exceeded: deadline,
  not_found: remote("not_found", "the service knows no such model or conversation", "Choose a model from the catalog: the slug may have been retired."),
  already_exists: remote("already_exists", "the service holds something of that name already"),
  permission_denied: entitlement,
  resource_exhausted: remote("resource_exhausted", "the service refused the request for want of resources", "Start a new conversation or use a smaller prompt; then check the account's usage."),
  failed_precondition: remote("failed_precondition", "the service was in no state to take the request", "Start a new conversation."),
  aborted: { ...unavailable, code: "aborted", words: "service unavailable, the turn was broken off" },
  out_of_range: remote("out_of_range", "the service refused a value as out of range"),
  unimplemented: remote("unimplemented", "the service does not offer this call", "Update cursor-wire: the protocol may have moved."),
  internal: remote("internal", "the service broke down over this request"),
  unavailable,
  data_loss: remote("data_loss", "the service lost data of this conversation", "Start a new conversation."),
  unauthenticated: auth,
};

/** HTTP statuses instead of a Connect stream. Those without a row are a redirect or an answer that Connect does not know. */
export const HTTP_FAILURES: ReadonlyMap<number, Row> = new Map([
  [401, auth],
  [403, entitlement],
  [404, remote("not_found", "the origin has no such call", "Check CURSOR_PROVIDER_AGENT_ORIGIN.")],
  [408, deadline],
  [429, rateLimited],
]);

/** HTTP/2 error codes by number (RFC 9113 §7). NO_ERROR and CANCEL are an error only in the middle of a turn. */
export const HTTP2_CODES = [
  "NO_ERROR",
  "PROTOCOL_ERROR",
  "INTERNAL_ERROR",
  "FLOW_CONTROL_ERROR",
  "SETTINGS_TIMEOUT",
  "STREAM_CLOSED",
  "FRAME_SIZE_ERROR",
  "REFUSED_STREAM",
  "CANCEL",
  "COMPRESSION_ERROR",
  "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM",
  "INADEQUATE_SECURITY",
  "HTTP_1_1_REQUIRED",
] as const;

/** HTTP/2 codes that end a turn well when they come after `turn_ended` (DESIGN D2). */
const QUIET = new Set<number>([HTTP2_CODES.indexOf("NO_ERROR"), HTTP2_CODES.indexOf("CANCEL")]);
const CALM = HTTP2_CODES.indexOf("ENHANCE_YOUR_CALM");

/** Whether this end, after `turn_ended`, is the success that the turn was (DESIGN D2). */
export function endsWell(end: TransportEnd): boolean {
  switch (end.type) {
    case "end":
    case "goaway":
    case "socket":
      return true;
    case "trailer":
      return end.status === "0";
    case "reset":
      return QUIET.has(end.code);
    default:
      end.type satisfies "response";
      return false;
  }
}

/** Whether the connection itself failed, so that a new one may do better (DESIGN D10). */
export function isConnectionFailure(end: TransportEnd): boolean {
  return end.type === "socket" || ((end.type === "goaway" || end.type === "reset") && end.code !== CALM);
}

/** The service closed the stream as if all were well, but the turn was not over (DESIGN D2). */
export function endedEarly(): Failure {
  return failure(remote("ended_early", "the service closed the stream before the turn was over", "Send the message again."), "");
}

/** The turn ended, and the model had done nothing (DESIGN D7). */
export function emptyResponse(): Failure {
  return failure(remote("empty_response", "the service ended the turn without a word or a tool call", "Send the message again, or choose another model: the slug may have been retired."), "");
}

/** A blob is asked for that starting again cannot bring back (PROTOCOL §6, DESIGN D9). */
export function blobNotFound(): Failure {
  return failure(remote("blob_not_found", "the service asks for a blob that this conversation never held", "Send the message again, or start a new conversation."), "");
}

/**
 * The model goes on asking for what the host cannot do (PROTOCOL §5).
 * @param tool the model's name of the host's command tool, if it has one
 */
export function toolLoop(misses: number, tool: string | undefined): Failure {
  const nextStep = tool === undefined ? "Offer the model a tool that runs commands, or choose another model." : `Tell the model to call ${tool}, or choose another model.`;
  return failure(remote("tool_loop", `the model asked ${misses} times in a row for something that is no tool of this host`, nextStep), "");
}

/** The failure behind an end of the transport in the middle of a turn. */
export function transportFailure(end: TransportEnd, circumstances: Circumstances): Failure {
  switch (end.type) {
    case "end":
      return endedEarly();
    case "trailer":
      return end.status === "0" ? endedEarly() : connectFailure({ code: connectCode(end.status), message: end.message }, circumstances);
    case "response":
      return responseFailure(end);
    case "reset":
    case "goaway": {
      const name = HTTP2_CODES[end.code] ?? `code ${end.code}`;
      return failure(end.code === CALM ? rateLimited : lost, `${end.type === "reset" ? "RST_STREAM" : "GOAWAY"} ${name}`);
    }
    default:
      end.type satisfies "socket";
      return failure(lost, `${end.code} ${end.message}`);
  }
}

function responseFailure({ status, contentType, body }: { status: number; contentType: string; body: string }): Failure {
  if (status === 200) return failure(drift("content_type", "the service did not answer with application/connect+proto"), contentType || "no content type");
  const row = HTTP_FAILURES.get(status) ?? (status >= 500 ? unavailable : remote("http_status", "the service answered with a status that Connect does not know", "Check CURSOR_PROVIDER_AGENT_ORIGIN; redirects are never followed."));
  return failure(row, `HTTP ${status} ${body}`);
}

/** What the session knows when an error comes: it decides what a bare code means. */
export interface Circumstances {
  readonly model: string;
  /** Whether anything of the answer has arrived. */
  readonly output: boolean;
  /** The estimate of the prompt over the model's context window. */
  readonly fullness: number;
}

const QUOTA = /quota|usage limit|billing|subscription|plan limit|\bcredits?\b|\bspend/i;
const SIZE = /too (?:large|long|big|many tokens)|context.{0,12}(?:length|window|limit)|maximum.{0,20}tokens|token limit|prompt.{0,12}(?:size|length)/i;
/** Says no more than the code does. */
const BARE = /^\W*(?:(?:error|resource[_ ]exhausted)\W*)*$/i;

/** The failure behind a Connect error (PROTOCOL §9, DESIGN D8). */
export function connectFailure(error: { code: ConnectCode; message: string }, { model, output, fullness }: Circumstances): Failure {
  const row = CONNECT_FAILURES[error.code];
  if (error.code === "not_found") return failure({ ...row, words: `the service knows no model or conversation for ${peerText(model)}` }, error.message);
  if (error.code !== "resource_exhausted") return failure(row, error.message);
  if (QUOTA.test(error.message)) return failure(remote("quota", "the account's quota is used up", "Check the account's usage, or choose another model."), error.message);
  if (SIZE.test(error.message) || (BARE.test(peerText(error.message)) && !output && fullness > 0.8)) {
    const result = failure(remote("context_length_exceeded", "the prompt is too large for the model", "Compact the conversation or start a new one."), error.message);
    return { ...result, message: `context_length_exceeded: ${result.message}` };
  }
  return failure(row, error.message);
}

/** The failure behind bytes that break the wire's rules (DESIGN D8, D11). */
export function wireFailure(error: WireError): Failure {
  return { ...failure(drift(error.code, "the service sent bytes that cannot be read"), error.message), cause: error };
}

/** Unknown fields that an error names. */
const NAMED = 8;

/** A message whose fields no table knows: `what` it is, and each field by number, wire type and size (DESIGN D4). */
export function driftFailure(what: string, unknown: readonly UnknownField[] = []): Failure {
  const fields = unknown.length === 0 ? "no field" : unknown.slice(0, NAMED).map(describeField).join(", ");
  return failure(drift("unknown_message", "the service sent what this version does not know", "Update cursor-wire: the protocol has moved."), `${what} with ${fields}`);
}

/** A field that no table names, in words. */
export function describeField({ no, type, bytes }: UnknownField): string {
  return `field ${no} of wire type ${type} (${bytes.length} bytes)`;
}

/** What was thrown where nothing should be: our fault, not the peer's. */
export function defectFailure(error: unknown): Failure {
  const row: Row = { kind: "local", code: "defect", words: "cursor-wire failed on its own", nextStep: "Report this with a recording of the Run." };
  return { ...failure(row, thrownText(error)), cause: error };
}

/** What was thrown, in words fit for an error. Never throws, whatever it is. */
export function thrownText(thrown: unknown): string {
  try {
    return peerText(thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown));
  } catch {
    return "something that has no words";
  }
}

/** The words by which hosts decide to send a request again, and numbers that look like a status to them. */
const RETRIED =
  /overloaded|busy|high demand|at capacity|rate.?limit|too many requests|429|50[0234]|52[04]|unavailable|(?:server|internal|returned.{0,4}).?error|network|connection|socket|upstream|ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|getaddrinfo|timed? ?out|timeout|terminated|interrupted|http.?2|closed|ended|cancel|fetch failed|reset before|retry|your request again|resourceexhausted/i;
/** What looks like a credential in words that the peer sent back. */
const SECRET = /\bBearer\s+\S+|\beyJ[\w-]{8,}(?:\.[\w-]*)*/gi;

/** The peer's words, fit for an error: one line, at most 500 characters, nothing that looks like a token (DESIGN D8). */
export function peerText(text: string): string {
  const line = text.slice(0, 4 * LIMITS.peerText).replace(/\s+/g, " ").replace(/[\u0000-\u001f\u007f-\u009f]/g, "").replace(SECRET, "[redacted]").trim();
  return line.length > LIMITS.peerText ? `${line.slice(0, LIMITS.peerText - 1)}…` : line;
}

/** A failure by its row. Where nothing is to be retried, words from elsewhere must not say otherwise: they go to the cause. */
function failure(row: Row, words: string): Failure {
  const said = peerText(words);
  const sentence = `${row.words[0]!.toUpperCase()}${row.words.slice(1)}`;
  const misleading = row.kind !== "network" && RETRIED.test(said);
  const message = said === "" ? `${sentence}.` : misleading ? `${sentence}; the details are in the cause.` : `${sentence}: ${said}`;
  return { kind: row.kind, code: row.code, message, nextStep: row.nextStep, ...(misleading && { cause: said }) };
}
