/** What lib/agent does besides declaring tables. */
import { createHash } from "node:crypto";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { vector } from "../fixtures/vectors.ts";
import {
  AgentClientMessage,
  AgentServerMessage,
  arms,
  blobId,
  camel,
  ConversationStateStructure,
  encodeRunRequest,
  hex as idText,
  LIMITS,
  overlayCheckpoint,
} from "../lib/agent/index.ts";
import { hot } from "../lib/agent/hot.ts";
import { message, WireError } from "../wire/index.ts";
import { bytes, hex } from "./check.ts";

const test = suite("agent");
const RULES = [bytes("aa"), bytes("bb")];
const CHANGE = { rules: RULES, workspaceUris: ["u"], clientName: "pi" };
const overlay = (checkpoint: string, change = CHANGE): string => hex(overlayCheckpoint(bytes(checkpoint), change));

test("an overlay changes a checkpoint where it stands and nowhere else", () => {
  // Fields 1, 7, 1, 9, 99, 22, 9, and 1 as a varint.
  const old = ["0a0101", "3801", "0a0102", "4a016f", "9a0601ff", "b2010178", "4a0170", "0801"];
  const now = ["0a0101", "3801", "0a0102", "0a01aa", "0a01bb", "4a0175", "9a0601ff", "b201027069", "0801"];
  assert.is(overlay(old.join("")), now.join(""));
});

test("an overlay of an empty checkpoint adds everything", () => {
  assert.is(overlay(""), "0a01aa0a01bb" + "4a0175" + "b201027069");
});

test("an overlay of a checkpoint without a prompt puts the rules first", () => {
  assert.is(overlay("5001"), "0a01aa0a01bb" + "5001" + "4a0175" + "b201027069");
});

test("an overlay keeps non-minimal bytes and may change nothing in field 1", () => {
  assert.is(overlay("8a80000101" + "50818000", { rules: [], workspaceUris: [], clientName: "" }), "8a80000101" + "50818000" + "b20100");
});

test("an overlaid checkpoint reads as its table says", () => {
  const checkpoint = AgentServerMessage.decode(bytes(vector("a checkpoint").hex)).conversationCheckpointUpdate!;
  const state = ConversationStateStructure.decode(overlayCheckpoint(checkpoint, { rules: RULES, workspaceUris: ["file:///a", "file:///ü"], clientName: "pi" }));
  const before = ConversationStateStructure.decode(checkpoint);
  assert.equal(state, {
    ...before,
    rootPromptMessagesJson: [...before.rootPromptMessagesJson!, ...RULES],
    previousWorkspaceUris: ["file:///a", "file:///ü"],
  });
});

test("a malformed checkpoint is refused", () => {
  assert.throws(() => overlay("0a05aa"), (error: unknown) => error instanceof WireError);
});

test("a run request goes out with its state byte for byte", () => {
  const encoded = bytes(vector("a new turn").hex);
  const { runRequest } = AgentClientMessage.decode(encoded);
  const { conversationState, ...request } = runRequest!;
  assert.is(hex(encodeRunRequest({ ...request, conversationState: ConversationStateStructure.encode(conversationState!) })), hex(encoded));
  assert.is(hex(encodeRunRequest({ conversationState: bytes("8a80000101"), conversationId: "c" })), "0a0a" + "0a05" + "8a80000101" + "2a0163");
});

test("every arm of a server message is found in wire order, unknown fields apart", () => {
  const exec = vector("exec 2 request").hex;
  const text = vector("text").hex;
  const kv = vector("a blob question").hex;
  const whole = text + "9a0601ff" + exec + kv + exec + "1801";
  const found = arms(bytes(whole));
  assert.equal(found.arms, [text, exec, kv, exec].map((one) => AgentServerMessage.decode(bytes(one))));
  assert.equal(found.bytes.map(hex), [text, exec, kv, exec]);
  assert.equal(found.unknown.map(({ no, type, bytes: raw }) => [no, type, hex(raw)]), [[99, 2, "9a0601ff"], [3, 0, "1801"]]);
  assert.equal(arms(new Uint8Array()), { arms: [], bytes: [], unknown: [] });
});

test("unknown fields inside an arm are told, those beside it are returned", () => {
  const told: number[] = [];
  const found = arms(bytes("12 05 0801 c00701" + "c00702"), ({ no }) => told.push(no));
  assert.equal(told, [120]);
  assert.equal(found.unknown.map(({ no }) => no), [120]);
});

test("an arm that is malformed is located from the payload's start", () => {
  const at = (payload: string): number | undefined => {
    try {
      arms(bytes(payload));
    } catch (error) {
      return error instanceof WireError ? error.offset : undefined;
    }
    return undefined;
  };
  const alone = at("12 03 0a05aa");
  assert.type(alone, "number");
  assert.is(at("0a00" + "12030a05aa"), alone! + 2);
  assert.is(at("12"), 1);
  const told = (): void => {
    throw new RangeError("from outside");
  };
  assert.throws(() => arms(bytes("0a00" + "1203c00701"), told), (error: unknown) => error instanceof RangeError);
});

test("the hot frames decode as the table alone decodes them, whatever byte is wrong", () => {
  const slow = message(AgentServerMessage.fields) as unknown as typeof AgentServerMessage;
  const outcome = (table: typeof AgentServerMessage, payload: Uint8Array): unknown => {
    try {
      return table.decode(payload);
    } catch (error) {
      return error instanceof WireError ? [error.code, error.offset, error.path] : error;
    }
  };
  let quick = 0;
  const same = (payload: Uint8Array): void => {
    if (hot(payload) !== undefined) quick++;
    assert.equal(outcome(AgentServerMessage, payload), outcome(slow, payload), hex(payload));
  };
  const long = hex(new TextEncoder().encode("x".repeat(200)));
  const blob = vector("a blob to keep").hex;
  const frames = ["text", "empty text", "thinking", "a checkpoint", "a heartbeat", "a blob question", "a blob named only"].map((name) => vector(name).hex);
  for (const frame of [...frames, blob, "0ace010acb010ac801" + long, blob.replace("08ac02", "080a").replace("2230", "222f"), "0affffffff7f", ""]) {
    const payload = bytes(frame);
    for (let end = 0; end <= payload.length; end++) same(payload.subarray(0, end));
    for (let at = 0; at < payload.length; at++)
      for (const bit of [1, 2, 8, 64, 128]) {
        const wrong = payload.slice();
        wrong[at]! ^= bit;
        same(wrong);
      }
  }
  assert.ok(quick > 100, `${quick} frames were read by hand`);
});

test("a blob's id is the SHA-256 of its content, kept under its hex", () => {
  const content = bytes("00ff7b7d");
  assert.is(blobId(content).length, 32);
  assert.is(blobId(content).constructor, Uint8Array);
  assert.is(idText(blobId(content)), createHash("sha256").update(content).digest("hex"));
  assert.is(idText(bytes("000f10ff")), "000f10ff");
});

test("names of the wire become names of values", () => {
  assert.is(camel("shell_stream_args"), "shellStreamArgs");
  assert.is(camel("query10"), "query10");
});

test("limits are found by name", () => {
  assert.is(LIMITS.idle, 120_000);
  assert.is(LIMITS.blobStore, 64 * 1024 * 1024);
});

test.run();
