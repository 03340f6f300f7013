/** The words that lead a model from what is refused to a call that it can copy. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { rowOf } from "../fixtures/native/cases.ts";
import { bash, codemode, grep, read, TOOL_SETS, tool, webSearch } from "../fixtures/native/tools.ts";
import { cpuTime } from "./cpu-time.ts";
import { camel, EXEC, LIMITS } from "../lib/agent/index.ts";
import { commandTool, redirect } from "../lib/session/native/redirect.ts";
import type { Tool } from "../lib/session/turn.ts";

const test = suite("native-redirect");
const text = { type: "string" };
const pi = TOOL_SETS["pi"]!;
const PREFIX = "Cursor native tools do not run on this host. No operation was performed.";

/** What makes Pi try a failed request again; no refusal may hold it. */
const RETRY = /overloaded|rate.?limit|\b(429|500|502|503|504)\b|server.?error|internal.?error|unavailable|network|connection|refused|reset|ETIMEDOUT|EPIPE|timed? ?out|timeout|terminated|stream failed|ended without/i;

/** The call that a text tells the model to copy. */
function copied(said: string): { name: string; args: unknown } {
  const [, name = "", json = ""] = /call the MCP tool `([^`]+)` with (\{.*?\})(?:\. It is| now\.)/i.exec(said) ?? [];
  return { name, args: JSON.parse(json) };
}

test("a command is redirected to the command tool with that command", () => {
  const said = redirect(rowOf("shellArgs"), { command: "vainfo --display drm" }, [tool("ctx_shell", "", { command: text }, ["command"]), read], 1);
  assert.is(said, `${PREFIX} To run that command from Pi, call the MCP tool \`mcp_pi_ctx_shell\` with {"command": "vainfo --display drm"}. It is a dynamic tool of the namespace \`pi\`.`);
});

for (const [row, args] of [
  ["shellArgs", { command: "\0".repeat(16_000_000) }],
  ["deleteArgs", { path: "'".repeat(16_000_000) }],
  ["piEditArgs", { path: "a", edits: [{ oldText: "\x01".repeat(16_000_000), newText: "" }] }],
  ["fetchArgs", { url: "\x01".repeat(16_000_000) }],
] as const)
  test(`an argument as long as a message is named, not repeated, and takes no time: ${row}`, () => {
    const edit = tool("edit", "", { path: text, edits: { type: "array" }, more: text }, ["path", "edits", "more"]);
    const fetch = tool("fetch", "", { url: text }, ["url"]);
    const start = cpuTime();
    assert.ok(redirect(rowOf(row), args, [bash, edit, fetch], 1).length < 1_000);
    assert.ok(cpuTime() - start < 500);
  });

const COPIED: readonly [row: string, args: object, tools: readonly Tool[], name: string, copy: object][] = [
  ["shellStreamArgs", { command: "a \"b\"\n$c" }, pi, "mcp_pi_bash", { command: "a \"b\"\n$c" }],
  ["backgroundShellSpawnArgs", { command: "npm start", workingDirectory: "/x" }, pi, "mcp_pi_bash", { command: "cd -- '/x' && npm start" }],
  ["miniSweAgentBashArgs", { command: "ls" }, pi, "mcp_pi_bash", { command: "ls" }],
  ["redactedReadArgs", { path: "/secret" }, pi, "mcp_pi_read", { path: "/secret" }],
  ["deleteArgs", { path: "/a" }, [read, tool("delete_file", "", { file: text }, ["file"])], "mcp_pi_delete_file", { file: "/a" }],
  ["readArgs", { path: "/a" }, [tool("read", "", { path: text, reason: text, mode: { enum: ["x", "y"] }, depth: { type: "integer" }, deep: { type: "boolean" }, list: { type: "array" }, map: { type: "object" }, odd: { type: "null" }, fixed: { const: 7 }, spare: text }, ["path", "reason", "mode", "depth", "deep", "list", "map", "odd", "fixed"])], "mcp_pi_read", { path: "/a", reason: "<reason>", mode: "x", depth: 1, deep: true, list: [], map: {}, odd: null, fixed: 7 }],
  ["shellArgs", { command: "ls" }, [{ name: "bash", description: "", inputSchema: {} }], "mcp_pi_bash", { command: "ls" }],
  ["shellArgs", {}, pi, "mcp_pi_bash", { command: "<command>" }],
  ["grepArgs", { pattern: "x", type: "ts" }, [grep], "mcp_pi_grep", { pattern: "x" }],
  ["fetchArgs", { url: "http://x/", toolCallId: "1" }, [bash, tool("web_fetch", "", { url: text }, ["url"])], "mcp_pi_web_fetch", { url: "http://x/" }],
  ["readMcpResourceExecArgs", { server: "s", uri: "u" }, [tool("read_mcp_resource", "", { server: text, uri: text, max: { type: "number" } }, ["server", "uri"])], "mcp_pi_read_mcp_resource", { server: "s", uri: "u" }],
];
for (const [row, args, tools, name, copy] of COPIED)
  for (const misses of [1, 2, 3, 8])
    test(`${row} ${JSON.stringify(args)} is redirected to ${name} at miss ${misses}`, () => {
      assert.equal(copied(redirect(rowOf(row), args, tools, misses)), { name, args: copy });
    });

