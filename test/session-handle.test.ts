/** What is kept of a conversation, and how it is taken up again: handles, checkpoints, blobs. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { blobId, ConversationStateStructure, LIMITS } from "../lib/agent/index.ts";
import { Blobs } from "../lib/session/blobs.ts";
import { toolsetKey } from "../lib/session/fingerprint.ts";
import type { Handle, TurnRequest } from "../lib/session/turn.ts";
import { estimate } from "../lib/session/usage.ts";
import { fields } from "../wire/index.ts";
import { bytes, hex } from "./check.ts";
import { after, ended, endings, join, request, resumed, results, Rig, running, settings, TOOLS } from "./session-rig.ts";

const test = suite("session handle");
const HUGE = "x".repeat(LIMITS.blob + 1);
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const get = (blob: Uint8Array, id = 1) => ({ kvServerMessage: { id, getBlobArgs: { blobId: blob } } });
const set = (blobId: Uint8Array, blobData: Uint8Array, id = 1) => ({ kvServerMessage: { id, setBlobArgs: { blobId, blobData } } });
const second: TurnRequest = request("", { messages: after([{ role: "user", content: "one" }], "1", "two") });

/** The raw fields of this number in the conversation state of the run request. */
function stateFields(rig: Rig, no: number): string[] {
  const payload = rig.all.flatMap((action) => (action.type === "send" ? [action.payload] : []))[0]!;
  const inside = (from: Uint8Array, field: number): Uint8Array => fields(from).find((one) => one.no === field)!.value as Uint8Array;
  return fields(inside(inside(payload, 1), 1)).filter((one) => one.no === no).map(({ value }) => hex(value as Uint8Array));
}
/** A first turn whose handle is kept. */
function firstTurn(play: (rig: Rig) => void = () => {}): Handle {
  const rig = running({ request: request("one") });
  rig.text("1");
  rig.server({ conversationCheckpointUpdate: bytes("5001") });
  play(rig);
  return ended(rig).saved!;
}

test("D38 after a compaction the estimate drops and the conversation is a new one", () => {
  const long = "x".repeat(4_000);
  const first = running({ request: request(long), settings: settings({ estimate }) });
  first.text("1");
  first.server({ conversationCheckpointUpdate: bytes("5001") });
  const handle = ended(first).saved;
  const compacted = running({ request: request("", { messages: after([{ role: "user", content: "summary" }], "1", "two") }), handle, settings: settings({ estimate }) });
  assert.not(compacted.session.resumed);
  compacted.text("2");
  const usage = (rig: Rig): number => rig.emitted().flatMap((event) => (event.type === "usage" ? [event.input] : []))[0]!;
  assert.is(usage(first), 1_000);
  assert.ok(usage(ended(compacted)) < 10);
});

test("D40 a missing blob on a resume is not answered: the handle goes, the conversation is rebuilt once", () => {
  const rig = resumed();
  rig.server(get(bytes("aa")));
  assert.equal(rig.sent(), []);
  assert.equal(rig.last.map(({ type }) => type).filter((type) => type === "connect" || type === "drop"), ["connect", "drop"]);
  rig.step({ type: "opened" });
  assert.not(rig.session.resumed);
  rig.server(get(bytes("aa")));
  assert.equal(endings(rig), ["remote blob_not_found"]);
  assert.equal(rig.sent(), []);
});

test("D40 a rebuilt turn is judged by what it says itself, and its connection may fail once", () => {
  const rig = resumed();
  rig.server({ interactionUpdate: { thinkingDelta: { text: "a" } } }, get(bytes("aa")));
  rig.step({ type: "opened" });
  rig.step({ type: "closed", end: { type: "socket", code: "ECONNRESET", message: "" } });
  assert.ok(rig.last.some(({ type }) => type === "connect"));
  rig.step({ type: "opened" });
  assert.is(rig.sent()[0]!.runRequest!.conversationId, rig.session.conversationId);
  assert.equal(endings(ended(rig)), ["remote empty_response"]);
  assert.equal(rig.error!.partial, { text: "", thinking: "", usage: { input: 100, output: 0 } });
});

