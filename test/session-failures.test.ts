/** Every way a Run can fail, by its tables: kind, code, next step, and words that a host does not misread. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { aborted, CursorError, cursorError, type ErrorKind, type Failure } from "../lib/session/errors.ts";
import {
  CONNECT_FAILURES,
  connectFailure,
  defectFailure,
  driftFailure,
  endedEarly,
  endsWell,
  HTTP2_CODES,
  HTTP_FAILURES,
  isConnectionFailure,
  peerText,
  transportFailure,
  wireFailure,
  type TransportEnd,
} from "../lib/session/failures.ts";
import { timerFailure, TIMERS, type Timer } from "../lib/session/timers.ts";
import { CONNECT_CODES, connectCode, WIRE_ERRORS, WireError, type ConnectCode, type WireErrorCode } from "../wire/index.ts";
import { Rig, request, TOOLS } from "./session-rig.ts";

const test = suite("session failures");

/** The words on which a host sends a request again, in the older line numbers anywhere too. */
const RETRIED =
  /overloaded|rate.?limit|too many requests|429|50[0234]|service.?unavailable|server.?error|internal.?error|network.?error|connection.?(?:error|refused|lost|closed)|ECONNRESET|ETIMEDOUT|EPIPE|timed? out|timeout|terminated|http2 stream failed|ended without|stream has been cancell?ed/i;
/** Words of a peer that would make a host try again. */
const LURE = "internal error 503: rate limit, connection lost, timed out";
const NORMAL = { model: "m1", output: false, fullness: 0.1 };

