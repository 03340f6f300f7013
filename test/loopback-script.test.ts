/** Scripts: what each step puts on the wire, and the stories that the host can tell. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readJson } from "../fixtures/load.ts";
import { ConversationStateStructure } from "../lib/agent/index.ts";
import { createProvider, memoryHandleStore } from "../lib/index.ts";
import { demoScript, scriptsFromJson, startLoopback, type Script } from "../lib/loopback/index.ts";
import { hex } from "./check.ts";
import { Client, conversation, until } from "./loopback-client.ts";

const test = suite("loopback script");

const HI = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4";
const FIRST = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/** The envelope of `{}`: a good end. */
const END = "2 7b7d";

/** Steps and the frames they become: flags and payload in hex, made by an independent encoder. */
const WIRE: readonly [name: string, script: Script, frames: readonly string[]][] = [
  ["text", [{ text: "hi" }], ["0 0a060a040a026869"]],
  ["thinking", [{ thinking: "hm" }], ["0 0a0622040a02686d"]],
  ["text in two chunks", [{ text: "hihi", chunks: 2 }], ["0 0a060a040a026869", "0 0a060a040a026869"]],
  ["text in chunks never splits a code point", [{ text: "😀", chunks: 2 }], ["0 0a080a060a04f09f9880"]],
  ["text word by word", [{ text: "hi hi", chunks: "words", everyMs: 1 }], ["0 0a060a040a026869", "0 0a070a050a03206869"]],
  ["an empty text", [{ text: "", chunks: "words" }], ["0 0a020a00"]],
  ["text from the prompt", [{ textFrom: "prompt" }], ["0 0a120a100a0e576861742069732036202a20373f"]],
  ["tokens", [{ tokens: 300 }], ["0 0a05420308ac02"]],
  ["heartbeats", [{ heartbeats: 2 }], ["0 0a026a00", "0 0a026a00"]],
  ["turn end", [{ turnEnded: true }], ["0 0a027200"]],
  ["turn end with an empty object", [{ turnEnded: {} }], ["0 0a027200"]],
  ["turn end with usage", [{ turnEnded: { usage: { inputTokens: 5 } } }], ["0 0a0472020805"]],
  ["announced calls", [{ announce: 2 }], ["0 0a05da01020802"]],
  ["a call", [{ mcp: { tool: "calculator", args: { expression: "6 * 7" } } }], ["0 12455a3b0a0a63616c63756c61746f7212150a0a65787072657373696f6e12071a0536202a20371a0663616c6c5f30220270692a0a63616c63756c61746f727a06657865632d30"]],
  ["a second call", [{ mcp: { tool: "clock", id: 1, toolCallId: "call_1" } }], ["0 122608015a1a0a05636c6f636b1a0663616c6c5f31220270692a05636c6f636b7a06657865632d31"]],
  ["the request context", [{ requestContext: true, wait: false }], ["0 12025200"]],
  ["a native", [{ exec: { case: "shellArgs", args: { command: "ls", timeout: 30000, toolCallId: "t1" }, wait: false } }], ["0 1216120c0a026c7318b0ea01220274317a06657865632d30"]],
  ["a native with an id of its own", [{ exec: { case: "lsArgs", args: { toolCallId: "" }, execId: "x", wait: false } }], ["0 120542007a0178"]],
  ["a raw exec", [{ exec: { raw: "a202040a027069", id: 1, execId: "x", wait: false } }], ["0 120c08017a0178a202040a027069"]],
  ["a blob asked for", [{ getBlob: FIRST, wait: false }], [`0 222412220a20${FIRST}`]],
  ["a blob to keep", [{ setBlob: { text: "hi" }, wait: false }], [`0 22281a260a20${HI}12026869`]],
  ["bytes to keep", [{ setBlob: { bytes: "6869" }, wait: false }], [`0 22281a260a20${HI}12026869`]],
  ["a blob only named", [{ setBlob: { text: "hi", reference: true }, wait: false }], [`0 22241a220a20${HI}`]],
  ["a blob under another id", [{ setBlob: { text: "hi", blobId: FIRST }, wait: false }], [`0 22281a260a20${FIRST}12026869`]],
  ["a query", [{ query: { case: "webSearchRequestQuery", args: { args: { searchTerm: "cats" } }, wait: false } }], ["0 3a0a12080a060a0463617473"]],
  ["a raw query", [{ query: { raw: "a20100", id: 3, wait: false } }], ["0 3a050803a20100"]],
  ["a checkpoint's bytes", [{ checkpoint: { bytes: "5001" } }], ["0 1a025001"]],
  ["any message", [{ message: { interactionUpdate: { textDelta: { text: "hi" } } } }], ["0 0a060a040a026869"]],
  ["any message with bytes and a map", [{ message: { execServerMessage: { mcpArgs: { args: { a: "1a00" } } } } }], ["0 120b5a0912070a016112021a00"]],
  ["bytes", [{ bytes: "00000000020a00" }], ["0 0a00"]],
  ["steps again", [{ repeat: 2, steps: [{ tokens: 300 }, { wait: 0 }] }], ["0 0a05420308ac02", "0 0a05420308ac02"]],
];

