/** What hosts say, read: how a command ended, what was cut, where lines of a search belong; and what scripts return. */
import { createContext, runInContext } from "node:vm";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { rowOf } from "../fixtures/native/cases.ts";
import { cpuTime } from "./cpu-time.ts";
import { bash, codemode, grep, ls, read, TOOL_SETS, tool, write } from "../fixtures/native/tools.ts";
import { LIMITS } from "../lib/agent/index.ts";
import { capText, lineCount, utf8Size } from "../lib/session/native/cap-text.ts";
import { readExit } from "../lib/session/native/exit.ts";
import { faultOf } from "../lib/session/native/fault.ts";
import { readGrepText } from "../lib/session/native/grep-text.ts";
import { readNotice } from "../lib/session/native/notice.ts";
import { readOutcome } from "../lib/session/native/outcome.ts";
import { below, folderOf } from "../lib/session/native/paths.ts";
import { nativeResults, translate, type ToolResult } from "../lib/session/native/translate.ts";
import type { Tool } from "../lib/session/turn.ts";

const test = suite("native-result");
const said = (text: string, isError = false): ToolResult => ({ content: [{ type: "text", text }], isError });

/** The answer to an exec whose call the host's tool answered with `result`. */
function answer(row: string, args: object, result: ToolResult, tools: readonly Tool[] = TOOL_SETS["all"]!): any {
  return nativeResults(translate(rowOf(row), args, tools, "/w")!, result)[0];
}

const EXITS: readonly [text: string, isError: boolean, exit: object][] = [
  ["a", false, { how: "exited", code: 0, output: "a" }],
  ["Command exited with code 3", false, { how: "exited", code: 0, output: "Command exited with code 3" }],
  ["a\n\nCommand exited with code 0", true, { how: "refused", output: "a\n\nCommand exited with code 0" }],
  ["Command exited with code 3\nmore", true, { how: "refused", output: "Command exited with code 3\nmore" }],
  ["a\nCommand exited with code 3", true, { how: "exited", code: 3, output: "a" }],
  ["a\n(exit 4)", true, { how: "exited", code: 4, output: "a" }],
  ["a\nexit code: 4.", true, { how: "exited", code: 4, output: "a" }],
  ["a\nScript exited with status 5", true, { how: "exited", code: 5, output: "a" }],
  ["Exit code: 6\na\nb", true, { how: "exited", code: 6, output: "a\nb" }],
  ["exit=6", true, { how: "exited", code: 6, output: "" }],
  ["", true, { how: "refused", output: "" }],
  ["Command exited with code 99999999999", true, { how: "refused", output: "Command exited with code 99999999999" }],
];
for (const [text, isError, exit] of EXITS)
  test(`${JSON.stringify(text)} as ${isError ? "an error" : "a success"} is ${JSON.stringify(exit)}`, () => {
    assert.equal(readExit({ text, isError, images: [] }), exit);
  });

test("a text of 5 MB costs no more than its ends to read an exit code", () => {
  const text = `${" at x\n\n[".repeat(700_000)}\n\nCommand exited with code 3`;
  const start = cpuTime();
  assert.is((readExit({ text, isError: true, images: [] }) as { code: number }).code, 3);
  assert.ok(cpuTime() - start < 2_000);
});