/** What holds of every failure. */
function check(failure: Failure, kind: ErrorKind, code: string): void {
  assert.is(failure.kind, kind);
  assert.is(failure.code, code);
  assert.ok(failure.message.length > 10 && failure.message.length < 700, failure.message);
  assert.ok(failure.nextStep.length > 10, failure.nextStep);
  assert.not.match(failure.message, /Error: Error|undefined|\[object/);
  const said = `${failure.message} ${failure.nextStep}`;
  if (kind === "network") assert.match(failure.message, RETRIED);
  else assert.not.match(said, RETRIED);
}

const KINDS: Readonly<Record<ConnectCode, [ErrorKind, string]>> = {
  canceled: ["remote", "canceled"],
  unknown: ["remote", "unknown"],
  invalid_argument: ["remote", "invalid_argument"],
  deadline_exceeded: ["network", "deadline_exceeded"],
  not_found: ["remote", "not_found"],
  already_exists: ["remote", "already_exists"],
  permission_denied: ["auth", "permission_denied"],
  resource_exhausted: ["remote", "resource_exhausted"],
  failed_precondition: ["remote", "failed_precondition"],
  aborted: ["network", "aborted"],
  out_of_range: ["remote", "out_of_range"],
  unimplemented: ["remote", "unimplemented"],
  internal: ["remote", "internal"],
  unavailable: ["network", "unavailable"],
  data_loss: ["remote", "data_loss"],
  unauthenticated: ["auth", "unauthenticated"],
};

test("each Connect code has a row, and nothing else has", () => {
  assert.equal(Object.keys(CONNECT_FAILURES).sort(), [...CONNECT_CODES].sort());
});

for (const code of CONNECT_CODES) {
  const [kind, name] = KINDS[code];
  test(`Connect ${code} is ${kind} ${name}, with and without words of the peer`, () => {
    check(connectFailure({ code, message: "" }, NORMAL), kind, name);
    const failure = connectFailure({ code, message: "some words" }, NORMAL);
    check(failure, kind, name);
    assert.ok(failure.message.includes("some words"));
  });
  test(`Connect ${code}: a peer's words make no host try again where that is no use`, () => {
    const failure = connectFailure({ code, message: LURE }, NORMAL);
    check(failure, kind, name);
    assert.is(failure.message.includes(LURE), kind === "network");
    assert.is(failure.cause, kind === "network" ? undefined : LURE);
  });
  test(`Connect ${code} in a grpc-status trailer is the same`, () => {
    const status = String(CONNECT_CODES.indexOf(code) + 1);
    assert.is(connectCode(status), code);
    check(transportFailure({ type: "trailer", status, message: "" }, NORMAL), kind, name);
  });
}

test("not_found names the model", () => {
  assert.match(connectFailure({ code: "not_found", message: "" }, { ...NORMAL, model: "grok-4.7-high" }).message, /grok-4\.7-high/);
});

const EXHAUSTED: readonly [words: string, about: Partial<typeof NORMAL>, code: string][] = [
  ["You have reached your usage limit", {}, "quota"],
  ["monthly quota used up", {}, "quota"],
  ["no credits left", {}, "quota"],
  ["spend limit", {}, "quota"],
  ["account suspended", {}, "resource_exhausted"],
  ["prompt is too long", {}, "context_length_exceeded"],
  ["exceeds the context window", {}, "context_length_exceeded"],
  ["maximum number of tokens", {}, "context_length_exceeded"],
  ["", { fullness: 0.81 }, "context_length_exceeded"],
  ["Error", { fullness: 0.81 }, "context_length_exceeded"],
  ["[resource_exhausted] Error", { fullness: 0.81 }, "context_length_exceeded"],
  ["resource exhausted.", { fullness: 0.81 }, "context_length_exceeded"],
  ["", { fullness: 0.8 }, "resource_exhausted"],
  ["", { fullness: 0.81, output: true }, "resource_exhausted"],
  ["some other reason", { fullness: 2 }, "resource_exhausted"],
  ["Error", {}, "resource_exhausted"],
];
for (const [message, about, code] of EXHAUSTED)
  test(`B16 resource_exhausted ${JSON.stringify(message)} ${JSON.stringify(about)} is ${code}`, () => {
    const failure = connectFailure({ code: "resource_exhausted", message }, { ...NORMAL, ...about });
    check(failure, "remote", code);
    assert.is(failure.message.startsWith("context_length_exceeded:"), code === "context_length_exceeded");
  });

const STATUSES: readonly [status: number, kind: ErrorKind, code: string][] = [
  [301, "remote", "http_status"],
  [307, "remote", "http_status"],
  [400, "remote", "http_status"],
  [401, "auth", "unauthenticated"],
  [402, "remote", "http_status"],
  [403, "auth", "permission_denied"],
  [404, "remote", "not_found"],
  [408, "network", "deadline_exceeded"],
  [418, "remote", "http_status"],
  [429, "network", "rate_limited"],
  [500, "network", "unavailable"],
  [502, "network", "unavailable"],
  [503, "network", "unavailable"],
  [504, "network", "unavailable"],
  [599, "network", "unavailable"],
];
test("each HTTP status of the table is tried", () => {
  for (const status of HTTP_FAILURES.keys()) assert.ok(STATUSES.some(([tried]) => tried === status), String(status));
});
for (const [status, kind, code] of STATUSES)
  test(`HTTP ${status} is ${kind} ${code}, whatever the body says`, () => {
    check(transportFailure({ type: "response", status, contentType: "text/html", body: "" }, NORMAL), kind, code);
    const failure = transportFailure({ type: "response", status, contentType: "text/html", body: `${LURE} ${"x".repeat(5000)}` }, NORMAL);
    check(failure, kind, code);
  });

test("another content type on 200 is drift, with its name or without", () => {
  for (const contentType of ["text/html", "", LURE]) check(transportFailure({ type: "response", status: 200, contentType, body: "" }, NORMAL), "protocol-drift", "content_type");
});

for (const [number, name] of [...HTTP2_CODES.entries(), [99, "code 99"] as const])
  for (const type of ["reset", "goaway"] as const)
    test(`HTTP/2 ${type} ${name} in the middle of a turn is network`, () => {
      const failure = transportFailure({ type, code: number }, NORMAL);
      check(failure, "network", name === "ENHANCE_YOUR_CALM" ? "rate_limited" : "connection_lost");
      assert.match(failure.message, new RegExp(`${type === "reset" ? "RST_STREAM" : "GOAWAY"} ${name}$`));
      assert.is(isConnectionFailure({ type, code: number }), name !== "ENHANCE_YOUR_CALM", "worth another connection");
      assert.is(endsWell({ type, code: number }), type === "goaway" || name === "NO_ERROR" || name === "CANCEL", "a good end after turn_ended");
    });

for (const code of ["ECONNRESET", "ECONNREFUSED", "ENOTFOUND", "ETIMEDOUT", "CERT_HAS_EXPIRED", "ERR"])
  test(`a socket's ${code} is network connection_lost`, () => {
    const end: TransportEnd = { type: "socket", code, message: "words" };
    check(transportFailure(end, NORMAL), "network", "connection_lost");
    assert.ok(isConnectionFailure(end));
    assert.ok(endsWell(end));
  });

test("an end without an error before the turn is over is ended_early, of whatever kind", () => {
  check(endedEarly(), "remote", "ended_early");
  check(transportFailure({ type: "end" }, NORMAL), "remote", "ended_early");
  check(transportFailure({ type: "trailer", status: "0", message: "" }, NORMAL), "remote", "ended_early");
});

test("after turn_ended an end and status 0 are good ends, another status and a foreign response are not", () => {
  assert.ok(endsWell({ type: "end" }));
  assert.ok(endsWell({ type: "trailer", status: "0", message: "" }));
  assert.not.ok(endsWell({ type: "trailer", status: "13", message: "" }));
  assert.not.ok(endsWell({ type: "response", status: 502, contentType: "", body: "" }));
});

const FIRING: Partial<Record<Timer, string>> = { first: "first_token_timeout", idle: "idle_timeout", toolUse: "tool_timeout", pong: "connection_lost" };
for (const timer of Object.keys(TIMERS) as Timer[])
  test(`the clock ${timer} ${FIRING[timer] === undefined ? "ends nothing" : `fails with ${FIRING[timer]}`}`, () => {
    const row = TIMERS[timer];
    assert.is(row.fires === "fail", FIRING[timer] !== undefined);
    if (row.fires !== "fail") return;
    const failure = timerFailure(row, 7);
    check(failure, "network", FIRING[timer]!);
    assert.match(failure.message, / 7 ms/);
  });

for (const code of Object.keys(WIRE_ERRORS) as WireErrorCode[])
  test(`bytes that are wrong by ${code} are drift, wherever they stand`, () => {
    const error = new WireError(code, 7, "a.b", "detail");
    const failure = wireFailure(error);
    check(failure, "protocol-drift", code);
    assert.is(failure.cause, error);
    assert.ok(failure.message.includes(WIRE_ERRORS[code]), failure.message);
    check(wireFailure(new WireError(code, 1503, "a.b")), "protocol-drift", code);
  });

test("drift and defects say what is wrong, in bounds", () => {
  check(driftFailure("field 99 of wire type 2 (5 bytes)"), "protocol-drift", "unknown_message");
  check(driftFailure("field 429"), "protocol-drift", "unknown_message");
  check(driftFailure("x".repeat(100_000)), "protocol-drift", "unknown_message");
  check(defectFailure(new TypeError("a is no b")), "local", "defect");
  check(defectFailure(LURE), "local", "defect");
  assert.is(defectFailure(LURE).cause, LURE);
});

test("the core's own failures keep the rules", () => {
  const failing = (play: (rig: Rig) => void, tools = [TOOLS["add"]!]): CursorError => {
    const rig = new Rig({ request: request("hi", { tools }) });
    rig.step({ type: "opened" });
    play(rig);
    return rig.error!;
  };
  const loop = (rig: Rig): void => {
    for (let id = 1; id <= 8; id++) rig.server({ execServerMessage: { id, fetchArgs: { url: "u" } } });
  };
  const quiet = (rig: Rig): void => {
    rig.turnEnded();
    rig.fire("drain");
  };
  check(failing(loop), "remote", "tool_loop");
  check(failing(loop, [TOOLS["bash"]!]), "remote", "tool_loop");
  assert.match(failing(loop, [TOOLS["bash"]!]).nextStep, /mcp_pi_bash/);
  check(failing(quiet), "remote", "empty_response");
  check(failing((rig) => rig.server({ kvServerMessage: { getBlobArgs: { blobId: new Uint8Array(32) } } })), "remote", "blob_not_found");
  check(failing((rig) => rig.server({ kvServerMessage: { id: 1 } })), "protocol-drift", "unknown_message");
  check(failing((rig) => rig.server({ interactionQuery: { id: 1 } })), "protocol-drift", "unknown_message");
  check(aborted(), "aborted", "aborted");
});

const SECRETS: readonly string[] = [
  "Bearer abc.def",
  "bearer\n  abc.def",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
  "user::eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0",
  "eyJhbGciOi\u0000JIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
];
for (const secret of SECRETS)
  test(`what looks like a token is masked: ${JSON.stringify(secret)}`, () => {
    const text = peerText(`before ${secret} after`);
    assert.match(text, /^before .*\[redacted\] after$/);
    assert.not.match(text, /abc|eyJ|c2ln/);
    for (const code of CONNECT_CODES) {
      const failure = connectFailure({ code, message: secret }, NORMAL);
      assert.not.match(`${failure.message}${failure.cause}`, /abc\.def|eyJ/);
    }
  });

test("a peer's words are one line of at most 500 characters", () => {
  assert.is(peerText(" a\r\n\tb\u0007\u009f "), "a b");
  assert.is(peerText("x".repeat(500)), "x".repeat(500));
  assert.is(peerText("x".repeat(501)), `${"x".repeat(499)}…`);
  assert.is(peerText("x".repeat(10_000_000)).length, 500);
});

test("B15 our error is found behind any causes, also where they go in circles", () => {
  const ours = new CursorError({ kind: "network", code: "unavailable", message: "m", nextStep: "n", cause: "c" });
  assert.is(cursorError(ours), ours);
  assert.is(cursorError(new Error("a", { cause: new Error("b", { cause: ours }) })), ours);
  const circle = new Error("a");
  circle.cause = new Error("b", { cause: circle });
  assert.is(cursorError(circle), undefined);
  assert.is(cursorError("unavailable"), undefined);
  assert.is(cursorError(undefined), undefined);
  assert.is(ours.cause, "c");
  assert.equal(ours.partial, { text: "", thinking: "", usage: { input: 0, output: 0 } });
  assert.is(ours.name, "CursorError");
});

test.run();
