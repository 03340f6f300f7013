/** Schemas that ask for far more work than they are long. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { rowOf } from "../fixtures/native/cases.ts";
import { cpuTime } from "./cpu-time.ts";
import { tool } from "../fixtures/native/tools.ts";
import { translate } from "../lib/session/native/translate.ts";
import type { Tool } from "../lib/session/turn.ts";

const test = suite("native-maze");
const text = { type: "string" };

/** The arguments that a row's args become with this tool. */
function call(row: string, args: object, one: Tool): Record<string, unknown> | undefined {
  return translate(rowOf(row), args, [one], "/w")?.arguments;
}

/** So many of the same, no two of them one object. */
function times<T>(count: number, one: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => one(index));
}

const hidden = (): object => ({ $ref: "#/$defs/hidden" });
const HOSTILE: readonly [what: string, path: unknown, hidden: unknown][] = [
  ["alternatives that each hold many rules", { anyOf: times(5_000, hidden) }, { allOf: times(5_000, () => ({})) }],
  ["alternatives that each repeat one rule", { anyOf: times(5_000, hidden) }, { allOf: times(100_000, () => true), type: "number" }],
  ["references to a long pointer", { anyOf: times(500, hidden) }, { $ref: `#${"/x".repeat(200_000)}` }],
  ["references to many short pointers", { anyOf: times(5_000, hidden) }, { allOf: times(60, (index) => ({ $ref: `#${"/".repeat(400 + index)}` })), type: "number" }],
  ["references to a long list of types", { oneOf: times(5_000, hidden) }, { type: times(50_000, () => "object") }],
  ["references to a long list of choices", { anyOf: times(5_000, hidden) }, { enum: times(100_000, (index) => `/${index % 10}`) }],
];
for (const [what, path, rule] of HOSTILE)
  test(`${what} are given up soon`, () => {
    const inputSchema = { properties: { path }, $defs: { hidden: rule } };
    const start = cpuTime();
    assert.is(call("readArgs", { path: "/a" }, { name: "read", description: "", inputSchema }), undefined);
    assert.ok(cpuTime() - start < 500);
  });

test("edits for a schema with very many properties or demands are given up soon", () => {
  const edits = times(1_000, () => ({ oldText: "x", newText: "y" }));
  const wide = Object.fromEntries(times(15_000, (index) => [`property_${index}`, text]));
  const defaults = { properties: { old: text, new: text, ...Object.fromEntries(times(5_000, (index) => [`p${index}`, { default: 1 }])) }, required: times(5_000, (index) => `p${index}`) };
  const start = cpuTime();
  for (const items of [{ properties: { old: text, ...wide } }, defaults, { properties: { old: text, new: text }, required: times(100_000, () => "old") }])
    assert.is(call("piEditArgs", { path: "a", edits }, tool("edit", "", { path: text, edits: { type: "array", items } })), undefined);
  assert.ok(cpuTime() - start < 1_000);
});

test("a schema of ordinary size is never given up", () => {
  const edits = times(1_000, () => ({ oldText: "x", newText: "y" }));
  const inputSchema = {
    properties: { path: { enum: [...times(2_000, String), "a"] }, edits: { type: "array", items: { $ref: "#/$defs/edit" } }, ...Object.fromEntries(times(500, (index) => [`p${index}`, text])) },
    $defs: { edit: { properties: { oldText: text, newText: text }, required: ["oldText", "newText"] } },
  };
  assert.equal(call("piEditArgs", { path: "a", edits }, { name: "edit", description: "", inputSchema }), { path: "a", edits });
});

test.run();
