/** What the host holds against a run request, what it refuses, and what the model gets to see. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { blobId, SelectedContextBlob, type AgentClientMessage } from "../lib/agent/index.ts";
import { startLoopback, type Received, type Script } from "../lib/loopback/index.ts";
import { encodeValue, type Decoded } from "../wire/index.ts";
import { bytes } from "./check.ts";
import { Client, conversation, RULES } from "./loopback-client.ts";

const test = suite("loopback request");

type ClientMessage = Decoded<typeof AgentClientMessage>;

const CLOSE: ClientMessage = { execClientControlMessage: { streamClose: { id: 0 } } };

type Request = NonNullable<ClientMessage["runRequest"]>;
const user = (change: object): Partial<Request> => ({ action: { userMessageAction: { userMessage: { text: "a", messageId: "m", mode: 1, selectedContextBlob: blobId(RULES), correlationId: "m", ...change } } } });
const state = (change: object): Partial<Request> => ({ conversationState: { rootPromptMessagesJson: [], previousWorkspaceUris: ["file:///work"], mode: 1, clientName: "pi", ...change } });
const tool = (change: object = {}): NonNullable<NonNullable<Request["mcpTools"]>["mcpTools"]>[number] => ({ name: "a", inputSchema: encodeValue({}), providerIdentifier: "pi", toolName: "a", ...change });
const image = (change: object): Partial<Request> => user({ selectedContext: { selectedImages: [{ mimeType: "image/png", data: new Uint8Array(4), ...change }] } });

const REQUESTS: readonly [violation: string, change: Partial<Request>][] = [
  ["conversation_state is missing (§3)", { conversationState: undefined! }],
  ["conversation_state.mode is not 1 (§3)", state({ mode: 2 })],
  ['conversation_state.client_name is not "pi" (§3)', state({ clientName: "" })],
  ["previous_workspace_uris is not one file URL (§3)", state({ previousWorkspaceUris: ["/work"] })],
  ["a root prompt blob id is not 32 bytes (§3)", state({ rootPromptMessagesJson: [new Uint8Array(31)] })],
  ["custom_system_prompt is set (§2.1)", { customSystemPrompt: "a" }],
  ["model_details is set beside requested_model (§2.1)", { unknown: [{ no: 3, type: 2, bytes: bytes("1a00") }] }],
  ["requested_model has no slug (§2.1)", { requestedModel: {} }],
  ["client_supports_inline_images is not true (§2.1)", { clientSupportsInlineImages: false }],
  ["conversation_id is missing (§2.1)", { conversationId: "" }],
  ["action is not a user_message_action (§2.1)", { action: {} }],
  ["user_message.mode is not 1 (§2.1)", user({ mode: 0 })],
  ["user_message.message_id and correlation_id differ or are missing (§2.1)", user({ correlationId: "n" })],
  ["user_message.selected_context_blob is not 32 bytes (§2.1)", user({ selectedContextBlob: new Uint8Array(1) })],
  ["an image has another mime type than png, jpeg, gif, webp or bmp (§2.1)", image({ mimeType: "image/svg+xml" })],
  ["an image is empty or over 16 MiB (§2.1)", image({ data: new Uint8Array(0) })],
  ['a tool has another provider_identifier than "pi" (§2.2)', { mcpTools: { mcpTools: [tool({ providerIdentifier: "x" })] } }],
  ["a tool's name and tool_name differ (§2.2)", { mcpTools: { mcpTools: [tool({ toolName: "mcp_pi_a" })] } }],
];

for (const [violation, change] of REQUESTS)
  test(`a request is held against the client: ${violation}`, async () => {
    const received = await conversation([], async (client) => {
      client.request(change);
      await client.end();
    });
    assert.ok(received.violations.includes(violation), received.violations.join("; "));
  });

const REFUSED: readonly [name: string, change: Partial<Request>, error: { code: string; message: string }][] = [
  ["a context parameter", { requestedModel: { modelId: "m", parameters: [{ id: "context", value: "1m" }] } }, { code: "not_found", message: "Error" }],
  ["a tool name outside the alphabet", { mcpTools: { mcpTools: [tool({ name: "a.b" })] } }, { code: "resource_exhausted", message: "Error" }],
  ["a tool without a name", { mcpTools: { mcpTools: [tool({ name: undefined })] } }, { code: "resource_exhausted", message: "Error" }],
  ["D23 two tools of one name", { mcpTools: { mcpTools: [tool(), tool()] } }, { code: "invalid_argument", message: "duplicate tool names" }],
  ["a schema that is a Struct", { mcpTools: { mcpTools: [tool({ inputSchema: bytes("0a060a0161120108") })] } }, { code: "invalid_argument", message: "invalid end group tag" }],
  ["a schema that is malformed", { mcpTools: { mcpTools: [tool({ inputSchema: bytes("0c") })] } }, { code: "invalid_argument", message: "invalid end group tag" }],
  ["a tool without a schema", { mcpTools: { mcpTools: [tool({ inputSchema: undefined })] } }, { code: "invalid_argument", message: "invalid end group tag" }],
];

for (const [name, change, error] of REFUSED)
  test(`the service refuses ${name}`, async () => {
    const received = await conversation([{ text: "never" }], async (client) => {
      client.request(change);
      assert.equal(await client.end(), { error, metadata: new Map() });
      assert.is(client.text, "");
    });
    assert.is(received.state, "ended");
  });

const HEADER_CASES: readonly [headers: Record<string, string>, violation: string][] = [
  [{ "connect-protocol-version": "2" }, "header connect-protocol-version has another value (§1)"],
  [{ "x-cursor-client-type": "ide" }, "header x-cursor-client-type has another value (§1)"],
  [{ "x-ghost-mode": "false" }, "header x-ghost-mode has another value (§1)"],
  [{ authorization: "Basic secret" }, "header authorization has another value (§1)"],
  [{ "connect-content-encoding": "gzip" }, "header connect-content-encoding: frames of a Run are not compressed (§1)"],
];

for (const [headers, violation] of HEADER_CASES)
  test(violation, async () => {
    const received = await conversation([], (client) => (client.request(), client.end()), headers);
    assert.equal(received.violations, [violation]);
    assert.is(received.headers[Object.keys(headers)[0]!], Object.values(headers)[0]);
  });

test("E1 what has the role system is dropped, and the rest is the model's prompt in order", async () => {
  const say = (json: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(json));
  const received = await conversation([{ getBlob: "root" }], async (client) => {
    const ids = [say({ role: "system", content: "a" }), RULES, say({ role: "user", content: "<user_query>\nb\n</user_query>" })].map((blob) => client.give(blob));
    client.request(state({ rootPromptMessagesJson: ids }));
    await client.obey();
  });
  assert.is(received.dropped, 1);
  assert.equal(received.prompt.messages, [{ role: "user", content: "<rules>\nBe brief.\n</rules>" }, { role: "user", content: "<user_query>\nb\n</user_query>" }]);
  assert.is(received.prompt.user.text, "What is 6 * 7?");
  assert.equal(received.violations, ['a root prompt message has the role "system", which is dropped (§3.1)']);
  assert.is(received.blobs.size, 3);
});

for (const [name, blob, wrong] of [
  ["no JSON", "{", "a root prompt message is no UTF-8 JSON (§3)"],
  ["no object", '"a"', 'a root prompt message is "a" (§3)'],
] as const)
  test(`a root prompt blob that is ${name} is held against the client`, async () => {
    const received = await conversation([{ getBlob: "root" }], async (client) => {
      client.request(state({ rootPromptMessagesJson: [client.give(new TextEncoder().encode(blob))] }));
      await client.obey();
    });
    assert.equal(received.violations, [wrong]);
    assert.equal(received.prompt.messages, []);
  });

for (const [supports, images] of [[true, [{ mimeType: "image/png", bytes: 4 }]], [false, []]] as const)
  test(`E8 images ${supports ? "are seen" : "are ignored"} where client_supports_inline_images is ${supports}`, async () => {
    const received = await conversation([], async (client) => {
      client.request({ ...image({}), clientSupportsInlineImages: supports });
      await client.end();
    });
    assert.equal(received.prompt.user.images, images);
  });

test("the blob of the selected context names the root prompt and the client", async () => {
  const received = await conversation([{ getBlob: "context" }], async (client) => {
    client.request();
    await client.obey();
  });
  assert.equal(received.violations, []);
  assert.is(received.blobs.size, 1);
});

test("a selected context that names something else is held against the client", async () => {
  const received = await conversation([{ getBlob: "context" }], async (client) => {
    client.request(user({ selectedContextBlob: client.give(SelectedContextBlob.encode({ rootPromptBlobIds: [blobId(new Uint8Array(0))], clientName: "x" })) }));
    await client.obey();
  });
  assert.equal(received.violations, ["selected_context_blob names other blobs than the root prompt (§2.1)", 'selected_context_blob does not say "pi" (§2.1)']);
});

test("a selected context that was not given, or that there is none of, is not read", async () => {
  const received = await conversation([{ getBlob: "context" }], async (client) => {
    client.request();
    await client.next();
    client.send({ kvClientMessage: { id: 0, getBlobResult: {} } });
    await client.end();
  });
  assert.is(received.violations.length, 1);
  const none = await conversation([{ getBlob: "context" }], async (client) => {
    client.request({ action: {} });
    assert.equal(await client.end(), { metadata: new Map() });
  });
  assert.is(none.blobs.size, 0);
});

test("a selected context that is malformed ends the Run", async () => {
  await conversation([{ getBlob: "context" }, { text: "never" }], async (client) => {
    client.request(user({ selectedContextBlob: client.give(bytes("0aff")) }));
    assert.is((await client.obey())?.error?.code, "invalid_argument");
  });
});

const CONTEXT: readonly [name: string, context: object, violations: readonly string[]][] = [
  ["workspace and tools", {}, []],
  ["another workspace", { env: { workspacePaths: ["file:///other"] } }, ["request_context: workspace_paths differ from previous_workspace_uris (§5)"]],
  ["no workspace", { env: undefined }, ["request_context: workspace_paths differ from previous_workspace_uris (§5)"]],
  ["tools that came later too", { tools: [{ name: "calculator" }, { name: "clock" }, { name: "late" }] }, []],
  ["no tools", { tools: [] }, ["request_context: a tool of mcp_tools is missing (§5)"]],
  ["file contents", { fileContents: new Map([["a", "b"]]) }, ["request_context: fileContents is set (§5)"]],
  ["git repositories", { unknown: [{ no: 11, type: 2, bytes: bytes("5a00") }] }, ["request_context: field 11 is set (§5)"]],
];

for (const [name, change, violations] of CONTEXT)
  test(`the request context holds ${name}`, async () => {
    const received = await conversation([{ requestContext: true }], async (client) => {
      client.request();
      const { execServerMessage } = await client.next();
      assert.is(execServerMessage?.execId, undefined);
      const requestContext = { env: { workspacePaths: ["file:///work"] }, tools: client.tools, mcpMetaToolOptions: { enabled: true, mcpDescriptors: [{ tools: [{ toolName: "clock" }] }] }, ...change };
      client.send({ execClientMessage: { id: 0, requestContextResult: { success: { requestContext } } } });
      client.send(CLOSE);
      await client.end();
    });
    assert.equal(received.violations, violations);
    assert.ok(received.requestContext);
    assert.equal(received.prompt.catalogue, ["clock"]);
    assert.equal(received.results, []);
  });

test("a refused request context is held against the client", async () => {
  const received = await conversation([{ requestContext: true }], async (client) => {
    client.request();
    await client.next();
    client.send({ execClientMessage: { id: 0, requestContextResult: { error: { error: "no" } } } });
    client.send(CLOSE);
    await client.end();
  });
  assert.is(received.violations.length, 1);
  assert.is(received.requestContext, undefined);
});

test("the catalogue comes with the user's turn too, and only where it is enabled", async () => {
  for (const enabled of [true, false]) {
    const options = { enabled, mcpDescriptors: [{ tools: [{ toolName: "a" }] }] };
    const received = await conversation([], async (client) => {
      client.request({ action: { userMessageAction: { userMessage: { text: "a" }, requestContext: { mcpMetaToolOptions: options } } } });
      await client.end();
    });
    assert.equal(received.prompt.catalogue, enabled ? ["a"] : []);
  }
});

/** What exec 36 is asked with, what it is answered, and which tools the model then knows. */
const STATE: readonly [name: string, raw: string, success: object, tools: readonly string[], violations: readonly string[]][] = [
  ["an empty list of MCP servers means no tools", "a202040a027069", {}, [], ["the model knows no tools, so it cannot call clock (§5)"]],
  ["a server's tools are what the model knows", "a202040a027069", { servers: [{ serverName: "pi", tools: [{ name: "clock" }] }] }, ["clock"], []],
  ["an empty answer to the plan mode costs no tools", "a202040a02676f", {}, ["calculator", "clock"], []],
];

