/** Bytes that no client should send: they cost their Run and nothing else. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentClientMessage } from "../lib/agent/index.ts";
import { startLoopback } from "../lib/loopback/index.ts";
import { encodeEndStream, encodeEnvelope } from "../wire/index.ts";
import { bytes } from "./check.ts";
import { Client, conversation, until } from "./loopback-client.ts";

const test = suite("loopback hostile");

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

test.run();
