/** The part of the rules that makes the host's tools known. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { cpuTime } from "./cpu-time.ts";
import { EXEC } from "../lib/agent/index.ts";
import { bash, codemode, TOOL_SETS, tool, webSearch } from "../fixtures/native/tools.ts";
import { utf8Size } from "../lib/session/native/cap-text.ts";
import { policyText } from "../lib/session/native/policy.ts";
import { signature } from "../lib/session/native/signature.ts";
import { INTENTS, VOCABULARY } from "../lib/session/native/vocabulary.ts";
import type { Tool } from "../lib/session/turn.ts";

const test = suite("native-policy");
const text = { type: "string" };
const number = { type: "number" };

test("no tools, no text", () => {
  assert.is(policyText([]), "");
});

test("the way to dynamic tools comes first", () => {
  const said = policyText(TOOL_SETS["pi"]!);
  const [first = ""] = said.split("\n");
  for (const word of ["namespace `pi`", "GetDynamicTools", "CallDynamicTool", "`mcp_pi_`"]) assert.match(first, word);
});

test("then what each kind of work is done with", () => {
  assert.match(
    policyText(TOOL_SETS["all"]!),
    [
      "- run a command: `mcp_pi_bash`",
      "- read a file: `mcp_pi_read`",
      "- write a file: `mcp_pi_write`",
      "- edit a file: `mcp_pi_edit`",
      "- delete a file: `mcp_pi_bash`",
      "- search in files: `mcp_pi_grep`",
      "- find files by name: `mcp_pi_find`",
      "- list a folder: `mcp_pi_ls`",
    ].join("\n"),
  );
});

test("the arguments are told of tools for what no exec of §5 stands for", () => {
  const stood = new Set<string>(EXEC.flatMap((row) => (row.block === "document" && "translated" in row ? [row.native] : [])));
  // A search for names is a grep without a pattern.
  stood.add("find");
  assert.equal(INTENTS.filter((intent) => VOCABULARY[intent].told), INTENTS.filter((intent) => !stood.has(intent)));
});

test("a command stands in where there is no tool for it", () => {
  assert.match(policyText([bash]), "- find files by name: `mcp_pi_bash`");
  assert.not.match(policyText([bash]), "- read a file");
});

test("then the signatures of the tools that no native exec stands for", () => {
  const said = policyText([...TOOL_SETS["all"]!, webSearch]);
  assert.match(said, '- `mcp_pi_web_search(query: string, filters?: {key: string, op?: "eq" | "ne", values?: number[]}[])`: Search the web.');
  assert.match(said, "- `mcp_pi_edit(path: string, edits: {oldText: string, newText: string}[])`");
  assert.not.match(said, /mcp_pi_(read|bash|write|grep|find|ls)\(/);
});

test("tools hidden behind scripts are told by the script tool alone", () => {
  const said = policyText([codemode]);
  assert.not.match(said, "What to use for what");
  assert.match(said, "- `mcp_pi_codemode(code: string)`");
});

/** Tools with the longest names and rich schemas. */
function many(count: number): Tool[] {
  return Array.from({ length: count }, (_, index) => tool(`t${index}_${"x".repeat(64)}`.slice(0, 64), "What it does, at length. ".repeat(20), { alpha: text, beta: { type: "array", items: { type: "object", properties: { gamma: number } } } }, ["alpha"]));
}

for (const count of [1, 10, 20, 40])
  test(`D13 ${count} tools with long names take less than 4 KB, and each is named`, () => {
    const tools = many(count);
    const said = policyText(tools);
    assert.ok(utf8Size(said) < 4_096, `${utf8Size(said)} bytes`);
    for (const { name } of tools) assert.match(said, name);
  });

test("40 of them beside Pi's own take less than 4 KB", () => {
  const said = policyText([...TOOL_SETS["all"]!, ...many(33)]);
  assert.ok(utf8Size(said) < 4_096, `${utf8Size(said)} bytes`);
});

test("signatures that do not fit are left out openly, in the order of registration", () => {
  const tools = many(30);
  const said = policyText(tools);
  const [contracts = "", rest = ""] = said.split("More tools of Pi; GetDynamicTools tells their arguments:");
  assert.match(contracts, `mcp_pi_${tools[0]!.name}(alpha: string`);
  assert.match(rest, tools[29]!.name);
  assert.not.match(contracts, tools[29]!.name);
});

test("D13 of a thousand tools each is named", () => {
  const tools = many(1_000);
  const start = cpuTime();
  const said = policyText(tools);
  assert.ok(cpuTime() - start < 2_000);
  for (const { name } of tools) assert.ok(said.includes(name));
});

test("a signature that is too long is left out, not cut", () => {
  const properties = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`a_rather_long_property_${index}`, text]));
  const said = policyText([tool("wide", "", properties)]);
  assert.match(said, "arguments: wide");
  assert.not.match(said, "wide(");
});

