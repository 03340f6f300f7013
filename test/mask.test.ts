/** The mask over errors: no piece of a token is left, however a peer sent it back. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { mask, masked } from "../lib/driver/mask.ts";
import { CursorError } from "../lib/session/errors.ts";

const test = suite("mask");
const TOKEN = "tok-OPAQUE-abcdefghijklmnopqrstuvwxyz-0123456789";

for (const [name, text, clean] of [
  ["none of it", "the words of a peer, or tok-opa", "the words of a peer, or tok-opa"],
  ["whole", `no: ${TOKEN}!`, "no: [redacted]!"],
  ["twice", `${TOKEN} ${TOKEN.slice(4)}`, "[redacted] [redacted]"],
  ["in another case", `text/${TOKEN.toLowerCase()}`, "text/[redacted]"],
  ["cut at its end", `no: ${TOKEN.slice(0, -1)}`, "no: [redacted]"],
  ["cut at its start", `…${TOKEN.slice(10)}.`, "…[redacted]."],
  ["eight characters", "AQUE-abc", "[redacted]"],
  ["with blanks and control characters", `a ${TOKEN.slice(0, 20)}\u0001 \n${TOKEN.slice(20)} b`, "a [redacted] b"],
  ["with characters of no width", [...TOKEN].join("\u200b"), "[redacted]"],
] as const)
  test(`a text with the token: ${name}`, () => assert.is(mask(text, TOKEN), clean));

test("a token of six characters is masked whole, a shorter one is a word", () => {
  assert.is(mask("abcdef abcde", "abcdef"), "[redacted] abcde");
  assert.is(mask("abcde", "abcde"), "abcde");
});

test("an error is masked in every text, and is itself where it holds nothing of it", () => {
  const error = new CursorError({ kind: "remote", code: "x", message: `a ${TOKEN}`, nextStep: `b ${TOKEN}`, cause: `c ${TOKEN}` });
  const { message, nextStep, cause } = masked(error, TOKEN);
  assert.equal([message, nextStep, cause], ["a [redacted]", "b [redacted]", "c [redacted]"]);
  const clean = new CursorError({ kind: "remote", code: "x", message: "a", nextStep: "b", cause: new Error("c") });
  assert.is(masked(clean, TOKEN), clean);
});

test.run();