for (const misses of [1, 2])
  test(`D30 miss ${misses} is advised, with at most two alternatives`, () => {
    const shells = ["sh", "exec", "terminal", "shell"].map((name) => tool(name, "", { command: text }));
    const said = redirect(rowOf("shellArgs"), { command: "ls" }, [bash, ...shells], misses);
    assert.match(said, PREFIX);
    assert.match(said, / Alternatives: `mcp_pi_shell`, `mcp_pi_sh`\.$/);
    assert.not.match(said, /STOP/);
  });
for (const misses of [3, 4, 7])
  test(`D30 miss ${misses} is ordered, with one call alone`, () => {
    const said = redirect(rowOf("shellArgs"), { command: "ls" }, [bash, tool("shell", "", { command: text })], misses);
    assert.is(said, 'STOP calling Cursor native tools. No operation was performed. Call the MCP tool `mcp_pi_bash` with {"command": "ls"} now.');
  });

test("a case that no row names leads to the command tool", () => {
  const said = redirect(undefined, { unknown: [] }, pi, 1);
  assert.match(said, PREFIX);
  assert.equal(copied(said), { name: "mcp_pi_bash", args: { command: "<command>" } });
  assert.match(redirect(undefined, {}, pi, 3), /^STOP calling Cursor native tools\./);
});

test("without a fitting tool all are listed in their order", () => {
  assert.is(redirect(rowOf("fetchArgs"), { url: "x" }, [bash, read], 1), `${PREFIX} Call one of the MCP tools of the namespace \`pi\` instead: \`mcp_pi_bash\`, \`mcp_pi_read\`.`);
  assert.match(redirect(rowOf("readArgs"), { path: "a" }, [webSearch], 3), /^STOP calling Cursor native tools\. .*: `mcp_pi_web_search`\.$/);
});

test("of very many tools the first are listed and the rest counted", () => {
  const tools = Array.from({ length: 1_000 }, (_, index) => tool(`t${index}`, "", {}));
  const said = redirect(rowOf("fetchArgs"), { url: "x" }, tools, 1);
  assert.match(said, /`mcp_pi_t59` and 940 more\.$/);
  assert.ok(said.length < 2_000);
});

test("without tools the text says so", () => {
  assert.is(redirect(rowOf("shellArgs"), { command: "ls" }, [], 1), `${PREFIX} This session has no tools.`);
  assert.is(redirect(undefined, {}, [], 5), "STOP calling Cursor native tools. No operation was performed. This session has no tools.");
});

test("a long value is named, not repeated", () => {
  const said = redirect(rowOf("backgroundShellSpawnArgs"), { command: "x".repeat(50_000) }, pi, 1);
  assert.equal(copied(said).args, { command: "<the same command>" });
});

test("half of a surrogate pair does not reach the text", () => {
  const said = redirect(rowOf("backgroundShellSpawnArgs"), { command: "a\ud83d" }, pi, 1);
  assert.equal(copied(said).args, { command: "a\ufffd" });
});

test("where scripts are the only tool the redirect is a script", () => {
  assert.is(copied(redirect(rowOf("redactedReadArgs"), { path: "a" }, [codemode], 1)).name, "mcp_pi_codemode");
});

for (const row of EXEC)
  for (const misses of [1, 3])
    test(`${row.name} at miss ${misses}: nothing was done, and no word that makes Pi try again`, () => {
      for (const tools of [pi, TOOL_SETS["all"]!, TOOL_SETS["others"]!, TOOL_SETS["script"]!, []]) {
        const said = redirect(row, { command: "ls", path: "/a", pattern: "x", url: "u" }, tools, misses);
        assert.match(said, "No operation was performed.");
        assert.not.match(said.replaceAll("set_timeout", ""), RETRY);
        assert.is(said.startsWith("STOP calling Cursor native tools"), misses >= LIMITS.escalate);
      }
    });

test("every row's case has a purpose in words", () => {
  for (const row of EXEC) if ("native" in row) assert.not.match(redirect(rowOf(camel(row.name)), { command: "ls", path: "/a", pattern: "x", edits: [{}], content: "" }, TOOL_SETS["all"]!, 1), /To do that/);
});

test("the loop guard's next step is the best command tool", () => {
  assert.is(commandTool([read, bash]), "mcp_pi_bash");
  assert.is(commandTool([read, webSearch, codemode]), undefined);
});

test.run();
