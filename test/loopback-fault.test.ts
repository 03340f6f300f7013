/** Faults: what a client of node:http2 sees of each. */
import { connect as connectTcp } from "node:net";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { startLoopback, type Fault, type FaultStep, type Script } from "../lib/loopback/index.ts";
import { hex } from "./check.ts";
import { Client, conversation, until, type Over } from "./loopback-client.ts";

const test = suite("loopback fault");

const HI = "0 0a060a040a026869";
const END = "2 7b7d";
const SCRIPT: Script = [{ text: "hi" }, { text: "hi" }, { text: "hi" }];

function assertOver(came: Over | undefined, wanted: Partial<Over> | typeof LOST | undefined): void {
  if (wanted === undefined) assert.is(came, undefined);
  else if (wanted === LOST) assert.ok(came?.rstCode === 8 || came?.rstCode === 2);
  else for (const [key, value] of Object.entries(wanted)) assert.equal(came?.[key as keyof Over], value, key);
}

/** What came of a Run: status and content type, envelopes, bytes of the body, and how it was over. */
interface Seen {
  status: string;
  frames: string[];
  bytes: number;
  over: Over | undefined;
  goaways: Client["goaways"];
}

/** A Run with faults, to its end; or, where none is `wanted`, until so many bytes came and then a little longer. */
async function seen(faults: readonly Fault[], script: Script = SCRIPT, wanted?: { bytes: number }): Promise<{ seen: Seen; state: string }> {
  let result: Seen | undefined;
  let state = "";
  await conversation({ faults, script }, async (client, loopback) => {
    client.request();
    const frames: string[] = [];
    const reading = (async () => {
      for (let envelope; (envelope = await client.nextEnvelope()); ) frames.push(`${envelope.flags} ${hex(envelope.payload)}`);
    })();
    if (wanted) await until(() => loopback.received.length === 1 && client.bytes >= wanted.bytes);
    const late = wanted && new Promise<undefined>((resolve) => setTimeout(resolve, 60, undefined));
    const over = await (late ? Promise.race([client.over, late]) : client.over);
    if (over) {
      await reading;
      await loopback.received[0]!.closed;
    }
    state = loopback.received[0]!.state;
    // Headers that never come would be waited for until the client gives up.
    client.close();
    const headers = await client.headers;
    result = { status: `${headers[":status"]} ${headers["content-type"]}`, frames, bytes: client.bytes, over, goaways: client.goaways };
  });
  return { seen: result!, state };
}

const OK = "200 application/connect+proto";
const NONE = "undefined undefined";
const clean: Over = { rstCode: 0, trailers: undefined, error: undefined };
const rst = (rstCode: number): Partial<Over> => ({ rstCode });
/** A connection that is reset has CANCEL or INTERNAL_ERROR, depending on the version of Node. */
const LOST = "lost";

