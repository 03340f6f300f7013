/** What a peer and a network can do to a Run, on real HTTP/2 over 127.0.0.1: one terminal event each, soon. */
import { connect as connectTcp, createServer as createTcpServer } from "node:net";
import { constants } from "node:http2";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { systemClock, type ClockFactory } from "../lib/driver/clock.ts";
import { Connection } from "../lib/driver/connection.ts";
import { runHeaders } from "../lib/driver/headers.ts";
import { createProviderOn } from "../lib/driver/provider.ts";
import { createProvider, type ErrorKind, type Provider, type ProviderOptions } from "../lib/index.ts";
import { AgentServerMessage } from "../lib/agent/index.ts";
import { encodeEnvelope, encodeValue } from "../wire/index.ts";
import { TIMERS, type Timer } from "../lib/session/timers.ts";
import { ask, listen, outcome, rawHost, until, type Host, type Outcome, type Peer } from "./raw-host.ts";
import { waiting } from "./waiting.ts";

const test = suite("driver-faults");

/** The clocks of Runs that ran out and failed one, since the last look. */
const ranOut: Timer[] = [];

/** `clock`, which notes what fails a Run. */
function noting(clock: ClockFactory): ClockFactory {
  return (onTimer) =>
    clock((timer) => {
      if (TIMERS[timer].fires === "fail") ranOut.push(timer);
      onTimer(timer);
    });
}

/** More ms than a fault's own pauses take, and less than the shortest clock that may be waited for in vain (500 ms). */
const SOON = 300;

/** All clocks a hundred times faster. */
const fast: ClockFactory = (onTimer) => {
  const clock = systemClock(onTimer);
  return { ...clock, arm: (timer, ms) => clock.arm(timer, ms / 100) };
};

function provider(host: Host, options: Partial<ProviderOptions> = {}, clock = systemClock): Provider {
  return createProviderOn(noting(clock), { accessToken: "planted-token-0123456789", origin: host.origin, handles: null, env: {}, ...options });
}

/** Runs one leg against a host and closes both. */
async function turn(host: Host, options: Partial<ProviderOptions> = {}, clock = systemClock): Promise<Outcome> {
  const uncaught: unknown[] = [];
  const spy = (error: unknown): void => void uncaught.push(error);
  process.on("uncaughtException", spy);
  process.on("unhandledRejection", spy);
  const used = provider(host, options, clock);
  try {
    const result = await outcome(used.stream(ask()));
    await used.close();
    await until(() => host.sockets.size === 0, "every socket is closed");
    assert.equal(uncaught, []);
    return result;
  } finally {
    await host.close();
    process.off("uncaughtException", spy);
    process.off("unhandledRejection", spy);
  }
}

/** `clock`: the one that had to run out for it; any other is a wait in vain. `soon`: ms that may be waited without one. */
function failed(result: Outcome, kind: ErrorKind, code?: string, clock?: Timer, soon = SOON): void {
  assert.ok(result.error, `expected an error, got ${JSON.stringify(result.events)}`);
  assert.is(result.error.kind, kind, result.error.message);
  if (code !== undefined) assert.is(result.error.code, code, result.error.message);
  assert.ok(result.error.nextStep.length > 0);
  assert.not.ok(result.events.some((event) => event.type === "done"), "no done beside an error");
  assert.equal(ranOut.splice(0), clock === undefined ? [] : [clock]);
  if (clock === undefined) assert.ok(result.waited < soon, `waited ${result.waited} ms`);
  assert.not.match(`${result.error.message} ${result.error.nextStep}`, "planted-token");
}

function succeeded(result: Outcome, text: string): void {
  assert.is(result.error, undefined, result.error?.message);
  assert.is(result.text, text);
  assert.equal(result.events.slice(-2).map(({ type }) => type), ["usage", "done"]);
  assert.is(result.events.filter(({ type }) => type === "done").length, 1);
}

