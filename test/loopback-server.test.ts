/** The host as a server: who may connect, slow peers, and its end. */
import { execFileSync } from "node:child_process";
import { connect } from "node:http2";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { startLoopback, type LoopbackOptions, type Script } from "../lib/loopback/index.ts";
import { rejects } from "./check.ts";
import { Client, conversation, HEADERS, until } from "./loopback-client.ts";
import { waiting } from "./waiting.ts";

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
    const { waited } = await waiting(async () => {
      await loopback.close();
      await loopback.received[0]!.closed;
      await client.over;
    });
    assert.ok(waited < 200, `${waited} ms`);
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
