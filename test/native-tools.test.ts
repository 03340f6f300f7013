/** Which of the host's tools a request means. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { cpuTime } from "./cpu-time.ts";
import { bash, codemode, edit, find, grep, ls, read, TOOL_SETS, tool, webSearch, write } from "../fixtures/native/tools.ts";
import type { NativeIntent } from "../lib/agent/index.ts";
import { capable, checkTools, findTool, fit, modelName, rankByName, readTraits } from "../lib/session/native/tools.ts";
import type { Tool } from "../lib/session/turn.ts";

const test = suite("native-tools");
const text = { type: "string" };
const names = (tools: readonly Tool[]): string[] => tools.map(({ name }) => name);
const ranked = (tools: readonly Tool[], intent: NativeIntent): Tool[] => fit(readTraits(tools), intent);
const named = (name: string, description = "", inputSchema: unknown = {}): Tool => ({ name, description, inputSchema: inputSchema as Record<string, unknown> });

test("the model knows a tool by its prefixed name", () => {
  assert.is(modelName("bash"), "mcp_pi_bash");
});

const FOUND: readonly [wire: string, tools: string[], found: string | undefined][] = [
  ["bash", ["bash"], "bash"],
  ["mcp_pi_bash", ["bash"], "bash"],
  ["mcp_pi_bash", ["bash", "mcp_pi_bash"], "mcp_pi_bash"],
  ["mcp_pi_mcp_pi_x", ["x", "mcp_pi_x", "mcp_pi_mcp_pi_x"], "mcp_pi_mcp_pi_x"],
  ["mcp_pi_mcp_pi_x", ["x", "mcp_pi_x"], "mcp_pi_x"],
  ["mcp_pi_mcp_pi_x", ["x"], undefined],
  ["mcp_pi_", ["x"], undefined],
  ["Bash", ["bash"], undefined],
  ["", ["bash"], undefined],
  ["__proto__", ["bash"], undefined],
];
for (const [wire, tools, found] of FOUND)
  test(`the name ${JSON.stringify(wire)} among ${tools.join(", ")} means ${found ?? "none"}`, () => {
    assert.is(findTool(wire, tools.map((name) => named(name)))?.name, found);
  });

test("a tool is ranked by alias, then name, then property, then part of a name, then description", () => {
  const tools = [
    named("alpha", "Runs shell commands."),
    named("myshell"),
    named("beta", "", { properties: { cmd: text } }),
    named("ctx_shell"),
    named("bash"),
    named("none"),
  ];
  assert.equal(names(ranked(tools, "shell")), ["bash", "ctx_shell", "beta", "myshell", "alpha"]);
});

test("two tools of one name word: the one with a command property is better", () => {
  assert.is(capable([named("shell_history"), named("ctx_shell", "", { properties: { command: text } })], "shell")!.name, "ctx_shell");
});

test("aliases count in their order, however they are written", () => {
  assert.equal(names(ranked([named("Terminal"), named("Shell"), named("BASH")], "shell")), ["BASH", "Shell", "Terminal"]);
});

test("a name word is found in camelCase, in snake_case and in the plural", () => {
  assert.equal(names(ranked([named("x"), named("searchFiles"), named("search_file_list")], "grep")), ["searchFiles", "search_file_list"]);
});

test("tools that are equally fit keep the order of registration", () => {
  assert.equal(names(ranked([named("c_read"), named("a_read"), named("b_read")], "read")), ["c_read", "a_read", "b_read"]);
});

test("a tool without any sign is not fit", () => {
  assert.equal(ranked([named("c"), named("a"), named("b")], "read"), []);
  assert.is(capable([named("c"), named("a"), named("b")], "read"), undefined);
});

test("no tools are ranked as none", () => {
  assert.equal(ranked([], "read"), []);
  assert.is(capable([], "shell"), undefined);
});

const BEST: readonly [intent: NativeIntent, best: string][] = [
  ["shell", "bash"], ["read", "read"], ["write", "write"], ["edit", "edit"], ["delete", "bash"], ["grep", "grep"], ["find", "find"], ["ls", "ls"],
];
for (const [intent, best] of BEST)
  test(`of Pi's tools ${best} is the best for ${intent}`, () => {
    assert.is(capable([codemode, webSearch, ls, find, grep, write, edit, bash, read], intent)?.name, best);
  });

const OTHERS: readonly [intent: NativeIntent, best: string][] = [
  ["shell", "ctx_shell"], ["read", "ReadFile"], ["write", "fs_write"], ["edit", "str_replace"], ["delete", "ctx_shell"], ["grep", "Grep"], ["find", "glob_files"], ["ls", "list_dir"],
];
for (const [intent, best] of OTHERS)
  test(`of another host's tools ${best} is the best for ${intent}`, () => {
    assert.is(capable(TOOL_SETS["others"]!, intent)?.name, best);
  });

test("a tool made for deleting is better for it than a command", () => {
  assert.is(capable([bash, tool("delete_file", "", { path: text })], "delete")?.name, "delete_file");
});

for (const [intent] of BEST)
  test(`the tool that runs scripts never scores for ${intent}, though its description names it`, () => {
    assert.is(capable([codemode], intent), undefined);
  });

for (const [what, bad, words] of [
  ["without a description", { name: "look", inputSchema: {} }, /"look" has no description/],
  ["without a name", { description: "", inputSchema: {} }, /empty name, or none/],
  ["that is null", null, /empty name, or none/],
] as const)
  test(`a tool ${what} is refused in words`, () => {
    assert.match(checkTools([bad as unknown as Tool])!, words);
  });

test("the name inside another word counts", () => {
  assert.is(capable([named("fffind"), named("x")], "find")?.name, "fffind");
  assert.is(capable([named("tools"), named("x")], "ls"), undefined, "short words only as a whole");
});

const BAD: readonly [names: string[], message: RegExp][] = [
  [["read", "read"], /"read" is declared twice/],
  [[""], /empty name/],
  [["a".repeat(65)], /"a{64}"… is longer than 64/],
  [["bäsh"], /"bäsh" holds something else/],
  [["a b"], /"a b"/],
  [["ok", "a.b"], /"a\.b"/],
  [["a\n"], /"a\\n"/],
];
for (const [list, message] of BAD)
  test(`D23 the names ${JSON.stringify(list)} are refused, and the culprit is named`, () => {
    assert.match(checkTools(list.map((name) => named(name)))!, message);
  });

test("D23 names that differ by case, and the longest, are fine", () => {
  assert.is(checkTools([named("read"), named("Read"), named("a".repeat(64)), named("_-9")]), undefined);
  assert.is(checkTools([]), undefined);
});

const LIKE: readonly [name: string, tools: Tool[], best: string][] = [
  ["sudo_exec", [read, bash, write], "mcp_pi_bash"],
  ["mcp_pi_sudo_exec", [read, bash, write], "mcp_pi_bash"],
  ["search_the_web", [bash, named("fetch_web"), webSearch], "mcp_pi_web_search"],
  ["todo_read", [read, named("read_todos")], "mcp_pi_read_todos"],
  ["viewFile", [bash, read], "mcp_pi_read"],
];
for (const [name, tools, best] of LIKE)
  test(`for the unregistered ${name} the best is ${best}`, () => {
    assert.is(rankByName(name, tools)[0], best);
  });

test("for a name like none the order of registration stays", () => {
  assert.equal(rankByName("zzz", [read, bash]), ["mcp_pi_read", "mcp_pi_bash"]);
  assert.equal(rankByName("", [read, bash]), ["mcp_pi_read", "mcp_pi_bash"]);
});

test("a hostile schema or description is ranked without harm", () => {
  const hostile = [
    named("a", undefined as unknown as string, null),
    named("b", 5 as unknown as string, "x"),
    named("c", "", []),
    named("d", "", { properties: [1], required: "x" }),
    named("e", "", JSON.parse('{"properties":{"__proto__":{"type":"string"},"type":{},"description":{}}}')),
  ];
  assert.equal(ranked(hostile, "shell"), []);
  assert.equal(rankByName("x", hostile).length, hostile.length);
});

test("a thousand tools with long descriptions are ranked in well under a second", () => {
  const long = `shell ${"command ".repeat(10_000)}`;
  const tools = Array.from({ length: 1_000 }, (_, index) => named(`tool_${index}`, long, { properties: { command: text } }));
  const start = cpuTime();
  assert.is(capable([...tools, bash], "shell"), bash);
  assert.ok(cpuTime() - start < 2_000);
});

test.run();