const NOTICES: readonly [note: string, meaning: object | undefined][] = [
  ["[Showing lines 1-2 of 9. Use offset=3 to continue.]", { totalLines: 9, by: "lines" }],
  ["[Showing lines 1-2 of 9 (50.0KB limit). Use offset=3 to continue.]", { totalLines: 9, by: "bytes" }],
  ["[Showing lines 8-9 of 9. Full output: /tmp/a b.log]", { totalLines: 9, by: "lines", fullOutput: "/tmp/a b.log" }],
  ["[Showing last 50.0KB of line 9 (line is 60.0KB). Full output: /f]", { totalLines: 9, by: "bytes", lastLinePartial: true, fullOutput: "/f" }],
  ["[4 more lines in file. Use offset=6 to continue.]", { totalLines: 9, more: 4 }],
  ["[Line 1 is 60.0KB, exceeds 50.0KB limit. Use bash: sed -n '1p' a | head -c 51200]", { by: "bytes" }],
  ["[100 matches limit reached. Use limit=200 for more, or refine pattern]", { entries: 100 }],
  ["[5 results limit reached. 50.0KB limit reached]", { entries: 5, by: "bytes" }],
  ["[7 entries limit reached. Use limit=14 for more]", { entries: 7 }],
  ["[Some lines truncated to 500 chars. Use read tool to see full lines]", { linesCut: true }],
  ["[Full output: /f (read with offset/limit)]", { by: "bytes", fullOutput: "/f (read with offset/limit)" }],
  ["[x]", undefined],
  ["[]", undefined],
];
for (const [note, meaning] of NOTICES)
  test(`the notice ${note} ${meaning === undefined ? "is the tool's own text" : `says ${JSON.stringify(meaning)}`}`, () => {
    const text = `a\nb\n\n${note}`;
    assert.equal(readNotice(text), meaning === undefined ? { shown: text } : { shown: "a\nb", text: note, ...meaning });
  });

test("a notice stands at the end or nowhere", () => {
  const text = "[Showing lines 1-2 of 9. Use offset=3 to continue.]\nmore";
  assert.equal(readNotice(text), { shown: text });
  assert.is(readNotice("[Line 1 is 60.0KB, exceeds 50.0KB limit. Use bash]").shown, "");
});

const FAULTS: readonly [error: string, fault: string][] = [
  ["ENOENT: x", "notFound"],
  ["File not found: a", "notFound"],
  ["the path does not exist", "notFound"],
  ["sh: 1: cannot open a: No such file", "notFound"],
  ["EPERM", "permission"],
  ["Read-only file system", "permission"],
  ["cat: a: Is a directory", "notFile"],
  ["No space left on device", "noSpace"],
  ["Text file busy", "busy"],
  ["anything", "other"],
  [`${"x".repeat(2_000)} ENOENT`, "other"],
];
for (const [error, fault] of FAULTS)
  test(`${JSON.stringify(error.slice(0, 40))} is the fault ${fault}`, () => {
    assert.is(faultOf(error), fault);
  });

for (const [base, path, full] of [
  ["/w", "a", "/w/a"],
  ["/w/", "a", "/w/a"],
  ["/w", "./a", "/w/a"],
  ["/w", "/x/a", "/x/a"],
  ["/w", "C:\\a", "C:\\a"],
  ["src", "src/a", "src/a"],
  ["src", "src", "src"],
  ["src", "srcs", "src/srcs"],
  ["/w/a.ts", "a.ts", "/w/a.ts"],
] as const)
  test(`${path} below ${base} is ${full}`, () => {
    assert.is(below(base, path), full);
  });

for (const [workspace, folder] of [
  ["/w x", "/w x"],
  ["file:///w%20x/%C3%A9", "/w x/é"],
  ["file:///w%zz", "/w%zz"],
] as const)
  test(`the workspace ${workspace} is the folder ${folder}`, () => {
    assert.is(folderOf(workspace), folder);
  });

test("the size of a text is that of its UTF-8", () => {
  const texts = ["", "a", "é", "日", "🙂", "a\ud83d", "\ude42a", "\ud83d\ud83d\ude42"];
  // Texts are measured in pieces of 2^14 units: none may cut a pair.
  const long = [16_382, 16_383, 16_384, 32_766, 32_767].flatMap((length) => texts.map((text) => "x".repeat(length) + text));
  for (const text of [...texts, ...long]) assert.is(utf8Size(text), new TextEncoder().encode(text).length, `${text.length} ${JSON.stringify(text.slice(-3))}`);
});

test("lines are counted with and without a last line break", () => {
  assert.equal(["", "a", "a\n", "a\nb", "\n", "\n\n", "a\n\nb\n"].map(lineCount), [0, 1, 1, 2, 1, 2, 3]);
});

test("a text within the limit stays as it is", () => {
  assert.is(capText("é".repeat(5), 10), "é".repeat(5));
  assert.is(capText("a".repeat(LIMITS.toolResult)), "a".repeat(LIMITS.toolResult));
});

