/** What the host makes of a client: what it holds against it, what stalls the turn, and what the model gets to see. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentClientMessage, blobId, execByName, EXEC, camel, hex, SelectedContextBlob } from "../lib/agent/index.ts";
import { startLoopback, type Received, type Script } from "../lib/loopback/index.ts";
import { encodeValue, type Decoded } from "../wire/index.ts";
import { bytes } from "./check.ts";
import { Client, conversation, RULES, until } from "./loopback-client.ts";

const test = suite("loopback rules");

type ClientMessage = Decoded<typeof AgentClientMessage>;

const close = (id = 0): ClientMessage => ({ execClientControlMessage: { streamClose: { id } } });
const beat = (id = 0): ClientMessage => ({ execClientControlMessage: { heartbeat: { id } } });
const mcp = (id = 0, execId = `exec-${id}`): ClientMessage => ({ execClientMessage: { id, execId, mcpResult: { success: { content: [{ text: { text: "noon" } }] } } } });
const stream = (event: NonNullable<NonNullable<ClientMessage["execClientMessage"]>["shellStream"]>): ClientMessage => ({ execClientMessage: { id: 0, execId: "exec-0", shellStream: event } });

const CALL: Script = [{ mcp: { tool: "clock" } }, { awaitResults: true }, { text: "on" }];
const SHELL: Script = [{ exec: { case: "shellStreamArgs", args: { command: "ls" } } }, { text: "on" }];
const DELETE: Script = [{ exec: { case: "deleteArgs", args: { path: "/x" } } }, { text: "on" }];
const GET: Script = [{ getBlob: hex(blobId(RULES)) }, { text: "on" }];
const SET: Script = [{ setBlob: { text: "hi" } }, { text: "on" }];
const SEARCH: Script = [{ query: { case: "webSearchRequestQuery" } }, { text: "on" }];

/** Answers, what the host holds against them, and whether the script goes on. */
const ANSWERS: readonly [name: string, script: Script, answers: readonly ClientMessage[], violations: readonly string[], goesOn: boolean][] = [
  ["a result and its close are all that is wanted", CALL, [mcp(), close()], [], true],
  ["heartbeats before the result are fine", CALL, [beat(), beat(), mcp(), close()], [], true],
  ["D52 a result without its close parks", CALL, [mcp()], [], false],
  ["D52 a close without a result parks", CALL, [close()], ["exec 0 (mcpArgs) is closed without an answer"], false],
  ["D52 a second close is held against it", CALL, [mcp(), close(), close()], ["exec 0 (mcpArgs) is closed twice"], true],
  ["D14 a second result is held against it", CALL, [mcp(), mcp(), close()], ["exec 0 (mcpArgs) is answered twice"], true],
  ["a result after the close is held against it", CALL, [mcp(), close(), mcp()], ["exec 0 (mcpArgs) is answered after its stream_close"], true],
  ["D52 a heartbeat after the result is held against it", CALL, [mcp(), beat(), close()], ["exec 0 (mcpArgs) has a heartbeat behind its answer"], true],
  ["a result of nothing that was asked is held against it", CALL, [mcp(7), mcp(), close()], ["mcpResult.success answers exec 7, which was never asked"], true],
  ["a close of nothing that was asked is held against it", CALL, [close(7), mcp(), close()], ["stream_close of exec 7, which was never asked"], true],
  ["a heartbeat of nothing that was asked is held against it", CALL, [beat(7), mcp(), close()], ["heartbeat of exec 7, which was never asked"], true],
  ["an empty control message is held against it", CALL, [{ execClientControlMessage: {} }, mcp(), close()], ["an exec_client_control_message says nothing that is known"], true],
  ["another exec_id is held against it", CALL, [mcp(0, "exec-1"), close()], ['exec 0 (mcpArgs) came with exec_id "exec-0", its answer has "exec-1"'], true],
  ["another result is held against it", CALL, [{ execClientMessage: { id: 0, execId: "exec-0", lsResult: { error: {} } } }, close()], ["exec 0 (mcpArgs) is answered by lsResult.error, not by mcpResult"], true],
  ["an answer without a result is held against it", CALL, [{ execClientMessage: { id: 0, execId: "exec-0" } }, close()], ["exec 0 (mcpArgs) is answered by nothing known, not by mcpResult"], true],
  ["a throw answers anything", CALL, [{ execClientControlMessage: { throw: { id: 0, error: "no" } } }, close()], [], true],
  ["D12 id 0 may be left out", CALL, [{ execClientControlMessage: { throw: { error: "no" } } }, { execClientControlMessage: { streamClose: {} } }], [], true],
  ["D29 a shell stream is answered by its events", SHELL, [stream({ stdout: { data: "a" } }), stream({ stderr: { data: "b" } }), stream({ exit: { code: 0 } }), close()], [], true],
  ["a shell stream without an end parks", SHELL, [stream({ stdout: { data: "a" } }), close()], ["exec 0 (shellStreamArgs) is closed before its shell stream ended"], false],
  ["an event after the end of a shell stream is held against it", SHELL, [stream({ rejected: { reason: "no" } }), stream({ stdout: { data: "a" } }), close()], ["exec 0 (shellStreamArgs) is answered twice"], true],
  ["D60 a shell stream with a start event stalls the turn", SHELL, [stream({ start: {} }), stream({ exit: { code: 0 } }), close()], ["a shell_stream reply has a start event (§5.1)"], false],
  ["a deletion without a file size stalls the turn", DELETE, [{ execClientMessage: { id: 0, execId: "exec-0", deleteResult: { success: { path: "/x", deletedFile: "/x" } } } }, close()], ["a DeleteResult.success has no file_size (§5.1)"], false],
  ["a deletion with a file size of 0 stalls the turn", DELETE, [{ execClientMessage: { id: 0, execId: "exec-0", deleteResult: { success: { path: "/x", fileSize: 0 } } } }, close()], ["a DeleteResult.success has no file_size (§5.1)"], false],
  ["a deletion with its file size goes on", DELETE, [{ execClientMessage: { id: 0, execId: "exec-0", deleteResult: { success: { path: "/x", deletedFile: "/x", fileSize: 3 } } } }, close()], [], true],
  ["a refused deletion needs no size", DELETE, [{ execClientMessage: { id: 0, execId: "exec-0", deleteResult: { rejected: { path: "/x" } } } }, close()], [], true],
  ["a blob is checked against its id", GET, [{ kvClientMessage: { id: 0, getBlobResult: { blobData: new Uint8Array(2) } } }], [`blob ${hex(blobId(RULES)).slice(0, 12)}… has other content than its id says: 2 bytes (§6)`], true],
  ["D40 a miss is held against it", GET, [{ kvClientMessage: { id: 0, getBlobResult: {} } }], [`blob ${hex(blobId(RULES)).slice(0, 12)}… was not given`], true],
  ["D40 no answer to a blob question parks", GET, [], [], false],
  ["a second answer to a blob question is held against it", GET, [{ kvClientMessage: { id: 0, getBlobResult: { blobData: RULES } } }, { kvClientMessage: { id: 0, getBlobResult: { blobData: RULES } } }], ["kv 0 (getBlobArgs) is answered twice"], true],
  ["a set answer to a get question is held against it", GET, [{ kvClientMessage: { id: 0, setBlobResult: {} } }], ["kv 0 (getBlobArgs) is answered by setBlobResult, not by getBlobResult", `blob ${hex(blobId(RULES)).slice(0, 12)}… was not given`], true],
  ["a blob to keep is acknowledged", SET, [{ kvClientMessage: { id: 0, setBlobResult: {} } }], [], true],
  ["D42 a refusal that was not expected is held against it", SET, [{ kvClientMessage: { id: 0, setBlobResult: { error: { message: "full" } } } }], ["blob 8f434346648f… was refused, not stored (§6)"], true],
  ["D42 an acknowledgement that was not expected is held against it", [{ setBlob: { text: "hi" }, expect: "refused" }, { text: "on" }], [{ kvClientMessage: { id: 0, setBlobResult: {} } }], ["blob 8f434346648f… was stored, not refused (§6)"], true],
  ["a query is answered under its own number", SEARCH, [{ interactionResponse: { id: 0, webSearchRequestResponse: { approved: {} } } }], [], true],
  ["an answer to another query is held against it", SEARCH, [{ interactionResponse: { id: 0, exaFetchRequestResponse: { approved: {} } } }], ["query 0 (webSearchRequestQuery) is answered by exaFetchRequestResponse.approved, not by webSearchRequestResponse"], true],
  ["an answer to a query that was not asked is held against it", SEARCH, [{ interactionResponse: { id: 4, webSearchRequestResponse: { approved: {} } } }, { interactionResponse: { id: 0, webSearchRequestResponse: { approved: {} } } }], ["webSearchRequestResponse.approved answers query 4, which was never asked"], true],
  ["D11 a query without an answer parks", SEARCH, [], [], false],
  ["a heartbeat of the Run is nothing", CALL, [{ clientHeartbeat: {} }, mcp(), close()], [], true],
  ["a message that says nothing is held against it", CALL, [{}, mcp(), close()], ["an AgentClientMessage says nothing (§2)"], true],
  ["a prewarm request is held against it", CALL, [{ unknown: [{ no: 8, type: 2, bytes: bytes("4200") }] }, mcp(), close()], ["fields 8 of AgentClientMessage are not sent (§2)"], true],
  ["a conversation action is held against it", CALL, [{ conversationAction: {} }, mcp(), close()], ["a conversation_action outside a run request (§2)"], true],
  ["a second run request is held against it", CALL, [{ runRequest: {} }, mcp(), close()], ["a second run request (§2)"], true],
];

