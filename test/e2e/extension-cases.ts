/** Beside other extensions: tools that appear late or end the turn, hooks on requests and responses, scripts, signals. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { assertClean, assertPrinted, END, messagesOf, promptOf, says, type Case } from "./case.ts";

/** An extension with a tool that registers another, one that ends the turn, and hooks that write down what they see. */
const HELPER = `
import { appendFileSync } from "node:fs";
const tool = (name, text, more = {}, run = () => {}) => ({
  name, label: name, description: "The " + name + " tool.", parameters: { type: "object", properties: {} },
  async execute() { run(); return { content: [{ type: "text", text }], details: {}, ...more }; },
});
export default function (pi) {
  const note = (value) => appendFileSync("seen.jsonl", JSON.stringify(value) + "\\n");
  pi.registerTool(tool("gate", "opened", {}, () => pi.registerTool(tool("late_tool", "late result"))));
  pi.registerTool(tool("finish", "finished", { terminate: true }));
  pi.registerTool({ ...tool("bare"), async execute() { return { content: "bare text", details: {} }; } });
  pi.registerTool({ ...tool("holes"), async execute() { return { content: [null, { type: "text", text: "whole" }], details: {} }; } });
  pi.on("before_provider_request", ({ payload }) => {
    note({ payload });
    if (process.env.REPLACE) return { ...payload, messages: [{ role: "user", content: process.env.REPLACE }] };
  });
  pi.on("after_provider_response", ({ status, headers }) => note({ status, headers }));
}
`;
const files = { "helper.js": HELPER };
const HELPED = ["-e", "./helper.js"];

export const EXTENSION_CASES: readonly Case[] = [
  {
    name: "a tool that another tool registers in the middle of a turn can be called in it",
    // 0.73 gives a turn the tools that it began with.
    line: "1.6",
    setting: { files, script: [{ mcp: { tool: "gate" } }, { awaitResults: true }, { mcp: { tool: "late_tool" } }, { awaitResults: true }, { textFrom: "results", template: "{late_tool}" }, ...END] },
    async check(scene) {
      assertPrinted(await scene.print([...HELPED, "open it"]), "late result");
      assert.equal(scene.host.received.length, 1);
      assertClean(scene.run(0));
    },
  },
  {
    name: "a tool that gives back a text instead of parts, or holes between them, fails no turn",
    // 1.6 makes an error result of it by itself.
    line: "0.73",
    setting: { files, script: [[{ mcp: { tool: "bare" } }, { awaitResults: true }, { mcp: { tool: "holes" } }, { awaitResults: true }, { text: "Done." }, ...END], says("After.")] },
    async check(scene) {
      assertPrinted(await scene.print([...HELPED, "try them", "go on"]), "After.");
      for (const received of scene.host.received) assertClean(received);
      assert.deepEqual(scene.run(0).results.map(({ text }) => text), ["bare text", "whole"]);
    },
  },
  {
    name: "a tool that ends the turn leaves a parked stream: Pi exits by itself, and closes it",
    setting: { files, script: [[{ mcp: { tool: "finish" } }, { hang: true }], says("After.")] },
    async check(scene) {
      const output = await scene.print([...HELPED, "finish"]);
      assert.equal(output.code, 0, output.stderr);
      await scene.run(0).closed;
      assert.equal(scene.run(0).rstCode, 8);
      assertPrinted(await scene.print([...HELPED, "--continue", "go on"]), "After.");
      assertClean(scene.run(1));
      assert.match(promptOf(scene.run(1)), /finished/);
    },
  },
  {
    name: "hooks see each request and response, and never the token",
    setting: { files, script: says("Seen.") },
    async check(scene) {
      assertPrinted(await scene.print([...HELPED, "look"]), "Seen.");
      const text = await readFile(join(scene.work, "seen.jsonl"), "utf8");
      const [request, response, ...more] = text.trim().split("\n").map((row) => JSON.parse(row) as Record<string, unknown>);
      assert.equal(more.length, 0);
      assert.equal((request!["payload"] as { model: { id: string } }).model.id, "composer-2.5");
      assert.equal(response!["status"], 200);
      assert.doesNotMatch(text, /synthetic-token/);
    },
  },
  {
    name: "a hook that replaces the request has its way",
    setting: { files, script: says("Replaced."), env: { REPLACE: "something else" } },
    async check(scene) {
      assertPrinted(await scene.print([...HELPED, "original"]), "Replaced.");
      assert.equal(scene.run(0).prompt.user.text, "something else");
      assertClean(scene.run(0));
    },
  },
  {
    name: "with codemode only, native execs run as scripts",
    line: "1.6",
    setting: {
      settings: { codemode: { mode: "only" } },
      files: { "a.txt": "needle\n" },
      script: [{ exec: { case: "shellStreamArgs", args: { command: "echo scripted $((6*7))" } } }, { exec: { case: "readArgs", args: { path: "a.txt" } } }, { text: "Scripted." }, ...END],
    },
    async check(scene) {
      const { output, lines } = await scene.json(["--no-session", "--tools", "+codemode", "go native"]);
      assert.equal(output.code, 0, output.stderr);
      assert.deepEqual(messagesOf(lines).flatMap(({ content }) => content.flatMap(({ name }) => name ?? [])), ["codemode", "codemode"]);
      const received = scene.run(0);
      assertClean(received);
      assert.deepEqual(received.results.map(({ arm }) => arm), ["shellStream.exit", "readResult.success"]);
      assert.match(received.results[0]!.text, /scripted 42/);
      assert.match(received.results[1]!.text, /needle/);
    },
  },
  {
    name: "an abort while a hook looks at the end of a leg closes the stream that waits for results",
    // 0.73 shows no events of the stream.
    line: "1.6",
    setting: {
      files: { "slow.js": `export default (pi) => pi.on("provider_stream_event", (event) => (JSON.stringify(event).includes('"done"') ? new Promise(() => {}) : undefined));` },
      script: [[{ mcp: { tool: "bash", args: { command: "echo unseen" } } }, { hang: true }]],
    },
    async check(scene) {
      const pi = scene.rpc(["-e", "./slow.js"]);
      const from = pi.mark;
      await pi.ask({ type: "prompt", message: "run it" });
      await pi.until((line) => (line["assistantMessageEvent"] as { type?: string } | undefined)?.type === "toolcall_end", from, "the call");
      await new Promise((resolve) => setTimeout(resolve, 500));
      await pi.ask({ type: "abort" });
      await pi.settled(from);
      await scene.run(0).closed;
      assert.equal(scene.run(0).rstCode, 8);
    },
  },
  {
    name: "SIGTERM in the middle of an answer closes the stream and the process",
    setting: { script: [{ text: "Once" }, { hang: true }] },
    async check(scene) {
      const pi = scene.rpc();
      const from = pi.mark;
      await pi.ask({ type: "prompt", message: "tell me" });
      await pi.until((line) => (line["assistantMessageEvent"] as { type?: string } | undefined)?.type === "text_delta", from, "text");
      assert.equal(await pi.terminate(), 143);
      await scene.run(0).closed;
    },
  },
];