test("D40 what the stale conversation said with or before the miss is not taken for the new one's", () => {
  const rig = resumed();
  rig.server({ conversationCheckpointUpdate: bytes("5007") }, get(bytes("aa")), { interactionUpdate: { textDelta: { text: "old" } } });
  rig.step({ type: "opened" });
  rig.text("new");
  assert.is(ended(rig).saved, undefined);
  assert.equal(rig.emitted().filter(({ type }) => type === "text"), [{ type: "text", delta: "new" }]);
});

test("D40 a missing blob after text is an error, and its handle is forgotten all the same", () => {
  const rig = resumed();
  rig.text("a");
  rig.server(get(bytes("aa")));
  assert.equal(endings(rig), ["remote blob_not_found"]);
  assert.equal(rig.last.map(({ type }) => type).filter((type) => type === "connect" || type === "drop"), ["drop"]);
});

test("D40 a missing blob in the drain spoils the checkpoint, not the turn", () => {
  const rig = running();
  rig.text("a");
  rig.server({ conversationCheckpointUpdate: bytes("5001") });
  rig.turnEnded();
  rig.server(get(bytes("aa")));
  rig.after(500);
  assert.equal(endings(rig), ["stop"]);
  assert.is(rig.saved, undefined);
});

test("D40 of 10,000 blobs none is given up", () => {
  const rig = running();
  const ids = Array.from({ length: 10_000 }, (_, index) => blobId(utf8(String(index))));
  for (const [index, id] of ids.entries()) rig.server(set(id, utf8(String(index))));
  for (const [index, id] of ids.entries()) {
    const [{ kvClientMessage } = {}] = rig.sent(rig.server(get(id)));
    assert.is(hex(kvClientMessage!.getBlobResult!.blobData!), hex(utf8(String(index))));
  }
});

test("D42 a blob over 16 MiB is refused, and then it is missing", () => {
  const rig = running();
  rig.server(set(bytes("aa"), new Uint8Array(LIMITS.blob + 1)));
  assert.match(rig.sent()[0]!.kvClientMessage!.setBlobResult!.error!.message!, /full/);
  rig.server(get(bytes("aa")));
  assert.equal(endings(rig), ["remote blob_not_found"]);
});

test("D43 a blob that comes behind the checkpoint, or while the turn drains, is in the handle", () => {
  const handle = firstTurn((rig) => {
    rig.server(set(bytes("aa"), bytes("01")));
    rig.turnEnded();
    rig.server(set(bytes("bb"), bytes("02")));
  });
  assert.is(hex(handle.blobs.get("aa")!), "01");
  assert.is(hex(handle.blobs.get("bb")!), "02");
});

test("D43 an empty checkpoint does not replace the one before", () => {
  const rig = running();
  rig.text("a");
  rig.server({ conversationCheckpointUpdate: bytes("5001") }, { conversationCheckpointUpdate: bytes("") });
  assert.equal(endings(ended(rig)), ["stop"]);
  assert.equal(rig.saved!.checkpoint, bytes("5001"));
});

test("D43 without a checkpoint, or with one that is too large, there is no handle", () => {
  for (const checkpoint of [undefined, new Uint8Array(LIMITS.checkpoint + 1)]) {
    const rig = running();
    rig.text("a");
    if (checkpoint) rig.server({ conversationCheckpointUpdate: bytes("5001") }, { conversationCheckpointUpdate: checkpoint });
    assert.equal(endings(ended(rig)), ["stop"]);
    assert.is(rig.saved, undefined);
    assert.equal(rig.notes(), checkpoint ? ["checkpoint_too_large"] : []);
  }
});

test("a request without a session keeps nothing", () => {
  const { sessionId: _, ...oneOff } = request();
  const rig = running({ request: oneOff });
  rig.text("a");
  rig.server({ conversationCheckpointUpdate: bytes("5001") });
  assert.equal(endings(ended(rig)), ["stop"]);
  assert.is(rig.saved, undefined);
});

