/** What goes wrong: Pi sends again what is worth it, and says plainly what is not. */
import assert from "node:assert/strict";
import { assertClean, assertPrinted, END, lastText, messagesOf, says, type Case } from "./case.ts";
import type { Script } from "../../lib/loopback/index.ts";
import type { Setting } from "./scene.ts";

/** A first try that fails in the middle of the answer, and a second one that works. */
const retried = (name: string, first: Script, word: RegExp, setting: Setting = {}): Case => ({
  name: `${name}: Pi tries again and the answer is printed once`,
  setting: { script: [first, says("Second try.")], ...setting },
  async check(scene) {
    const { output, lines } = await scene.json(["hello"]);
    assert.equal(output.code, 0, output.stderr);
    const [failed, answer, ...more] = messagesOf(lines);
    assert.equal(more.length, 0);
    assert.equal(failed!.stopReason, "error");
    assert.match(failed!.errorMessage!, word);
    assert.equal(answer!.stopReason, "stop");
    assert.equal(lastText(lines), "Second try.");
    assert.equal(scene.host.received.length, 2);
    assertClean(scene.run(1));
  },
});

/** A failure that trying again does not mend. */
const final = (name: string, setting: Setting, word: RegExp): Case => ({
  name: `${name}: Pi says so and does not try again`,
  setting,
  async check(scene) {
    const output = await scene.print(["hello"]);
    assert.equal(output.code, 1);
    assert.match(output.stderr, word);
    assert.equal(scene.host.received.length, 1);
  },
});

export const FAULT_CASES: readonly Case[] = [
  {
    name: "the host is down: Pi tries again and then says that the connection was refused",
    setting: { env: { CURSOR_PROVIDER_AGENT_ORIGIN: "http://127.0.0.1:9" }, settings: { retry: { maxRetries: 1, baseDelayMs: 50 } } },
    async check(scene) {
      const output = await scene.print(["hello"]);
      assert.equal(output.code, 1);
      assert.match(output.stderr, /network error/);
      assert.match(output.stderr, /ECONNREFUSED/);
    },
  },
  retried("GOAWAY in the middle of the answer", [{ text: "Half" }, { fault: { type: "goaway", code: 2, cut: true } }], /network error/),
  retried("RST_STREAM in the middle of the answer", [{ text: "Half" }, { fault: { type: "reset", code: 2 } }], /network error/),
  retried("a lost socket in the middle of the answer", [{ text: "Half" }, { fault: { type: "cut", reset: true } }], /connection_lost/),
  retried("a silent host", [{ hang: true }], /first_token_timeout/, { env: { CURSOR_PROVIDER_FIRST_TOKEN_MS: "700" } }),
  retried("a model that falls silent", [{ text: "Half" }, { hang: true }], /idle_timeout/, { env: { CURSOR_PROVIDER_IDLE_MS: "700" } }),
  retried("503", [], /network error/, { faults: [{ type: "response", status: 503, contentType: "text/html", body: "<html>", run: 0 }] }),
  {
    name: "GOAWAY after the turn has ended is no failure: one answer, one Run",
    setting: { script: [{ text: "Done." }, { checkpoint: true }, { turnEnded: true }, { fault: { type: "goaway", cut: true } }] },
    async check(scene) {
      assertPrinted(await scene.print(["hello"]), "Done.");
      assert.equal(scene.host.received.length, 1);
    },
  },
  {
    name: "a connection that is lost while a tool runs: the turn goes on from the transcript",
    setting: { script: [[{ mcp: { tool: "bash", args: { command: "sleep 1; echo BLUE" } } }, { wait: 400 }, { fault: { type: "cut" } }], [{ getBlob: "root" }, { text: "It was blue." }, ...END]] },
    async check(scene) {
      assertPrinted(await scene.print(["run it"]), "It was blue.");
      assert.equal(scene.host.received.length, 2);
      assertClean(scene.run(1));
      assert.match(JSON.stringify(scene.run(1).prompt.messages), /BLUE/);
    },
  },
  final("a token that is refused", { faults: [{ type: "response", status: 401, contentType: "application/json", body: '{"code":"unauthenticated"}' }] }, /auth error/),
  final("a quota that is used up", { script: [{ end: { error: { code: "resource_exhausted", message: "usage limit reached for your plan" } } }] }, /remote error: quota/),
  final("a model that only asks for what is no tool", { script: [{ repeat: 9, steps: [{ exec: { raw: "ba0300" } }] }, { hang: true }] }, /tool_loop/),
  final("bytes that cannot be read", { script: [{ raw: "ff" }] }, /protocol-drift error/),
  final("a turn without anything", { script: [{ turnEnded: true }, { end: true }] }, /empty_response/),
];
