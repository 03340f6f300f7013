/** What `/cursor` shows. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { syntheticToken } from "../lib/loopback/account.ts";
import type { PiSessionContext } from "../lib/pi/pi.ts";
import { END, onStage, PARK, parked, tools, user, type Stage } from "./pi-fake.ts";
import { inOffice } from "./pi-office.ts";

const test = suite("pi status");

/** What `/cursor` says. */
async function status({ pi }: Pick<Stage, "pi">, context: PiSessionContext = {}): Promise<string> {
  let shown = "";
  await pi.commands.get("cursor")!.handler("", { ui: { notify: (text) => (shown = text) }, ...context });
  return shown;
}
const session = (id: string): PiSessionContext => ({ sessionManager: { getSessionId: () => id } });

test("/cursor tells how things stand before anything has happened", () =>
  onStage({}, async (stage) => {
    const text = await status(stage);
    assert.match(text, "channel: agent");
    assert.match(text, `origin: ${stage.host.origin}`);
    assert.match(text, "login: Nobody is logged in to Cursor. Run /login");
    assert.match(text, "models: 3, built-in");
    assert.match(text, "models warning: Using the built-in model list: nobody is logged in");
    assert.match(text, `handles: ${join(stage.folder, "handles")}`);
    assert.match(text, "this session: none");
    assert.match(text, "parked Run: none");
  }));

test("/cursor tells of the login, the list, the handle and the parked Run, and holds no secret", () =>
  onStage({ script: [[{ text: "One." }, ...END], PARK] }, async (stage) => {
    const access = syntheticToken(7200);
    const first = await stage.ask([user("one")], { apiKey: access });
    await stage.ask([user("one"), first.message, user("two")], { apiKey: access }, { tools });
    const text = await status(stage, { ...session("s1"), modelRegistry: { getApiKeyForProvider: async () => access } });
    assert.match(text, /login: logged in, the token ends in 1 h/);
    assert.match(text, /this session: remote conversation [0-9a-f-]{36}, \d+ blobs, \d+ bytes/);
    assert.match(text, /parked Run: waits for 1 tool results since 0 s/);
    assert.not.match(text, access);
  }));

test("/cursor says what is wrong with the handle folder's variable", () =>
  onStage({ env: { CURSOR_PROVIDER_HANDLE_DIR: "~bob/x" } }, async (stage) => {
    assert.match(await status(stage, session("s1")), /this session: CURSOR_PROVIDER_HANDLE_DIR: "~bob\/x" begins with/);
  }));

test("/cursor tells of the account's list and its age", () =>
  inOffice({}, async (office) => {
    await office.activate({ PI_CURSOR_TOKEN: syntheticToken(3600) });
    assert.match(await status(office), /models: 2, service, asked 0 s ago/);
    assert.match(await status(office, session("s9")), "this session: no handle: the next turn opens a new remote conversation");
  }));

test("/cursor names a handle that cannot be used", () =>
  onStage({}, async (stage) => {
    mkdirSync(join(stage.folder, "handles"));
    writeFileSync(join(stage.folder, "handles", "s9.json"), "{");
    assert.match(await status(stage, session("s9")), /this session: a handle that cannot be used, so the next turn starts anew: .*s9\.json: it is no JSON/);
  }));

for (const [key, words] of [
  [syntheticToken(-7200), /login: the token ended 2 h ago/],
  ["opaque", /login: logged in, no expiry in the token/],
  [syntheticToken(90 * 86_400), /the token ends in (89|90) d/],
  [syntheticToken(150), /the token ends in 2 min/],
] as const)
  test(`/cursor reads the token: ${String(words)}`, () =>
    onStage({}, async (stage) => {
      assert.match(await status(stage, { modelRegistry: { getApiKeyForProvider: async () => key } }), words);
    }));

test("/cursor survives a registry that fails and an environment that is wrong", () =>
  onStage({ env: { CURSOR_PROVIDER_AGENT_ORIGIN: "https://evil.example", CURSOR_PROVIDER_CHANNEL: "x" } }, async (stage) => {
    const text = await status(stage, { modelRegistry: { getApiKeyForProvider: () => Promise.reject(new Error("locked")) } });
    assert.match(text, "login: cannot be read");
    assert.match(text, "channel: x");
    assert.match(text, "origin: CURSOR_PROVIDER_CHANNEL");
    assert.match(text, "models warning: The origin");
  }));

test("/cursor shows the last notes", () =>
  onStage({ script: PARK }, async (stage) => {
    const seven = Array.from({ length: 7 }, (_, index) => `s${index}`);
    await Promise.all(seven.map((sessionId) => parked(stage, { sessionId })));
    await stage.host.close();
    for (let tries = 0; seven.some((id) => stage.sessions.find(id)!.parked) && tries < 100; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
    const notes = (await status(stage)).split("\n").filter((row) => row.startsWith("note: parked_run_lost"));
    assert.is(notes.length, 5);
  }));

test.run();
