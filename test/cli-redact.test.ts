/** Redaction: no text stays in a frame, and its structure does (DESIGN §8). */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentClientMessage, AgentServerMessage, ConversationStateStructure } from "../lib/agent/index.ts";
import { redact, redactPayload } from "../lib/cli/redact.ts";
import { decodeValue, encodeEnvelope, encodeFields, encodeValue, fields, type WireField } from "../wire/index.ts";
import { bytes, hex } from "./check.ts";

const test = suite("cli redact");

const SECRET = "sécret";
const FILLED = "x".repeat(Buffer.from(SECRET).length);
const text = { interactionUpdate: { textDelta: { text: SECRET } } };

/** A call whose argument `a` is a Value of these bytes. */
function argument(value: string): Uint8Array {
  return AgentServerMessage.encode({ execServerMessage: { id: 1, mcpArgs: { args: new Map([["a", bytes(value)]]) } } });
}

const REDACTED: [name: string, from: "client" | "server", payload: Uint8Array, expected: Uint8Array][] = [
  ["text", "server", AgentServerMessage.encode(text), AgentServerMessage.encode({ interactionUpdate: { textDelta: { text: FILLED } } })],
  [
    "arguments but not their names, ids, tools and numbers",
    "server",
    call(SECRET, "name", 1),
    call(FILLED, "name", 1),
  ],
  [
    "the user's text and the workspace but not model and ids",
    "client",
    opener(SECRET),
    opener(FILLED),
  ],
  ["an unknown text", "server", bytes("4a026869"), bytes("4a027878")],
  ["an unknown text in an unknown message", "server", bytes("4a050a03616263"), bytes("4a050a03787878")],
  ["a text in an unknown group", "server", bytes("4b0a036162634c"), bytes("4b0a037878784c")],
  ["unknown bytes, but no unknown varint", "server", bytes("48054a02ff00"), bytes("48054a027878")],
  ["unknown fixed numbers", "server", bytes("49 5345435245542121 4d 53454352"), bytes("49 7878787878787878 4d 78787878")],
  ["what a Value holds beside its kind", "server", argument("4a026869"), argument("4a027878")],
  ["a group in a Value", "server", argument("4b0a0361626b4c"), argument("4b0a037878784c")],
  ["what a Struct holds beside its fields", "server", argument("2a044a026869"), argument("2a044a027878")],
  ["what an entry holds beside key and value", "server", argument("2a090a070a016b1a026869"), argument("2a090a070a016b1a027878")],
  ["what a list holds beside its values", "server", argument("32044a026869"), argument("32044a027878")],
  ["the strings of lists in objects, but no keys", "server", argument("2a110a0f0a016b120a32080a061a0461626364"), argument("2a110a0f0a016b120a32080a061a0478787878")],
  ["a blob that is JSON, and leaves it JSON", "client", blob(`{"role":"user","content":[{"type":"text","text":"a\\"b${SECRET}"}, "c" ],"n":1}`), blob(`{"role":"user","content":[{"type":"text","text":"xxxx${FILLED}"}, "x" ],"n":1}`)],
  ["a blob that is other text", "client", blob(`no json ${SECRET}`), blob("x".repeat(8) + FILLED)],
  ["a blob that is neither text nor a message", "client", blob("\u0000\u0001"), blob("xx")],
  ["all of what can't be read", "server", bytes("0a05ffff"), bytes("77777777")],
  ["an id that is no UTF-8, and leaves it none", "server", bytes("1204 7a02 41ff"), bytes("1204 7a02 ffff")],
  ["an argument that is no Value, alone", "server", argument("ffff"), argument("7878")],
  ["a blob that is a number", "client", blob("4111111111111111"), blob("x".repeat(16))],
  ["a blob that is a text of JSON", "client", blob('"words"'), blob("x".repeat(7))],
  ["what is called a word deep in a part", "client", blob('{"content":[{"toolName":"a","more":{"toolName":"b"}}]}'), blob('{"content":[{"toolName":"a","more":{"toolName":"x"}}]}')],
  ["what stands behind a key that is no name", "client", blob('{"a b":[{"role":"user"}],"role":"user"}'), blob('{"xxx":[{"role":"xxxx"}],"role":"user"}')],
  ["no blob id that the service made up", "server", asked("service/blob:1"), asked("service/blob:1")],
  ["a text in a blob id's place", "server", asked("two words"), asked("x".repeat(9))],
  ["no name of a tool that a model made up", "server", call(1, "time/clock:utc", 1), call(1, "time/clock:utc", 1)],
];
for (const [name, from, payload, expected] of REDACTED)
  test(`redacts ${name}`, () => {
    const frame = redact({ at: 1, from, envelope: encodeEnvelope(0, payload) });
    assert.is(hex(frame.envelope), hex(encodeEnvelope(0, expected)));
    assert.is(frame.at, 1);
  });