for (const [name, raw, success, tools, violations] of STATE)
  test(name, async () => {
    const received = await conversation([{ exec: { raw } }, { mcp: { tool: "clock" } }, { awaitResults: true }], async (client) => {
      client.request();
      await client.next();
      client.send({ execClientMessage: { id: 0, startGrindPlanningResult: { success } } });
      client.send(CLOSE);
      await client.obey();
    });
    assert.equal(received.prompt.tools, tools);
    assert.equal(received.violations, violations);
  });

const EXPECT: readonly [name: string, expect: object, violations: readonly string[]][] = [
  ["all that holds", { resume: false, mcpTools: true, model: "model-1", text: "What is 6 * 7?", tools: ["calculator", "clock"], conversationId: "c1" }, []],
  ["nothing", {}, []],
  ["a new conversation", { conversationId: "new" }, []],
  ["the same conversation", { conversationId: "same" }, ["conversation_id same was expected"]],
  ["a conversation id", { conversationId: "c2" }, ["conversation_id c2 was expected"]],
  ["a resume", { resume: true }, ["a Run that resumes a conversation was expected"]],
  ["no tools sent", { mcpTools: false }, ["mcp_tools was expected to be left out"]],
  ["another model", { model: "m" }, ["model m was expected"]],
  ["another text", { text: "a" }, ['the text "a" was expected']],
  ["other tools", { tools: ["a", "b"] }, ["the tools a, b were expected"]],
];

