/** What the host holds against a client's answers, and what stalls the turn. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentClientMessage, blobId, camel, EXEC, hex } from "../lib/agent/index.ts";
import { startLoopback, type Script } from "../lib/loopback/index.ts";
import type { Decoded } from "../wire/index.ts";
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

test("what comes after the host's end is held against the client, but a heartbeat", async () => {
  const loopback = await startLoopback({ script: [{ text: "a" }] });
  const client = new Client(loopback.origin, {}, true);
  client.request();
  await client.end();
  client.send({ clientHeartbeat: {} });
  client.send({ kvClientMessage: { id: 1 } });
  await until(() => loopback.received[0]!.violations.length > 0);
  client.stream.write(Uint8Array.of(9, 0, 0, 0, 0));
  await until(() => loopback.received[0]!.violations.length > 1);
  client.close();
  await loopback.close();
  assert.equal(loopback.received[0]!.violations.map((words) => words.slice(words.indexOf("bytes"))), Array(2).fill("bytes came after the host ended the Run"));
});

for (const message of [{ clientHeartbeat: {} }, { execClientControlMessage: { heartbeat: { id: 1 } } }])
  test(`a heartbeat that was on its way at the host's end is nothing: ${Object.keys(message)[0]}`, async () => {
    const loopback = await startLoopback({ script: [{ text: "a" }] });
    const client = new Client(loopback.origin, {}, true);
    client.request();
    await client.end();
    client.send(message);
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.close();
    await loopback.close();
    assert.equal(loopback.received[0]!.violations, []);
  });

test.run();