const CASES: readonly [name: string, faults: readonly Fault[], status: string, frames: readonly string[], over: Partial<Over> | typeof LOST | undefined, state: string, bytes?: number][] = [
  ["no fault", [], OK, [HI, HI, HI, END], clean, "ended"],
  ["a fault of another Run", [{ type: "cut", run: 1 }], OK, [HI, HI, HI, END], clean, "ended"],
  ["a fault of this Run", [{ type: "cut", run: 0 }], OK, [], rst(8), "reset"],
  ["C1 a cut before the headers", [{ type: "cut", at: "request" }], NONE, [], rst(8), "reset"],
  ["C1 a cut behind the headers", [{ type: "cut" }], OK, [], rst(8), "reset"],
  ["C1 a cut at a frame", [{ type: "cut", at: { frame: 2 } }], OK, [HI, HI], rst(8), "reset"],
  ["C1 a cut in mid frame", [{ type: "cut", at: { byte: 15 } }], OK, [HI], rst(8), "reset", 15],
  ["a cut at the last byte of a frame", [{ type: "cut", at: { byte: 13 } }], OK, [HI], rst(8), "reset", 13],
  ["C1 a cut by RST behind the end", [{ type: "cut", reset: true, at: "end" }], OK, [HI, HI, HI, END], LOST, "reset"],
  ["a stall before the headers", [{ type: "stall", at: "request" }], NONE, [], undefined, "open"],
  ["a stall at a frame", [{ type: "stall", at: { frame: 1 } }], OK, [HI], undefined, "open"],
  ["a stall in mid frame", [{ type: "stall", at: { byte: 7 } }], OK, [], undefined, "open", 7],
  ["a freeze", [{ type: "freeze", at: { frame: 1 } }], OK, [HI], undefined, "open"],
  ["C10 RST_STREAM(NO_ERROR) before the headers", [{ type: "reset", code: 0, at: "request" }], NONE, [], rst(0), "reset"],
  ["C10 RST_STREAM(NO_ERROR) in mid frame", [{ type: "reset", code: 0, at: { byte: 20 } }], OK, [HI], rst(0), "reset", 20],
  ["C10 RST_STREAM(NO_ERROR) between frames", [{ type: "reset", code: 0, at: { frame: 1 } }], OK, [HI], rst(0), "reset"],
  ["RST_STREAM is CANCEL by default", [{ type: "reset", at: { frame: 1 } }], OK, [HI], rst(8), "reset"],
  ["RST_STREAM(INTERNAL_ERROR)", [{ type: "reset", code: 2, at: { frame: 1 } }], OK, [HI], rst(2), "reset"],
  ["RST_STREAM(REFUSED_STREAM)", [{ type: "reset", code: 7, at: "request" }], NONE, [], rst(7), "reset"],
  ["C3 RST_STREAM(ENHANCE_YOUR_CALM)", [{ type: "reset", code: 11, at: { frame: 3 } }], OK, [HI, HI, HI], rst(11), "reset"],
  ["an unknown code", [{ type: "reset", code: 99 }], OK, [], rst(99), "reset"],
  ["GOAWAY lets the Run go on", [{ type: "goaway", at: { frame: 1 } }], OK, [HI, HI, HI, END], clean, "ended"],
  ["D1 GOAWAY and a cut behind the end", [{ type: "goaway", cut: true, at: "end" }], OK, [HI, HI, HI, END], {}, "reset"],
  ["GOAWAY whose last stream is older", [{ type: "goaway", code: 0, lastStreamId: 0, at: { frame: 1 } }], OK, [HI], rst(7), "reset"],
  ["B11 another status with HTML", [{ type: "response", status: 502, contentType: "text/html", body: "<h1>502</h1>" }], "502 text/html", [], clean, "ended", 12],
  ["B11 another status without a body", [{ type: "response", status: 429, body: "" }], "429 application/connect+proto", [], clean, "ended", 0],
  ["B11 a redirect", [{ type: "response", status: 307, headers: { location: "http://127.0.0.1:1/" }, body: "" }], "307 application/connect+proto", [], clean, "ended", 0],
  ["B11 200 with another content type", [{ type: "response", contentType: "text/html", body: "<h1>Welcome</h1>" }], "200 text/html", [], clean, "ended", 16],
  ["the script under another content type", [{ type: "response", contentType: "application/grpc" }], "200 application/grpc", [HI, HI, HI, END], clean, "ended"],
  ["trailers only", [{ type: "trailers_only", trailers: { "grpc-status": "13" } }], OK, [], clean, "ended", 0],
  ["trailers only with a status", [{ type: "trailers_only", status: 503, trailers: { "grpc-status": "14" } }], "503 application/connect+proto", [], clean, "ended", 0],
  ["C22 trailers behind the end", [{ type: "trailers", trailers: { "grpc-status": "0" } }], OK, [HI, HI, HI, END], { rstCode: 0 }, "ended"],
  ["B8 a grpc-status trailer instead of the end", [{ type: "trailers", trailers: { "grpc-status": "13", "grpc-message": "oh" }, at: { frame: 1 } }], OK, [HI], { rstCode: 0 }, "ended"],
  ["B7 END_STREAM without an end-stream envelope", [{ type: "end_stream", at: { frame: 1 } }], OK, [HI], clean, "ended"],
  ["B2 a partial header, then END_STREAM", [{ type: "partial_frame", sent: 3, at: { frame: 1 } }], OK, [HI], clean, "ended", 16],
  ["B2 a partial payload, then END_STREAM", [{ type: "partial_frame", at: { frame: 1 } }], OK, [HI], clean, "ended", 21],
  ["B1 an oversize length", [{ type: "oversize", at: { frame: 1 } }], OK, [HI], undefined, "open", 18],
  ["B1 a length of its own", [{ type: "oversize", length: 16777217 }], OK, [], undefined, "open", 5],
  ["data behind the end", [{ type: "data_after_end" }], OK, [HI, HI, HI, END], clean, "ended"],
  ["data of its own behind the end", [{ type: "data_after_end", bytes: "00" }], OK, [HI, HI, HI, END], clean, "ended", 47],
  ["a slow reader never sees the request", [{ type: "slow_reader" }], OK, [], undefined, "open"],
  ["a slow reader that wakes", [{ type: "slow_reader", forMs: 30 }], OK, [HI, HI, HI, END], clean, "ended"],
  ["two faults, in their order", [{ type: "goaway", code: 11, data: "too_many_pings", at: { frame: 1 } }, { type: "cut", at: { frame: 1 } }], OK, [HI], {}, "reset"],
];

