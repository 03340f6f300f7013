/** Captures: read from their files, and played frame by frame. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentClientMessage, AgentServerMessage } from "../lib/agent/index.ts";
import { frameLine, headerLine, RPC } from "../lib/loopback/capture-line.ts";
import { readCapture, ScriptError, startLoopback, type PlayedFrame } from "../lib/loopback/index.ts";
import { encodeEndStream, encodeEnvelope } from "../wire/index.ts";
import { rejects } from "./check.ts";
import { conversation, until, type Client } from "./loopback-client.ts";

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

test("what a capture asks is asked, and nothing else is", async () => {
  const asked = [{ execServerMessage: { id: 3, readArgs: {}, execId: "e" } }, { kvServerMessage: { setBlobArgs: {} } }, { interactionQuery: { id: 1, webSearchRequestQuery: {} } }];
  const frames = [CAPTURE[0]!, ...asked.map((message) => frame("server", envelope(AgentServerMessage.encode(message))))];
  const answers: Parameters<Client["sendAll"]>[0] = [
    { execClientMessage: { id: 3, execId: "e", readResult: {} } },
    { execClientControlMessage: { streamClose: { id: 3 } } },
    { kvClientMessage: { setBlobResult: {} } },
    { interactionResponse: { id: 1, webSearchRequestResponse: {} } },
  ];
  const received = await conversation({ capture: [...frames, ...CAPTURE.slice(4)] }, async (client) => {
    client.request();
    for (const _ of asked) await client.next();
    client.sendAll([...answers, { kvClientMessage: { id: 9 } }]);
    await client.end();
  });
  assert.equal(received.violations, ["nothing known answers kv 9, which was never asked"]);
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

test("a capture is read from its file", async () => {
  const lines = [headerLine({ capture: 1, rpc: RPC, source: "synthetic" }), ...CAPTURE.map(frameLine)];
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

test("a capture's byte order mark is left out, and a line that is none is named", async () => {
  const header = headerLine({ capture: 1, rpc: RPC, source: "synthetic" });
  const [frame] = CAPTURE;
  await withFile([`\ufeff${header}`, frameLine(frame!)], async (capture) => assert.is((await readCapture(capture)).length, 1));
  await withFile([`${header}{`], async (capture) => {
    const error = await rejects(startLoopback({ capture }));
    assert.instance(error, ScriptError);
    assert.is((error as ScriptError).place, `${capture}:2`);
  });
});

test("a client frame that cannot be read is waited for like any other", async () => {
  const odd = [CAPTURE[0]!, frame("client", envelope(Uint8Array.of(0xff))), frame("server", text("a")), frame("server", encodeEnvelope(2, encodeEndStream()))];
  await conversation({ capture: odd }, async (client) => {
    client.request();
    client.send({ kvClientMessage: {} });
    await client.end();
    assert.is(client.text, "a");
  });
});

test("a capture that is not there is refused", async () => {
  assert.match(String(await rejects(startLoopback({ capture: "/nowhere/at/all.jsonl" }))), "ENOENT");
});

test.run();