test("D44 a resume serves every blob of the turn before, the client's own and the service's", () => {
  const first = running({ request: request("one", { systemPrompt: "rules" }) });
  const { runRequest } = first.sent(first.all)[0]!;
  const own = [...runRequest!.conversationState!.rootPromptMessagesJson!, runRequest!.action!.userMessageAction!.userMessage!.selectedContextBlob!];
  first.text("1");
  first.server(set(bytes("aa"), bytes("01")), { conversationCheckpointUpdate: bytes("5001") });
  const handle = ended(first).saved!;
  const rig = running({ request: { ...second, systemPrompt: "other rules" }, handle: structuredClone(handle) });
  assert.ok(rig.session.resumed);
  const now = rig.sent(rig.all)[0]!.runRequest!.conversationState!.rootPromptMessagesJson!;
  for (const id of [...own, bytes("aa"), ...now]) assert.ok(rig.sent(rig.server(get(id)))[0]!.kvClientMessage!.getBlobResult!.blobData);
});

test("D45 a rebuild sends no turns, a resume those of the checkpoint byte for byte", () => {
  const state = join([ConversationStateStructure.encode({ turns: [bytes("aa"), bytes("bbcc")], mode: 1 }), bytes("9a0601ff")]);
  const rig = resumed({ state });
  assert.equal(stateFields(rig, 8), ["aa", "bbcc"]);
  assert.equal(stateFields(rig, 99), ["ff"]);
  const rebuilt = running({ request: second });
  assert.equal(stateFields(rebuilt, 8), []);
});

const UNUSABLE: Readonly<Record<string, Partial<Handle>>> = {
  "a checkpoint that is no message": { checkpoint: bytes("0a05aa") },
  "blobs that leave no room": { blobs: new Map(Array.from({ length: 4 }, (_, index) => [hex(Uint8Array.of(index)), new Uint8Array(LIMITS.blob)])) },
  "more blobs than are kept": { blobs: new Map([["aa", new Uint8Array(LIMITS.blobStore + 1)]]) },
};
for (const [name, part] of Object.entries(UNUSABLE))
  test(`a handle with ${name} is forgotten, and the turn starts from the transcript`, () => {
    const handle = firstTurn();
    const rig = running({ request: second, handle: { ...handle, ...part } });
    assert.not(rig.session.resumed);
    assert.is.not(rig.session.conversationId, handle.conversationId);
    assert.equal(rig.notes(), ["unusable_handle"]);
    assert.ok(rig.all.some(({ type }) => type === "drop"));
    assert.is(rig.sent()[0]!.runRequest!.conversationState!.rootPromptMessagesJson!.length, 2);
    rig.text("2");
    assert.equal(endings(ended(rig)), ["stop"]);
  });

test("a turn that goes on from tool results is not resumed: its handle, if any, is of another turn", () => {
  const handle = firstTurn();
  const call = { type: "tool_call", id: "c", name: "add", arguments: {} } as const;
  const messages: TurnRequest["messages"] = [{ role: "user", content: "one" }, { role: "assistant", content: [call] }, { role: "tool", toolCallId: "c", toolName: "add", content: [] }];
  const rig = running({ request: request("", { messages }), handle });
  assert.not(rig.session.resumed);
  assert.match(rig.sent()[0]!.runRequest!.action!.userMessageAction!.userMessage!.text!, /^Continue/);
});

const TOOLSETS: readonly [name: string, tools: string[], resend: boolean, sent: string[] | undefined][] = [
  ["the same tools are not sent again", ["add"], false, undefined],
  ["the same tools are sent again where the embedder says so", ["add"], true, ["add"]],
  ["other tools are sent", ["add", "read"], false, ["add", "read"]],
  ["that there are no tools any more is sent", [], false, []],
];
for (const [name, names, resendTools, expected] of TOOLSETS)
  test(`on a resume ${name}`, () => {
    const first = running({ request: request("one", { tools: [TOOLS["add"]!] }) });
    first.text("1");
    first.server({ conversationCheckpointUpdate: bytes("5001") });
    const rig = running({ request: { ...second, tools: names.map((tool) => TOOLS[tool]!) }, handle: ended(first).saved, settings: settings({ resendTools }) });
    const { mcpTools } = rig.sent()[0]!.runRequest!;
    assert.equal(mcpTools && (mcpTools.mcpTools ?? []).map((tool) => tool.name), expected);
  });

