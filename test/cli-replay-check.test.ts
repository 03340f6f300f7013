/** `replay --check`: what the core would write otherwise is told, and what it was given of the capture is counted apart. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentClientMessage, AgentServerMessage, blobId, SelectedContextBlob, type AgentRunRequest } from "../lib/agent/index.ts";
import { redact } from "../lib/cli/redact.ts";
import { check } from "../lib/cli/replay-check.ts";
import { replayRun } from "../lib/cli/replay-run.ts";
import { createProvider, memoryHandleStore, type Message, type Tool, type TurnRequest } from "../lib/index.ts";
import type { CapturedFrame } from "../lib/loopback/capture-line.ts";
import { startLoopback, type Script } from "../lib/loopback/index.ts";
import { encodeEnvelope, type Decoded } from "../wire/index.ts";
import { bytes } from "./check.ts";
import { cli, objects } from "./cli-spawn.ts";
import { said, wholeTurn } from "./host-loop.ts";
import { capture, framesOf, HEADER, recordingOf } from "./recordings.ts";

const test = suite("cli replay check");

const DONE: Script = [{ text: "done" }, { turnEnded: true }];
const TOOLS: Tool[] = [
  { name: "bash", description: "Runs a command", inputSchema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] } },
  { name: "lookup", description: "Looks a word up", inputSchema: { type: "object", properties: { word: { type: "string" } } } },
];

type ClientMessage = Decoded<typeof AgentClientMessage>;
type RunRequest = Decoded<typeof AgentRunRequest>;

const userOf = (request: RunRequest) => request.action!.userMessageAction!.userMessage!;
const contextOf = (request: RunRequest) => request.action!.userMessageAction!.requestContext!;

/** What is wrong in the request of a capture → the field that is told. */
const REQUESTS: [name: string, capture: string, change: (request: RunRequest) => void, field: string][] = [
  ["a custom system prompt", "text", (request) => (request.customSystemPrompt = "x"), "customSystemPrompt"],
  ["no inline images", "text", (request) => delete request.clientSupportsInlineImages, "clientSupportsInlineImages"],
  ["another mode of the conversation", "text", ({ conversationState }) => (conversationState!.mode = 7), "conversationState.mode"],
  ["another mode of the message", "text", (request) => (userOf(request).mode = 7), "action.userMessageAction.userMessage.mode"],
  ["another client", "text", ({ conversationState }) => (conversationState!.clientName = "EVIL"), "conversationState.clientName"],
  ["another client, resumed", "resume", ({ conversationState }) => (conversationState!.clientName = "EVIL"), "conversationState.clientName"],
  ["a second workspace", "text", ({ conversationState }) => conversationState!.previousWorkspaceUris!.push("file:///x"), "conversationState.previousWorkspaceUris[1]"],
  ["no workspace, resumed", "resume", ({ conversationState }) => delete conversationState!.previousWorkspaceUris, "conversationState.previousWorkspaceUris"],
  ["no rules", "text", ({ conversationState }) => delete conversationState!.rootPromptMessagesJson, "conversationState.rootPromptMessagesJson"],
  ["no rules, resumed", "resume", ({ conversationState }) => delete conversationState!.rootPromptMessagesJson, "conversationState.rootPromptMessagesJson"],
  ["another provider", "text", ({ mcpTools }) => (mcpTools!.mcpTools![1]!.providerIdentifier = "other"), "mcpTools.mcpTools[1].providerIdentifier"],
  ["another schema", "text", (request) => (contextOf(request).tools![0]!.inputSchema = new Uint8Array(0)), "action.userMessageAction.requestContext.tools[0].inputSchema"],
  ["no tools", "text", (request) => delete request.mcpTools, "mcpTools"],
  ["a tool less in the catalogue", "resume", (request) => contextOf(request).mcpMetaToolOptions!.mcpDescriptors![0]!.tools!.pop(), "action.userMessageAction.requestContext.mcpMetaToolOptions.mcpDescriptors[0].tools[1]"],
  ["another context blob", "text", (request) => (userOf(request).selectedContextBlob = new Uint8Array(32)), "action.userMessageAction.userMessage.selectedContextBlob"],
  ["no context blob, resumed", "resume", (request) => delete userOf(request).selectedContextBlob, "action.userMessageAction.userMessage.selectedContextBlob"],
  ["another correlation id", "text", (request) => (userOf(request).correlationId = "x"), "action.userMessageAction.userMessage.correlationId"],
  ["an image by its blob id", "text", (request) => (userOf(request).selectedContext = { selectedImages: [{ blobId: new Uint8Array(32), mimeType: "image/png" }] }), "action.userMessageAction.userMessage.text"],
  ["a context parameter", "text", ({ requestedModel }) => (requestedModel!.parameters = [{ id: "context", value: "1m" }]), "requestedModel.parameters"],
  ["no model", "text", (request) => delete request.requestedModel, "requestedModel"],
  ["a field that no table knows", "text", (request) => (request.unknown = [{ no: 99, type: 0, bytes: bytes("980601") }]), "unknown"],
];
for (const [name, file, change, field] of REQUESTS)
  test(`a request is told that the core would not write: ${name}`, async () => {
    const frames = await framesOf(`${file}.jsonl`);
    const found = await checked(capture(editing(frames, 0, ({ runRequest }) => change(runRequest!))));
    assert.equal([found.code, found.difference?.["index"], found.difference?.["field"]], [1, 1, `runRequest.${field}`]);
  });

