/** Parts of the command that no whole command line reaches. */
import { PassThrough } from "node:stream";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Display } from "../lib/cli/display.ts";
import { fileFailure, told } from "../lib/cli/failure.ts";
import { Output } from "../lib/cli/output.ts";
import { recordedResult } from "../lib/cli/recorded-result.ts";
import { showMessage, type Extent } from "../lib/cli/shown.ts";
import { runTurn } from "../lib/cli/turn.ts";
import type { AnyTable } from "../lib/cli/walk.ts";
import { CursorError, type Provider, type TurnEvent } from "../lib/index.ts";
import type { PendingCall } from "../lib/session/session.ts";
import { double, message, repeated, sint64, uint32 } from "../wire/index.ts";
import { bytes, rejects } from "./check.ts";

const test = suite("cli parts");

const EXTENT: Extent = { fields: 10, text: 10, bytes: 10 };
const TABLE = message({ list: repeated(uint32(1)), signed: sint64(2), double: double(3) }) as AnyTable;

test("packed and unpacked values are shown as what they are", () => {
  const { fields, drifts } = showMessage(bytes("0a03018002080310ffffffffffffffffff0119000000000000f07f"), TABLE, EXTENT);
  assert.equal(fields, [
    { no: 1, type: "length", name: "list", values: [1, 256] },
    { no: 1, type: "varint", name: "list", value: 3 },
    { no: 2, type: "varint", name: "signed", value: "-9223372036854775808" },
    { no: 3, type: "fixed64", name: "double", value: "Infinity" },
  ]);
  assert.is(drifts, 0);
});

test("packed values count towards the extent", () => {
  const { fields, more } = showMessage(bytes(`0a64${"01".repeat(100)}`), TABLE, EXTENT);
  assert.is(more, true);
  assert.is(fields[0]!.values!.length, 9);
});

test("a group that is not closed is malformed, and what is in it is shown", () => {
  const { fields, error } = showMessage(bytes("2b0801"), TABLE, EXTENT);
  assert.is(error!.code, "truncated");
  assert.equal(fields, [{ no: 5, type: "group", drift: "unknown", fields: [{ no: 1, type: "varint", value: 1 }] }]);
});

test("a group in a group ends where it ends", () => {
  const { fields, error } = showMessage(bytes("2b3308013408022c1002"), undefined, EXTENT);
  assert.is(error, undefined);
  const [outer, after] = fields;
  assert.equal(outer!.fields!.map(({ no, fields: inner }) => [no, inner?.length]), [[6, 1], [1, undefined]]);
  assert.is(after!.value, 2);
});

test("an error that is none of ours is told as a defect", () => {
  assert.is(told(new TypeError("x is undefined")).code, "defect");
  assert.is(told("a text").message, "a text");
  assert.is(told(Object.assign(new Error("x"), { kind: "local", code: "c" })).nextStep, "");
});

test("a file error without a known code is told in its own words", () => {
  const failure = fileFailure("read", "f", Object.assign(new Error("EIO: i/o error"), { code: "EIO" }));
  assert.is(failure.message, "cannot read f: EIO: i/o error");
  assert.is(failure.code, "file_unreadable");
});

function display(json: boolean): { display: Display; text(): string } {
  const stdout = new PassThrough();
  const out = new Output(stdout, new PassThrough(), {}, json);
  return {
    display: new Display(out),
    text() {
      out.flush();
      return String(stdout.read() ?? "");
    },
  };
}

test("a reset is said, and begins a new line", () => {
  const people = display(false);
  for (const event of [{ type: "thinking", delta: "so" }, { type: "reset" }, { type: "text", delta: "\n" }, { type: "text", delta: "hi" }] as TurnEvent[]) people.display.event(event);
  assert.is(people.text(), "thinking: so\n(the remote conversation was stale: starting again)\nhi");
  const programs = display(true);
  programs.display.event({ type: "reset" });
  programs.display.end();
  assert.is(programs.text(), '{"type":"reset"}\n');
});

