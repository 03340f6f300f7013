/** Captures: read from their files, and played frame by frame. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentClientMessage, AgentServerMessage } from "../lib/agent/index.ts";
import { readCapture, startLoopback, type PlayedFrame } from "../lib/loopback/index.ts";
import { encodeEndStream, encodeEnvelope } from "../wire/index.ts";
import { rejects } from "./check.ts";
import { conversation, until } from "./loopback-client.ts";

const test = suite("loopback capture");

const envelope = (payload: Uint8Array): Uint8Array => encodeEnvelope(0, payload);
const heartbeat = AgentClientMessage.encode({ clientHeartbeat: {} });
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
  ['{"at":1,"from":"client","envelope":"AAAAAAE="}', "line 2: holds no envelope in base64"],
] as const)
  test(`${line} is no line of a capture`, async () => {
    await withFile(['{"capture":1}', line], async (capture) => assert.match(String(await rejects(startLoopback({ capture }))), message));
  });

test("a capture that is not there is refused", async () => {
  assert.match(String(await rejects(startLoopback({ capture: "/nowhere/at/all.jsonl" }))), "ENOENT");
});

test.run();