for (const unit of ["a", "é", "日", "🙂", "\ud83d"])
  test(`a text of ${JSON.stringify(unit)} is cut to the limit, with a marker and no half character`, () => {
    for (let limit = 60; limit < 70; limit++) {
      const capped = capText(unit.repeat(100), limit);
      assert.ok(new TextEncoder().encode(capped).length <= limit);
      assert.match(capped, new RegExp(`^(${unit})+\\n\\[truncated: the whole text has ${utf8Size(unit.repeat(100))} bytes\\]$`));
    }
  });

test("where the marker does not fit it is all there is", () => {
  assert.is(capText("a".repeat(100), 5), "\n[truncated: the whole text has 100 bytes]");
});

test("lines of a search that could be context are told by the files with a match", () => {
  const lines = ["a-1-b:2: x", "a-1-b-3- y:4: z", "--", "c:1: x", "c-2- d-3- e:9: f", "g-7- h", "nothing", "a-1-b-8- i"];
  const { files, rest } = readGrepText(lines, true, true);
  assert.equal(
    [...files].map(([file, found]) => [file, found.map(({ line, text, isContext }) => `${isContext ? "-" : ":"}${line} ${text}`)]),
    [["a-1-b", [":2 x", "-3 y:4: z", "-8 i"]], ["c", [":1 x", "-2 d-3- e:9: f"]], ["g", ["-7 h"]]],
  );
  assert.equal(rest, ["nothing"]);
});

test("without context asked for nothing is context", () => {
  const { files, rest } = readGrepText(["a-1-b:2:x", "a-1-c"], false, false);
  assert.equal([...files.keys()], ["a-1-b"]);
  assert.equal(rest, ["a-1-c"]);
});

test("a line with very many numbers is read in no time", () => {
  const line = `a${"-1-".repeat(20_000)}:2:x`;
  const start = cpuTime();
  readGrepText(Array.from({ length: 20 }, () => line), true, false);
  assert.ok(cpuTime() - start < 2_000);
});

const UNWRAPPED: readonly [texts: string[], isError: boolean, text: string, failed: boolean][] = [
  [["Script completed\nWall time 0.1 seconds\nOutput:\n", "hello"], false, "hello", false],
  [["Script completed\nWall time 0.1 seconds\nOutput:\nhello\n"], false, "hello\n", false],
  [["Script completed\nWall time 0.1 seconds\nOutput:\n"], false, "", false],
  [["Script completed\nhello"], false, "hello", false],
  [["hello"], false, "hello", false],
  [[], false, "", false],
  [["Script completed\nWall time 0.1 seconds\nOutput:\n", "x\n\nCommand exited with code 3"], false, "x\n\nCommand exited with code 3", true],
  [["Script failed\nWall time 0.1 seconds\nOutput:\n", "Script error:\nError: x"], true, "x", true],
  [["Script failed\nWall time 0.1 seconds\nOutput:\n", "part\nScript error:\nTypeError: x\n    at <anonymous> (codemode.js:6:97)\n    at y\n\nNo tool calls were made."], false, "TypeError: x", true],
  [["Script failed\nWall time 0.1 seconds\nOutput:\n", "Script error:\nError: a\n\nb\n    at x\n\nTool calls made before the failure (they are not undone): bash (ok)"], true, "a\n\nb", true],
  [["Script failed\nWall time 0.1 seconds\nOutput:\n", "no error given"], true, "no error given", true],
];
for (const [texts, isError, text, failed] of UNWRAPPED)
  test(`a script's result ${JSON.stringify(texts).slice(0, 90)} is ${JSON.stringify(text)}`, () => {
    const content = texts.map((one) => ({ type: "text" as const, text: one }));
    assert.equal(readOutcome({ content, isError }, "codemode"), { text, isError: failed, images: [] });
  });

test("a plain result is never unwrapped", () => {
  assert.is(readOutcome(said("Script completed\nWall time 1 seconds\nOutput:\nx"), "plain").text, "Script completed\nWall time 1 seconds\nOutput:\nx");
});