for (const [name, faults, status, frames, over, state, bytes] of CASES)
  test(name, async () => {
    const { seen: came, state: stood } = await seen(faults, SCRIPT, over === undefined ? { bytes: bytes ?? frames.length * 13 } : undefined);
    assert.is(came.status, status);
    assert.equal(came.frames, frames);
    if (bytes !== undefined) assert.is(came.bytes, bytes);
    assertOver(came.over, over);
    assert.is(stood, state);
  });

test("trailers carry their fields", async () => {
  const { seen: came } = await seen([{ type: "trailers", trailers: { "grpc-status": "13", "grpc-message": "oh" }, at: { frame: 1 } }]);
  assert.is(came.over?.trailers?.["grpc-status"], "13");
  assert.is(came.over?.trailers?.["grpc-message"], "oh");
});

test("a Run that may send trailers and does not ends without any", async () => {
  const { seen: came } = await seen([{ type: "trailers", trailers: { a: "b" }, at: { frame: 9 } }]);
  assert.equal(came.frames, [HI, HI, HI, END]);
  assert.is(came.over?.trailers?.["a"], undefined);
});

test("trailers only carry their fields in the headers", async () => {
  await conversation({ faults: [{ type: "trailers_only", trailers: { "grpc-status": "13" } }] }, async (client) => {
    client.request();
    assert.is((await client.headers)["grpc-status"], "13");
  });
});

test("a redirect says where to", async () => {
  await conversation({ faults: [{ type: "response", status: 307, headers: { location: "http://127.0.0.1:1/" }, body: "" }] }, async (client) => {
    client.request();
    assert.is((await client.headers)["location"], "http://127.0.0.1:1/");
  });
});

test("C3 GOAWAY says its code, last stream and data", async () => {
  const { seen: came } = await seen([{ type: "goaway", code: 11, lastStreamId: 1, data: "too_many_pings", at: { frame: 1 } }]);
  assert.equal(came.goaways[0], { code: 11, lastStreamId: 1, data: "too_many_pings" });
});

test("GOAWAY is NO_ERROR for this stream by default", async () => {
  const { seen: came } = await seen([{ type: "goaway", at: { frame: 1 } }]);
  assert.equal(came.goaways[0], { code: 0, lastStreamId: 1, data: "" });
});

/** Faults as steps of a script: they strike where they stand. */
const STEPS: readonly [fault: FaultStep, frames: readonly string[], over: Partial<Over> | typeof LOST | undefined][] = [
  [{ type: "cut" }, [HI], rst(8)],
  [{ type: "cut", reset: true }, [HI], LOST],
  [{ type: "stall" }, [HI], undefined],
  [{ type: "freeze" }, [HI], undefined],
  [{ type: "reset", code: 2 }, [HI], rst(2)],
  [{ type: "goaway" }, [HI, HI, END], clean],
  [{ type: "trailers", trailers: { a: "b" } }, [HI], { rstCode: 0 }],
  [{ type: "end_stream" }, [HI], clean],
  [{ type: "partial_frame" }, [HI], clean],
  [{ type: "oversize" }, [HI], undefined],
  [{ type: "slow_reader", forMs: 5 }, [HI, HI, END], clean],
];