test("rules are told that the core would not write", async () => {
  const rules = Buffer.from(JSON.stringify({ role: "user", content: [{ type: "text", text: "<rules>\nBe brief.\n\nTools: none.\n</rules>" }] }));
  const id = blobId(rules);
  let frames = editing(await framesOf("text.jsonl"), 0, ({ runRequest }) => {
    runRequest!.conversationState!.rootPromptMessagesJson = [id];
    userOf(runRequest!).selectedContextBlob = blobId(SelectedContextBlob.encode({ rootPromptBlobIds: [id], clientName: "pi" }));
  });
  frames = editing(frames, blobAnswers(frames)[0]!, ({ kvClientMessage }) => (kvClientMessage!.getBlobResult!.blobData = rules));
  const asked = frames.findIndex(({ from }) => from === "server");
  const old = (await framesOf("text.jsonl"))[0]!;
  const oldId = AgentClientMessage.decode(old.envelope.subarray(5)).runRequest!.conversationState!.rootPromptMessagesJson![0]!;
  const question = Buffer.from(frames[asked]!.envelope);
  Buffer.from(id).copy(question, question.indexOf(oldId));
  const { difference } = await checked(capture(frames.with(asked, { ...frames[asked]!, envelope: question })));
  assert.is(difference?.["field"], "runRequest.conversationState.rootPromptMessagesJson[0]");
});

test("a blob that is not what its id says is a difference", async () => {
  const frames = await framesOf("text.jsonl");
  const changed = capture(editing(frames, blobAnswers(frames)[0]!, ({ kvClientMessage }) => (kvClientMessage!.getBlobResult!.blobData = new Uint8Array(3))));
  const { code, difference } = await checked(changed);
  assert.equal([code, difference?.["index"], difference?.["field"], difference?.["sent"]], [1, 2, "kvClientMessage.getBlobResult.blobData", null]);
  assert.match(String(difference?.["blobId"]), /^[0-9a-f]{64}$/);
  const text = await cli(["replay", "--check", "-"], { input: changed });
  assert.match(text.stdout, `  the id, the SHA-256 of another blob: ${difference?.["blobId"]}\n`);
});

test("the context blob and what the service has set are the core's own answers", async () => {
  const note = Buffer.from("a note");
  const frames = await record([{ setBlob: { text: "a note" } }, { getBlob: Buffer.from(blobId(note)).toString("hex") }, { getBlob: "context" }, ...DONE], [turn()]);
  const found = await checked(capture(frames));
  assert.equal([found.code, found.taken], [0, { blobs: 0, answers: 0, promptIds: 1, checkpoint: false }]);
  for (const at of blobAnswers(frames)) {
    const { code, difference } = await checked(capture(editing(frames, at, ({ kvClientMessage }) => (kvClientMessage!.getBlobResult!.blobData = new Uint8Array(3)))));
    assert.is(code, 1);
    assert.ok(difference?.["sent"]);
  }
});

