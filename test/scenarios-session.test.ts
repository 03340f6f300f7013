/** How such clients have failed, played against the core: framing, endings, retries, content and accounts. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { answers } from "../lib/session/on-continue.ts";
import { encodeEnvelope, encodeValue, EnvelopeReader, WireError } from "../wire/index.ts";
import { bytes, chunkings, hex } from "./check.ts";
import { cpuTime } from "./cpu-time.ts";
import { after, ended, endings, join, kinds, request, resumed, results, running, TOOLS, type Rig } from "./session-rig.ts";

const test = suite("session scenarios");
const tools = [TOOLS["add"]!];
const text = { interactionUpdate: { textDelta: { text: "hi" } } };
const stale = { code: "not_found", message: "no such conversation" };

for (const order of ["before", "behind"])
  test(`A16 a request beside an update, ${order} it, is answered and the update is heard`, () => {
    const rig = running({ request: request("hi", { tools }) });
    const asks = [{ execServerMessage: { id: 1, fetchArgs: { url: "u" } } }, { kvServerMessage: { id: 2, setBlobArgs: { blobId: bytes("aa"), blobData: bytes("bb") } } }, { interactionQuery: { id: 3, webSearchRequestQuery: {} } }];
    rig.server(...(order === "before" ? [...asks, text] : [text, ...asks]));
    assert.equal(kinds(rig), ["execClientMessage", "execClientControlMessage", "kvClientMessage", "interactionResponse"]);
    assert.equal(rig.emitted(), [{ type: "text", delta: "hi" }]);
  });

test("A16 what follows the arm that ended the Run in one message is not handled", () => {
  const rig = running();
  rig.server({ kvServerMessage: { id: 1, getBlobArgs: { blobId: bytes("aa") } } }, text);
  assert.equal(endings(rig), ["remote blob_not_found"]);
  assert.equal(rig.emitted(), []);
});

test("A16 a message holds at most eight arms, and none of one with more is handled", () => {
  const rig = running();
  rig.server(...Array.from({ length: 8 }, () => text));
  assert.is(rig.emitted().length, 8);
  rig.server(...Array.from({ length: 9 }, () => text));
  assert.equal(endings(rig), ["protocol-drift unknown_message"]);
  assert.match(rig.error!.message, /more than 8 parts/);
  assert.is(rig.emitted().length, 8);
});

// [what fills it, in hex; how the Run ends]: half a second of it was twenty, and over 2 GB.
for (const [name, one, code] of [
  ["arms", "0a00", "unknown_message"],
  ["questions", "3a021200", "unknown_message"],
  ["unknown fields", "4800", "elements"],
] as const)
  test(`a payload of 16 MiB full of ${name} ends the Run before it is read`, () => {
    const rig = running();
    const { length } = bytes(one);
    const payload = new Uint8Array(16 * 1024 * 1024 - 8).fill(0);
    for (const [index, byte] of bytes(one).entries()) for (let at = index; at < payload.length; at += length) payload[at] = byte;
    const started = cpuTime();
    rig.payload(payload);
    assert.ok(cpuTime() - started < 1_000);
    assert.equal(endings(rig), [`protocol-drift ${code}`]);
  });

test("the values of a call have as many elements as one message may have, in all", () => {
  const rig = running({ request: request("hi", { tools }) });
  const list = encodeValue(new Array(40_000).fill(null));
  rig.server({ execServerMessage: { id: 1, mcpArgs: { toolName: "add", args: new Map(["a", "b", "c"].map((key) => [key, list])) } } });
  assert.equal(rig.emitted().map(({ type }) => type), ["tool_call"]);
  const more = running({ request: request("hi", { tools }) });
  more.server({ execServerMessage: { id: 1, mcpArgs: { toolName: "add", args: new Map(["a", "b", "c", "d"].map((key) => [key, list])) } } });
  assert.equal(more.emitted(), []);
  assert.match(JSON.stringify(more.sent()), /The arguments cannot be read \(a message has more than 131,072 elements/);
});

test("B4 a compressed envelope is refused by its flag and never decoded", () => {
  const rig = running();
  rig.bytes(join([encodeEnvelope(1, bytes("1f8b08"))]));
  assert.equal(endings(rig), ["protocol-drift envelope_compressed"]);
  assert.match(rig.error!.message, /compressed/);
});

test("B7 a stream without an end-stream envelope is done after turn_ended, an error before", () => {
  const done = running();
  done.text("a");
  done.turnEnded();
  done.step({ type: "closed", end: { type: "end" } });
  assert.equal(endings(done), ["stop"]);
  const early = running();
  early.text("a");
  early.step({ type: "closed", end: { type: "end" } });
  assert.equal(endings(early), ["remote ended_early"]);
  assert.is(early.error!.partial.text, "a");
});

test("B8 an error in the drain is the only end, by end-stream or trailer; a clean end is done", () => {
  const ends: [(rig: Rig) => unknown, string][] = [
    [(rig) => rig.endStream({ code: "internal" }), "remote internal"],
    [(rig) => rig.step({ type: "closed", end: { type: "trailer", status: "13", message: "" } }), "remote internal"],
    [(rig) => rig.step({ type: "closed", end: { type: "reset", code: 2 } }), "network connection_lost"],
    [(rig) => rig.endStream({ code: "not_found" }), "remote not_found"],
    [(rig) => rig.step({ type: "closed", end: { type: "trailer", status: "0", message: "" } }), "stop"],
    [(rig) => rig.endStream(), "stop"],
  ];
  for (const [end, expected] of ends) {
    const rig = running();
    rig.text("a");
    rig.turnEnded();
    rig.after(499);
    end(rig);
    rig.after(10_000);
    rig.step({ type: "closed", end: { type: "socket", code: "ECONNRESET", message: "" } });
    assert.equal(endings(rig), [expected]);
  }
});

test("B12 HTTP 503 before any output is worth a retry of the host; after text nothing is sent again", () => {
  const fresh = running();
  fresh.step({ type: "closed", end: { type: "response", status: 503, contentType: "text/html", body: "<html>" } });
  assert.equal(endings(fresh), ["network unavailable"]);
  const late = running();
  late.text("a");
  const sends = late.sent(late.all).length;
  late.step({ type: "closed", end: { type: "trailer", status: "14", message: "" } });
  assert.equal(endings(late), ["network unavailable"]);
  assert.is(late.sent(late.all).length, sends);
});

for (const [name, end] of Object.entries<(rig: Rig) => unknown>({
  "an end-stream": (rig) => rig.endStream(stale),
  "a trailer": (rig) => rig.step({ type: "closed", end: { type: "trailer", status: "5", message: "" } }),
  "an invalid_argument that names the conversation": (rig) => rig.endStream({ code: "invalid_argument", message: "unknown Conversation" }),
  "a failed_precondition with the conversation's id": (rig) => rig.endStream({ code: "failed_precondition", message: `bad ${rig.session.conversationId}` }),
}))
  test(`B13 ${name} on a resume forgets the handle and rebuilds once under a new id`, () => {
    const rig = resumed();
    const { conversationId } = rig.session;
    end(rig);
    assert.equal(rig.last.filter(({ type }) => type === "connect" || type === "drop" || type === "fail").map(({ type }) => type), ["connect", "drop"]);
    rig.step({ type: "opened" });
    const { runRequest } = rig.sent()[0]!;
    assert.is.not(runRequest!.conversationId, conversationId);
    assert.is(runRequest!.conversationState!.rootPromptMessagesJson!.length, 2);
    rig.text("2");
    ended(rig);
    assert.equal(endings(rig), ["stop"]);
  });

test("B13 the same after turn_ended is the end of the turn, and the handle is forgotten", () => {
  const rig = resumed();
  rig.server({ interactionUpdate: { thinkingDelta: { text: "a" } } });
  rig.turnEnded();
  rig.endStream(stale);
  assert.equal(endings(rig), ["remote not_found"]);
  assert.equal(rig.last.map(({ type }) => type).filter((type) => type === "connect" || type === "drop"), ["drop"]);
});

test("B13 the same on a rebuild, or on a new conversation with a wrong slug, is an error once", () => {
  const rebuilt = resumed();
  rebuilt.endStream(stale);
  rebuilt.step({ type: "opened" });
  rebuilt.endStream(stale);
  const fresh = running({ request: request("hi", { model: { id: "no-such-slug" } }) });
  fresh.endStream(stale);
  for (const rig of [rebuilt, fresh]) {
    assert.equal(endings(rig), ["remote not_found"]);
    assert.is(rig.last.some(({ type }) => type === "connect" || type === "drop"), false);
  }
  assert.match(fresh.error!.message, /no-such-slug/);
});

for (const [name, error] of Object.entries({ "an invalid_argument about something else": { code: "invalid_argument", message: "bad image" }, "an unavailable": { code: "unavailable" } }))
  test(`B13 ${name} on a resume is no stale conversation`, () => {
    const rig = resumed();
    rig.endStream(error);
    assert.is(endings(rig).length, 1);
    assert.is(rig.all.some(({ type }) => type === "drop"), false);
  });

test("B16 a bare resource_exhausted on a full prompt is an overflow, after output it is not, and nothing is sent again", () => {
  const exhausted = (play: (rig: Rig) => unknown, contextWindow = 110): string => {
    const rig = running({ request: request("hi", { model: { id: "m1", contextWindow }, tools }) });
    play(rig);
    rig.endStream({ code: "resource_exhausted", message: "Error" });
    assert.is(rig.sent().length, 0);
    assert.is(rig.all.filter(({ type }) => type === "connect").length, 1);
    return rig.error!.code;
  };
  assert.is(exhausted(() => {}), "context_length_exceeded");
  assert.is(exhausted(() => {}, 1000), "resource_exhausted");
  assert.is(exhausted((rig) => rig.text("a")), "resource_exhausted");
  assert.is(exhausted((rig) => rig.server({ interactionUpdate: { thinkingDelta: { text: "a" } } })), "resource_exhausted");
  // The leg after a call has its own prompt, and nothing of its answer has come yet.
  const afterCall = (rig: Rig): void => {
    rig.call(1, "add");
    rig.fire("burst");
    rig.step({ type: "continue", request: results(rig) });
  };
  assert.is(exhausted(afterCall), "context_length_exceeded");
});

test("D48 after a failure for size the same bytes are not sent again", () => {
  const rig = running();
  rig.endStream({ code: "resource_exhausted", message: "prompt too large" });
  assert.is(rig.error!.code, "context_length_exceeded");
  assert.is(rig.all.filter(({ type }) => type === "connect").length, 1);
});

test("D49 a connection lost before any frame is tried again once, after text never", () => {
  const end = { type: "closed", end: { type: "socket", code: "ECONNRESET", message: "" } } as const;
  const rig = running();
  const [first] = rig.sent(rig.all);
  assert.equal(rig.step(end).map(({ type }) => type).filter((type) => type !== "disarm"), ["diagnostic", "connect"]);
  assert.equal(rig.notes(), ["retry"]);
  rig.step({ type: "opened" });
  assert.equal(rig.sent()[0], first, "the same request");
  rig.text("a");
  rig.step(end);
  assert.equal(endings(rig), ["network connection_lost"]);
  assert.is(rig.error!.partial.text, "a");
});

test("D56 a frame between two legs is handled, and a request for other calls is no continuation", () => {
  const rig = running({ request: request("hi", { tools }) });
  rig.call(1, "add");
  rig.fire("burst");
  rig.server({ kvServerMessage: { id: 1, setBlobArgs: { blobId: bytes("aa"), blobData: bytes("bb") } } });
  assert.equal(kinds(rig), ["kvClientMessage"]);
  assert.ok(answers(rig.session, structuredClone(results(rig))));
  assert.not.ok(answers(rig.session, { ...results(rig), messages: after(results(rig).messages, "a", "b") }));
});

test("E7 a text is the same however its frame is cut, and half a pair becomes U+FFFD", () => {
  const envelope = encodeEnvelope(0, bytes("0a0c 0a0a 0a08 c3bc f09f9880 e2 82"));
  for (const chunks of chunkings(envelope)) {
    const reader = new EnvelopeReader();
    const rig = running();
    for (const chunk of chunks) for (const { payload } of reader.push(chunk)) rig.payload(payload);
    assert.equal(rig.emitted(), [{ type: "text", delta: "ü😀�" }]);
  }
  assert.is(hex(envelope).length, 38);
});

test("F6 an entitlement or quota error has kind, code, next step and words", () => {
  for (const [error, kind, code] of [
    [{ code: "permission_denied", message: "[permission_denied] Error" }, "auth", "permission_denied"],
    [{ code: "resource_exhausted", message: "[resource_exhausted] Error" }, "remote", "resource_exhausted"],
    [{ code: "resource_exhausted", message: "Your plan's quota is used up" }, "remote", "quota"],
  ] as const) {
    const rig = running();
    rig.endStream(error);
    assert.equal([rig.error!.kind, rig.error!.code], [kind, code]);
    assert.not.match(rig.error!.message, /^Error|Error: Error/);
    assert.ok(rig.error!.nextStep.length > 10);
  }
});

test("F7 a turn without text, thinking or call is empty_response; thinking alone is a turn", () => {
  assert.equal(endings(ended(running())), ["remote empty_response"]);
  const thought = running();
  thought.server({ interactionUpdate: { thinkingDelta: { text: "a" } } });
  assert.equal(endings(ended(thought)), ["stop"]);
});

test("F10 unauthenticated after the stream has started is auth, and the handle stays", () => {
  const rig = resumed();
  rig.text("a");
  rig.endStream({ code: "unauthenticated", message: "" });
  assert.equal(endings(rig), ["auth unauthenticated"]);
  assert.is(rig.all.some(({ type }) => type === "drop" || type === "save"), false);
});

test("an end-stream that is no JSON is drift, in the drain too", () => {
  for (const drain of [false, true]) {
    const rig = running();
    rig.text("a");
    if (drain) rig.turnEnded();
    rig.payload(bytes("7b"), 2);
    assert.equal(endings(rig), ["protocol-drift end_stream"]);
    assert.ok(rig.error!.cause instanceof WireError);
  }
});

test.run();