/** Runs a script as the host of scripts does, with these tools, and words the result as it does. */
async function host(args: Record<string, unknown>, tools: Record<string, (args: any) => unknown>): Promise<ToolResult> {
  const images: unknown[] = [];
  const names = Object.keys(tools).map((name) => ({ name, description: "" }));
  const context = createContext({ tools, ALL_TOOLS: names, image: (one: unknown) => images.push(one) });
  const header = { type: "text" as const, text: "Script completed\nWall time 0.1 seconds\nOutput:\n" };
  const code = args["code"] as string;
  assert.match(code, /^\/\/ @options: \{"max_output_tokens": \d+\}\n/);
  try {
    const value: unknown = await runInContext(`(async () => {${code}\n})()`, context);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return { content: [header, ...(images as []), { type: "text", text }], isError: false };
  } catch (error) {
    const words = `Script error:\n${(error as Error).stack}\n\nNo tool calls were made.`;
    return { content: [{ type: "text", text: header.text.replace("completed", "failed") }, { type: "text", text: words }], isError: true };
  }
}

/** The answer to an exec that only a script can carry out. */
async function byScript(row: string, args: object, tools: Record<string, (args: any) => unknown>): Promise<any> {
  const translation = translate(rowOf(row), args, [codemode], "/w")!;
  assert.is(translation.tool, "codemode");
  assert.is(translation.unwrap, "codemode");
  return nativeResults(translation, await host(translation.arguments, tools))[0];
}

test("a script runs a command in its folder", async () => {
  const result = await byScript("shellArgs", { command: "ls", workingDirectory: "/it's", description: "x" }, { bash: ({ command }) => ({ output: command, exit_code: 0 }) });
  assert.equal(result, { shellResult: { success: { command: "ls", workingDirectory: "/it's", stdout: "cd -- '/it'\\''s' && ls" } } });
});

test("a script hands on an exit code", async () => {
  const result = await byScript("shellArgs", { command: "ls" }, { bash: () => ({ output: "boom", exit_code: 3, full_output_path: "/f" }) });
  assert.equal(result, { shellResult: { failure: { command: "ls", exitCode: 3, stdout: "boom\n\n[Full output: /f]" } } });
});

test("a script finds its executor by the words of names", async () => {
  const result = await byScript("shellStreamArgs", { command: "ls" }, { other: () => "no", ctx_shell: () => "yes" });
  assert.equal(result, { shellStream: { stdout: { data: "yes" } } });
});

test("a script prefers a whole name, best first", async () => {
  const result = await byScript("shellArgs", { command: "ls" }, { my_bash: () => "no", shell: () => "no", bash: () => "yes" });
  assert.is(result.shellResult.success.stdout, "yes");
});

test("a script without an executor fails with the roster", async () => {
  const result = await byScript("readArgs", { path: "a" }, { grep: () => "", todo: () => "" });
  assert.equal(result, { readResult: { error: { path: "a", error: "No tool of this host can do that. ALL_TOOLS: grep, todo" } } });
});

test("a script hands on a tool's error", async () => {
  const reject = (): never => {
    throw new Error("ENOENT: no such file");
  };
  assert.equal(await byScript("readArgs", { path: "a" }, { read: reject }), { readResult: { fileNotFound: { path: "a" } } });
});

test("a script reads a range", async () => {
  const result = await byScript("readArgs", { path: "a", offset: 3, limit: 1 }, { read: ({ path, offset, limit }) => `${path} ${offset} ${limit}` });
  assert.equal(result, { readResult: { success: { content: "a 3 1", path: "a", totalLines: 3, fileSize: 5, rangeApplied: true } } });
});

test("a script hands on an image", async () => {
  const image = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=", note: "Read image file [image/png]" };
  const result = await byScript("readArgs", { path: "a" }, { read: () => image });
  assert.is(result.readResult.success.fileSize, 8);
  assert.is(result.readResult.success.data.length, 8);
  assert.is((await byScript("readArgs", { path: "a" }, { read: () => ({ ...image, note: undefined }) })).readResult.success.data.length, 8);
});