test("what the core is given of a capture is counted apart", async () => {
  const history: Message[] = [{ role: "user", content: "one" }, { role: "assistant", content: [{ type: "text", text: "two" }] }];
  const frames = await record([{ getBlob: "root" }, { exec: { case: "grepArgs", args: { pattern: "x", path: "." } } }, ...DONE], [turn({ history })]);
  const { code, equal, taken, difference } = await checked(capture(frames));
  assert.is(difference, undefined);
  assert.equal([code, equal, taken], [0, 3, { blobs: 2, answers: 1, promptIds: 2, checkpoint: false }]);
  const text = await cli(["replay", "--check", "-"], { input: capture(frames) });
  assert.match(text.stdout, "— check: 3 client frames are what the core sends\n— taken from the capture, not compared: 2 blobs, 1 answer, 2 prompt ids\n");
  const wrong = await checked(capture(editing(frames, blobAnswers(frames)[2]!, ({ kvClientMessage }) => (kvClientMessage!.getBlobResult!.blobData = new Uint8Array(3)))));
  assert.equal([wrong.code, wrong.difference?.["index"]], [1, 4]);
});

test("a blob of the service's own kind of id is taken as it is", async () => {
  const [opener, ...frames] = await framesOf("text.jsonl");
  const question = AgentServerMessage.encode({ kvServerMessage: { id: 99, getBlobArgs: { blobId: bytes("0102") } } });
  const answer = AgentClientMessage.encode({ kvClientMessage: { id: 99, getBlobResult: { blobData: bytes("03") } } });
  const [asked, answered] = [{ at: 1, from: "server", envelope: encodeEnvelope(0, question) } as const, { at: 1, from: "client", envelope: encodeEnvelope(0, answer) } as const];
  const { code, equal, taken } = await checked(capture([opener!, asked, answered, ...frames]));
  assert.equal([code, equal, taken], [0, 4, { blobs: 1, answers: 0, promptIds: 0, checkpoint: false }]);
});

const IMAGE = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" } as const;
const IMAGES: Partial<TurnRequest> = { messages: [{ role: "user", content: [{ type: "text", text: "see" }, IMAGE, { ...IMAGE, mimeType: "image/gif" }] }] };
const ANSWERED: Message[] = [...turn().messages, { role: "assistant", content: [{ type: "text", text: "x" }] }];
const BEGUN: Script = [{ text: "x" }, { checkpoint: true }, { turnEnded: true }, { end: true }];
const ASKING: Script = [{ getBlob: "root" }, { requestContext: true }, { text: "x" }, { turnEnded: true }];

/** What a recorded Run was opened with: every one holds, whole, in single bytes and redacted. */
const RUNS: [name: string, requests: TurnRequest[], env?: Record<string, string>][] = [
  ["images", [turn(IMAGES)]],
  ["images alone", [turn({ messages: [{ role: "user", content: [IMAGE] }] })]],
  ["nothing to say", [turn({ systemPrompt: "", tools: [], messages: [{ role: "user", content: "" }] })]],
  ["rules without a system prompt", [turn({ systemPrompt: "" })]],
  ["rules without tools", [turn({ tools: [], systemPrompt: "Be brief.\n\n" })]],
  ["a model with parameters", [turn({ model: { id: "m", maxMode: true, parameters: [{ id: "effort", value: "high" }] } })]],
  ["results alone", [turn({ messages: [...turn().messages, { role: "assistant", content: [{ type: "tool_call", id: "c", name: "lookup", arguments: {} }] }, { role: "tool", toolCallId: "c", toolName: "lookup", content: [{ type: "text", text: "r" }] }] })]],
  ["a resume", [turn(), turn({ history: ANSWERED })]],
  ["a resume with images", [turn(), turn({ ...IMAGES, history: ANSWERED })]],
  ["a resume with other tools and rules", [turn(), turn({ history: ANSWERED, systemPrompt: "Be long.", tools: [] })]],
  ["a resume without rules", [turn({ systemPrompt: "", tools: [] }), turn({ history: ANSWERED, systemPrompt: "", tools: [] })]],
  ["a resume that sends its tools again", [turn(), turn({ history: ANSWERED })], { CURSOR_PROVIDER_RESEND_MCP_ON_RESUME: "1" }],
  ["no catalogue", [turn()], { CURSOR_PROVIDER_MCP_META: "0" }],
  ["a rebuilt history", [turn({ history: ANSWERED })]],
];
for (const [name, requests, env = {}] of RUNS)
  test(`a recorded Run holds: ${name}`, async () => {
    const frames = await record(requests.length > 1 ? [BEGUN, ASKING] : ASKING, requests, env);
    for (const recording of [await recordingOf(frames), await recordingOf(frames.map(redact), { ...HEADER, redacted: true })])
      for (const chunk of [Infinity, 1]) {
        const replayed = replayRun(recording, { onEvent() {}, onResult() {}, onDiagnostic() {} }, chunk);
        const { difference, equal } = check(recording, replayed);
        assert.equal([difference?.line, difference?.field], [undefined, undefined]);
        assert.is(replayed.end.type, "done");
        assert.is(replayed.taken.checkpoint, requests.length > 1);
        assert.ok(equal >= 3);
      }
  });