for (const [name, script, answers, violations, goesOn] of ANSWERS)
  test(name, async () => {
    const received = await conversation(script, async (client, loopback) => {
      client.request();
      await client.next();
      const sent = 1 + answers.length;
      client.sendAll(answers);
      const run = await loopback.run(0);
      await until(() => run.frames.length === sent && (goesOn ? run.state === "ended" : run.state === "parked"));
      if (!goesOn) await new Promise((resolve) => setTimeout(resolve, 20));
      if (goesOn) await client.end();
      assert.is(client.text, goesOn ? "on" : "");
      assert.is(run.state, goesOn ? "ended" : "parked");
      assert.is(run.parkedBy !== undefined, violations.some((violation) => /§5.1/.test(violation)));
      assert.is(run.awaiting.length > 0, !goesOn && run.parkedBy === undefined);
    });
    assert.equal(received.violations, violations);
  });

test("an answer to what was asked twice under one id counts once", async () => {
  const received = await conversation([{ mcp: { tool: "clock", id: 3 } }, { mcp: { tool: "clock", id: 3 } }, { awaitResults: true }, { text: "on" }], async (client) => {
    client.request();
    await client.next();
    await client.next();
    client.send(mcp(3));
    client.send(close(3));
    await client.end();
  });
  assert.equal(received.violations, []);
  assert.is(received.state, "ended");
});

