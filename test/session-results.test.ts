/** What goes back and forth between two legs: results as the wire has them, in order and never lost in silence, and the usage that each leg reports. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { LIMITS } from "../lib/agent/limits.ts";
import type { ImagePart, TextPart, ToolMessage } from "../lib/session/turn.ts";
import { estimate } from "../lib/session/usage.ts";
import { encodeValue } from "../wire/index.ts";
import { bytes } from "./check.ts";
import { ended, request, results, running, settings, TOOLS, type Rig } from "./session-rig.ts";

const test = suite("session results");

/** What is written of a result with this content. */
function written(content: ToolMessage["content"], isError?: boolean): { rig: Rig; items: { text?: { text?: string }; image?: { data?: Uint8Array; mimeType?: string } }[]; isError: boolean | undefined } {
  const rig = running({ request: request("hi", { tools: [TOOLS["add"]!] }) });
  rig.call(1, "add");
  rig.fire("burst");
  const leg = results(rig);
  const messages = [...leg.messages.slice(0, -1), { ...(leg.messages.at(-1) as ToolMessage), content, ...(isError !== undefined && { isError }) }];
  rig.step({ type: "continue", request: { ...leg, messages } });
  const { success } = rig.sent()[0]!.execClientMessage!.mcpResult!;
  return { rig, items: success!.content!, isError: success!.isError };
}
const text = (value: string): TextPart => ({ type: "text", text: value });
const image = (mimeType = "image/png", data = "iVBORw0KGgo="): ImagePart => ({ type: "image", mimeType, data });

test("E9 texts and images of a result keep their order, with at least one text", () => {
  const both = written([image(), text("a"), image("image/gif")]);
  assert.equal(both.items.map((item) => item.text?.text ?? item.image!.mimeType), ["image/png", "a", "image/gif"]);
  assert.equal(written([image(), image()]).items.map((item) => item.text?.text ?? item.image!.mimeType), ["(image)", "image/png", "image/png"]);
  assert.equal(written([]).items, [{ text: {} }]);
});

test("E8 an image that cannot be sent is said in words and a diagnostic", () => {
  const { rig, items } = written([image("image/tiff"), image("image/png", "!")]);
  assert.match(items[0]!.text!.text!, /image omitted.*image\/tiff/);
  assert.match(items[1]!.text!.text!, /image omitted.*corrupt/);
  assert.equal(rig.notes(rig.last), ["image_omitted", "image_omitted"]);
});

test("images of one result that do not fit an envelope together are said in words", () => {
  const large = image("image/png", "AAAA".repeat((6 * 1024 * 1024) / 3));
  const { rig, items } = written([large, large, large]);
  assert.equal(items.map((item) => item.text?.text ?? item.image!.data!.length), [6 * 1024 * 1024, 6 * 1024 * 1024, "[image omitted: the images of this result are too large together]"]);
  for (const action of rig.all) if (action.type === "send") assert.ok(action.payload.length <= 16 * 1024 * 1024);
});

test("E16 a result's texts are cut to 512 KiB of UTF-8 together, each with a marker", () => {
  const { rig, items } = written([text("ü".repeat(200_000)), text("ü".repeat(200_000)), text("bb"), text("c".repeat(100))]);
  const sizes = items.map((item) => Buffer.byteLength(item.text!.text!));
  const together = sizes[0]! + sizes[1]!;
  assert.ok(together <= LIMITS.toolResult && together > LIMITS.toolResult - 4, String(together));
  assert.match(items[1]!.text!.text!, /\[truncated: the whole text has 400000 bytes\]$/);
  assert.match(items[3]!.text!.text!, /^\n\[truncated: the whole text has 100 bytes\]$/);
  assert.equal(rig.notes(rig.last), ["result_truncated", "result_truncated", "result_truncated"]);
});