/** Faults while a Run is open: name, what the peer does, and how it must end. */
const FAULTS: readonly (readonly [name: string, fault: (peer: Peer) => void, kind: ErrorKind, code?: string])[] = [
  ["C1 the socket is destroyed before the response", (peer) => peer.socket.destroy(), "network"],
  ["C1 the socket is destroyed after the headers", (peer) => void (peer.respond(), setImmediate(() => peer.socket.destroy())), "network"],
  ["C1 the socket is reset", (peer) => void (peer.respond().text("a"), setTimeout(() => peer.socket.resetAndDestroy(), 20)), "network"],
  ["C1 the socket is destroyed in mid frame", (peer) => void (peer.respond(), peer.stream.write(Uint8Array.of(0, 0, 0, 1, 0, 9)), setTimeout(() => peer.socket.destroy(), 20)), "network", "connection_lost"],
  ["C3 RST_STREAM(ENHANCE_YOUR_CALM) before any output", (peer) => peer.reset(constants.NGHTTP2_ENHANCE_YOUR_CALM), "network", "rate_limited"],
  ["C3 RST_STREAM(ENHANCE_YOUR_CALM) after output", (peer) => void (peer.respond().text("a"), setTimeout(() => peer.reset(constants.NGHTTP2_ENHANCE_YOUR_CALM), 20)), "network", "rate_limited"],
  ["C3 GOAWAY(ENHANCE_YOUR_CALM)", (peer) => peer.session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from("too_many_pings")), "network", "rate_limited"],
  ["C10 RST_STREAM(NO_ERROR) before the response", (peer) => peer.reset(constants.NGHTTP2_NO_ERROR), "network"],
  ["C10 RST_STREAM(NO_ERROR) in mid frame", (peer) => void (peer.respond(), peer.stream.write(Uint8Array.of(0, 0, 0, 1, 0, 9)), setTimeout(() => peer.reset(constants.NGHTTP2_NO_ERROR), 20)), "network"],
  ["C10 RST_STREAM(NO_ERROR) between frames", (peer) => void (peer.respond().text("a"), setTimeout(() => peer.reset(constants.NGHTTP2_NO_ERROR), 20)), "network"],
  ["B17 RST_STREAM(CANCEL) that we did not ask for", (peer) => void (peer.respond().text("a"), setTimeout(() => peer.reset(constants.NGHTTP2_CANCEL), 20)), "network"],
  ["D11 END_STREAM with RST_STREAM(ENHANCE_YOUR_CALM) on its heels", (peer) => void (peer.respond().text("a"), setTimeout(() => peer.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM), 20)), "network", "rate_limited"],
  ["D6 a clean end-stream before turn_ended", (peer) => void peer.respond().text("a").endStream().stream.end(), "remote", "ended_early"],
  ["B7 END_STREAM without an end-stream envelope before turn_ended", (peer) => void peer.respond().text("a").stream.end(), "remote", "ended_early"],
  ["B2 the stream ends inside a header", (peer) => void peer.respond().text("a").stream.end(Uint8Array.of(0, 0, 0)), "protocol-drift", "envelope_truncated"],
  ["B2 the stream ends inside a payload", (peer) => void peer.respond().text("a").stream.end(Uint8Array.of(0, 0, 0, 0, 9, 1)), "protocol-drift", "envelope_truncated"],
  ["B1 a header that declares 4 GiB", (peer) => void peer.respond().stream.write(Uint8Array.of(0, 255, 255, 255, 255)), "protocol-drift", "envelope_length"],
  ["B4 a compressed envelope", (peer) => void peer.respond().stream.write(Uint8Array.of(1, 0, 0, 0, 1, 0)), "protocol-drift", "envelope_compressed"],
  ["B8 an error end-stream in the drain", (peer) => void peer.respond().text("a").turnEnded().endStream({ code: "internal" }).stream.end(), "remote", "internal"],
  ["F10 an unauthenticated end-stream after HTTP 200", (peer) => void peer.respond().endStream({ code: "unauthenticated" }).stream.end(), "auth"],
  ["F6 a quota end-stream", (peer) => void peer.respond().endStream({ code: "resource_exhausted", message: "Usage limit reached" }).stream.end(), "remote", "quota"],
  ["an error end-stream behind which the stream stays open", (peer) => void peer.respond().text("a").endStream({ code: "internal" }), "remote", "internal"],
  ["a clean end-stream behind which the stream stays open", (peer) => void peer.respond().text("a").endStream(), "remote", "ended_early"],
  ["the end-stream is no JSON", (peer) => void peer.respond().text("a").stream.end(Uint8Array.of(2, 0, 0, 0, 1, 0x7b)), "protocol-drift", "end_stream"],
  ["the service sends the token back in an error", (peer) => void peer.respond().endStream({ code: "internal", message: "bad planted-token-0123456789 !" }).stream.end(), "remote"],
];
for (const [name, fault, kind, code] of FAULTS)
  test(name, async () => {
    failed(await turn(await rawHost(fault)), kind, code);
  });