test("an id may be asked again once it is answered", async () => {
  const received = await conversation([{ mcp: { tool: "clock", id: 3 } }, { awaitResults: true }, { mcp: { tool: "clock", id: 3 } }, { awaitResults: true }], async (client) => {
    client.request();
    await client.obey();
  });
  assert.equal(received.violations, []);
  assert.is(received.results.length, 2);
});

test("a parallel burst is awaited as one, in any order", async () => {
  const received = await conversation([{ mcp: { tool: "a" } }, { mcp: { tool: "b" } }, { awaitResults: true }, { textFrom: "results" }], async (client, loopback) => {
    client.request();
    await client.next();
    await client.next();
    client.send(mcp(1));
    client.send(close(1));
    await until(() => loopback.received[0]!.awaiting.join() === "the answer to exec 0 (mcpArgs)");
    client.send(mcp(0));
    await until(() => loopback.received[0]!.awaiting.join() === "the stream_close of exec 0 (mcpArgs)");
    client.send(close(0));
    await client.end();
    assert.is(client.text, "a: noon\nb: noon");
  });
  assert.equal(received.violations, []);
});

for (const row of EXEC)
  test(`exec ${row.no} ${row.name} is asked, and its refusal taken`, async () => {
    const received = await conversation([{ exec: { case: camel(row.name) } }, { text: "on" }], async (client) => {
      client.request();
      await client.obey();
      assert.is(client.text, "on");
    });
    assert.equal(received.violations, []);
    assert.is(received.results.length, camel(row.name) === "requestContextArgs" ? 0 : 1);
  });

const EXPECTED: readonly [name: string, expect: { arm?: string; says?: string }, wrong: readonly string[]][] = [
  ["the arm that came", { arm: "lsResult.rejected" }, []],
  ["another arm", { arm: "lsResult.success" }, ["exec 0 (lsArgs) lsResult.success was expected, lsResult.rejected came"]],
  ["a throw", { arm: "throw" }, ["exec 0 (lsArgs) throw was expected, lsResult.rejected came"]],
  ["words that it says", { says: "in a test" }, []],
  ["words that it does not say", { says: "hello" }, ['exec 0 (lsArgs) nothing in lsResult.rejected says "hello"']],
];

for (const [name, expect, wrong] of EXPECTED)
  test(`a script may expect ${name}`, async () => {
    const received = await conversation([{ exec: { case: "lsArgs", args: { path: "/" }, expect } }], async (client) => {
      client.request();
      await client.obey();
    });
    assert.equal(received.violations, wrong);
  });

