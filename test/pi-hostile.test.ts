/** H13 and H11: whatever is handed in or goes wrong, a call ends in one event that says what it was. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { Script } from "../lib/loopback/index.ts";
import { createExtension } from "../lib/pi/extension.ts";
import type { PiModel } from "../lib/pi/pi.ts";
import { contextOf, onStage, read, user } from "./pi-fake.ts";

const test = suite("pi hostile");

for (const [what, change] of [
  ["an origin that is not allowed", { CURSOR_PROVIDER_AGENT_ORIGIN: "https://evil.example" }],
  ["a first-token time that is no number", { CURSOR_PROVIDER_FIRST_TOKEN_MS: "soon" }],
  ["an idle time of nothing", { CURSOR_PROVIDER_IDLE_MS: "0" }],
  ["the inference channel", { CURSOR_PROVIDER_CHANNEL: "inference" }],
  ["native execs in the process", { CURSOR_PROVIDER_NATIVE_EXEC: "inproc" }],
] as [string, Record<string, string>][])
  test(`H13 ${what} is one error event, and the models are there all the same`, () =>
    onStage({ env: change }, async ({ pi, ask }) => {
      assert.ok(pi.config.models.length > 0);
      const { events, message } = await ask([user("hi")]);
      assert.equal(events.map(({ type }) => type), ["error"]);
      assert.match(message.errorMessage!, "local error");
    }));

for (const [what, model] of [
  ["undefined", undefined],
  ["null", null],
  ["an empty object", {}],
  ["a model with an id that is no text", { id: 7, input: "image" }],
] as [string, unknown][])
  test(`H13 a model that is ${what} is one error event or an answer, never a throw`, () =>
    onStage({}, async ({ pi }) => {
      const { events, message } = await read(pi.config.streamSimple(model as PiModel, contextOf("1.6", [user("hi")], "", []), { apiKey: "t" }));
      assert.is(events.filter(({ type }) => type === "error" || type === "done").length, 1);
      assert.ok(message.stopReason === "stop" || message.errorMessage);
    }));

for (const context of [undefined, null, {}, { messages: 7 }, { messages: [null] }, { messages: [{ role: "user" }] }])
  test(`H13 a context that is ${JSON.stringify(context)} is one error event`, () =>
    onStage({}, async ({ pi, model }) => {
      const { events } = await read(pi.config.streamSimple(model, context as never, { apiKey: "t" }));
      assert.equal(events.map(({ type }) => type), ["error"]);
    }));

test("H13 no options at all are one error event: nobody is logged in", () =>
  onStage({}, async ({ pi, model }) => {
    const { message } = await read(pi.config.streamSimple(model, contextOf("1.6", [user("hi")], "", [])));
    assert.match(message.errorMessage!, "Nobody is logged in");
    assert.match(message.errorMessage!, "/login");
  }));

test("H13 a handle folder that cannot be written costs no turn", () =>
  onStage({}, async ({ ask, folder, env }) => {
    await writeFile(join(folder, "blocked"), "");
    const { message } = await ask([user("hi")], { env: { ...env, CURSOR_PROVIDER_HANDLE_DIR: join(folder, "blocked", "handles") } });
    assert.is(message.stopReason, "stop");
  }));

test("H13 an auth.json that is a folder costs no activation", () =>
  onStage({ activate: false }, async ({ env, sessions, pi, folder }) => {
    await mkdir(join(folder, ".pi", "agent", "auth.json"), { recursive: true });
    await createExtension({ env, sessions })(pi);
    assert.is(pi.registered.length, 1);
  }));

test("the environment of the call goes before the process's", () =>
  onStage({}, async ({ ask }) => {
    const { message } = await ask([user("hi")], { env: { CURSOR_PROVIDER_CHANNEL: "inference" } });
    assert.match(message.errorMessage!, "CURSOR_PROVIDER_CHANNEL");
  }));

for (const [what, script, word] of [
  ["the first token does not come", [{ hang: true }], "first_token_timeout"],
  ["the model falls silent", [{ text: "a" }, { hang: true }], "idle_timeout"],
  ["the connection is lost", [{ text: "a" }, { fault: { type: "cut" } }], "connection_lost"],
  ["the model only asks for what is no tool", [{ repeat: 9, steps: [{ exec: { case: "shellArgs", args: { command: "ls" } } }] }, { hang: true }], "tool_loop"],
] as [string, Script, string][])
  test(`H11 where ${what}, the message says so`, () =>
    onStage({ script, env: { CURSOR_PROVIDER_FIRST_TOKEN_MS: "150", CURSOR_PROVIDER_IDLE_MS: "150" } }, async ({ ask }) => {
      const { message } = await ask([user("hi")]);
      assert.is(message.stopReason, "error");
      assert.match(message.errorMessage!, word);
      assert.not.match(message.errorMessage!, /^(Aborted|Error)/);
    }));

test.run();