test("a redacted frame has the structure of the original", () => {
  for (const payload of [AgentServerMessage.encode(text), call(SECRET, "t", 1)]) {
    const copy = payload.slice();
    redactPayload(copy, "server");
    assert.equal(shape(fields(copy)), shape(fields(payload)));
  }
});

test("a blob, or a file, that nests too deep goes alone", () => {
  const deep = Buffer.from("4b".repeat(120) + "4c".repeat(120), "hex");
  const { payload } = server({ kvServerMessage: { id: 7, setBlobArgs: { blobData: deep } } });
  redactPayload(payload, "server");
  const { id, setBlobArgs } = AgentServerMessage.decode(payload).kvServerMessage!;
  assert.equal([id, hex(setBlobArgs!.blobData!)], [7, "78".repeat(240)]);
});

test("redaction does not touch the frame it was given", () => {
  const envelope = encodeEnvelope(0, AgentServerMessage.encode(text));
  const before = hex(envelope);
  redact({ at: 0, from: "server", envelope });
  assert.is(hex(envelope), before);
});

/** Payloads of a redacted end-stream, and what becomes of them. */
const END_STREAMS: [json: string, expected: string][] = [
  ["{}", "{}"],
  ['{"error":{"code":"internal","message":"what happened"}}', '{"error":{"code":"internal","message":"what happened"}}'],
  ['{"error":{"code":"secret","message":"Bearer abc"}}', '{"error":{"code":"xxxxxx","message":"xxxxxxxxxx"}}'],
  ['{"error":{"message":"bearer\\tabc"}}', '{"error":{"message":"xxxxxxxxxxx"}}'],
  ['{"error":{"message":"of eyJhbGciOi"}}', '{"error":{"message":"xxxxxxxxxxxxx"}}'],
  ['{"error":{"details":[{"type":"a","value":"b","message":"c"}]}}', '{"error":{"details":[{"type":"x","value":"x","message":"x"}]}}'],
  ['{"metadata":{"x-a":["b"],"message":"c"}}', '{"metadata":{"x-a":["x"],"message":"x"}}'],
  ['{"error":{"debug":{"message":"c"}},"message":"d"}', '{"error":{"debug":{"message":"x"}},"message":"x"}'],
  ['{"metad\\u0061ta":{"message":"c"}}', '{"xxxxxxxxxxxxx":{"message":"x"}}'],
  ['{"error":{"message":"b\\u0065arer c"}}', '{"error":{"message":"xxxxxxxxxxxxx"}}'],
  ["no json", "wwwwwww"],
  ["", ""],
];
for (const [json, expected] of END_STREAMS)
  test(`of an end-stream, code and message stay: ${json || "none"}`, () => {
    const end = (payload: string, from: "client" | "server" = "server") => ({ at: 0, from, envelope: encodeEnvelope(2, Buffer.from(payload)) });
    assert.is(hex(redact(end(json)).envelope), hex(end(expected).envelope));
    assert.is(hex(redact(end(json, "client")).envelope), hex(end("w".repeat(json.length)).envelope));
  });