test("an image in a result is named by its type", () => {
  const people = display(false);
  people.display.result({ role: "tool", toolCallId: "c", toolName: "t", content: [{ type: "image", mimeType: "image/png", data: "" }] });
  assert.is(people.text(), "  = (image/png)\n");
});

function provider(legs: TurnEvent[][]): Provider {
  return {
    async *stream() {
      yield* legs.shift()!;
    },
    end() {},
    close: () => Promise.resolve(),
  };
}

test("what a leg said before a reset is no part of the transcript", async () => {
  const legs: TurnEvent[][] = [[{ type: "text", delta: "old" }, { type: "reset" }, { type: "thinking", delta: "a" }, { type: "thinking", delta: "b" }, { type: "text", delta: "new" }, { type: "usage", input: 1, output: 1 }, { type: "done", reason: "stop" }]];
  const messages = await runTurn(provider(legs), { model: { id: "m" }, messages: [], tools: [] }, { onEvent() {}, onCall: () => assert.unreachable() as never }, new AbortController().signal);
  assert.equal(messages, [{ role: "assistant", content: [{ type: "thinking", text: "ab" }, { type: "text", text: "new" }] }]);
});

test("a provider's error is the turn's", async () => {
  const failing = { ...provider([]), stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new CursorError({ kind: "remote", code: "x", message: "m", nextStep: "n" })) }) }) };
  const error = await rejects(runTurn(failing, { model: { id: "m" }, messages: [], tools: [] }, { onEvent() {}, onCall: () => assert.unreachable() as never }, new AbortController().signal));
  assert.is((error as CursorError).code, "x");
});

const CALL = { id: 1, execId: undefined, callId: "c", rawCallId: "c", tool: "t", arguments: {}, translation: undefined, delivered: true } satisfies PendingCall;
const RECORDED: [name: string, answer: Parameters<typeof recordedResult>[1], text: string, isError: boolean][] = [
  ["an MCP error", [{ mcpResult: { error: { error: "no" } } }], "no", true],
  ["an MCP rejection", [{ mcpResult: { rejected: { reason: "not now" } } }], "not now", true],
  ["an MCP permission denied", [{ mcpResult: { permissionDenied: { error: "never" } } }], "never", true],
  ["an unknown MCP tool", [{ mcpResult: { toolNotFound: { name: "t" } } }], "", true],
  ["an empty text", [{ mcpResult: { success: { content: [{ text: {} }] } } }], "", false],
  ["an empty failure", [{ shellResult: { failure: {} } }], "Command exited with code 0", true],
  ["an empty stop", [{ shellResult: { failure: { aborted: true } } }], "", true],
  ["an empty success", [{ readResult: { success: {} } }], "", false],
  ["a deletion without a size", [{ deleteResult: { success: { deletedFile: "f" } } }], "D0:0", false],
  ["a refused stream without words", [{ shellStream: { rejected: {} } }], "", true],
  ["a stream with an empty end", [{ shellStream: { stderr: {} } }, { shellStream: { exit: {} } }], "", false],
  ["a stream that ends with nothing", [{ shellStream: { stdout: { data: "x" } } }], "x", false],
  ["a denied write without words", [{ writeResult: { permissionDenied: {} } }], "EACCES: permission denied", true],
  ["an empty result", [{ shellResult: {} }], "", true],
  ["no result at all", [{}], "", true],
];
for (const [name, answer, text, isError] of RECORDED)
  test(`what the host said behind ${name}`, () => {
    assert.equal(recordedResult(CALL, answer).result, { role: "tool", toolCallId: "c", toolName: "t", content: [{ type: "text", text }], isError });
  });

test("an empty image is an image", () => {
  const { content } = recordedResult(CALL, [{ mcpResult: { success: { content: [{ image: {} }] } } }]).result;
  assert.equal(content, [{ type: "image", mimeType: "", data: "" }]);
});

test.run();