test("a description is its first sentence, and short", () => {
  assert.match(policyText([tool("a", "One.  Two.", {})]), "`mcp_pi_a()`: One.");
  assert.match(policyText([tool("a", "one\n two", {})]), "`mcp_pi_a()`: one two");
  assert.match(policyText([tool("a", "🙂".repeat(99), {})]), `\`mcp_pi_a()\`: ${"🙂".repeat(50)}…`);
  assert.match(policyText([tool("a", `x${"🙂".repeat(99)}`, {})]), `\`mcp_pi_a()\`: x${"🙂".repeat(49)}…`);
  assert.match(policyText([{ name: "a", description: undefined as unknown as string, inputSchema: {} }]), /`mcp_pi_a\(\)`$/);
});

test("no word in it says that a tool can not be reached", () => {
  assert.not.match(policyText(TOOL_SETS["all"]!), /unavailable|timeout|overloaded/i);
});

const cycle: Record<string, unknown> = { type: "object" };
cycle["properties"] = { a: cycle, b: cycle, c: cycle };
const throws = (): never => {
  throw new Error("no");
};
const unwritable = [1n, cycle, [1n], { toJSON: throws }];

const SIGNATURES: readonly [schema: unknown, said: string | undefined][] = [
  [{}, "()"],
  [null, "()"],
  ["x", "()"],
  [{ properties: { a: text, b: number, c: { type: "boolean" }, d: { type: "integer" }, e: { type: "null" } }, required: ["a", "d"] }, "(a: string, b?: number, c?: boolean, d: number, e?: null)"],
  [{ properties: { type: text, description: { type: "object" }, "a b": text, "1": {} } }, '("1"?: any, type?: string, description?: object, "a b"?: string)'],
  [JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), "(__proto__?: string)"],
  [{ properties: { a: { enum: ["x", 1, null] }, b: { const: "y" }, c: { enum: [] } } }, '(a?: "x" | 1 | null, b?: "y", c?: any)'],
  [{ properties: { a: { enum: Array.from({ length: 20 }, (_, index) => index) } } }, "(a?: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | …)"],
  [{ properties: { a: { enum: [undefined] }, b: { const: undefined }, c: { const: Symbol() } } }, "(a?: any, b?: any, c?: any)"],
  [{ properties: { a: { anyOf: [text, number, text] }, b: { oneOf: [] } } }, "(a?: string | number, b?: any)"],
  [{ properties: { a: { type: ["string", "null"] }, b: { type: "array" }, c: { type: "array", items: { type: ["string", "number"] } } } }, "(a?: string | null, b?: any[], c?: (string | number)[])"],
  [{ properties: { a: { properties: { b: text }, required: ["b"] } } }, "(a?: {b: string})"],
  [{ properties: { a: { type: "unheard-of" }, b: true } }, "(a?: any, b?: any)"],
  [{ properties: { a: { type: "array", items: { type: "object", properties: { b: { type: "array", items: { anyOf: [text, number] } } } } } } }, "(a?: {b?: any[]}[])"],
  [cycle, undefined],
  ...unwritable.map((value): [unknown, string] => [{ properties: { a: { const: value }, b: { enum: [value, "x"] } } }, '(a?: any, b?: any | "x")']),
  [{ properties: { a: { const: "x".repeat(20_000) } } }, undefined],
  [{ properties: { a: { const: "x".repeat(200) } } }, `(a?: "${"x".repeat(200)}")`],
  [{ allOf: [{ $ref: "#/$defs/a" }, { properties: { b: { $ref: "#/$defs/b" } } }], $defs: { a: { properties: { a: { type: "array", items: { $ref: "#/$defs/b" } } }, required: ["a"] }, b: { enum: ["x", "y"] } } }, '(b?: "x" | "y", a: ("x" | "y")[])'],
  [{ properties: { a: { $ref: "#" } } }, "(a?: {a?: {a?: {a?: {a?: any}}}})"],
];
for (const [index, [schema, said]] of SIGNATURES.entries())
  test(`schema ${index} is ${said ?? "given up"}`, () => {
    assert.is(signature(schema), said);
  });

test("long literals and names are given up soon", () => {
  const long = { enum: Array.from({ length: 12 }, (_, index) => String(index).repeat(80_000)) };
  const properties = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`p${index}`, { $ref: "#/$defs/long" }]));
  const start = cpuTime();
  assert.is(signature({ properties, $defs: { long } }), undefined);
  assert.is(signature({ properties, $defs: { long: { properties: { ["x".repeat(1_000_000)]: text } } } }), undefined);
  assert.ok(cpuTime() - start < 500);
});

test("a long list of types is given up soon", () => {
  const properties = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`p${index}`, text]));
  const lists = ["object", "array"].map((name) => ({ type: Array.from({ length: 20_000 }, () => name), properties, items: { properties } }));
  const start = cpuTime();
  for (const a of lists) assert.is(signature({ properties: { a } }), undefined);
  assert.is(signature({ allOf: Array.from({ length: 100_000 }, () => true) }), undefined);
  assert.ok(cpuTime() - start < 500);
});

test.run();