test("a compressed payload is filled", () => {
  for (const flags of [1, 3, 0x80]) {
    const frame = { at: 0, from: "server", envelope: encodeEnvelope(0, bytes("4805")) } as const;
    frame.envelope[0] = flags;
    assert.is(hex(redact(frame).envelope), `${hex(Uint8Array.of(flags))}000000027777`);
  }
});

test("a frame that is a Buffer keeps its bytes", () => {
  const envelope = Buffer.from(encodeEnvelope(0, AgentServerMessage.encode(text)));
  const before = hex(envelope);
  redact({ at: 0, from: "server", envelope });
  assert.is(hex(envelope), before);
});

const WORD = "CONFIDENTIAL";
/** Bytes that say a word without being printable text. */
const SAID: Record<string, Uint8Array> = {
  text: Buffer.from(WORD),
  "text of 32 bytes": Buffer.from(WORD.padEnd(32)),
  "text with an escape": Buffer.from(`\u001b[31m${WORD}\u001b[0m`),
  "a key of 32 bytes": Buffer.from(`é ${WORD} of 32 bytes in all..`.padEnd(32).slice(0, 32), "latin1"),
  "text behind NUL": Buffer.from(`\u0000${WORD}`),
  "text with DEL": Buffer.from(`${WORD}\u007f`),
  "text with a tab before": Buffer.from(`\t${WORD}`),
  "text that a cut broke": Buffer.concat([Buffer.from(WORD), Uint8Array.of(0xe6, 0xa8)]),
  "Latin-1": Buffer.from(`é${WORD}`, "latin1"),
  "UTF-16": Buffer.from(WORD, "utf16le"),
  "a message": bytes(`1a10 0801 120c ${hex(Buffer.from(WORD))}`),
  "a message that is cut": bytes(`1a10 0801 120c ${hex(Buffer.from(WORD))}`).subarray(0, 14),
  "a message of 32 bytes": bytes(`08ac02 ${"08 01".repeat(6)} 8801 01 120c ${hex(Buffer.from(WORD))}`),
  JSON: Buffer.from(JSON.stringify({ args: { type: WORD, toolName: WORD }, role: [WORD], type: WORD, [`${WORD} key`]: WORD })),
  "JSON of a string": Buffer.from(JSON.stringify(WORD)),
  "JSON with DEL": Buffer.from(JSON.stringify({ a: `${WORD}\u007f` })),
  "JSON behind a byte order mark": Buffer.from(`\ufeff${JSON.stringify({ a: WORD })}`),
  "JSON that is cut": Buffer.from(`{"role":"user","content":"${WORD}`),
  "a key's value between others": Buffer.from(`[{"role":null},"${WORD}",{"toolName":\t{"toolName":1,"a":"${WORD}"}}]`),
};
/** Where a peer may put bytes that no row says the meaning of. */
const PLACES: Record<string, (said: Uint8Array) => { from: "client" | "server"; payload: Uint8Array }> = {
  "an unknown field": (said) => ({ from: "server", payload: unknown(90, noId(said)) }),
  "an unknown field of a client's": (said) => ({ from: "client", payload: unknown(90, noId(said)) }),
  "an unknown field in a group": (said) => ({ from: "server", payload: bytes(`4b ${hex(unknown(2, noId(said)))} 4c`) }),
  "a file that was read": (data) => client({ execClientMessage: { id: 1, readResult: { success: { path: "p", data } } } }),
  "a file to write": (fileBytes) => server({ execServerMessage: { id: 1, writeArgs: { path: "p", fileBytes } } }),
  "a file's state": (said) => state({ fileStates: new Map([["p", noId(said)]]) }),
  "a turn": (said) => state({ turns: [noId(said)] }),
  "a summary": (said) => state({ summary: noId(said) }),
  "a breakdown of times": (ttftBreakdown) => server({ ttftBreakdown }),
  "a blob given": (blobData) => server({ kvServerMessage: { id: 1, setBlobArgs: { blobId: new Uint8Array(32), blobData } } }),
  "a blob answered": (blobData) => client({ kvClientMessage: { id: 1, getBlobResult: { blobData } } }),
  "an image": (data) => client({ execClientMessage: { id: 1, mcpResult: { success: { content: [{ image: { data, mimeType: "image/png" } }] } } } }),
  "an argument": (said) => server({ execServerMessage: { id: 1, mcpArgs: { args: new Map([["a", said]]) } } }),
};
for (const [place, put] of Object.entries(PLACES))
  test(`nothing said in ${place} stays`, () => {
    for (const [name, said] of Object.entries(SAID)) {
      const { from, payload } = put(said);
      const { length } = payload;
      redactPayload(payload, from);
      const left = Buffer.from(payload).toString("latin1").replaceAll("\u0000", "");
      assert.is(payload.length, length);
      assert.not.match(left, new RegExp("[A-Z]{4}"), name);
    }
  });