test("a script hands on what an MCP tool returned, and its error", async () => {
  const content = [{ type: "text", text: "one" }, { type: "image" }, { type: "text", text: "two" }];
  assert.is((await byScript("shellArgs", { command: "ls" }, { exec: () => ({ content }) })).shellResult.success.stdout, "one\ntwo");
  assert.is((await byScript("shellArgs", { command: "ls" }, { exec: () => ({ content, isError: true }) })).shellResult.spawnError.error, "one\ntwo");
  assert.is((await byScript("shellArgs", { command: "ls" }, { exec: () => ({ isError: true }) })).shellResult.spawnError.error, '{"isError":true}');
});

test("a script hands on any other value as JSON", async () => {
  assert.is((await byScript("shellArgs", { command: "ls" }, { exec: () => ({ a: 1 }) })).shellResult.success.stdout, '{"a":1}');
});

test("a script deletes, searches and lists by a command, and edits and writes by their own tools", async () => {
  assert.equal(await byScript("deleteArgs", { path: "a" }, { bash: () => ({ output: "D0:5\n", exit_code: 0 }) }), { deleteResult: { success: { path: "a", deletedFile: "a", fileSize: 5 } } });
  assert.equal((await byScript("grepArgs", { pattern: "x" }, { bash: () => ({ output: "", exit_code: 1 }) })).grepResult.success.workspaceResults, new Map([["/w", { content: { matches: [] } }]]));
  assert.equal(await byScript("piEditArgs", { path: "a", edits: [{ oldText: "x", newText: "y" }] }, { edit: (args) => JSON.stringify(args) }), { piEditResult: { success: { output: '{"path":"a","edits":[{"oldText":"x","newText":"y"}]}' } } });
  assert.equal(await byScript("writeArgs", { path: "a", fileText: "`${x}`" }, { write: () => "ok" }), { writeResult: { success: { path: "a", linesCreated: 1, fileSize: 6 } } });
});

test("values of a script stay values: nothing in them is run", async () => {
  const path = "\"]; tools.pwned(); [\"\u2028`${tools.pwned()}`";
  let seen: unknown;
  await byScript("readArgs", { path }, { read: ({ path: given }) => ((seen = given), "x"), pwned: () => assert.unreachable() });
  assert.is(seen, path);
});

test("declared tools win over scripts", () => {
  assert.is(translate(rowOf("readArgs"), { path: "a" }, [codemode, read], "/w")?.tool, "read");
  assert.is(translate(rowOf("deleteArgs"), { path: "a" }, [codemode, bash], "/w")?.tool, "bash");
  assert.is(translate(rowOf("writeArgs"), { path: "a", fileText: "" }, [codemode, read, bash], "/w")?.unwrap, "codemode");
});

for (const [why, one] of [
  ["has no property for one", tool("codemode", "", { other: { type: "string" } })],
  ["requires more", tool("codemode", "", { code: { type: "string" }, x: { type: "string" } }, ["code", "x"])],
  ["takes no text", tool("codemode", "", { code: { type: "number" } })],
] as const)
  test(`a tool for scripts that ${why} is not used`, () => {
    assert.is(translate(rowOf("readArgs"), { path: "a" }, [one], "/w"), undefined);
  });

test("an answer that says nothing is left out of its fields, not sent as empty", () => {
  assert.equal(answer("readArgs", { path: "a" }, said("", true)), { readResult: { error: { path: "a" } } });
  assert.equal(answer("grepArgs", { pattern: "x" }, said("", true)), { grepResult: { error: { error: "The search failed without a word." } } });
});

test("an absent isError is no error", () => {
  assert.is(answer("shellArgs", { command: "ls" }, { content: [{ type: "text", text: "x" }] }).shellResult.success.stdout, "x");
});

test("a result without content is an empty text", () => {
  assert.equal(answer("readArgs", { path: "a" }, { content: [] }), { readResult: { success: { content: "", path: "a" } } });
});

test("several texts are joined by line breaks", () => {
  assert.is(answer("shellArgs", { command: "ls" }, { content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] }).shellResult.success.stdout, "a\nb");
});

test("an image alone is a note where there is no place for it", () => {
  const image = { type: "image" as const, mimeType: "image/png", data: "iVBORw0KGgo=" };
  assert.is(answer("shellArgs", { command: "ls" }, { content: [image] }).shellResult.success.stdout, "[image omitted: this result can not hold an image/png]");
});