/** Responses that are no Connect stream. */
const RESPONSES: readonly (readonly [status: number, contentType: string, kind: ErrorKind, code?: string])[] = [
  [401, "application/json", "auth", "unauthenticated"],
  [403, "text/html", "auth", "permission_denied"],
  [404, "text/html", "remote", "not_found"],
  [408, "text/plain", "network", "deadline_exceeded"],
  [429, "application/json", "network", "rate_limited"],
  [500, "text/html", "network", "unavailable"],
  [502, "text/html", "network", "unavailable"],
  [503, "text/html", "network", "unavailable"],
  [307, "text/html", "remote", "http_status"],
  [200, "text/html", "protocol-drift", "content_type"],
];
for (const [status, contentType, kind, code] of RESPONSES)
  test(`B11 HTTP ${status} with ${contentType}`, async () => {
    const host = await rawHost((peer) => {
      peer.stream.respond({ ":status": status, "content-type": contentType, location: "https://example.com/" });
      peer.stream.end(`<html>planted-token-0123456789 ${"x".repeat(5000)}</html>`);
    });
    const result = await turn(host);
    failed(result, kind, code);
    assert.ok(result.error!.message.length < 700);
    assert.is(host.accepted, 1, "no redirect is followed and nothing is tried again");
  });

for (const [status, kind] of [["13", "remote"], ["16", "auth"], ["14", "network"]] as const)
  test(`B8 a grpc-status ${status} trailer after turn_ended`, async () => {
    const host = await rawHost((peer) => {
      peer.stream.respond({ ":status": 200, "content-type": "application/connect+proto" }, { waitForTrailers: true });
      peer.stream.on("wantTrailers", () => peer.stream.sendTrailers({ "grpc-status": status, "grpc-message": "no%20way" }));
      peer.text("a").turnEnded().stream.end();
    });
    failed(await turn(host), kind);
  });

test("D2 a grpc-status 13 trailer behind a clean end-stream wins", async () => {
  const host = await rawHost((peer) => {
    peer.stream.respond({ ":status": 200, "content-type": "application/connect+proto" }, { waitForTrailers: true });
    peer.stream.on("wantTrailers", () => peer.stream.sendTrailers({ "grpc-status": "13" }));
    peer.text("a").turnEnded().endStream();
    setImmediate(() => peer.stream.end());
  });
  failed(await turn(host), "remote", "internal");
});

for (const [when, first] of [
  ["a finished turn", (peer: Peer) => peer.respond().text("a").turnEnded().endStream()],
  ["an unfinished one", (peer: Peer) => peer.respond().text("a").endStream()],
] as const)
  for (const [how, later] of [
    ["at once", false],
    ["a moment later", true],
  ] as const)
    test(`D11 data behind the end-stream of ${when}, ${how}, is drift`, async () => {
      const host = await rawHost((peer) => {
        first(peer);
        if (later) setImmediate(() => peer.text("more").stream.end());
        else peer.text("more").stream.end();
      });
      failed(await turn(host), "protocol-drift", "envelope_after_end");
    });

test("C22 END_STREAM on the trailers ends a turn as well as on a DATA frame", async () => {
  const host = await rawHost((peer) => {
    peer.stream.respond({ ":status": 200, "content-type": "application/connect+proto" }, { waitForTrailers: true });
    peer.stream.on("wantTrailers", () => peer.stream.sendTrailers({ "grpc-status": "0" }));
    peer.text("a").turnEnded().endStream().stream.end();
  });
  succeeded(await turn(host), "a");
});

test("a response of trailers only fails by its status", async () => {
  const host = await rawHost((peer) => peer.stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "16", "grpc-message": "who" }, { endStream: true }));
  failed(await turn(host), "auth", "unauthenticated");
});

/** Ends after turn_ended that are the success which the turn was (D2). */
const GOOD_ENDS: readonly (readonly [name: string, end: (peer: Peer) => void])[] = [
  ["D1 GOAWAY(0) and a closed socket right after turn_ended", (peer) => void (peer.session.goaway(0), setTimeout(() => peer.socket.destroy(), 20))],
  ["B7 END_STREAM without an end-stream envelope after turn_ended", (peer) => peer.stream.end()],
  ["C10 RST_STREAM(NO_ERROR) after turn_ended", (peer) => void setTimeout(() => peer.reset(constants.NGHTTP2_NO_ERROR), 20)],
  ["D2 RST_STREAM(CANCEL) after turn_ended", (peer) => void setTimeout(() => peer.reset(constants.NGHTTP2_CANCEL), 20)],
  ["B8 a clean end-stream after turn_ended", (peer) => void peer.endStream().stream.end()],
];
for (const [name, end] of GOOD_ENDS)
  test(name, async () => {
    const result = await turn(await rawHost((peer) => end(peer.respond().text("a").turnEnded())));
    succeeded(result, "a");
    assert.ok(result.waited < SOON, `waited ${result.waited} ms`);
  });