test("the tools of a handle are those that its Run announced, not those that the host has since", () => {
  const rig = running({ request: request("one", { tools: [TOOLS["add"]!] }) });
  rig.call(1, "add");
  rig.fire("burst");
  rig.step({ type: "continue", request: results(rig, { tools: [TOOLS["read"]!] }) });
  rig.text("a");
  rig.server({ conversationCheckpointUpdate: bytes("5001") });
  assert.is(ended(rig).saved!.toolsetKey, toolsetKey([TOOLS["add"]!]));
});

test("the tools of a rebuilt conversation are those of the leg that rebuilt it", () => {
  const rig = resumed({ request: { tools: [TOOLS["add"]!] } });
  rig.call(1, "add");
  rig.fire("burst");
  rig.step({ type: "continue", request: results(rig, { tools: [TOOLS["read"]!] }) });
  rig.server(get(bytes("aa")));
  rig.step({ type: "opened" });
  rig.text("a");
  rig.server({ conversationCheckpointUpdate: bytes("5001") });
  assert.is(ended(rig).saved!.toolsetKey, toolsetKey([TOOLS["read"]!]));
});

test("D6 the store refuses what does not fit, by size, sum, number and id, and nothing changes", () => {
  const blobs = new Blobs();
  const full = new Uint8Array(LIMITS.blob);
  for (let index = 0; index < 4; index++) assert.ok(blobs.set(Uint8Array.of(index), full));
  assert.not.ok(blobs.set(bytes("aa"), bytes("01")));
  assert.is(blobs.add(bytes("01")), undefined);
  assert.ok(blobs.set(bytes("00"), bytes("01")), "smaller in the same place");
  assert.not.ok(blobs.set(bytes("aa"), full), "one byte more than that made room for");
  assert.is(blobs.get(bytes("aa")), undefined);
  assert.ok(blobs.set(bytes("aa"), full.subarray(1)), "full to the byte");
  assert.not.ok(blobs.set(bytes("bb"), bytes("01")));
  assert.ok(blobs.set(bytes("aa"), bytes("01")));
  for (const length of [0, 129]) assert.not.ok(blobs.set(new Uint8Array(length), bytes("01")), `an id of ${length} bytes`);
  assert.is(blobs.get(new Uint8Array(129)), undefined);
  assert.ok(blobs.set(new Uint8Array(128), bytes("01")));
});

test("D6 65,536 blobs are the most", () => {
  const blobs = new Blobs();
  const id = (index: number): Uint8Array => Uint8Array.of(index >>> 16, index >>> 8, index);
  for (let index = 0; index < LIMITS.blobs; index++) blobs.set(id(index), id(index));
  assert.is(blobs.all().size, LIMITS.blobs);
  assert.not.ok(blobs.set(id(LIMITS.blobs), bytes("01")));
  assert.ok(blobs.set(id(0), bytes("01")), "one that is there may change");
});

test("blobs and checkpoints are copies: what its frame's memory becomes does not matter", () => {
  const rig = running();
  const payload = Uint8Array.from(bytes("2209 0801 1a05 0a01aa 1200"));
  rig.payload(payload);
  const data = Uint8Array.from(bytes("220a 0802 1a06 0a01bb 120101"));
  rig.payload(data);
  data.fill(0);
  assert.is(hex(rig.session.blobs.get(bytes("bb"))!), "01");
  const checkpoint = Uint8Array.from(bytes("1a025001"));
  rig.payload(checkpoint);
  checkpoint.fill(0);
  rig.text("a");
  assert.is(hex(ended(rig).saved!.checkpoint), "5001");
});

test("our own prompt over the store is a local error before anything is opened", () => {
  const isTooLarge = ({ kind, code }: { kind: string; code: string }): boolean => kind === "local" && code === "prompt_too_large";
  assert.throws(() => new Rig({ request: request("hi", { systemPrompt: HUGE }) }), isTooLarge);
  assert.throws(() => new Rig({ request: request(HUGE) }), isTooLarge);
});

test("a rebuild that does not fit ends the turn with that error, and forgets the handle", () => {
  const handle = firstTurn();
  const rig = running({ request: second, handle });
  rig.session.request = { ...second, messages: after([{ role: "user", content: "one" }], "1", HUGE) };
  rig.server(get(bytes("aa")));
  assert.equal(endings(rig), ["local prompt_too_large"]);
  assert.ok(rig.last.some(({ type }) => type === "drop"));
});

test.run();
