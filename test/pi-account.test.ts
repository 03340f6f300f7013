/** Login, tokens and the model list in Pi. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { accountAnswers, syntheticToken } from "../lib/loopback/account.ts";
import { createExtension } from "../lib/pi/extension.ts";
import type { PiCredentials } from "../lib/pi/pi.ts";
import type { CursorError } from "../lib/session/errors.ts";
import { rejects } from "./check.ts";
import { callsOf, END, FakePi, onStage, result, textOf, tool, user } from "./pi-fake.ts";
import { inOffice, REFRESH, type Office } from "./pi-office.ts";
import { waiting } from "./waiting.ts";

const test = suite("pi account");

const asked = ({ account }: Office, name: string) => account.received.filter(({ path }) => path.endsWith(name)).length;
const ids = ({ pi }: Office) => pi.config.models.map(({ id }) => id);
const credentials = (more: Partial<PiCredentials> = {}): PiCredentials => ({ access: syntheticToken(-60), refresh: REFRESH, expires: Date.now() - 60_000, ...more });

test("F9 an activation asks for the list exactly once", () =>
  inOffice({}, async (office) => {
    await office.activate({ PI_CURSOR_TOKEN: syntheticToken(3600) });
    assert.equal(ids(office), ["grok-4.7", "composer-2.5"]);
    for (let times = 0; times < 3; times++) await office.pi.config.refreshModels({ allowNetwork: false });
    await office.pi.fire("session_start", "s1", "/tmp");
    assert.is(asked(office, "GetUsableModels"), 1);
  }));

test("F9 a second activation within ten minutes asks for nothing", () =>
  inOffice({}, async (office) => {
    const token = syntheticToken(3600);
    await office.activate({ PI_CURSOR_TOKEN: token });
    await office.activate({ PI_CURSOR_TOKEN: token });
    assert.is(asked(office, "GetUsableModels"), 1);
    assert.equal(ids(office), ["grok-4.7", "composer-2.5"]);
  }));

test("a stored login goes before the token of the environment", () =>
  inOffice({}, async (office) => {
    const access = syntheticToken(3600);
    await office.store({ cursor: { type: "oauth", access, refresh: REFRESH, expires: Date.now() + 60_000 } });
    await office.activate({ PI_CURSOR_TOKEN: "other" });
    assert.is(office.account.received[0]!.headers["authorization"], `Bearer ${access}`);
  }));

test("a stored login that has expired is not used, and not refreshed behind Pi's back", () =>
  inOffice({}, async (office) => {
    await office.store({ cursor: { type: "oauth", ...credentials() } });
    await office.activate();
    assert.is(office.account.received.length, 0);
    assert.ok(ids(office).length > 0);
  }));

for (const [what, stored] of [
  ["no login of ours", { other: { type: "oauth", access: "a", refresh: "b", expires: 9e15 } }],
  ["an API key", { cursor: { type: "api_key", key: "k" } }],
  ["a login without an expiry", { cursor: { type: "oauth", access: "a", refresh: "b" } }],
  ["a login of another type", { cursor: { type: "api_key", access: "a", refresh: "b", expires: 9e15 } }],
  ["a login without its tokens", { cursor: { type: "oauth", expires: 9e15 } }],
  ["a login without its refresh token", { cursor: { type: "oauth", access: "a", expires: 9e15 } }],
  ["more than a MiB", { cursor: { type: "oauth", access: "a", refresh: "b", expires: 9e15 }, more: "x".repeat(1024 * 1024) }],
  ["a list", []],
  ["a login of null", { cursor: null }],
] as [string, object][])
  test(`an auth.json that holds ${what} is no login`, () =>
    inOffice({}, async (office) => {
      await office.store(stored);
      await office.activate();
      assert.is(office.account.received.length, 0);
    }));

test("PI_CODING_AGENT_DIR is where Pi's files are, and its ~ expands", () =>
  inOffice({}, async (office) => {
    await office.store({ cursor: { type: "oauth", access: syntheticToken(60), refresh: REFRESH, expires: Date.now() + 60_000 } });
    await office.activate({ PI_CODING_AGENT_DIR: "~/.pi/agent" });
    assert.is(asked(office, "GetUsableModels"), 1);
  }));

test("a service that does not answer holds the activation up for three seconds at most", () =>
  inOffice({ answer: () => "silence" }, async (office) => {
    const start = performance.now();
    const { waited } = await waiting(office.activate({ PI_CURSOR_TOKEN: "t" }));
    assert.ok(performance.now() - start > 2_500 && waited < 4_000, `${waited} ms`);
    assert.ok(ids(office).length > 0);
  }));

test("refreshModels asks where Pi lets it, with the credential that Pi gives, within ten minutes only by force", () =>
  inOffice({}, async (office) => {
    const access = syntheticToken(3600);
    await office.activate();
    const before = ids(office);
    assert.equal((await office.pi.config.refreshModels({ allowNetwork: false, credential: { type: "oauth", access } })).map(({ id }) => id), before);
    assert.equal((await office.pi.config.refreshModels({ allowNetwork: true })).map(({ id }) => id), before);
    assert.is(office.account.received.length, 0);
    const oauth = { allowNetwork: true, credential: { type: "oauth", access } };
    assert.equal((await office.pi.config.refreshModels(oauth)).map(({ id }) => id), ["grok-4.7", "composer-2.5"]);
    await office.pi.config.refreshModels(oauth);
    assert.is(asked(office, "GetUsableModels"), 1);
    await office.pi.config.refreshModels({ ...oauth, credential: { type: "api_key", key: access }, force: true });
    assert.is(asked(office, "GetUsableModels"), 2);
  }));

test("refreshModels at the same time share one request", () =>
  inOffice({}, async (office) => {
    await office.activate();
    const context = { allowNetwork: true, force: true, credential: { type: "oauth", access: syntheticToken(60) } };
    await Promise.all([office.pi.config.refreshModels(context), office.pi.config.refreshModels(context)]);
    assert.is(asked(office, "GetUsableModels"), 1);
  }));

test("refreshModels that Pi stops keeps the list", () =>
  inOffice({ answer: () => "silence" }, async (office) => {
    await office.activate();
    const before = ids(office);
    const models = await office.pi.config.refreshModels({ allowNetwork: true, signal: AbortSignal.timeout(50), credential: { type: "oauth", access: "t" } });
    assert.equal(models.map(({ id }) => id), before);
  }));

for (const line of ["1.6", "0.73"] as const)
  test(`login ${line}: Pi shows the address, gets the credentials, and has the account's models afterwards`, () =>
    inOffice({ line }, async (office) => {
      await office.activate();
      const shown: string[] = [];
      const got = await office.pi.config.oauth.login({ onAuth: ({ url }) => shown.push(url), onProgress: (words) => shown.push(words) });
      assert.is(got.refresh, REFRESH);
      assert.is(office.pi.config.oauth.getApiKey(got), got.access);
      assert.match(shown[0]!, /^https:\/\/cursor\.com\/loginDeepControl\?/);
      assert.is(shown.length, 2);
      assert.is(office.pi.registered.length, 2);
      assert.equal(ids(office), ["grok-4.7", "composer-2.5"]);
    }));

test("login can be stopped in Pi's dialog", () =>
  inOffice({}, async (office) => {
    await office.activate();
    const stop = new AbortController();
    const error = await rejects(office.pi.config.oauth.login({ onAuth: () => stop.abort(), signal: stop.signal }));
    assert.is((error as CursorError).kind, "aborted");
  }));

test("F1 refreshing twice gives the original refresh token each time, and keeps what else Pi has stored", () =>
  inOffice({}, async (office) => {
    await office.activate();
    const first = await office.pi.config.oauth.refreshToken(credentials({ extra: "kept" }));
    const second = await office.pi.config.oauth.refreshToken(first);
    assert.equal([second.refresh, second["extra"]], [REFRESH, "kept"]);
    assert.is.not(second.access, first.access);
    assert.ok(second.expires > Date.now());
    assert.is(asked(office, "/oauth/token"), 2);
  }));

test("F4 two refreshes at once are one", () =>
  inOffice({}, async (office) => {
    await office.activate();
    const given = credentials();
    const [a, b] = await Promise.all([office.pi.config.oauth.refreshToken(given), office.pi.config.oauth.refreshToken(given, new AbortController().signal)]);
    assert.is(a.access, b.access);
    assert.is(asked(office, "/oauth/token"), 1);
  }));

test("F4 where the service refuses, a login that was stored meanwhile counts", () =>
  inOffice({}, async (office) => {
    await office.activate();
    const newer = { type: "oauth", access: syntheticToken(3600), refresh: REFRESH, expires: Date.now() + 60_000 };
    await office.store({ cursor: newer });
    const got = await office.pi.config.oauth.refreshToken(credentials({ refresh: "used up" }));
    assert.equal([got.access, got.expires], [newer.access, newer.expires]);
  }));

for (const [what, stored] of [
  ["nothing", undefined],
  ["the same login", "same"],
  ["an expired one", { access: "older", expires: 1 }],
] as const)
  test(`F4 where the service refuses and ${what} is stored, the refusal is the answer`, () =>
    inOffice({}, async (office) => {
      await office.activate();
      const given = credentials({ refresh: "used up" });
      if (stored !== undefined) await office.store({ cursor: { type: "oauth", ...given, expires: Date.now() + 60_000, ...(stored !== "same" && stored) } });
      const error = (await rejects(office.pi.config.oauth.refreshToken(given))) as CursorError;
      assert.is(error.kind, "auth");
      assert.not.match(`${error.message} ${error.nextStep}`, "used up");
    }));

test("F4 a service that cannot be reached is no refusal", () =>
  inOffice({ answer: () => "cut" }, async (office) => {
    await office.activate();
    await office.store({ cursor: { type: "oauth", access: "other", refresh: REFRESH, expires: Date.now() + 60_000 } });
    assert.is(((await rejects(office.pi.config.oauth.refreshToken(credentials()))) as CursorError).kind, "network");
  }));

test("a refresh after an activation with an expired token gets the list, once", () =>
  inOffice({}, async (office) => {
    await office.activate();
    const got = await office.pi.config.oauth.refreshToken(credentials());
    assert.equal(ids(office), ["grok-4.7", "composer-2.5"]);
    assert.is(office.pi.registered.length, 2);
    await office.pi.config.oauth.refreshToken(got);
    assert.is(asked(office, "GetUsableModels"), 1);
    assert.is(office.pi.registered.length, 2);
  }));

test("H2 a refresh in an extension that Pi has replaced still refreshes", () =>
  inOffice({}, async (office) => {
    await office.activate();
    office.pi.stale = true;
    assert.is((await office.pi.config.oauth.refreshToken(credentials())).refresh, REFRESH);
  }));

test("F5 each Run asks with the key of its call; a parked Run outlives its token", () =>
  onStage({ script: [[{ mcp: { tool: "read", args: { path: "a" } } }, { awaitResults: true }, { text: "Done." }, ...END], [{ text: "Two." }, ...END]] }, async ({ ask, host }) => {
    const tools = [tool("read", "path")];
    const first = await ask([user("one")], { apiKey: "token-1" }, { tools });
    const results = [user("one"), first.message, result(callsOf(first.message)[0]!.id, "read", "r")];
    const second = await ask(results, { apiKey: "token-2" }, { tools });
    await ask([...results, second.message, user("two")], { apiKey: "token-2" }, { tools });
    assert.equal(host.received.map(({ headers }) => headers["authorization"]), ["Bearer token-1", "Bearer token-2"]);
  }));

test("F5 a token that the service refuses is one auth error, not a storm", () =>
  onStage({ token: "good" }, async ({ ask, host }) => {
    const { events, message } = await ask([user("hi")], { apiKey: "bad-token-7" });
    assert.is(events.filter(({ type }) => type === "error").length, 1);
    assert.match(message.errorMessage!, "auth error");
    assert.not.match(message.errorMessage!, "bad-token-7");
    assert.is(host.received.length, 1);
  }));

for (const apiKey of [undefined, "PI_CURSOR_TOKEN", "$PI_CURSOR_TOKEN", "${PI_CURSOR_TOKEN}"])
  test(`a key of ${apiKey ?? "nothing"} means the variable`, () =>
    onStage({ env: { PI_CURSOR_TOKEN: "from-env" }, activate: false }, async ({ ask, pi, env, sessions, host }) => {
      await createExtension({ env: { ...env, PI_CURSOR_TOKEN: "" }, sessions })(pi);
      const options = { ...(apiKey !== undefined && { apiKey }), env: { PI_CURSOR_TOKEN: "from-env" } };
      const { message } = await ask([user("hi")], apiKey === undefined ? { ...options, apiKey: undefined as never } : options);
      assert.is(message.stopReason, "stop");
      assert.is(host.received[0]!.headers["authorization"], "Bearer from-env");
    }));

for (const [code, words] of [
  ["resource_exhausted", "quota"],
  ["permission_denied", "plan"],
  ["unauthenticated", "Log in again"],
] as const)
  test(`F6 ${code} is a message with kind and next step`, () =>
    onStage({ script: [{ end: { error: { code, message: code === "resource_exhausted" ? "usage limit of your plan" : "Error" } } }] }, async ({ ask }) => {
      const { message } = await ask([user("hi")]);
      assert.match(message.errorMessage!, words);
      assert.match(message.errorMessage!, /\[(auth|remote) error: \w+\]/);
      assert.not.match(message.errorMessage!, "Error: Error");
    }));

test("F10 unauthenticated after the stream has opened is an auth error, and the handle stays", () =>
  onStage({ script: [[{ text: "One." }, ...END], [{ end: { error: { code: "unauthenticated", message: "expired" } } }], [{ expect: { resume: true } }, { text: "Three." }, ...END]] }, async ({ ask, host }) => {
    const first = await ask([user("one")]);
    const messages = [user("one"), first.message, user("two")];
    assert.match((await ask(messages)).message.errorMessage!, "auth error");
    assert.is(textOf((await ask(messages)).message), "Three.");
    assert.equal(host.received[2]!.violations, []);
  }));

test("an account's answers can be had without a server", () => {
  assert.equal(accountAnswers({})({ method: "GET", path: "/nowhere", query: new URLSearchParams(), headers: {}, body: new Uint8Array(0) }), { status: 404 });
});

test("a Pi without commands and events is served too", async () => {
  const registered: string[] = [];
  await createExtension({ env: { HOME: "/nonexistent" } })({ registerProvider: (name) => void registered.push(name) });
  assert.equal(registered, ["cursor"]);
});

test("a fake Pi is told apart by its line", () => {
  assert.type(new FakePi("1.6").registerVirtualModel, "function");
  assert.is(new FakePi("0.73").registerVirtualModel, undefined);
});

test.run();