test("D2 silence after turn_ended is read for the time of the drain, and is a success", async () => {
  const result = await turn(await rawHost((peer) => void peer.respond().text("a").turnEnded()));
  succeeded(result, "a");
  assert.ok(result.took >= 490, `took ${result.took} ms`);
});

test("C1 a peer that hangs up before SETTINGS is tried once more, then given up", async () => {
  const host = await listen(createTcpServer((socket) => socket.destroy()));
  failed(await turn(host), "network", "connection_lost");
  assert.is(host.accepted, 2);
});

test("D49 a connection lost before any server frame is tried again with the same request", async () => {
  const told: string[] = [];
  const host = await rawHost((peer, index) => {
    if (index === 0) peer.socket.destroy();
    else peer.respond().text("a").turnEnded().endStream().stream.end();
  });
  succeeded(await turn(host, { onDiagnostic: ({ type }) => void told.push(type) }), "a");
  assert.equal(told, ["retry"]);
  const [first, second] = host.peers.map((peer) => peer.received[0]!.runRequest!);
  assert.equal(second, first);
});

test("D49 a connection lost after a frame is not tried again", async () => {
  const host = await rawHost((peer) => void (peer.respond().text("a"), setTimeout(() => peer.socket.destroy(), 20)));
  failed(await turn(host), "network", "connection_lost");
  assert.is(host.accepted, 1);
});

test("C11 a peer that accepts and stays silent costs the first-token time", async () => {
  const host = await listen(createTcpServer((socket) => socket.resume()));
  const result = await turn(host, { env: { CURSOR_PROVIDER_FIRST_TOKEN_MS: "200" } });
  failed(result, "network", "first_token_timeout", "first");
  assert.ok(result.took >= 190, `took ${result.took} ms`);
});

test("C12 a peer that sends no SETTINGS and resets later fails once", async () => {
  const host = await listen(createTcpServer((socket) => void setTimeout(() => socket.resume().resetAndDestroy(), 100)));
  failed(await turn(host), "network");
});

test("an origin where nobody listens fails at once", async () => {
  const host = await listen(createTcpServer());
  await host.close();
  const result = await outcome(createProvider({ accessToken: "t", origin: host.origin, handles: null, env: {} }).stream(ask()));
  failed(result, "network", "connection_lost");
  assert.match(result.error!.message, "ECONNREFUSED");
});

test("C13 a signal that is aborted already opens nothing", async () => {
  const host = await listen(createTcpServer((socket) => socket.resume()));
  const used = provider(host);
  const result = await outcome(used.stream(ask(), { signal: AbortSignal.abort() }));
  failed(result, "aborted");
  await used.close();
  assert.is(host.accepted, 0);
  await host.close();
});

for (const after of [0, 1, 20])
  test(`C13 an abort ${after} ms after the call ends it at once`, async () => {
    const host = await listen(createTcpServer((socket) => socket.resume()));
    const used = provider(host);
    const controller = new AbortController();
    let ended = false;
    const reading = outcome(used.stream(ask(), { signal: controller.signal })).finally(() => (ended = true));
    await new Promise((resolve) => setTimeout(resolve, after));
    controller.abort();
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(ended);
    failed(await reading, "aborted");
    await used.close();
    await until(() => host.sockets.size === 0, "the socket is gone");
    await host.close();
  });

test("D19 an abort resets the stream with CANCEL and writes nothing after it", async () => {
  let code: number | undefined;
  const host = await rawHost((peer) => {
    peer.stream.on("close", () => (code = peer.stream.rstCode));
    peer.respond().text("a");
  });
  const used = provider(host);
  const controller = new AbortController();
  const events: string[] = [];
  try {
    for await (const event of used.stream(ask(), { signal: controller.signal })) {
      events.push(event.type);
      controller.abort();
    }
    assert.unreachable();
  } catch (error) {
    assert.is((error as { kind: string }).kind, "aborted");
    assert.is((error as { partial: { text: string } }).partial.text, "a");
  }
  await until(() => code !== undefined, "the peer sees the reset");
  assert.is(code, constants.NGHTTP2_CANCEL);
  assert.is(host.peers[0]!.received.length, 1);
  await used.close();
  await host.close();
});