for (const [name, expect, violations] of EXPECT)
  test(`a script may expect of the Run: ${name}`, async () => {
    const received = await conversation([{ expect }], async (client) => {
      client.request();
      await client.end();
    });
    assert.equal(received.violations, violations);
  });

/** Plays one turn with a checkpoint, then resumes with what `spoil` makes of the state. */
async function resumed(spoil: (state: Uint8Array) => Uint8Array, expect: object = { resume: true }): Promise<Received> {
  const loopback = await startLoopback({ script: [[{ checkpoint: true }], [{ expect } as Script[number]]] });
  const first = new Client(loopback.origin);
  first.request();
  let checkpoint = new Uint8Array(0);
  await first.end((message) => (checkpoint = message.conversationCheckpointUpdate?.slice() ?? checkpoint));
  const second = new Client(loopback.origin);
  second.resume(checkpoint, spoil);
  await second.end();
  await loopback.close();
  return loopback.received[1]!;
}

test("D45 a resume keeps the checkpoint byte for byte but for the overlay", async () => {
  const received = await resumed((state) => state);
  assert.equal(received.violations, []);
  assert.equal(received.prompt.tools, ["calculator", "clock"]);
});

test("a resume that was not expected is held against the client", async () => {
  assert.equal((await resumed((state) => state, { resume: false, mcpTools: true, conversationId: "new" })).violations, [
    "a Run that begins a new conversation was expected",
    "conversation_id new was expected",
    "mcp_tools was expected to be sent",
  ]);
});

test("D45 a resume that changes the checkpoint is held against the client", async () => {
  assert.equal((await resumed((state) => Uint8Array.from([...state, 0x9a, 1, 0]))).violations, ["resume: the checkpoint's other fields are not kept byte for byte (§3)"]);
});

test("a resume that loses the checkpoint's prompt is held against the client", async () => {
  const lost = (state: Uint8Array): Uint8Array => state.slice(34 * 2);
  assert.equal((await resumed(lost)).violations, ["resume: the checkpoint's root prompt is not kept (§3)"]);
});

test.run();
