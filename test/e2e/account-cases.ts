/** The account: the model list, thinking levels, a login that has expired. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { syntheticToken } from "../../lib/loopback/account.ts";
import { assertClean, assertPrinted, says, type Case } from "./case.ts";
import type { Scene } from "./scene.ts";

const REFRESH = "synthetic-refresh";
const asked = (scene: Scene, path: string) => scene.front!.received.filter((request) => request.path.endsWith(path)).length;
const expired = { cursor: { type: "oauth", access: syntheticToken(-60), refresh: REFRESH, expires: Date.now() - 60_000 } };
const current = { cursor: { type: "oauth", access: syntheticToken(3600), refresh: REFRESH, expires: Date.now() + 3_600_000 } };

export const ACCOUNT_CASES: readonly Case[] = [
  {
    name: "the model list is the account's, asked for once",
    setting: { account: {}, auth: current },
    async check(scene) {
      const { stdout, stderr } = await scene.plain(["--list-models"]);
      const rows = `${stdout}${stderr}`.split("\n").filter((row) => row.startsWith("cursor")).map((row) => row.trim().split(/\s+/));
      assert.deepEqual(rows.map((row) => row.slice(0, 3)).sort(), [["cursor", "composer-2.5", "200K"], ["cursor", "grok-4.7", "256K"]]);
      assert.equal(rows.find(([, id]) => id === "grok-4.7")![4], "yes");
      assert.equal(asked(scene, "GetUsableModels"), 1);
    },
  },
  {
    name: "a second start within ten minutes asks for no list",
    setting: { account: {}, auth: current, script: says("One.") },
    async check(scene) {
      await scene.plain(["--list-models"]);
      assertPrinted(await scene.print(["--model", "grok-4.7", "hello"]), "One.");
      assert.equal(asked(scene, "GetUsableModels"), 1);
    },
  },
  {
    name: "a thinking level is sent as its published slug, without parameters",
    setting: { account: {}, auth: current, script: says("Thought.") },
    async check(scene) {
      assertPrinted(await scene.print(["--model", "grok-4.7", "--thinking", "high", "hello"]), "Thought.");
      assertPrinted(await scene.print(["--model", "grok-4.7", "--thinking", "low", "hello"]), "Thought.");
      assert.deepEqual(scene.host.received.map(({ request }) => request!.requestedModel), [{ modelId: "grok-4.7-high" }, { modelId: "grok-4.7-low" }]);
    },
  },
  {
    name: "an expired login is refreshed by Pi, the Run uses the new token, and the refresh token is kept",
    setting: { account: { refreshToken: REFRESH }, auth: expired, script: says("Fresh.") },
    async check(scene) {
      assertPrinted(await scene.print(["hello"]), "Fresh.");
      assert.equal(asked(scene, "/oauth/token"), 1);
      const { cursor } = JSON.parse(await readFile(join(scene.folder, "agent", "auth.json"), "utf8")) as { cursor: typeof current.cursor };
      assert.equal(scene.run(0).headers["authorization"], `Bearer ${cursor.access}`);
      assert.notEqual(cursor.access, expired.cursor.access);
      assert.equal(cursor.refresh, REFRESH);
      assert.ok(cursor.expires > Date.now());
      assert.equal(asked(scene, "GetUsableModels"), 1);
      assertClean(scene.run(0));
    },
  },
  {
    name: "a refresh that is refused is an error in words, and the stored login stays",
    setting: { account: { refreshToken: "another" }, auth: expired, settings: { retry: { enabled: false } } },
    async check(scene) {
      const output = await scene.print(["hello"]);
      assert.equal(output.code, 1);
      assert.doesNotMatch(`${output.stdout}${output.stderr}`, new RegExp(REFRESH));
      assert.deepEqual(JSON.parse(await readFile(join(scene.folder, "agent", "auth.json"), "utf8")), expired);
      assert.equal(scene.host.received.length, 0);
    },
  },
  {
    name: "without any login Pi says what to do",
    setting: { auth: {}, settings: { retry: { enabled: false } } },
    async check(scene) {
      const output = await scene.print(["hello"]);
      assert.equal(output.code, 1);
      assert.match(output.stderr, /\/login|API key/);
      assert.equal(scene.host.received.length, 0);
    },
  },
];
