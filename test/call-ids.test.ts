/** Clean ids of tool calls. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { cpuTime } from "./cpu-time.ts";
import { cleanId, idCleaner } from "../lib/session/call-ids.ts";

const test = suite("call-ids");

const ids: [raw: string, clean: string][] = [
  ["call_1-A", "call_1-A"],
  ["a|b", "a_b"],
  ["one\ntwo", "one_two"],
  ["", "call"],
  ["\u4e2d\u{1f600}", "___"],
  ["x".repeat(64), "x".repeat(64)],
  ["x".repeat(65), "x".repeat(64)],
];
for (const [raw, clean] of ids) {
  test(`the id ${JSON.stringify(raw).slice(0, 20)} becomes ${clean.slice(0, 20)}`, () => {
    assert.is(cleanId(raw), clean);
  });
}

test("D17 a cleaner gives the same raw id the same clean one, and no two the same", () => {
  const clean = idCleaner();
  const raws = ["a|b", "a_b", "a/b", "a_b_2", "", "call", "|", "_"];
  for (let number = 0; number < 200; number++) raws.push("x".repeat(64) + number, `${"x".repeat(59)}|${number}`);
  const cleaned = raws.map(clean);
  assert.is(new Set(cleaned).size, raws.length);
  for (const id of cleaned) assert.match(id, /^[A-Za-z0-9_-]{1,64}$/);
  assert.equal(raws.map(clean), cleaned);
  assert.equal(raws.map(idCleaner()), cleaned, "another cleaner, the same order");
});

test("10,000 ids that clean to the same are told apart in no time", () => {
  const clean = idCleaner();
  const started = cpuTime();
  const cleaned = new Set(Array.from({ length: 10_000 }, (_, number) => clean("x".repeat(64) + number)));
  assert.is(cleaned.size, 10_000);
  assert.ok(cpuTime() - started < 500);
});

test.run();
