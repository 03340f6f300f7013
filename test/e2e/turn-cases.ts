/** Turns: text, thinking, Pi's own tools by MCP and by native translation, images, usage. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { assertClean, assertPrinted, END, messagesOf, promptOf, says, type Case } from "./case.ts";

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
/** All but find, which wants a program that no package brings. */
const TOOLS = ["--tools", "read,bash,edit,write,grep,ls"];

export const TURN_CASES: readonly Case[] = [
  {
    name: "text is printed, Pi exits by itself, and the host saw Pi's prompt, tools and folder",
    setting: { script: says("Hello from the host.") },
    async check(scene) {
      const output = await scene.print(["hello"]);
      assertPrinted(output, "Hello from the host.");
      const received = scene.run(0);
      assertClean(received);
      assert.equal(received.prompt.user.text, "hello");
      assert.match(promptOf(received), /<rules>/);
      for (const tool of ["read", "bash", "edit", "write"]) assert.ok(received.prompt.tools.some((name) => name.endsWith(tool)), tool);
      assert.deepEqual(received.request!.conversationState!.previousWorkspaceUris, [`file://${scene.work}`]);
      assert.equal(received.request!.requestedModel!.modelId, "composer-2.5");
      assert.equal(received.headers["authorization"], "Bearer synthetic-token");
    },
  },
  {
    name: "thinking and text are Pi's events, and the usage is its sum",
    setting: { script: [{ thinking: "Hm, let me see.", chunks: 3 }, { text: "Forty-two.", chunks: 4 }, { tokens: 11 }, ...END] },
    async check(scene) {
      const { lines } = await scene.json(["--no-session", "what is it?"]);
      const [message, ...more] = messagesOf(lines);
      assert.equal(more.length, 0);
      assert.deepEqual(message!.content, [{ type: "thinking", thinking: "Hm, let me see." }, { type: "text", text: "Forty-two." }]);
      assert.equal(message!.stopReason, "stop");
      const { input = 0, output = 0, totalTokens = 0 } = message!.usage;
      assert.ok(input > 100);
      assert.equal(output, 11);
      assert.equal(totalTokens, input + output);
      const updates = lines.flatMap((line) => (line["assistantMessageEvent"] as { type?: string } | undefined)?.type ?? []);
      assert.deepEqual([...new Set(updates)], ["thinking_start", "thinking_delta", "thinking_end", "text_start", "text_delta", "text_end"]);
    },
  },
  {
    name: "Pi's own bash, read, write, edit, grep and ls run by MCP, on one stream",
    setting: {
      files: { "a.txt": "line one\nneedle two\n" },
      script: [
        { mcp: { tool: "bash", args: { command: "echo from-pi-bash $((6*7))" } } },
        { awaitResults: true },
        { mcp: { tool: "read", args: { path: "a.txt" } } },
        { awaitResults: true },
        { mcp: { tool: "write", args: { path: "new.txt", content: "old text\n" } } },
        { awaitResults: true },
        { mcp: { tool: "edit", args: { path: "new.txt", edits: [{ oldText: "old", newText: "new" }] } } },
        { awaitResults: true },
        { mcp: { tool: "grep", args: { pattern: "needle", path: "." } } },
        { awaitResults: true },
        { mcp: { tool: "ls", args: { path: "." } } },
        { awaitResults: true },
        { text: "All done." },
        ...END,
      ],
    },
    async check(scene) {
      assertPrinted(await scene.print([...TOOLS, "use them"]), "All done.");
      assert.equal(scene.host.received.length, 1);
      const received = scene.run(0);
      assertClean(received);
      const texts = Object.fromEntries(received.results.map(({ name, text }) => [name, text.trim()]));
      assert.equal(texts["bash"], "from-pi-bash 42");
      assert.equal(texts["read"], "line one\nneedle two");
      assert.match(texts["write"]!, /Successfully wrote/);
      assert.match(texts["edit"]!, /Successfully replaced/);
      assert.equal(texts["grep"], "a.txt:2: needle two");
      assert.equal(texts["ls"], "a.txt\nnew.txt");
      assert.ok(received.results.every(({ isError, arm }) => !isError && arm === "mcpResult.success"));
      assert.equal(await readFile(join(scene.work, "new.txt"), "utf8"), "new text\n");
    },
  },
  {
    name: "native shell, read, write, grep, glob, ls and delete are run by Pi's tools",
    setting: {
      files: { "a.txt": "line one\nneedle two\n", "old.txt": "12345" },
      script: [
        { exec: { case: "shellStreamArgs", args: { command: "echo native $((6*7))", description: "Echo" } } },
        { exec: { case: "readArgs", args: { path: "a.txt" } } },
        { exec: { case: "writeArgs", args: { path: "written.txt", fileText: "by native\n" } } },
        { exec: { case: "grepArgs", args: { pattern: "needle", path: "." } } },
        { exec: { case: "grepArgs", args: { pattern: "", glob: "*.txt" } } },
        { exec: { case: "lsArgs", args: { path: "." } } },
        { exec: { case: "deleteArgs", args: { path: "old.txt" } } },
        { text: "All native." },
        ...END,
      ],
    },
    async check(scene) {
      assertPrinted(await scene.print([...TOOLS, "go native"]), "All native.");
      const received = scene.run(0);
      assertClean(received);
      assert.deepEqual(received.results.map(({ arm }) => arm), [
        "shellStream.exit",
        "readResult.success",
        "writeResult.success",
        "grepResult.success",
        "grepResult.success",
        "lsResult.success",
        "deleteResult.success",
      ]);
      assert.match(received.results[0]!.text, /native 42/);
      assert.match(received.results[1]!.text, /needle two/);
      assert.equal(await readFile(join(scene.work, "written.txt"), "utf8"), "by native\n");
      await assert.rejects(readFile(join(scene.work, "old.txt")));
    },
  },
  {
    name: "a native command that fails gives its code and output, and the turn goes on",
    setting: { script: [{ exec: { case: "shellArgs", args: { command: "echo out; echo err >&2; exit 3" } } }, { text: "It failed." }, ...END] },
    async check(scene) {
      assertPrinted(await scene.print(["fail"]), "It failed.");
      const received = scene.run(0);
      assertClean(received);
      assert.equal(received.results[0]!.arm, "shellResult.failure");
      assert.match(received.results[0]!.text, /out/);
    },
  },
  {
    name: "an error of a tool reaches the model as one",
    setting: { script: [{ mcp: { tool: "read", args: { path: "no/such/file" } } }, { awaitResults: true }, { text: "Not there." }, ...END] },
    async check(scene) {
      assertPrinted(await scene.print(["read it"]), "Not there.");
      assert.equal(scene.run(0).results[0]!.isError, true);
      assert.match(scene.run(0).results[0]!.text, /ENOENT/);
    },
  },
  {
    name: "parallel calls are run together and answered together",
    setting: {
      script: [
        { announce: 3 },
        { mcp: { tool: "bash", args: { command: "sleep 0.3; echo one" } } },
        { mcp: { tool: "bash", args: { command: "echo two" } } },
        { mcp: { tool: "bash", args: { command: "echo three" } } },
        { awaitResults: true },
        { text: "Three." },
        ...END,
      ],
    },
    async check(scene) {
      const { lines } = await scene.json(["--no-session", "run three"]);
      const [first, second] = messagesOf(lines);
      assert.deepEqual(first!.content.map(({ type }) => type), ["toolCall", "toolCall", "toolCall"]);
      assert.equal(first!.stopReason, "toolUse");
      assert.equal(second!.stopReason, "stop");
      assert.deepEqual(scene.run(0).results.map(({ text }) => text.trim()), ["one", "two", "three"]);
      assertClean(scene.run(0));
    },
  },
  {
    name: "an image that the user attaches and one that a tool reads arrive as bytes",
    setting: { files: { "dot.png": PNG }, script: [{ mcp: { tool: "read", args: { path: "dot.png" } } }, { awaitResults: true }, { text: "A dot." }, ...END] },
    async check(scene) {
      assertPrinted(await scene.print(["@dot.png", "what is it?"]), "A dot.");
      const received = scene.run(0);
      assertClean(received);
      assert.equal(received.prompt.user.images.length, 1);
      assert.equal(received.prompt.user.images[0]!.mimeType, "image/png");
      assert.match(received.prompt.user.text, /what is it\?/);
      assert.equal(received.results[0]!.images.length, 1);
    },
  },
  {
    name: "several prompts of one process are turns of one conversation",
    setting: { script: [says("One."), [{ expect: { resume: true, conversationId: "same" } }, ...says("Two.")], [{ expect: { resume: true, conversationId: "same" } }, ...says("Three.")]] },
    async check(scene) {
      assertPrinted(await scene.print(["first", "second", "third"]), "Three.");
      assert.deepEqual(scene.host.received.map(({ prompt }) => prompt.user.text), ["first", "second", "third"]);
      for (const received of scene.host.received) assertClean(received);
    },
  },
  {
    name: "an id that no list has is sent as the slug that it is",
    setting: { script: says("Custom.") },
    async check(scene) {
      const output = await scene.print(["--model", "my-own-slug", "hello"]);
      assert.equal(output.code, 0, output.stderr);
      assert.equal(scene.run(0).request!.requestedModel!.modelId, "my-own-slug");
    },
  },
];