test("a range that the tool did not take is not said to be applied", () => {
  const { success } = answer("readArgs", { path: "a", offset: 2 }, said("x"), [tool("read", "", { path: { type: "string" } })]).readResult;
  assert.is(success.rangeApplied, undefined);
  assert.is(success.totalLines, 1);
  const half = answer("readArgs", { path: "a", offset: 2, limit: 1 }, said("x"), [tool("read", "", { path: { type: "string" }, offset: { type: "number" } })]).readResult;
  assert.is(half.success.rangeApplied, undefined);
  const limited = answer("readArgs", { path: "a", limit: 1 }, said("x")).readResult;
  assert.is(limited.success.rangeApplied, true);
});

const BIG = 5 * 1024 * 1024;

test("a long file keeps its true numbers", () => {
  const { success } = answer("readArgs", { path: "a" }, said("日\n".repeat(BIG / 4))).readResult;
  assert.is(success.totalLines, BIG / 4);
  assert.is(success.fileSize, BIG);
  assert.is(success.truncated, true);
  assert.ok(utf8Size(success.content) <= LIMITS.toolResult);
});

test("a long search keeps its true totals and says that it is cut", () => {
  const text = Array.from({ length: 100_000 }, (_, index) => `src/file-${index % 10}.ts:${index + 1}: the text of a line with a match`).join("\n");
  const start = cpuTime();
  const { content } = answer("grepArgs", { pattern: "x" }, said(text)).grepResult.success.workspaceResults.get("/w");
  assert.ok(cpuTime() - start < 2_000);
  assert.is(content.totalMatchedLines, 100_000);
  assert.is(content.clientTruncated, true);
  const shown = content.matches.flatMap(({ matches }: any) => matches);
  assert.ok(shown.length > 1_000 && shown.reduce((sum: number, one: any) => sum + one.content.length, 0) <= LIMITS.toolResult);
});

test("a long list of files says that it is cut, its total is true", () => {
  const { files } = answer("grepArgs", { glob: "*" }, said(Array.from({ length: 50_000 }, (_, index) => `a/rather/long/path/${index}`).join("\n"))).grepResult.success.workspaceResults.get("/w");
  assert.is(files.totalFiles, 50_000);
  assert.is(files.clientTruncated, true);
  assert.ok(files.files.length < 50_000);
});

test("a long folder says that not all was processed", () => {
  const names = Array.from({ length: 50_000 }, (_, index) => `a-rather-long-name-${index}`).join("\n");
  const { directoryTreeRoot } = answer("lsArgs", { path: "/x" }, said(names), [ls]).lsResult.success;
  assert.is(directoryTreeRoot.childrenWereProcessed, undefined);
  assert.ok(directoryTreeRoot.childrenFiles.length < 50_000);
});

test("a long output of an exec named after the host's tool says how it was cut", () => {
  const { success } = answer("piBashArgs", { command: "x" }, said("a\n".repeat(BIG / 2))).piBashResult;
  const outputLines = lineCount(success.output);
  assert.equal(success.truncation, { truncated: true, truncatedBy: "bytes", totalLines: BIG / 2, outputLines, outputBytes: utf8Size(success.output), maxBytes: LIMITS.toolResult });
});

test("a written file that goes back is cut like any text", () => {
  const { success } = answer("writeArgs", { path: "a", fileText: "x".repeat(BIG), returnFileContentAfterWrite: true }, said("ok"), [write]).writeResult;
  assert.is(success.fileSize, BIG);
  assert.is(utf8Size(success.fileContentAfterWrite), LIMITS.toolResult);
});

test("a count of lines with context counts the matches", () => {
  const { count } = answer("grepArgs", { pattern: "x", outputMode: "count", context: 1 }, said("a-1- y\na:2: x"), [grep]).grepResult.success.workspaceResults.get("/w");
  assert.equal(count, { counts: [{ file: "a", count: 1 }], totalFiles: 1, totalMatches: 1 });
});

test("a count that a tool says in words is no count", () => {
  const { count } = answer("grepArgs", { pattern: "x", outputMode: "count" }, said("three matches"), [grep]).grepResult.success.workspaceResults.get("/w");
  assert.equal(count, { counts: [] });
});

test.run();
