/** Native execs end to end: the embedded host asks on real HTTP/2, a host with tools of its own names answers, the turn goes on. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { camel, EXEC, type ExecRow } from "../lib/agent/index.ts";
import { createProviderOn } from "../lib/driver/provider.ts";
import type { Tool, ToolCallPart } from "../lib/index.ts";
import { startLoopback, type Received, type Script } from "../lib/loopback/index.ts";
import { fast } from "./endure.ts";
import { callsOf, said, wholeTurn, type Result } from "./host-loop.ts";
import { ask } from "./raw-host.ts";

const test = suite("natives");

/** Plays a script against a host whose tools are answered by `answer`; gives what the service saw, and the calls. */
async function played(script: Script, tools: Tool[], answer?: (call: ToolCallPart) => Result, workspace?: string): Promise<{ received: Received; calls: ToolCallPart[]; text: string }> {
  const host = await startLoopback({ script });
  const provider = createProviderOn(fast, { accessToken: "t", origin: host.origin, handles: null, env: {} });
  try {
    const legs = await wholeTurn(provider, ask("go", { sessionId: "s", tools, ...(workspace !== undefined && { workspace }) }), answer);
    assert.is(legs.at(-1)!.error, undefined);
    return { received: host.received[0]!, calls: legs.flatMap(callsOf), text: legs.map(({ text }) => text).join("") };
  } finally {
    await provider.close();
    await host.close();
  }
}

/** The arm that refuses a row, as the embedded host names it. */
function refusalArm(row: ExecRow): string {
  if (row.result === undefined || row.arm === undefined) return "throw";
  if (row.decision === "lift") return "mcpResult.toolNotFound";
  // A message whose one field is false is empty on the wire.
  if (row.decision === "allowlisted") return camel(row.result.name);
  return `${camel(row.result.name)}.${camel(row.arm.name)}`;
}

for (const row of EXEC)
  test(`exec ${row.no} ${row.name}, for which the host has no tool, is answered by its row and the turn goes on`, async () => {
    const script: Script = [{ exec: { case: camel(row.name), args: {}, expect: { arm: refusalArm(row) } } }, { text: "going on" }, { turnEnded: true }, { end: true }];
    const { received, calls, text } = await played(script, []);
    assert.equal(received.violations, []);
    assert.is(text, "going on");
    assert.equal(calls, []);
    const closes = received.messages.filter((message) => message.execClientControlMessage?.streamClose !== undefined);
    assert.is(closes.length, 1, "exactly one stream_close");
  });

test("an exec that no row names is thrown and closed, and the turn goes on", async () => {
  const { received, text } = await played([{ exec: { raw: "ea03020a00", expect: { arm: "throw" } } }, { text: "going on" }, { turnEnded: true }, { end: true }], []);
  assert.equal(received.violations, []);
  assert.is(text, "going on");
});

/** A host with nothing like Pi's names. */
const TOOLS: Tool[] = [
  { name: "ctx_shell", description: "Runs a command.", inputSchema: { type: "object", properties: { cmd: { type: "string" } }, required: ["cmd"], additionalProperties: false } },
  { name: "open_file", description: "Opens a file.", inputSchema: { type: "object", properties: { file_path: { type: "string" } }, required: ["file_path"], additionalProperties: false } },
  {
    name: "fs_put",
    description: "Puts text into a file.",
    inputSchema: { type: "object", properties: { filePath: { type: "string" }, body: { type: "string" } }, required: ["filePath", "body"], additionalProperties: false },
  },
];

/** The host's tools, for real, in a folder. */
function hostIn(folder: string): (call: ToolCallPart) => Result {
  return ({ name, arguments: args }) => {
    switch (name) {
      case "ctx_shell": {
        assert.equal(Object.keys(args), ["cmd"]);
        const { stdout, stderr, status } = spawnSync("sh", ["-c", String(args["cmd"])], { cwd: folder, encoding: "utf8" });
        return status === 0 ? said(stdout + stderr || "(no output)") : said(`${stdout}${stderr}\n\nCommand exited with code ${status}`, true);
      }
      case "open_file":
        assert.equal(Object.keys(args), ["file_path"]);
        try {
          return said(readFileSync(String(args["file_path"]), "utf8"));
        } catch (error) {
          return said((error as Error).message, true);
        }
      case "fs_put":
        assert.equal(Object.keys(args).sort(), ["body", "filePath"]);
        writeFileSync(String(args["filePath"]), String(args["body"]));
        return said("written");
      default:
        return said(`no tool ${name}`, true);
    }
  };
}

for (const name of ["plain.txt", "it's $(touch pwned) \"q\".txt", "-rf.txt", "two\nlines.txt", "模型 😀.txt"])
  test(`a turn of natives on ${JSON.stringify(name)} writes, reads, searches, lists, runs and deletes by the host's own tools`, async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "cursor-wire-natives-")));
    const path = join(folder, name);
    try {
      const script: Script = [
        { exec: { case: "writeArgs", args: { path, fileText: "one needle\ntwo\n" }, expect: { arm: "writeResult.success" } } },
        { exec: { case: "readArgs", args: { path }, expect: { arm: "readResult.success", says: "one needle\ntwo\n" } } },
        { exec: { case: "grepArgs", args: { pattern: "needle", path: folder }, expect: { arm: "grepResult.success" } } },
        { exec: { case: "grepArgs", args: { pattern: "", glob: "*.txt", path: folder }, expect: { arm: "grepResult.success" } } },
        { exec: { case: "lsArgs", args: { path: folder }, expect: { arm: "lsResult.success" } } },
        { exec: { case: "shellStreamArgs", args: { command: "printf out; exit 3", workingDirectory: folder }, expect: { arm: "shellStream.exit" } } },
        { exec: { case: "shellArgs", args: { command: "pwd", workingDirectory: folder }, expect: { arm: "shellResult.success", says: folder } } },
        { exec: { case: "readArgs", args: { path: `${path}.missing` }, wait: true } },
        { exec: { case: "deleteArgs", args: { path }, expect: { arm: "deleteResult.success" } } },
        { text: "all done" },
        { turnEnded: true },
        { end: true },
      ];
      const { received, calls, text } = await played(script, TOOLS, hostIn(folder), folder);
      assert.equal(received.violations, []);
      assert.is(text, "all done");
      assert.is(calls.length, 9);
      assert.not.ok(existsSync(path), "it is deleted");
      assert.not.ok(existsSync(join(folder, "pwned")), "nothing in a name is run");
      const results = received.messages.flatMap(({ execClientMessage }) => (execClientMessage ? [execClientMessage] : []));
      const deleted = results.find((result) => result.deleteResult)!.deleteResult!.success!;
      assert.is(Number(deleted.fileSize), 15, "the size before it went");
      assert.is(results.find((result) => result.writeResult)!.writeResult!.success!.linesCreated, 2);
      assert.is(results.find((result) => result.readResult)!.readResult!.success!.totalLines, 2);
      assert.is(results.find((result) => result.shellStream?.exit)!.shellStream!.exit!.code, 3);
      assert.not.ok(results.filter((result) => result.readResult)[1]!.readResult!.success, "a missing file is no success");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

test.run();
