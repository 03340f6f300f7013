/** Scenarios of natives: how clients of the service have failed at local work, and what is right. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { rowOf } from "../fixtures/native/cases.ts";
import { cpuTime } from "./cpu-time.ts";
import { bash, find, grep, read, TOOL_SETS, tool, webSearch, write } from "../fixtures/native/tools.ts";
import { EXEC, ExecClientMessage, LIMITS } from "../lib/agent/index.ts";
import { capText, utf8Size } from "../lib/session/native/cap-text.ts";
import { policyText } from "../lib/session/native/policy.ts";
import { redirect } from "../lib/session/native/redirect.ts";
import { checkTools, findTool } from "../lib/session/native/tools.ts";
import { nativeResults, translate, type ToolResult } from "../lib/session/native/translate.ts";
import type { Tool } from "../lib/session/turn.ts";
import { hex } from "./check.ts";

const test = suite("scenarios-native");
const text = { type: "string" };
const said = (one: string, isError = false): ToolResult => ({ content: [{ type: "text", text: one }], isError });

/** The answer's messages as hex. */
function sent(row: string, args: object, result: ToolResult, tools: readonly Tool[] = TOOL_SETS["all"]!): string[] {
  return nativeResults(translate(rowOf(row), args, tools, "/w")!, result).map((message) => hex(ExecClientMessage.encode(message)));
}

test("D13 every tool of the host is in the rules, one that came later too", () => {
  const tools = [...TOOL_SETS["all"]!, webSearch, tool("todo_write", "", { items: { type: "array" } })];
  for (const { name } of tools) assert.match(policyText(tools), `mcp_pi_${name}`);
  const later = [...tools, tool("late_tool", "", {})];
  assert.match(policyText(later), "mcp_pi_late_tool");
});

test("D23 two tools of one name are refused before the Run opens, the name is in the message", () => {
  assert.match(checkTools([read, bash, { ...read }])!, '"read"');
  assert.is(checkTools([read, { ...read, name: "READ" }]), undefined, "another case is another tool");
  assert.is(findTool("mcp_pi_READ", [read, { ...read, name: "READ" }])!.name, "READ");
});

for (const name of ["", "é", "a".repeat(65), "a b", "a/b"])
  test(`D23 the tool name ${JSON.stringify(name.slice(0, 10))} is refused before the Run opens`, () => {
    assert.type(checkTools([bash, { ...read, name }]), "string");
  });

for (const pattern of ["", "  ", "\n", undefined])
  test(`D24 the pattern ${JSON.stringify(pattern)} with a glob is a search for names`, () => {
    const args = pattern === undefined ? { glob: "**/*.ts" } : { pattern, glob: "**/*.ts" };
    assert.equal(translate(rowOf("grepArgs"), args, [grep, find], "/w")?.arguments, { pattern: "**/*.ts" });
    assert.is(translate(rowOf("grepArgs"), args, [grep, bash], "/w")?.tool, "bash", "never of the tool that searches contents");
  });

test("D24 without pattern and glob there is no call, but words", () => {
  assert.is(translate(rowOf("grepArgs"), { pattern: "", path: "/w" }, TOOL_SETS["all"]!, "/w"), undefined);
  assert.match(redirect(rowOf("grepArgs"), { pattern: "", path: "/w" }, TOOL_SETS["all"]!, 1), "No operation was performed.");
});

for (const spelling of ["path", "file_path", "filePath"])
  test(`D26 a strict schema that says ${spelling} gets ${spelling} and nothing else`, () => {
    const tools = [tool("read", "", { [spelling]: text }, [spelling]), tool("write", "", { [spelling]: text, content: text }, [spelling, "content"])];
    assert.equal(translate(rowOf("readArgs"), { path: "/a", toolCallId: "1", offset: 2, encodingHint: "x" }, tools, "/w")?.arguments, { [spelling]: "/a" });
    assert.equal(translate(rowOf("writeArgs"), { path: "/a", fileText: "b", toolCallId: "1" }, tools, "/w")?.arguments, { [spelling]: "/a", content: "b" });
  });