test("a script may expect an arm of a query, and what it wants is judged at a stream's end", async () => {
  const script: Script = [
    { query: { case: "switchModeRequestQuery", expect: { arm: "switchModeRequestResponse.approved" } } },
    { exec: { case: "shellStreamArgs", expect: { arm: "shellStream.exit" } } },
  ];
  const received = await conversation(script, async (client) => {
    client.request();
    client.answer(await client.next());
    await client.next();
    client.send(stream({ stdout: { data: "a" } }));
    client.send(stream({ exit: {} }));
    client.send(close());
    await client.end();
  });
  assert.equal(received.violations, ["query 0 (switchModeRequestQuery) switchModeRequestResponse.approved was expected, switchModeRequestResponse.rejected came"]);
});

/** What a result says: the answer to a native, and its text. */
const RESULTS: readonly [name: string, answer: NonNullable<ClientMessage["execClientMessage"]>, asked: string, text: string, isError: boolean, images: readonly number[]][] = [
  ["the text and the images of a tool", { mcpResult: { success: { content: [{ text: { text: "a" } }, { image: { data: new Uint8Array(5), mimeType: "image/png" } }, { text: { text: "b" } }] } } }, "mcpArgs", "a\nb", false, [5]],
  ["a tool's error", { mcpResult: { success: { content: [{ text: { text: "a" } }], isError: true } } }, "mcpArgs", "a", true, []],
  ["nothing", { mcpResult: { success: {} } }, "mcpArgs", "", false, []],
  ["why a tool is missing", { mcpResult: { toolNotFound: { name: "x", availableTools: ["y"] } } }, "mcpArgs", "x\ny", true, []],
  ["a command's output", { shellResult: { success: { command: "ls", stdout: "a", stderr: "b" } } }, "shellArgs", "a", false, []],
  ["a failure's output", { shellResult: { failure: { command: "ls", exitCode: 1, stderr: "b" } } }, "shellArgs", "b", true, []],
  ["a file", { readResult: { success: { path: "/x", content: "c" } } }, "readArgs", "c", false, []],
  ["files that were found", { grepResult: { success: { workspaceResults: new Map() } } }, "grepArgs", "", false, []],
  ["a plain value", { shellAllowlistPrecheckResult: { allowlisted: false } }, "shellAllowlistPrecheckArgs", "", true, []],
];

for (const [name, answer, asked, text, isError, images] of RESULTS)
  test(`a result says ${name}`, async () => {
    const received = await conversation([{ exec: { case: asked } }], async (client) => {
      client.request();
      await client.next();
      client.send({ execClientMessage: { id: 0, execId: "exec-0", ...answer } });
      client.send(close());
      await client.end();
    });
    assert.is(received.results.length, 1);
    const { arm: _arm, ...result } = received.results[0]!;
    assert.equal(result, { name: asked, text, isError, images });
  });

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
  ["other tools", { tools: [] }, ["request_context: tools differ from mcp_tools (§5)"]],
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
      client.send(close());
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
    client.send(close());
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
      client.send(close());
      await client.obey();
    });
    assert.equal(received.prompt.tools, tools);
    assert.equal(received.violations, violations);
  });

test("B4 a compressed frame is ignored, and the turn parks", async () => {
  const received = await conversation([{ getBlob: "root" }, { text: "never" }], async (client, loopback) => {
    client.request();
    const message = await client.next();
    client.sendFrame(1, AgentClientMessage.encode({ kvClientMessage: { id: 0, getBlobResult: { blobData: RULES } } }));
    await until(() => loopback.received[0]!.parkedBy !== undefined);
    client.answer(message);
    await until(() => loopback.received[0]!.frames.length === 3);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.is(loopback.received[0]!.state, "parked");
    assert.is(client.text, "");
  });
  assert.is(received.parkedBy, "a frame is compressed (§1)");
  assert.is(received.messages.length, 2);
});

test("B4 a compressed run request is ignored too, so that nothing ever begins", async () => {
  const received = await conversation([{ text: "never" }], async (client, loopback) => {
    client.sendFrame(1, AgentClientMessage.encode({ runRequest: {} }));
    await until(() => loopback.received[0]?.state === "parked");
    assert.is(client.bytes, 0);
  });
  assert.is(received.request, undefined);
});

test("what comes after the host's end is held against the client", async () => {
  const loopback = await startLoopback({ script: [{ text: "a" }] });
  const client = new Client(loopback.origin, {}, true);
  client.request();
  await client.end();
  client.send({ clientHeartbeat: {} });
  await until(() => loopback.received[0]!.violations.length > 0);
  client.close();
  await loopback.close();
  assert.equal(loopback.received[0]!.violations, ["7 bytes came after the host ended the Run"]);
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

test("T-AGENT: the host can ask every exec that has a row", () => {
  assert.is(execByName.size, EXEC.length);
});

test.run();