test("a reader that leaves the iteration ends the Run like an abort", async () => {
  let code: number | undefined;
  const host = await rawHost((peer) => {
    peer.stream.on("close", () => (code = peer.stream.rstCode));
    peer.respond().text("a");
  });
  const used = provider(host);
  for await (const event of used.stream(ask())) if (event.type === "text") break;
  await until(() => code !== undefined, "the peer sees the reset");
  assert.is(code, constants.NGHTTP2_CANCEL);
  await used.close();
  await host.close();
});

test("C16 a peer that is gone without a word is declared dead, once", async () => {
  const host = await rawHost((peer) => void peer.respond().text("a"));
  let alive = true;
  // Everything after the first text is swallowed on the way, as a network that is cut swallows it.
  const cut = await listen(
    createTcpServer((near) => {
      const far = connectTcp(Number(new URL(host.origin).port), "127.0.0.1");
      far.on("error", () => {});
      near.on("data", (chunk) => void far.write(chunk)).on("close", () => far.destroy());
      far.on("data", (chunk) => {
        if (alive) near.write(chunk);
      });
    }),
  );
  const onFrame = ({ from }: { from: string }): void => void (alive &&= from === "client");
  const result = await turn(cut, { onFrame, env: { CURSOR_PROVIDER_IDLE_MS: "1000000", CURSOR_PROVIDER_FIRST_TOKEN_MS: "1000000" } }, fast);
  failed(result, "network", "connection_lost", "pong");
  await host.close();
});

test("C4 a PING goes out only while a Run is open", async () => {
  let pings = 0;
  const host = await rawHost((peer) => {
    peer.session.on("ping", () => {
      pings += 1;
      peer.turnEnded().endStream().stream.end();
    });
    peer.respond().text("a");
  });
  const used = provider(host, {}, (onTimer) => {
    const clock = systemClock(onTimer);
    return { ...clock, arm: (timer, ms) => clock.arm(timer, timer === "ping" ? 50 : ms) };
  });
  succeeded(await outcome(used.stream(ask())), "a");
  const seen = pings;
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.is(pings, seen);
  await used.close();
  await host.close();
});

test("C7 a Run lives on behind a graceful GOAWAY, and its connection is still asked whether it lives", async () => {
  const host = await rawHost((peer) => {
    peer.respond().text("a");
    peer.session.goaway(0, peer.stream.id);
    setTimeout(() => peer.turnEnded().endStream().stream.end(), 400);
  });
  const used = provider(host, {}, (onTimer) => {
    const clock = systemClock(onTimer);
    return { ...clock, arm: (timer, ms) => clock.arm(timer, timer === "ping" ? 40 : timer === "pong" ? 120 : ms) };
  });
  succeeded(await outcome(used.stream(ask())), "a");
  await used.close();
  await host.close();
});

test("C7 C8 a hundred turns, each with a GOAWAY: each dials anew, and no socket stays", async () => {
  const host = await rawHost((peer) => {
    peer.respond().text("a").turnEnded().endStream();
    peer.session.goaway(0);
    peer.stream.end();
  });
  const used = provider(host);
  for (let index = 0; index < 100; index++) succeeded(await outcome(used.stream(ask())), "a");
  assert.is(host.accepted, 100);
  await used.close();
  await until(() => host.sockets.size === 0, "no socket stays");
  await host.close();
});

test("C2 nothing reaches the process: abort, cut, idle time and clocks that run out after the end", async () => {
  const uncaught: unknown[] = [];
  const spy = (error: unknown): void => void uncaught.push(error);
  process.on("uncaughtException", spy);
  process.on("unhandledRejection", spy);
  const host = await rawHost((peer, index) => {
    peer.respond().text("a");
    if (index === 3) setTimeout(() => peer.socket.resetAndDestroy(), 20);
    if (index === 2) peer.turnEnded().endStream().stream.end();
  });
  const used = provider(host, { env: { CURSOR_PROVIDER_IDLE_MS: "60" } });
  const controller = new AbortController();
  void until(() => host.peers.length > 0, "the request is there").then(() => controller.abort());
  failed(await outcome(used.stream(ask(), { signal: controller.signal })), "aborted");
  failed(await outcome(used.stream(ask())), "network", "idle_timeout", "idle");
  succeeded(await outcome(used.stream(ask())), "a");
  const patient = provider(host);
  failed(await outcome(patient.stream(ask())), "network", "connection_lost");
  await new Promise((resolve) => setTimeout(resolve, 200));
  await used.close();
  await patient.close();
  process.off("uncaughtException", spy);
  process.off("unhandledRejection", spy);
  await host.close();
  assert.equal(uncaught, []);
});