test("D26 a redirect names only tools that exist", () => {
  for (const row of EXEC)
    for (const [, name = ""] of redirect(row, { command: "ls", path: "/a" }, [bash, write], 1).matchAll(/`mcp_pi_([^`]+)`/g)) assert.ok(["bash", "write"].includes(name), `${row.name}: ${name}`);
});

test("D28 a time limit is never forwarded", () => {
  const shell = tool("bash", "", { command: text, timeout: { type: "number" } }, ["command"]);
  assert.equal(translate(rowOf("shellArgs"), { command: "ls", timeout: 3, hardTimeout: 3 }, [shell], "/w")?.arguments, { command: "ls" });
});

test("D28 exit code 1 with output is a failure with that code, neither refused nor thrown", () => {
  // ShellResult.failure {command "ls", exit_code 1, stdout "out"}
  assert.equal(sent("shellArgs", { command: "ls" }, said("out\n\nCommand exited with code 1", true)), ["120d" + "120b" + "0a026c73" + "1801" + "2a036f7574"]);
});

test("D29 D60 a shell stream is answered by its output and its end, never by a start", () => {
  // ShellStream.stdout {data "hi\n"}, then ShellStream.exit {}
  assert.equal(sent("shellStreamArgs", { command: "ls" }, said("hi\n")), ["7207" + "0a05" + "0a0368690a", "7202" + "1a00"]);
  for (const result of [said(""), said("x"), said("x\n\nCommand exited with code 2", true), said("no", true)])
    for (const message of nativeResults(translate(rowOf("shellStreamArgs"), { command: "ls" }, [bash], "/w")!, result)) assert.is(message.shellStream?.start, undefined);
});

test("D30 small changes of the arguments do not soften the order", () => {
  for (const command of ["ls", "ls ", "ls -l"]) assert.match(redirect(rowOf("backgroundShellSpawnArgs"), { command }, [bash], 5), /^STOP calling Cursor native tools\./);
  assert.match(redirect(undefined, {}, [bash], 5), /^STOP calling Cursor native tools\./);
});

for (const row of EXEC)
  if ("translated" in row)
    test(`E11 an error of the host is no success of ${row.name}`, () => {
      const args = { command: "a", path: "a", pattern: "a", content: "a", edits: [{ oldText: "a", newText: "b" }] };
      const name = row.name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      const failed = nativeResults(translate(rowOf(name), args, TOOL_SETS["all"]!, "/w")!, said("it went wrong", true));
      assert.is(failed.length, 1);
      const [arm] = Object.keys(Object.values(failed[0]!)[0]!);
      assert.ok(arm === "error" || arm === "spawnError" || arm === "rejected", arm);
      assert.match(JSON.stringify(failed), "it went wrong");
    });

const BIG = 5 * 1024 * 1024;
for (const [what, unit] of [["ASCII", "x"], ["Han", "日本語"], ["pairs", "🙂"]] as const)
  for (const [row, args] of [["shellStreamArgs", { command: "a" }], ["readArgs", { path: "a" }], ["piBashArgs", { command: "a" }], ["deleteArgs", { path: "a" }]] as const)
    test(`E16 5 MB of ${what} fit the answer of ${row}, with a marker, and in no time`, () => {
      const output = unit.repeat(Math.ceil(BIG / utf8Size(unit)));
      const start = cpuTime();
      const results = nativeResults(translate(rowOf(row), args, TOOL_SETS["all"]!, "/w")!, said(output));
      assert.ok(cpuTime() - start < 2_000);
      const size = results.reduce((sum, message) => sum + ExecClientMessage.encode(message).length, 0);
      assert.ok(size <= LIMITS.toolResult + 200, `${size} bytes`);
      assert.match(JSON.stringify(results), /\[truncated: the whole text has 52428\d\d bytes\]/);
      assert.not.match(JSON.stringify(results), /\\ud[89a-f]/, "no half of a pair");
    });

test("E16 an error of 5 MB is cut like any text", () => {
  for (const row of ["shellArgs", "readArgs", "writeArgs", "grepArgs", "lsArgs", "piFindArgs"]) {
    const [message] = sent(row, { command: "a", path: "a", pattern: "a" }, said("x".repeat(BIG), true));
    assert.ok(message!.length / 2 <= LIMITS.toolResult + 200, row);
  }
});

test("E16 a cut text says how long it was", () => {
  assert.match(capText("y".repeat(BIG)), new RegExp(`\\n\\[truncated: the whole text has ${BIG} bytes\\]$`));
});

test.run();
