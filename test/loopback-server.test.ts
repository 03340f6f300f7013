/** The host as a server: connections, captures, hostile bytes, slow peers, and its end. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentClientMessage, AgentServerMessage } from "../lib/agent/index.ts";
import { readCapture, startLoopback, type LoopbackOptions, type PlayedFrame, type Script } from "../lib/loopback/index.ts";
import { encodeEnvelope, encodeEndStream } from "../wire/index.ts";
import { bytes, rejects } from "./check.ts";
import { Client, conversation, HEADERS, until } from "./loopback-client.ts";

const test = suite("loopback server");

/** One Run to its end; its text. */
async function runOnce(origin: string, headers: Record<string, string> = {}): Promise<string> {
  const client = new Client(origin, headers);
  client.request();
  await client.end();
  await client.over;
  return client.text;
}

test("without options it listens on a free port of 127.0.0.1 and answers", async () => {
  const loopback = await startLoopback();
  assert.match(loopback.origin, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.match(await runOnce(loopback.origin), "Hello");
  await loopback.close();
});

test("the port may be chosen, and a taken one is refused", async () => {
  const loopback = await startLoopback();
  const port = Number(new URL(loopback.origin).port);
  assert.match(String(await rejects(startLoopback({ port }))), "EADDRINUSE");
  await loopback.close();
  const again = await startLoopback({ port });
  assert.is(again.origin, loopback.origin);
  await again.close();
});

test("an IPv6 address stands in brackets", async () => {
  const loopback = await startLoopback({ host: "::1" });
  assert.match(loopback.origin, /^http:\/\/\[::1\]:\d+$/);
  await runOnce(loopback.origin);
  await loopback.close();
});

test("each Run gets its script, and the last repeats", async () => {
  const loopback = await startLoopback({ script: [[{ text: "one" }], [{ text: "two" }]] });
  assert.equal([await runOnce(loopback.origin), await runOnce(loopback.origin), await runOnce(loopback.origin)], ["one", "two", "two"]);
  assert.is(loopback.received.length, 3);
  assert.is(loopback.connections.accepted, 3);
  await until(() => loopback.connections.open === 0);
  await loopback.close();
});

test("a Run can be waited for before it comes", async () => {
  const loopback = await startLoopback();
  const waiting = loopback.run(0);
  await runOnce(loopback.origin);
  assert.is(await waiting, loopback.received[0]);
  assert.is(await loopback.run(0), loopback.received[0]);
  const never = loopback.run(5);
  await loopback.close();
  assert.match(String(await rejects(never)), "closed before the Run with index 5 came");
});

test("another token gets 401 and JSON, the right one its Run", async () => {
  const loopback = await startLoopback({ token: "good" });
  const client = new Client(loopback.origin, { authorization: "Bearer bad" });
  client.request();
  const headers = await client.headers;
  assert.is(headers[":status"], 401);
  assert.is(headers["content-type"], "application/json");
  await client.over;
  assert.match(await runOnce(loopback.origin, { authorization: "Bearer good" }), "Hello");
  assert.equal(loopback.received.map(({ state }) => state), ["ended", "ended"]);
  await loopback.close();
});

for (const [name, headers, status] of [
  ["another path", { ":path": "/agent.v1.AgentService/Walk" }, 404],
  ["another method", { ":method": "GET" }, 405],
  ["another content type", { "content-type": "application/json" }, 415],
] as const)
  test(`${name} is ${status} and no Run`, async () => {
    const loopback = await startLoopback();
    const session = connect(loopback.origin);
    const stream = session.request({ ...HEADERS, ...headers });
    const came = await new Promise<Record<string, unknown>>((resolve) => stream.on("response", resolve).resume());
    assert.is(came[":status"], status);
    assert.equal(loopback.received, []);
    session.destroy();
    await loopback.close();
  });

const heartbeat = AgentClientMessage.encode({ clientHeartbeat: {} });
const envelope = (payload: Uint8Array): Uint8Array => encodeEnvelope(0, payload);

/** Bytes that no client sends, and what the end-stream envelope says of them. */
const HOSTILE: readonly [name: string, body: readonly Uint8Array[], code: string, message: string][] = [
  ["a message that is no run request", [envelope(heartbeat)], "invalid_argument", "the first message is no run request"],
  ["an empty message", [envelope(new Uint8Array(0))], "invalid_argument", "the first message is no run request"],
  ["nothing at all", [], "invalid_argument", "there was no run request"],
  ["half an envelope", [bytes("000000000a")], "invalid_argument", "the request ends inside an envelope"],
  ["half a header", [bytes("0000")], "invalid_argument", "the request ends inside an envelope"],
  ["an oversize length", [bytes("00ffffffff")], "invalid_argument", "an envelope declares more bytes than the limit"],
  ["reserved flags", [bytes("80000000010a")], "invalid_argument", "an envelope sets a reserved flag bit"],
  ["a truncated message", [envelope(bytes("0a05"))], "invalid_argument", "a declared length runs beyond the bytes that hold it"],
  ["wire type 7", [envelope(bytes("0f"))], "invalid_argument", "a tag carries wire type 6 or 7"],
  ["a good envelope before a bad one", [envelope(heartbeat), bytes("80000000010a")], "invalid_argument", "the first message is no run request"],
];

for (const [name, body, code, message] of HOSTILE)
  test(`${name} becomes an end-stream error`, async () => {
    const received = await conversation([{ text: "never" }], async (client) => {
      for (const chunk of body) client.stream.write(chunk);
      client.stream.end();
      const end = await client.end();
      assert.is(end?.error?.code, code);
      assert.match(end?.error?.message ?? "", message);
      assert.is(client.text, "");
    });
    assert.is(received.state, "ended");
  });

test("hostile bytes in the middle of a Run end it, and the script stops", async () => {
  const received = await conversation([{ mcp: { tool: "clock" } }, { awaitResults: true }, { text: "never" }], async (client) => {
    client.request();
    await client.next();
    client.sendAll([{ clientHeartbeat: {} }, { unknown: [{ no: 0, type: 0, bytes: bytes("0f") }] }]);
    const end = await client.end();
    assert.is(end?.error?.code, "invalid_argument");
    assert.is(client.text, "");
  });
  assert.is(received.frames.length, 3);
  assert.is(received.messages.length, 2);
});

test("bytes that follow hostile ones are not read", async () => {
  const received = await conversation([{ hang: true }], async (client) => {
    client.request();
    client.stream.write(Buffer.concat([bytes("80000000010a"), envelope(heartbeat)]));
    client.stream.write(envelope(heartbeat));
    await client.end();
  });
  assert.is(received.frames.length, 1);
});

test("an end-stream envelope of the client's is held against it", async () => {
  const received = await conversation([{ hang: true }], async (client, loopback) => {
    client.request();
    client.sendFrame(2, encodeEndStream());
    await until(() => loopback.received[0]?.frames.length === 2);
  });
  assert.equal(received.violations, ["an end-stream envelope came from the client"]);
});

test("a client may end its half and still read the answer", async () => {
  const received = await conversation([{ wait: 20 }, { text: "a" }], async (client) => {
    client.request();
    client.stream.end();
    await client.end();
    assert.is(client.text, "a");
  });
  assert.is(received.state, "ended");
});

test("seeded garbage never costs more than its Run", async () => {
  const loopback = await startLoopback({ script: [{ requestContext: true }, { text: "on" }] });
  let seed = 20260925;
  const random = (below: number): number => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % below;
  for (let round = 0; round < 40; round++) {
    const client = new Client(loopback.origin);
    if (round % 2 === 0) client.request();
    for (let frame = 0; frame < 5; frame++) {
      const payload = Uint8Array.from({ length: random(40) }, () => random(256));
      client.stream.write(random(3) === 0 ? payload : envelope(payload));
    }
    client.stream.end();
    const end = client.end();
    await loopback.run(round);
    await Promise.race([end, new Promise((resolve) => setTimeout(resolve, 15))]);
    client.close();
    await end;
  }
  assert.is(loopback.received.length, 40, `seed 20260925`);
  await loopback.close();
});

test("A13 frames of 16 MiB go both ways", async () => {
  const blob = new Uint8Array(12 * 1024 * 1024);
  const received = await conversation([{ getBlob: "0".repeat(64) }, { setBlob: { size: 16 * 1024 * 1024 - 100 } }, { text: "on" }], async (client) => {
    client.request();
    await client.next();
    client.send({ kvClientMessage: { id: 0, getBlobResult: { blobData: blob } } });
    const { kvServerMessage } = await client.next();
    assert.is(kvServerMessage?.setBlobArgs?.blobData?.length, 16 * 1024 * 1024 - 100);
    client.send({ kvClientMessage: { id: kvServerMessage?.id ?? 0, setBlobResult: {} } });
    await client.end();
    assert.is(client.text, "on");
  });
  assert.is(received.messages[1]?.kvClientMessage?.getBlobResult?.blobData?.length, blob.length);
});

test("B3 a client that does not read stops the host, and reading lets it go on", async () => {
  const script: Script = [{ repeat: 64, steps: [{ checkpoint: { size: 65536 } }] }, { text: "on" }];
  const received = await conversation(script, async (client, loopback) => {
    client.stream.pause();
    client.request();
    await until(() => loopback.received[0]?.request !== undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.is(loopback.received[0]!.state, "open");
    client.stream.resume();
    await client.end();
    assert.is(client.text, "on");
    assert.ok(client.bytes > 64 * 65000);
  });
  assert.is(received.state, "ended");
});

test("a client that goes while the host waits for room is noticed", async () => {
  const received = await conversation([{ repeat: 64, steps: [{ checkpoint: { size: 65536 } }] }], async (client, loopback) => {
    client.stream.pause();
    client.request();
    await until(() => loopback.received[0]?.request !== undefined);
    client.close();
    await loopback.received[0]!.closed;
  });
  assert.is(received.state, "reset");
});

test("D19 a client that cancels is seen with its code", async () => {
  const received = await conversation([{ text: "a" }, { hang: true }], async (client, loopback) => {
    client.request();
    await client.next();
    client.stream.close(8);
    await loopback.received[0]!.closed;
  });
  assert.is(received.state, "reset");
  assert.is(received.rstCode, 8);
});

test("a client that cancels while its bytes are unread is seen too", async () => {
  const received = await conversation({ script: [{ text: "a" }, { hang: true }], faults: [{ type: "slow_reader", at: { frame: 1 } }] }, async (client, loopback) => {
    client.request();
    await client.next();
    client.send({ clientHeartbeat: {} });
    await new Promise((resolve) => setTimeout(resolve, 20));
    client.stream.close(8);
    await loopback.received[0]!.closed;
  });
  assert.is(received.state, "reset");
});

const text = (words: string): Uint8Array => envelope(AgentServerMessage.encode({ interactionUpdate: { textDelta: { text: words } } }));
const frame = (from: "client" | "server", bytes: Uint8Array): PlayedFrame => ({ at: 0, from, envelope: bytes });
const CAPTURE: readonly PlayedFrame[] = [
  frame("client", envelope(AgentClientMessage.encode({ runRequest: {} }))),
  frame("server", text("a")),
  frame("client", envelope(heartbeat)),
  frame("client", envelope(AgentClientMessage.encode({ execClientControlMessage: { heartbeat: { id: 1 } } }))),
  frame("client", envelope(AgentClientMessage.encode({ kvClientMessage: {} }))),
  frame("server", text("b")),
  frame("server", encodeEnvelope(2, encodeEndStream())),
];

test("a capture's frames wait for as many of the client's, heartbeats aside", async () => {
  const received = await conversation({ capture: CAPTURE }, async (client, loopback) => {
    client.request();
    await client.next();
    client.send({ clientHeartbeat: {} });
    await until(() => loopback.received[0]!.frames.length === 2 && loopback.received[0]!.state === "parked");
    assert.equal(loopback.received[0]!.awaiting, ["1 of 2 frames"]);
    client.send({ kvClientMessage: {} });
    assert.equal(await client.end(), { metadata: new Map() });
    assert.is(client.text, "b");
  });
  assert.is(received.state, "ended");
});

test("a capture without an end leaves the stream open", async () => {
  await conversation({ capture: CAPTURE.slice(0, 2) }, async (client, loopback) => {
    client.request();
    await client.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.is(loopback.received[0]!.state, "open");
  });
});

test("faults strike a capture too", async () => {
  await conversation({ capture: CAPTURE, faults: [{ type: "end_stream", at: { frame: 1 } }] }, async (client) => {
    client.request();
    assert.is(await client.end(), undefined);
    assert.is(client.text, "a");
  });
});

/** Calls `act` with the path of a file that holds these lines. */
async function withFile<T>(lines: readonly string[], act: (path: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "loopback-"));
  try {
    const path = join(folder, "a.jsonl");
    writeFileSync(path, lines.join("\n"));
    return await act(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const base64 = (of: Uint8Array): string => Buffer.from(of).toString("base64");

test("a capture is read from its file", async () => {
  const lines = ['{"capture":1,"rpc":"agent.v1.AgentService/Run","source":"synthetic"}', ...CAPTURE.map(({ at, from, envelope: e }) => JSON.stringify({ at, from, envelope: base64(e) })), ""];
  await withFile(lines, async (capture) => {
    assert.equal(await readCapture(capture), CAPTURE.map((one) => ({ ...one, envelope: Uint8Array.from(one.envelope) })));
    await conversation({ capture }, async (client) => {
      client.request();
      client.send({ kvClientMessage: {} });
      await client.end();
      assert.is(client.text, "ab");
    });
  });
});

for (const [line, message] of [
  ["{", "line 2: is no JSON"],
  ["1", "line 2: must be an object, not 1"],
  ['{"at":1,"from":"nobody","envelope":""}', "line 2: needs at, from and envelope"],
  ['{"at":1,"from":"client","envelope":"*"}', "line 2: holds no envelope in base64"],
  ['{"at":1,"from":"client","envelope":"gAAAAAA="}', "line 2: holds no envelope in base64"],
] as const)
  test(`${line} is no line of a capture`, async () => {
    await withFile(['{"capture":1}', line], async (capture) => assert.match(String(await rejects(startLoopback({ capture }))), message));
  });

test("a capture that is not there is refused", async () => {
  assert.match(String(await rejects(startLoopback({ capture: "/nowhere/at/all.jsonl" }))), "ENOENT");
});

/** What a Run does when the host closes. */
const CLOSING: readonly [name: string, options: LoopbackOptions, ready: (client: Client) => Promise<unknown>][] = [
  ["before the request", {}, (client) => client.headers],
  ["while it hangs", { script: [{ text: "a" }, { hang: true }] }, (client) => client.next()],
  ["while it waits", { script: [{ text: "a" }, { wait: 60_000 }] }, (client) => client.next()],
  ["while it is parked", { script: [{ mcp: { tool: "a" } }, { awaitResults: true }] }, (client) => client.next()],
  ["while it is frozen", { script: [{ text: "a" }, { text: "b" }], faults: [{ type: "freeze", at: { frame: 1 } }] }, (client) => client.next()],
  ["while it stalls", { script: [{ text: "a" }], faults: [{ type: "stall", at: { frame: 1 } }] }, (client) => client.next()],
  ["while its bytes are unread", { script: [{ text: "a" }, { hang: true }], faults: [{ type: "slow_reader", at: { frame: 1 } }] }, (client) => client.next()],
  ["while the client does not read", { script: [{ repeat: 64, steps: [{ checkpoint: { size: 65536 } }] }] }, async (client) => (client.stream.pause(), await client.headers)],
];

for (const [name, options, ready] of CLOSING)
  test(`close ends a Run ${name} at once`, async () => {
    const loopback = await startLoopback(options);
    const client = new Client(loopback.origin);
    if (name !== "before the request") client.request();
    await ready(client);
    client.stream.resume();
    const start = performance.now();
    await loopback.close();
    await loopback.received[0]!.closed;
    await client.over;
    assert.ok(performance.now() - start < 2000);
    assert.is(loopback.received[0]!.state, "reset");
    assert.is(loopback.connections.open, 0);
  });

test("close may be called twice, and before anyone came", async () => {
  const loopback = await startLoopback();
  await Promise.all([loopback.close(), loopback.close()]);
  await loopback.close();
});

test("C19 a closed host keeps no process alive, whatever its Runs were doing", () => {
  const code = `
    import { startLoopback } from ${JSON.stringify(new URL(`../lib/loopback/index${import.meta.url.slice(-3)}`, import.meta.url).href)};
    import { connect } from "node:http2";
    const loopback = await startLoopback({ script: [{ text: "a" }, { wait: 100000 }], faults: [{ type: "freeze", at: { frame: 1 } }, { type: "silent_connection", connection: 1, cutAfterMs: 100000 }] });
    const sessions = [connect(loopback.origin), connect(loopback.origin)];
    for (const session of sessions) session.on("error", () => {});
    const stream = sessions[0].request(${JSON.stringify(HEADERS)});
    stream.on("error", () => {});
    stream.on("response", async () => {
      await loopback.close();
      for (const session of sessions) session.destroy();
      console.log("closed");
    });`;
  const out = execFileSync(process.execPath, ["--input-type=module", "--eval", code], { timeout: 10_000, encoding: "utf8" });
  assert.is(out, "closed\n");
});

test.run();