test("C5 a PING on a connection that is just gone is no error", async () => {
  const host = await rawHost((peer) => void peer.respond());
  const events: string[] = [];
  const connection = new Connection(new URL(host.origin), runHeaders("t", "1"), { onEvent: ({ type }) => void events.push(type), onEnvelope: () => {} });
  await until(() => events.includes("opened"), "the connection is open");
  const closing = connection.close(true);
  connection.ping();
  connection.send(new Uint8Array(1));
  connection.paused = true;
  connection.referenced = true;
  await closing;
  connection.ping();
  connection.referenced = false;
  assert.equal(events.filter((type) => type !== "alive"), ["opened"]);
  await host.close();
});

test("C6 a GOAWAY without a stream while the next Run starts disturbs neither", async () => {
  const host = await rawHost((peer) => {
    const { session } = peer;
    peer.respond().text("a").turnEnded().endStream();
    peer.stream.end();
    peer.stream.on("close", () => !session.closed && session.goaway(0));
  });
  const used = provider(host);
  for (let index = 0; index < 5; index++) succeeded(await outcome(used.stream(ask())), "a");
  await used.close();
  await host.close();
});

test("C18 an abort while an exec is being answered ends everything soon", async () => {
  const host = await rawHost((peer) => void peer.respond().send({ execServerMessage: { id: 1, fetchArgs: { url: "https://example.com/" } } }));
  const controller = new AbortController();
  const used = provider(host, { onFrame: ({ from, at }) => void (from === "client" && at > 0 && host.peers.length > 0 && host.peers[0]!.received.length > 0 && controller.abort()) });
  const result = await outcome(used.stream(ask(), { signal: controller.signal }));
  failed(result, "aborted");
  const { waited } = await waiting(until(() => host.sockets.size === 0, "the socket is closed", 10_000));
  assert.ok(waited < SOON, `waited ${waited} ms`);
  await used.close();
  await host.close();
});

test("D10 a reply that can no longer be written ends the Run at once", async () => {
  const host = await rawHost((peer) => {
    peer.respond().send({ execServerMessage: { id: 1, fetchArgs: { url: "https://example.com/" } } }, { kvServerMessage: { id: 2, setBlobArgs: { blobId: new Uint8Array(32), blobData: new Uint8Array(9) } } });
    setImmediate(() => peer.socket.destroy());
  });
  failed(await turn(host), "network", "connection_lost");
});

/** Arms that come by the thousand in one message: each would be an event, or an answer. */
for (const [what, arm] of [
  ["texts", { interactionUpdate: { textDelta: { text: "a" } } }],
  ["queries", { interactionQuery: { id: 1, webSearchRequestQuery: {} } }],
  ["questions for the request context", { execServerMessage: { id: 1, requestContextArgs: {} } }],
] as const)
  test(`a message of 80,000 ${what} is drift at once, not a crash and not gigabytes`, async () => {
    const bytes = AgentServerMessage.encode(arm);
    const host = await rawHost((peer) => void peer.respond().stream.write(encodeEnvelope(0, Buffer.concat(new Array<Uint8Array>(80_000).fill(bytes)))));
    failed(await turn(host), "protocol-drift", "unknown_message");
  });

test("a message that asks for more than the largest blob holds is drift", async () => {
  const blobId = new Uint8Array(32).fill(3);
  const get = AgentServerMessage.encode({ kvServerMessage: { id: 2, getBlobArgs: { blobId } } });
  const host = await rawHost((peer) => {
    peer.respond().send({ kvServerMessage: { id: 1, setBlobArgs: { blobId, blobData: new Uint8Array(4 * 1024 * 1024) } } });
    // No more parts than a message may have.
    peer.stream.write(encodeEnvelope(0, Buffer.concat(new Array<Uint8Array>(5).fill(get))));
  });
  const result = await turn(host);
  failed(result, "protocol-drift", "unknown_message");
  assert.match(result.error!.message, "more than one blob can hold");
});

