/** Login, tokens, the model list and the status in Pi (SCENARIOS F). */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { accountAnswers, startAccountLoopback, syntheticToken, type AccountLoopback, type AccountOptions } from "../lib/loopback/account.ts";
import { createExtension } from "../lib/pi/extension.ts";
import type { PiCredentials, PiSessionContext } from "../lib/pi/pi.ts";
import type { CursorError } from "../lib/session/errors.ts";
import type { Script } from "../lib/loopback/index.ts";
import { rejects } from "./check.ts";
import { callsOf, FakePi, onStage, result, textOf, tool, user, type Line, type Stage } from "./pi-fake.ts";

const test = suite("pi account");
const END: Script = [{ checkpoint: true }, { turnEnded: true }, { end: true }];
const REFRESH = "synthetic-refresh";

interface Office extends Omit<Stage, "ask" | "stream"> {
  account: AccountLoopback;
  /** Calls the factory with a token, or with a stored login. */
  activate(more?: Record<string, string>): Promise<void>;
  /** Writes Pi's auth.json. */
  store(credentials: object): Promise<void>;
}

/** An extension that is not yet activated, before an account host. */
async function inOffice(options: AccountOptions & { line?: Line }, work: (office: Office) => Promise<void>): Promise<void> {
  const account = await startAccountLoopback({ refreshToken: REFRESH, ...options });
  await onStage({ activate: false, line: options.line ?? "1.6" }, async (stage) => {
    const env = { ...stage.env, CURSOR_PROVIDER_AGENT_ORIGIN: account.origin };
    const store = async (credentials: object) => {
      await mkdir(join(stage.folder, ".pi", "agent"), { recursive: true });
      await writeFile(join(stage.folder, ".pi", "agent", "auth.json"), JSON.stringify(credentials));
    };
    const activate = (more: Record<string, string> = {}) => createExtension({ env: { ...env, ...more }, sessions: stage.sessions })(stage.pi);
    try {
      await work({ ...stage, env, account, activate, store });
    } finally {
      await account.close();
    }
  });
}
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
    const start = Date.now();
    await office.activate({ PI_CURSOR_TOKEN: "t" });
    const took = Date.now() - start;
    assert.ok(took > 2_500 && took < 4_000, `${took} ms`);
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
  onStage({ script: [[{ text: "One." }, ...END], [{ mcp: { tool: "read", args: { path: "a" } } }, { hang: true }]] }, async (stage) => {
    const access = syntheticToken(7200);
    const first = await stage.ask([user("one")], { apiKey: access });
    await stage.ask([user("one"), first.message, user("two")], { apiKey: access }, { tools: [tool("read", "path")] });
    const text = await status(stage, { ...session("s1"), modelRegistry: { getApiKeyForProvider: async () => access } });
    assert.match(text, /login: logged in, the token ends in 1 h/);
    assert.match(text, /this session: remote conversation [0-9a-f-]{36}, \d+ blobs, \d+ bytes/);
    assert.match(text, /parked Run: waits for 1 tool results since 0 s/);
    assert.not.match(text, access);
  }));

test("/cursor tells of the account's list and its age", () =>
  inOffice({}, async (office) => {
    await office.activate({ PI_CURSOR_TOKEN: syntheticToken(3600) });
    assert.match(await status(office), /models: 2, service, asked 0 s ago/);
    assert.match(await status(office, session("s9")), "this session: no handle: the next turn opens a new remote conversation");
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
  onStage({ script: [{ mcp: { tool: "read", args: { path: "a" } } }, { wait: 250 }, { fault: { type: "cut" } }] }, async (stage) => {
    await Promise.all(Array.from({ length: 7 }, (_, index) => stage.ask([user("one")], { sessionId: `s${index}` }, { tools: [tool("read", "path")] })));
    await Promise.all(stage.host.received.map(({ closed }) => closed));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const notes = (await status(stage)).split("\n").filter((row) => row.startsWith("note: parked_run_lost"));
    assert.is(notes.length, 5);
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
