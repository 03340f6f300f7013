/** The pure tools of `run`: a calculator that never runs text, and a clock. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { calculate } from "../lib/cli/calculator.ts";
import { callDemoTool, DEMO_TOOLS } from "../lib/cli/demo-tools.ts";

const test = suite("cli tools");

const SUMS: [expression: string, value: number][] = [
  ["6 * 7", 42],
  ["1 + 2 * 3", 7],
  ["(1 + 2) * 3", 9],
  ["10 - 4 - 3", 3],
  ["2 ^ 3 ^ 2", 512],
  ["2 ** 3", 8],
  ["-2 ^ 2", -4],
  ["2 ^ -1", 0.5],
  ["--3", 3],
  ["+3", 3],
  ["7 % 4", 3],
  ["1 / 4", 0.25],
  ["1.5e3 + .5", 1500.5],
  ["6 × 7 ÷ 2 − 1", 20],
  ["sqrt(16) + abs(-1)", 5],
  ["max(1, 2, 3) - min(4, 5)", -1],
  ["round(2.6)", 3],
  ["PI - pi + e", Math.E],
  ["1 / 0", Infinity],
];
for (const [expression, value] of SUMS)
  test(`${expression} = ${value}`, () => {
    assert.is(calculate(expression), value);
  });

const WRONG: [expression: string, message: string][] = [
  ["", "expected a number at the end"],
  ["1 +", "expected a number at the end"],
  ["(1", "expected ) at the end"],
  ["1 2", 'expected an operator at character 3, found "2"'],
  ["sqrt 2", 'expected ( at character 6, found "2"'],
  ["process.exit()", 'expected a number at character 1, found "process"'],
  ["constructor(1)", 'expected a number at character 1, found "constructor"'],
  ["1; 2", 'expected an operator at character 2, found ";"'],
  [".", 'expected a number at character 1, found "."'],
  ["1" + "+1".repeat(600), "the expression is over 1000 characters"],
  ["(".repeat(200), "the expression nests over 100 deep"],
  ["-".repeat(200) + "1", "the expression nests over 100 deep"],
];
for (const [expression, message] of WRONG)
  test(`refuses ${expression.slice(0, 20)}`, () => {
    assert.throws(() => calculate(expression), (error: Error) => error instanceof SyntaxError && error.message === message);
  });

const NOW = new Date("2026-12-01T20:30:00Z");
const CALLS: [name: string, args: Record<string, unknown>, text: string, isError: boolean][] = [
  ["calculator", { expression: "6*7" }, "42", false],
  ["calculator", { expression: "6*" }, "expected a number at the end", true],
  ["calculator", {}, "expression must be a string", true],
  ["clock", {}, "2026-12-01 20:30:00 UTC", false],
  ["clock", { timeZone: "Asia/Tokyo" }, "2026-12-02 05:30:00 Asia/Tokyo", false],
  ["clock", { timeZone: 1 }, "timeZone must be a string", true],
  ["rm", {}, "there is no tool rm", true],
];
for (const [name, args, text, isError] of CALLS)
  test(`${name} ${JSON.stringify(args)}`, () => {
    assert.equal(callDemoTool({ id: "c", name, arguments: args }, NOW), { role: "tool", toolCallId: "c", toolName: name, content: [{ type: "text", text }], isError });
  });

test("an unknown time zone is a result, not an exception", () => {
  assert.is(callDemoTool({ id: "c", name: "clock", arguments: { timeZone: "Moon/Sea" } }, NOW).isError, true);
});

test("the tools have names, descriptions and schemas", () => {
  for (const { name, description, inputSchema } of DEMO_TOOLS) {
    assert.match(name, /^[a-z]+$/);
    assert.ok(description);
    assert.is(inputSchema["type"], "object");
  }
});

test.run();