test("two hundred thousand small frames for a parked Run are delivered with the next leg", async () => {
  const frames = 200_000;
  const host = await rawHost((peer) => {
    peer.respond().send({ interactionUpdate: { toolRequestsListed: { callCount: 1 } } }, { execServerMessage: { id: 1, mcpArgs: { toolName: "look", toolCallId: "t1", args: new Map() } } });
    const frame = encodeEnvelope(0, AgentServerMessage.encode({ interactionUpdate: { textDelta: { text: "a" } } }));
    setTimeout(() => peer.stream.write(Buffer.concat(new Array<Uint8Array>(frames).fill(frame))), 50);
    void peer.wants((message) => message.execClientControlMessage?.streamClose !== undefined).then(() => peer.turnEnded().endStream().stream.end());
  });
  const used = provider(host);
  const tools = [{ name: "look", description: "", inputSchema: {} }];
  const request = ask("x", { sessionId: "s", tools });
  assert.is((await outcome(used.stream(request))).error, undefined);
  await new Promise((resolve) => setTimeout(resolve, 400));
  const messages = [...request.messages, { role: "tool" as const, toolCallId: "t1", toolName: "look", content: [{ type: "text" as const, text: "x" }] }];
  const { text, error } = await outcome(used.stream({ ...request, messages }));
  assert.is(error, undefined, error?.message);
  assert.is(text.length, frames);
  await used.close();
  await host.close();
});

for (const [status, kind] of [[401, "auth"], [502, "network"]] as const)
  test(`B11 HTTP ${status} counts although its body never ends`, async () => {
    const host = await rawHost((peer) => {
      peer.stream.respond({ ":status": status, "content-type": "application/json" });
      peer.stream.write("{");
    });
    // It is waited for, in case it says more.
    failed(await turn(host), kind, undefined, undefined, 2 * SOON);
  });

test("B11 a response whose body never ends and grows is given up once it has said enough", async () => {
  const host = await rawHost((peer) => {
    peer.stream.respond({ ":status": 503, "content-type": "text/html" });
    const more = setInterval(() => peer.stream.write("x".repeat(3000)), 2);
    peer.stream.once("close", () => clearInterval(more));
  });
  failed(await turn(host), "network", "unavailable");
});

for (const [where, message] of [
  ["where its words are cut", `${"y".repeat(490)}planted-token-0123456789`],
  ["where blanks give way", `x${" ".repeat(1980)}planted-token-0123456789`],
  ["with a line break in it", "planted-tok\nen-0123456789"],
  ["with a control character in it", "planted-tok\u0001en-0123456789"],
] as const)
  test(`a token that the peer sends back is not left in part ${where}`, async () => {
    const host = await rawHost((peer) => void peer.respond().endStream({ code: "permission_denied", message }).stream.end());
    const { error } = await turn(host);
    assert.not.match(`${error!.message} ${String(error!.cause)}`, /planted|token-0/);
  });

test("C20 a peer that asks for the same blob over and over without reading is not answered without bound", async () => {
  const size = 1024 * 1024;
  const rss = process.memoryUsage.rss();
  const host = await rawHost((peer) => {
    peer.respond();
    const blobId = new Uint8Array(32).fill(7);
    peer.send({ kvServerMessage: { id: 1, setBlobArgs: { blobId, blobData: new Uint8Array(size) } } });
    void peer.wants((message) => message.kvClientMessage !== undefined).then(() => {
      peer.stream.pause();
      for (let id = 2; id < 500; id++) peer.send({ kvServerMessage: { id, getBlobArgs: { blobId } } });
    });
  });
  const used = provider(host);
  const controller = new AbortController();
  const reading = outcome(used.stream(ask(), { signal: controller.signal }));
  await new Promise((resolve) => setTimeout(resolve, 700));
  assert.ok(process.memoryUsage.rss() - rss < 200 * size, `${Math.round((process.memoryUsage.rss() - rss) / size)} MiB more`);
  controller.abort();
  const { result, waited } = await waiting(reading);
  failed({ ...result, waited }, "aborted");
  await used.close();
  await host.close();
});