for (const [fault, frames, over] of STEPS)
  test(`${JSON.stringify(fault)} strikes where it stands in a script`, async () => {
    const { seen: came } = await seen([], [{ text: "hi" }, { repeat: 1, steps: [{ fault }] }, { text: "hi" }], over === undefined ? { bytes: 13 } : undefined);
    assert.equal(came.frames, frames);
    assertOver(came.over, over);
  });

test("steps may put bytes behind the end-stream envelope, as data_after_end does", async () => {
  const { seen: came } = await seen([], [{ raw: "7b7d", flags: 2 }, { bytes: "00" }, { fault: { type: "end_stream" } }]);
  assert.equal(came.frames, [END]);
  assert.is(came.bytes, 8);
  assertOver(came.over, clean);
});

/** Whether a PING is acknowledged within some milliseconds. */
function pinged(client: Client, ms = 2000): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, ms, false);
    client.session.ping(() => {
      clearTimeout(late);
      resolve(true);
    });
  });
}

for (const [type, acknowledged] of [["stall", true], ["slow_reader", true], ["freeze", false]] as const)
  test(`C16 a ${type} leaves PINGs ${acknowledged ? "acknowledged" : "without an answer"}`, async () => {
    const received = await conversation({ script: [{ text: "hi" }, { hang: true }], faults: [{ type, at: { frame: 1 } }] }, async (client) => {
      client.request();
      await client.next();
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.is(await pinged(client, acknowledged ? 2000 : 60), acknowledged);
    });
    assert.is(received.pings, acknowledged ? 1 : 0);
  });

test("PINGs are counted for the Run that is newest on their connection", async () => {
  const received = await conversation([{ text: "hi" }, { hang: true }], async (client, loopback) => {
    client.request();
    await client.next();
    await pinged(client);
    await pinged(client);
    await until(() => loopback.received[0]!.pings === 2);
  });
  assert.is(received.pings, 2);
});

test("C11 a silent connection says nothing, not even SETTINGS", async () => {
  const loopback = await startLoopback({ faults: [{ type: "silent_connection" }] });
  const client = new Client(loopback.origin);
  client.request();
  let settings = 0;
  client.session.on("remoteSettings", () => settings++);
  await new Promise((resolve) => setTimeout(resolve, 80));
  assert.is(settings, 0);
  assert.equal(loopback.received, []);
  assert.equal(loopback.connections, { accepted: 1, open: 1 });
  client.close();
  await loopback.close();
});

test("C12 a silent connection may be cut after a while, and only the one that is named", async () => {
  const loopback = await startLoopback({ faults: [{ type: "silent_connection", connection: 0, cutAfterMs: 30 }] });
  const start = performance.now();
  const silent = new Client(loopback.origin);
  silent.request();
  await silent.over;
  assert.ok(performance.now() - start > 25);
  const client = new Client(loopback.origin);
  client.request();
  await client.end();
  assert.match(client.text, "Hello");
  await loopback.close();
});

test("bytes that are no HTTP/2 cost only their connection", async () => {
  const loopback = await startLoopback();
  const socket = connectTcp(Number(new URL(loopback.origin).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  await new Promise((resolve) => socket.once("close", resolve).resume());
  const client = new Client(loopback.origin);
  client.request();
  await client.end();
  await loopback.close();
});

test("a failure of the host's own resets the stream and says so", async () => {
  const received = await conversation({ faults: [{ type: "response", headers: { ":bad": "1" } }] }, async (client) => {
    client.request();
    assert.is((await client.over).rstCode, 2);
  });
  assert.match(received.violations.at(-1) ?? "", "the host failed: ");
});

test.run();