test("of several results for one call the first is written", () => {
  const rig = running({ request: request("hi", { tools: [TOOLS["add"]!] }) });
  rig.call(1, "add");
  rig.fire("burst");
  const leg = results(rig);
  const first = leg.messages.at(-1) as ToolMessage;
  rig.step({ type: "continue", request: { ...leg, messages: [...leg.messages, { ...first, content: [text("another")] }] } });
  assert.equal(rig.sent()[0]!.execClientMessage!.mcpResult!.success!.content![0]!.text!.text, (first.content[0] as TextPart).text);
});

test("calls whose arguments are large together end the leg early", () => {
  const rig = running({ request: request("hi", { tools: [TOOLS["add"]!] }) });
  const args = new Map([["x", encodeValue("y".repeat(1024 * 1024))]]);
  for (let id = 1; id <= 5 && rig.session.phase === "running"; id++) rig.server({ execServerMessage: { id, mcpArgs: { toolName: "add", args } } });
  assert.is(rig.session.phase, "parked");
  assert.is(rig.session.pending.size, 4);
});

test("E11 whether a result is an error is sent", () => {
  assert.is(written([text("a")], true).isError, true);
  assert.is(written([text("a")], false).isError ?? false, false);
  assert.is(written([text("a")]).isError ?? false, false);
});

test("D35 usage is the estimate: on tool_use, on done, on an error, and grows with the transcript", () => {
  const tools = [TOOLS["add"]!];
  const rig = running({ request: request("hello", { tools }), settings: settings({ estimate }) });
  rig.call(1, "add");
  rig.fire("burst");
  rig.step({ type: "continue", request: results(rig) });
  rig.text("a");
  rig.endStream({ code: "internal" });
  const [usage] = rig.emitted().flatMap((event) => (event.type === "usage" ? [event] : []));
  assert.ok(usage!.input > 10);
  assert.ok(rig.error!.partial.usage.input > usage!.input);
});

test("D36 D37 what turn_ended bills is a diagnostic, and output is what was counted", () => {
  const rig = running();
  rig.text("a");
  rig.server({ interactionUpdate: { tokenDelta: { tokens: 5 } } });
  rig.payload(bytes("0a17 7215 08ffffffffffffffffff01 10ffffffffffffffff7f"));
  rig.after(500);
  assert.equal(rig.emitted().slice(-2), [{ type: "usage", input: 100, output: 5 }, { type: "done", reason: "stop" }]);
  assert.equal(rig.notes(), ["billing"]);
});

test("an error holds what its own leg has said, not the one before", () => {
  const rig = running({ request: request("hi", { tools: [TOOLS["add"]!] }) });
  const say = (text: string): void => void [rig.server({ interactionUpdate: { thinkingDelta: { text } } }), rig.text(text), rig.text(text)];
  say("a");
  rig.call(1, "add");
  rig.fire("burst");
  rig.step({ type: "continue", request: results(rig) });
  say("b");
  rig.step({ type: "abort" });
  assert.equal(rig.error!.partial, { text: "bb", thinking: "b", usage: { input: 100, output: 0 } });
});

test("D39 output is counted by leg, input said again in each", () => {
  const rig = running({ request: request("hi", { tools: [TOOLS["add"]!] }) });
  const tokens = (count: number) => rig.server({ interactionUpdate: { tokenDelta: { tokens: count } } });
  tokens(3);
  rig.call(1, "add");
  rig.fire("burst");
  tokens(4);
  rig.step({ type: "continue", request: results(rig) });
  tokens(5);
  rig.text("a");
  ended(rig);
  const usage = rig.emitted().filter(({ type }) => type === "usage");
  assert.equal(usage, [{ type: "usage", input: 100, output: 3 }, { type: "usage", input: 100, output: 9 }]);
});

test("H6 an error gives back what a leg said up to the limit, however much it was", () => {
  const rig = running({ request: request("hi") });
  const half = "x".repeat(LIMITS.partial / 2);
  for (const text of [half, "y", half, "z"]) rig.text(text);
  rig.step({ type: "abort" });
  assert.is(rig.error!.partial.text.length, LIMITS.partial / 2 + 1);
});

test.run();