test("ids and names stay, and what only stands in their place does not", () => {
  const call = (execId: string, toolName: string, key: string): Uint8Array =>
    AgentServerMessage.encode({ execServerMessage: { id: 1, execId, mcpArgs: { toolName, args: new Map([[key, encodeValue({ [key]: 0.5, list: [true, null] })]]) } } });
  const kept = call("call_1\nfc_2", "mcp_pi_edit", "file-path");
  const filled = call("a b", "a b", "a b");
  assert.is(hex(redactedPayload(kept)), hex(kept));
  assert.is(hex(redactedPayload(filled)), hex(call("xxx", "xxx", "xxx")));
});

/** A blob id that is a message as well: its field 15 would be filled where it was taken for one. */
const ID = bytes("7a1e" + "ff".repeat(30));
/** Rows whose treatment is not their kind's: the id stays, the path does not. */
const IDS: ReturnType<typeof server>[] = [
  ...(["rootPromptMessagesJson", "turnsOld", "todos", "turns", "summaryArchives"] as const).map((name) => state({ [name]: [ID] })),
  ...(["summary", "plan", "summaryArchive"] as const).map((name) => state({ [name]: ID })),
  state({ fileStates: new Map([["", ID]]) }),
  server({ kvServerMessage: { id: 1, getBlobArgs: { blobId: ID } } }),
  server({ kvServerMessage: { id: 1, setBlobArgs: { blobId: ID } } }),
];
const CLIENT_IDS = [
  client({ execClientMessage: { id: 1, readResult: { success: { outputBlobId: ID } } } }),
  client({ runRequest: { action: { userMessageAction: { userMessage: { selectedContextBlob: ID } } } } }),
  client({ runRequest: { action: { userMessageAction: { userMessage: { selectedContext: { selectedImages: [{ blobId: ID }] } } } } } }),
];
for (const { from, payload } of [...IDS, ...CLIENT_IDS])
  test(`a blob id stays in its place: ${hex(payload).slice(0, 16)}`, () => {
    const before = hex(payload);
    redactPayload(payload, from);
    assert.is(hex(payload), before);
  });

const PATH = "/home/alice/secret";
const PATHS = [
  state({ pendingToolCalls: [PATH], previousWorkspaceUris: [PATH] }),
  server({ execServerMessage: { id: 1, spanContext: { traceState: PATH } } }),
  client({ interactionResponse: { id: 1, createPlanRequestResponse: { result: { planUri: PATH } } } }),
  client({ execClientMessage: { id: 1, requestContextResult: { success: { requestContext: { env: { osVersion: PATH, workspacePaths: [PATH], shell: PATH, timeZone: PATH } } } } } }),
];
for (const { from, payload } of PATHS)
  test(`a path goes where ids are words: ${hex(payload).slice(0, 16)}`, () => {
    redactPayload(payload, from);
    assert.not.match(Buffer.from(payload).toString("latin1"), "alice");
  });