for (const [name, script, frames] of WIRE)
  test(`${name} on the wire`, async () => {
    const came: string[] = [];
    await conversation(script, async (client) => {
      client.request();
      for (let envelope; (envelope = await client.nextEnvelope()); ) came.push(`${envelope.flags} ${hex(envelope.payload)}`);
    });
    assert.equal(came, [...frames, END]);
  });

const ENDS: readonly [name: string, script: Script, end: string][] = [
  ["a good end", [{ end: true }], "{}"],
  ["an empty end", [{ end: {} }], "{}"],
  ["an error", [{ end: { error: { code: "not_found", message: "gone" } } }], '{"error":{"code":"not_found","message":"gone"}}'],
  ["metadata", [{ end: { metadata: { a: ["b"] } } }], '{"metadata":{"a":["b"]}}'],
  ["a script without an end", [], "{}"],
];

for (const [name, script, end] of ENDS)
  test(`${name} ends the stream`, async () => {
    const received = await conversation(script, async (client) => {
      client.request();
      const envelope = await client.nextEnvelope();
      assert.is(envelope?.flags, 2);
      assert.is(new TextDecoder().decode(envelope?.payload), end);
      assert.equal(await client.over, { rstCode: 0, trailers: undefined, error: undefined });
    });
    assert.is(received.state, "ended");
    await received.closed;
  });

test("a checkpoint grows out of the request's state by what was given", async () => {
  await conversation([{ setBlob: { text: "hi" } }, { checkpoint: true }, { end: true }], async (client) => {
    client.request();
    client.answer(await client.next());
    const checkpoint = ConversationStateStructure.decode((await client.next()).conversationCheckpointUpdate!);
    assert.is(checkpoint.clientName, "pi");
    assert.equal(checkpoint.turns?.map(hex), [HI]);
    assert.is(checkpoint.tokenDetails?.maxTokens, 200_000);
  });
});

test("a checkpoint of a size is about as large, and padded by a field that no table knows", async () => {
  await conversation([{ checkpoint: { size: 100_000 } }, { checkpoint: { size: 1 } }], async (client) => {
    client.request();
    const large = (await client.next()).conversationCheckpointUpdate!;
    assert.ok(Math.abs(large.length - 100_000) < 10, String(large.length));
    assert.equal(ConversationStateStructure.decode(large).unknown?.map(({ no }) => no), [1000]);
    assert.ok(ConversationStateStructure.decode((await client.next()).conversationCheckpointUpdate!).clientName);
  });
});

test("a blob of a size is filler", async () => {
  await conversation([{ setBlob: { size: 300 } }], async (client) => {
    client.request();
    const { blobData } = (await client.next()).kvServerMessage!.setBlobArgs!;
    assert.is(blobData?.length, 300);
    assert.is(blobData?.[251], 0);
  });
});

test("wait and everyMs take their time", async () => {
  const start = performance.now();
  await conversation([{ wait: 60 }, { text: "abc", chunks: 3, everyMs: 30 }, { heartbeats: 1, everyMs: 30 }], async (client) => {
    client.request();
    await client.end();
  });
  assert.ok(performance.now() - start > 145);
});