test("C20 a peer that reads again is answered again", async () => {
  const blobId = new Uint8Array(32).fill(7);
  const asked = 20;
  const host = await rawHost((peer) => {
    peer.respond().send({ kvServerMessage: { id: 1, setBlobArgs: { blobId, blobData: new Uint8Array(1024 * 1024) } } });
    void peer.wants((message) => message.kvClientMessage !== undefined).then(() => {
      peer.stream.pause();
      for (let id = 2; id < 2 + asked; id++) peer.send({ kvServerMessage: { id, getBlobArgs: { blobId } } });
      // By then our side has more to write than it lets pile up.
      setTimeout(() => peer.stream.resume(), 200);
    });
    void peer.wants((message) => message.kvClientMessage?.id === 1 + asked).then(() => peer.text("done").turnEnded().endStream().stream.end());
  });
  succeeded(await turn(host, { env: { CURSOR_PROVIDER_IDLE_MS: "5000" } }), "done");
});

test("what came before the socket was lost is delivered, though nobody read it then", async () => {
  // Above what may be undelivered, so that what comes behind it in the same write waits in the connection.
  const large = "x".repeat(2 * 1024 * 1024);
  const host = await rawHost((peer) => {
    const frames = [{ interactionUpdate: { textDelta: { text: large } } }, { interactionUpdate: { textDelta: { text: "end" } } }];
    peer.respond().stream.write(Buffer.concat(frames.map((frame) => encodeEnvelope(0, AgentServerMessage.encode(frame)))), () => setTimeout(() => peer.socket.destroy(), 50));
  });
  const used = provider(host);
  const stream = used.stream(ask());
  await until(() => host.peers.length > 0 && host.sockets.size === 0, "the peer is gone");
  await new Promise((resolve) => setTimeout(resolve, 50));
  const result = await outcome(stream);
  assert.is(result.text.length, large.length + 3);
  failed(result, "network", "connection_lost");
  await used.close();
  await host.close();
});

test("B3 a reader that stops reading pauses the stream, large tool calls included", async () => {
  let written = 0;
  const args = new Map([["x", encodeValue("y".repeat(1024 * 1024))]]);
  const host = await rawHost((peer) => {
    peer.respond();
    const more = (): void => {
      while (written < 100 && !peer.stream.destroyed) {
        written += 1;
        peer.send({ execServerMessage: { id: written, mcpArgs: { toolName: "look", toolCallId: `t${written}`, args } } });
        if (peer.stream.writableLength > 1024 * 1024) {
          peer.stream.once("drain", more);
          return;
        }
      }
    };
    more();
  });
  const used = provider(host);
  const stream = used.stream(ask("x", { tools: [{ name: "look", description: "", inputSchema: {} }] }))[Symbol.asyncIterator]();
  await new Promise((resolve) => setTimeout(resolve, 700));
  assert.ok(written < 12, `${written} MiB were taken although nobody reads`);
  await stream.return!();
  await used.close();
  await host.close();
});

test("a reader that stops reading does not make the service look idle", async () => {
  const large = "x".repeat(2 * 1024 * 1024);
  const host = await rawHost((peer) => {
    const frames = [{ textDelta: { text: large } }, { textDelta: { text: "end" } }, { turnEnded: {} }].map((interactionUpdate) => encodeEnvelope(0, AgentServerMessage.encode({ interactionUpdate })));
    peer.respond().stream.write(Buffer.concat(frames));
  });
  const used = provider(host, { env: { CURSOR_PROVIDER_IDLE_MS: "200" } });
  const stream = used.stream(ask());
  // The clock runs out meanwhile, more than once, and fails nothing.
  await until(() => ranOut.filter((timer) => timer === "idle").length > 1, "the clock runs out", 10_000);
  ranOut.length = 0;
  succeeded(await outcome(stream), `${large}end`);
  await used.close();
  await host.close();
});

test("B3 a reader that stops reading pauses the stream", async () => {
  let written = 0;
  const delta = "x".repeat(64 * 1024);
  const host = await rawHost((peer) => {
    peer.respond();
    const more = (): void => {
      while (written < 64 * 1024 * 1024 && !peer.stream.destroyed) {
        written += delta.length;
        const free = peer.stream.write(Buffer.from([])) && peer.stream.writableLength < 1024 * 1024;
        peer.text(delta);
        if (!free) {
          peer.stream.once("drain", more);
          return;
        }
      }
    };
    more();
  });
  const used = provider(host);
  const stream = used.stream(ask())[Symbol.asyncIterator]();
  await stream.next();
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.ok(written < 8 * 1024 * 1024, `${written} bytes were taken although nobody reads`);
  const before = written;
  for (let index = 0; index < 100; index++) await stream.next();
  await until(() => written > before, "reading goes on");
  await stream.return!();
  await used.close();
  await host.close();
});

test.run();
