/** Sessions: steering, abort, resume, fork, compaction, a new session, the status. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { assertClean, assertPrinted, END, lastText, messagesOf, promptOf, says, type Case } from "./case.ts";
import type { RpcPi } from "./process.ts";
import type { Scene } from "./scene.ts";

/** An extension whose command goes to the n-th message of a role. */
const NAVIGATOR = `
export default function (pi) {
  pi.registerCommand("goto", { description: "Go to a message.", async handler(args, ctx) {
    const [role, index] = args.split(" ");
    const entries = ctx.sessionManager.getEntries().filter(({ type, message }) => type === "message" && message.role === role);
    await ctx.navigateTree(entries[Number(index)].id, { summarize: false });
    ctx.ui.notify("went there");
  } });
}`;
const navigating = { files: { "navigator.js": NAVIGATOR } };
const goTo = async (pi: RpcPi, place: string) => {
  const from = pi.mark;
  await pi.ask({ type: "prompt", message: `/goto ${place}` });
  await pi.until((line) => line["message"] === "went there", from, "the navigation");
};

const handles = async (scene: Scene) => (await readdir(join(scene.folder, "handles"))).filter((name) => name.endsWith(".json"));

export const SESSION_CASES: readonly Case[] = [
  {
    name: "steering during a tool: the result and the new message go into a new Run",
    setting: { script: [[{ mcp: { tool: "bash", args: { command: "sleep 1; echo slow" } } }, { awaitResults: true }, { text: "unseen" }, ...END], says("Steered.")] },
    async check(scene) {
      const pi = scene.rpc();
      const from = pi.mark;
      await pi.ask({ type: "prompt", message: "run it" });
      await pi.until(({ type }) => type === "tool_execution_start", from, "the tool");
      await pi.ask({ type: "steer", message: "and now stop" });
      await pi.settled(from);
      assert.equal(lastText(pi.lines), "Steered.");
      const received = scene.run(1);
      assertClean(received);
      assert.equal(received.prompt.user.text, "and now stop");
      assert.match(promptOf(received), /slow/);
      await scene.run(0).closed;
    },
  },
  {
    name: "abort while the model speaks: what was said stays, the stream is reset, the next prompt works",
    setting: { script: [[{ text: "Once upon a time" }, { hang: true }], says("Again.")] },
    async check(scene) {
      const pi = scene.rpc();
      const from = pi.mark;
      await pi.ask({ type: "prompt", message: "tell me" });
      await pi.until((line) => (line["assistantMessageEvent"] as { type?: string } | undefined)?.type === "text_delta", from, "text");
      await pi.ask({ type: "abort" });
      await pi.settled(from);
      const [message] = messagesOf(pi.lines);
      assert.equal(message!.stopReason, "aborted");
      assert.equal(message!.content[0]!.text, "Once upon a time");
      await scene.run(0).closed;
      assert.equal(scene.run(0).rstCode, 8);
      assert.equal(lastText(await pi.prompt("again")), "Again.");
      assertClean(scene.run(1));
    },
  },
  {
    name: "abort while a tool runs: the parked stream is closed, the next prompt starts from the transcript",
    setting: { script: [[{ mcp: { tool: "bash", args: { command: "sleep 30" } } }, { hang: true }], says("Fresh.")] },
    async check(scene) {
      const pi = scene.rpc();
      const from = pi.mark;
      await pi.ask({ type: "prompt", message: "run it" });
      await pi.until(({ type }) => type === "tool_execution_start", from, "the tool");
      await pi.ask({ type: "abort" });
      await pi.settled(from);
      await scene.run(0).closed;
      assert.equal(scene.run(0).rstCode, 8);
      assert.equal(lastText(await pi.prompt("again")), "Fresh.");
      assertClean(scene.run(1));
    },
  },
  {
    name: "a turn that is aborted after one that was kept: the next prompt is sent alone, in a new conversation",
    setting: {
      script: [
        says("One."),
        [{ text: "Half" }, { mcp: { tool: "bash", args: { command: "sleep 30" } } }, { hang: true }],
        [{ text: "Half" }, { hang: true }],
        [{ expect: { resume: false, conversationId: "new" } }, ...says("Four.")],
        [{ expect: { resume: true, conversationId: "same" } }, ...says("Five.")],
      ],
    },
    async check(scene) {
      const pi = scene.rpc();
      await pi.prompt("first");
      for (const [prompt, type] of [["second", "tool_execution_start"], ["third", "message_update"]] as const) {
        const from = pi.mark;
        await pi.ask({ type: "prompt", message: prompt });
        await pi.until((line) => line.type === type, from, type);
        await pi.ask({ type: "abort" });
        await pi.settled(from);
      }
      assert.equal(lastText(await pi.prompt("fourth")), "Four.");
      assert.equal(lastText(await pi.prompt("fifth")), "Five.");
      assert.deepEqual(scene.host.received.map(({ prompt }) => prompt.user.text), ["first", "second", "third", "fourth", "fifth"]);
      assert.equal(new Set(scene.host.received.map(({ request }) => request!.conversationId)).size, 3);
      assert.match(promptOf(scene.run(3)), /first[\s\S]*One\.[\s\S]*second[\s\S]*third/);
      for (const received of scene.host.received) assertClean(received);
    },
  },
  {
    name: "a second process with --continue resumes the remote conversation without sending history",
    setting: { script: [says("One."), [{ expect: { resume: true, conversationId: "same" } }, ...says("Two.")]] },
    async check(scene) {
      assertPrinted(await scene.print(["first"]), "One.");
      assert.equal((await handles(scene)).length, 1);
      assertPrinted(await scene.print(["--continue", "second"]), "Two.");
      for (const received of scene.host.received) assertClean(received);
    },
  },
  {
    name: "a session that Pi does not keep leaves no handle behind, and goes on while it lasts",
    setting: { script: [says("One."), [{ expect: { resume: true, conversationId: "same" } }, ...says("Two.")]] },
    async check(scene) {
      assertPrinted(await scene.print(["--no-session", "first", "second"]), "Two.");
      for (const received of scene.host.received) assertClean(received);
      assert.deepEqual(await readdir(join(scene.folder, "handles")), []);
    },
  },
  {
    name: "a second process after a tool round resumes too",
    setting: {
      script: [
        [{ mcp: { tool: "bash", args: { command: "echo BLUE" } } }, { awaitResults: true }, { text: "Blue." }, ...END],
        [{ expect: { resume: true } }, ...says("Still blue.")],
      ],
    },
    async check(scene) {
      assertPrinted(await scene.print(["which?"]), "Blue.");
      assertPrinted(await scene.print(["--continue", "sure?"]), "Still blue.");
      assertClean(scene.run(1));
    },
  },
  {
    name: "a process that was killed in a tool leaves a session that goes on from its transcript",
    setting: { script: [[{ mcp: { tool: "bash", args: { command: "kill -9 $PPID; sleep 5" } } }, { awaitResults: true }, ...END], [{ expect: { resume: false } }, ...says("Recovered.")]] },
    async check(scene) {
      assert.notEqual((await scene.print(["die"])).code, 0);
      assertPrinted(await scene.print(["--continue", "go on"]), "Recovered.");
      assertClean(scene.run(1));
      assert.match(promptOf(scene.run(1)), /No result provided/);
    },
  },
  {
    name: "a fork is a new remote conversation with the old one's history",
    setting: { script: [says("One."), [{ expect: { resume: false, conversationId: "new" } }, ...says("Forked.")]] },
    async check(scene) {
      assertPrinted(await scene.print(["first"]), "One.");
      const [file] = await readdir(join(scene.folder, "sessions"));
      assertPrinted(await scene.print(["--fork", join(scene.folder, "sessions", file!), "second"]), "Forked.");
      assertClean(scene.run(1));
      assert.match(promptOf(scene.run(1)), /first[\s\S]*One\./);
      assert.equal((await handles(scene)).length, 2);
    },
  },
  {
    name: "going back inside a turn: what the model said after it is not in the next conversation",
    setting: {
      ...navigating,
      script: [
        [{ mcp: { tool: "bash", args: { command: "echo BLUE" } } }, { awaitResults: true }, { text: "Rewound." }, ...END],
        [{ expect: { resume: false, conversationId: "new" } }, ...says("Next.")],
      ],
    },
    async check(scene) {
      const pi = scene.rpc(["-e", "./navigator.js"]);
      await pi.prompt("run it");
      await goTo(pi, "toolResult 0");
      assert.equal(lastText(await pi.prompt("go on")), "Next.");
      assertClean(scene.run(1));
      assert.match(promptOf(scene.run(1)), /BLUE/);
      assert.doesNotMatch(promptOf(scene.run(1)), /Rewound/);
    },
  },
  {
    name: "going to a branch with the same user texts: the next conversation is told that branch's answers",
    setting: {
      ...navigating,
      script: [says("One."), says("ANSWER A"), says("ANSWER B"), [{ expect: { resume: false, conversationId: "new" } }, ...says("Last.")]],
    },
    async check(scene) {
      const pi = scene.rpc(["-e", "./navigator.js"]);
      await pi.prompt("first");
      await pi.prompt("again");
      await goTo(pi, "assistant 0");
      await pi.prompt("again");
      await goTo(pi, "assistant 1");
      assert.equal(lastText(await pi.prompt("what did you say?")), "Last.");
      for (const received of scene.host.received) assertClean(received);
      assert.match(promptOf(scene.run(3)), /ANSWER A/);
      assert.doesNotMatch(promptOf(scene.run(3)), /ANSWER B/);
    },
  },
  {
    name: "a compaction is a call apart; the next turn starts a new conversation with the summary",
    setting: {
      settings: { compaction: { enabled: true, keepRecentTokens: 300 } },
      script: [says("One."), says("Two."), says("SUMMARY OF IT ALL"), [{ expect: { resume: false, conversationId: "new" } }, ...says("After.")]],
    },
    async check(scene) {
      const pi = scene.rpc();
      await pi.prompt(`first ${"word ".repeat(400)}`);
      await pi.prompt(`second ${"word ".repeat(400)}`);
      const kept = await readFile(join(scene.folder, "handles", (await handles(scene))[0]!), "utf8");
      const response = await pi.ask({ type: "compact" });
      assert.equal(response["success"], true, JSON.stringify(response));
      assert.match(JSON.stringify(response["data"]), /SUMMARY OF IT ALL/);
      const summary = scene.run(2);
      assertClean(summary);
      assert.deepEqual(summary.prompt.tools, []);
      assert.notEqual(summary.request!.conversationId, scene.run(1).request!.conversationId);
      assert.equal(await readFile(join(scene.folder, "handles", (await handles(scene))[0]!), "utf8"), kept);
      assert.equal(lastText(await pi.prompt("third")), "After.");
      assertClean(scene.run(3));
      assert.match(promptOf(scene.run(3)), /SUMMARY OF IT ALL/);
    },
  },
  {
    name: "a prompt that is too large makes Pi compact and send it again",
    setting: {
      settings: { compaction: { enabled: true, keepRecentTokens: 300 }, retry: { baseDelayMs: 50 } },
      script: [says("One."), [{ end: { error: { code: "resource_exhausted", message: "prompt is too large" } } }], says("SUMMARY"), says("Second try.")],
    },
    async check(scene) {
      const pi = scene.rpc();
      await pi.prompt(`first ${"word ".repeat(400)}`);
      const from = pi.mark;
      await pi.ask({ type: "prompt", message: `second ${"word ".repeat(400)}` });
      await pi.until((line) => line.type === "compaction_end" || line.type === "auto_compaction_end", from, "the compaction");
      await pi.until((line) => messagesOf([line]).some(({ stopReason }) => stopReason === "stop"), from, "the second try");
      assert.equal(lastText(pi.lines), "Second try.");
      assert.match(messagesOf(pi.lines)[1]!.errorMessage!, /^context_length_exceeded: /);
    },
  },
  {
    name: "a new session in the same process has its own conversation, and the provider is still there",
    setting: { script: [says("One."), [{ expect: { resume: false, conversationId: "new" } }, ...says("New.")]] },
    async check(scene) {
      const pi = scene.rpc();
      await pi.prompt("first");
      assert.equal((await pi.ask({ type: "new_session" }))["success"], true);
      assert.equal(lastText(await pi.prompt("second")), "New.");
      assertClean(scene.run(1));
      assert.equal((await handles(scene)).length, 2);
    },
  },
  {
    name: "/cursor shows how things stand, without the token",
    setting: { script: says("One.") },
    async check(scene) {
      const pi = scene.rpc();
      await pi.prompt("first");
      const from = pi.mark;
      await pi.ask({ type: "prompt", message: "/cursor" });
      const shown = await pi.until((line) => line.type === "extension_ui_request" && line["method"] === "notify", from, "the status");
      const text = String(shown["message"]);
      assert.match(text, new RegExp(`origin: ${scene.host.origin}`));
      assert.match(text, /login: logged in/);
      assert.match(text, /this session: remote conversation [0-9a-f-]{36}/);
      assert.match(text, /parked Run: none/);
      assert.doesNotMatch(text, /synthetic-token/);
    },
  },
];