test("text from the results of the last burst names each", async () => {
  await conversation([{ mcp: { tool: "clock" } }, { awaitResults: true }, { textFrom: "results" }], async (client) => {
    client.request();
    await client.obey({ clock: () => "noon" });
    assert.is(client.text, "clock: noon");
  });
});

for (const [step, said] of [
  [{ textFrom: "results" }, "clock: (the host has no tool clock)"],
  [{ textFrom: "results", template: "It is {clock}." }, "It is (the host has no tool clock)."],
] as const)
  test(`a tool that the host lacks is said to be missing: ${said}`, async () => {
    const host = await startLoopback({ script: [{ mcp: { tool: "clock" } }, { awaitResults: true }, step, { turnEnded: true }, { end: true }] });
    const provider = createProvider({ origin: host.origin, accessToken: "any", handles: memoryHandleStore(), env: {} });
    try {
      let text = "";
      const tools = [{ name: "double", description: "Doubles.", inputSchema: { type: "object" } }];
      for await (const event of provider.stream({ workspace: "/w", model: { id: "m" }, messages: [{ role: "user", content: "hi" }], tools })) if (event.type === "text") text += event.delta;
      assert.is(text, said);
    } finally {
      await provider.close();
      await host.close();
    }
  });

test("a template keeps a name that has no result", async () => {
  await conversation([{ textFrom: "results", template: "{clock}" }], async (client) => {
    client.request();
    await client.end();
    assert.is(client.text, "{clock}");
  });
});

test("hang leaves the stream open and says nothing", async () => {
  const received = await conversation([{ hang: true }], async (client, loopback) => {
    client.request();
    await until(() => loopback.received[0]?.request !== undefined);
    assert.is(loopback.received[0]!.state, "open");
    assert.is(client.bytes, 0);
  });
  assert.is(received.state, "reset");
});

test("the demo tells its story in under 2.5 s and uses what the tools say", async () => {
  const start = performance.now();
  let thinking = 0;
  const received = await conversation(demoScript(), async (client) => {
    client.request();
    const end = await client.end((message) => {
      if (message.interactionUpdate?.thinkingDelta) thinking++;
      client.answer(message, { calculator: ({ expression }) => (expression === "6 * 7" ? "42" : "?"), clock: () => "12:00" });
    });
    assert.equal(end, { metadata: new Map() });
    assert.match(client.text, "Six times seven is 42, and your clock says 12:00.");
  });
  assert.ok(performance.now() - start < 2500);
  assert.ok(thinking > 5);
  assert.equal(received.violations, []);
  assert.is(received.prompt.messages.length, 1);
  assert.equal(received.results.map(({ arm }) => arm), ["mcpResult.success", "mcpResult.success", "shellStream.rejected"]);
});

for (const [name, text] of [["hello", "Hello."], ["tools", "First 42, at noon. Then 42."], ["natives", "Nothing of mine ran."], ["queries", "Done asking."]] as const)
  test(`fixtures/scripts/${name}.json plays to its end with a client that obeys`, async () => {
    const received = await conversation({ script: scriptsFromJson(readJson(`fixtures/scripts/${name}.json`)) }, async (client) => {
      client.request();
      assert.equal(await client.obey({ calculator: () => "42", clock: () => "noon" }), { metadata: new Map() });
      assert.is(client.text, text);
    });
    assert.equal(received.violations, []);
    assert.is(received.state, "ended");
  });

test("fixtures/scripts/two-turns.json resumes", async () => {
  const loopback = await startLoopback({ script: scriptsFromJson(readJson("fixtures/scripts/two-turns.json")) });
  const first = new Client(loopback.origin);
  first.request();
  let checkpoint = new Uint8Array(0);
  await first.end((message) => {
    checkpoint = message.conversationCheckpointUpdate?.slice() ?? checkpoint;
    first.answer(message);
  });
  const second = new Client(loopback.origin);
  for (const [id, blob] of first.blobs) second.blobs.set(id, blob);
  second.resume(checkpoint);
  await second.obey();
  await loopback.close();
  assert.is(second.text, "The second turn.");
  assert.equal(loopback.received.map(({ violations }) => violations), [[], []]);
  assert.equal(loopback.received[1]!.prompt.tools, ["calculator", "clock"]);
  assert.is(loopback.received[1]!.prompt.messages.length, 2);
});

test.run();