test("blob ids stay, where they are expected and where no table knows them", () => {
  const id = bytes("ff".repeat(32));
  const conversationCheckpointUpdate = ConversationStateStructure.encode({ rootPromptMessagesJson: [id], turns: [id], fileStates: new Map([["", id]]) });
  for (const payload of [
    server({ conversationCheckpointUpdate }).payload,
    server({ kvServerMessage: { id: 1, getBlobArgs: { blobId: bytes("ff".repeat(20)) } } }).payload,
    unknown(90, id),
  ])
    assert.is(hex(redactedPayload(payload)), hex(payload));
});


test("nested values are redacted to the depth that the codec reads, and filled beyond", () => {
  let deep: unknown = SECRET;
  for (let depth = 0; depth < 30; depth++) deep = depth % 2 === 0 ? [deep] : { k: deep };
  const payload = call(deep, "t", 1);
  redactPayload(payload, "server");
  const args = AgentServerMessage.decode(payload).execServerMessage!.mcpArgs!.args!.get("a")!;
  assert.match(JSON.stringify(decodeValue(args)), FILLED);
  const groups = bytes("4b".repeat(300) + "4c".repeat(300));
  redactPayload(groups, "server");
  assert.is(hex(groups), "77".repeat(600));
});

test.run();

/** Binary bytes of a blob id's length stay in a blob id's place, so one more field is put behind them. */
function noId(said: Uint8Array): Uint8Array {
  return said === SAID["a message of 32 bytes"] || said === SAID["a key of 32 bytes"] ? Buffer.concat([said, bytes("0801")]) : said;
}

/** A blob is asked for. */
function asked(id: string): Uint8Array {
  return AgentServerMessage.encode({ kvServerMessage: { id: 1, getBlobArgs: { blobId: Buffer.from(id) } } });
}

/** A frame of one field that no table knows. */
function unknown(no: number, value: Uint8Array): Uint8Array {
  return encodeFields([{ no, type: 2, value }]);
}

function server(message: Parameters<typeof AgentServerMessage.encode>[0]) {
  return { from: "server", payload: AgentServerMessage.encode(message) } as const;
}

function client(message: Parameters<typeof AgentClientMessage.encode>[0]) {
  return { from: "client", payload: AgentClientMessage.encode(message) } as const;
}

function state(conversation: Parameters<typeof ConversationStateStructure.encode>[0]) {
  return server({ conversationCheckpointUpdate: ConversationStateStructure.encode(conversation) });
}

function redactedPayload(payload: Uint8Array): Uint8Array {
  const copy = payload.slice();
  redactPayload(copy, "server");
  return copy;
}

function call(value: unknown, tool: string, id: number): Uint8Array {
  return AgentServerMessage.encode({ execServerMessage: { id, mcpArgs: { name: tool, args: new Map([["a", encodeValue(value)], ["n", encodeValue(5)]]), toolCallId: "call", toolName: tool } } });
}

function opener(secret: string): Uint8Array {
  return AgentClientMessage.encode({
    runRequest: {
      conversationState: { previousWorkspaceUris: [secret] },
      action: { userMessageAction: { userMessage: { text: secret, messageId: "id" } } },
      mcpTools: { mcpTools: [{ name: "tool", description: secret, inputSchema: encodeValue({ type: secret, n: [secret, 1, true] }), toolName: "tool" }] },
      conversationId: "conversation",
      requestedModel: { modelId: "model" },
    },
  });
}

function blob(content: string): Uint8Array {
  return AgentClientMessage.encode({ kvClientMessage: { id: 1, getBlobResult: { blobData: Buffer.from(content) } } });
}

function shape(list: readonly WireField[]): unknown {
  return list.map(({ no, type, raw }) => [no, type, raw!.length]);
}