test("of a redacted capture it says what isn't compared", async () => {
  const frames = (await framesOf("text.jsonl")).map(redact);
  const ran = await cli(["replay", "--check", "-"], { input: capture(frames, { ...HEADER, redacted: true }) });
  assert.is(ran.code, 0);
  assert.match(ran.stdout, "— check: 3 client frames are what the core sends\n— taken from the capture, not compared: 1 blob, 1 prompt id\n— redacted: of texts only the length is compared\n");
  const wrong = editing(frames, 0, ({ runRequest }) => (runRequest!.conversationState!.mode = 7));
  assert.is((await cli(["replay", "--check", "-"], { input: capture(wrong, { ...HEADER, redacted: true }) })).code, 1);
});

test.run();

interface Checked {
  readonly code: number | null;
  readonly equal: unknown;
  readonly taken: unknown;
  readonly difference: Record<string, unknown> | undefined;
}

async function checked(input: string): Promise<Checked> {
  const ran = await cli(["replay", "--check", "--json", "-"], { input });
  const { type, equal, taken, difference } = objects(ran).at(-1)!;
  assert.is(type, "check", ran.stderr);
  return { code: ran.code, equal, taken, difference: difference as Checked["difference"] };
}

function editing(frames: readonly CapturedFrame[], at: number, edit: (message: ClientMessage) => unknown): CapturedFrame[] {
  const message = AgentClientMessage.decode(frames[at]!.envelope.subarray(5));
  edit(message);
  return frames.with(at, { ...frames[at]!, envelope: encodeEnvelope(0, AgentClientMessage.encode(message)) });
}

/** The indexes of the frames that answer with a blob. */
function blobAnswers(frames: readonly CapturedFrame[]): number[] {
  const answers = [...frames.entries()].filter(([, { from, envelope }]) => from === "client" && AgentClientMessage.decode(envelope.subarray(5)).kvClientMessage?.getBlobResult);
  return answers.map(([at]) => at);
}

/** A turn; `history` goes before its messages. */
function turn({ history = [], messages = [{ role: "user", content: "go" }], ...rest }: Partial<TurnRequest> & { history?: Message[] } = {}): TurnRequest {
  return { sessionId: "s", model: { id: "m" }, systemPrompt: "Be brief.", tools: TOOLS, workspace: "/tmp/project", ...rest, messages: [...history, ...messages] };
}

/** The frames of the last of these turns of our client, against the embedded host. */
async function record(script: Script | Script[], requests: readonly TurnRequest[], env: Record<string, string> = {}): Promise<CapturedFrame[]> {
  const host = await startLoopback({ script });
  let frames: CapturedFrame[] = [];
  const provider = createProvider({ accessToken: "t", origin: host.origin, env, handles: memoryHandleStore(), onFrame: (frame) => frames.push(frame) });
  try {
    for (const request of requests) {
      frames = [];
      assert.is((await wholeTurn(provider, request, () => said("a.ts:1:x"))).at(-1)!.error, undefined);
    }
    assert.equal(host.received.flatMap(({ violations }) => violations), []);
  } finally {
    await provider.close();
    await host.close();
  }
  return frames;
}
