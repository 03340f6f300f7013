/** The model list of an account: the service's, the last known, the built-in. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { catalog, CATALOG_LIFETIME_MS, readCatalog, type Catalog, type CatalogOptions } from "../lib/account/catalog.ts";
import { readLastKnown } from "../lib/account/last-known.ts";
import { syntheticToken, type AccountAnswer, type AccountOptions } from "../lib/loopback/account.ts";
import type { CursorError } from "../lib/session/errors.ts";
import { startAccountHost, type AccountHost } from "./account-host.ts";
import { rejects } from "./check.ts";
import { waiting } from "./waiting.ts";

const test = suite("account catalog");
const TOKEN = "opaque-secret-token";

interface Place {
  host: AccountHost;
  file: string;
  warnings: string[];
  /** Asks with these defaults: the place's origin, file and warnings, and a token. */
  ask(options?: Partial<CatalogOptions>): Promise<Catalog>;
}

async function withPlace(account: AccountOptions, work: (place: Place) => Promise<void>): Promise<void> {
  const host = await startAccountHost(account);
  const folder = await mkdtemp(join(tmpdir(), "cursor-wire-"));
  const file = join(folder, "kept", "catalog.json");
  const warnings: string[] = [];
  const ask = (options: Partial<CatalogOptions> = {}) => readCatalog({ origin: host.origin, accessToken: TOKEN, file, onWarning: (words) => warnings.push(words), ...options });
  try {
    await work({ host, file, warnings, ask });
  } finally {
    await host.close();
    await rm(folder, { recursive: true, force: true });
  }
}
const method = (path: string) => path.split("/").at(-1)!;
const only = (name: string, answer: AccountAnswer): AccountOptions => ({ answer: ({ path }) => (method(path) === name ? answer : undefined) });

test("the three calls go out at once, with the identity of a Run and the token", () =>
  withPlace({ defaultSlug: "composer-2.5" }, async ({ host, ask, warnings }) => {
    const { rows, source } = await ask();
    assert.equal(rows.map((row) => row.id), ["composer-2.5", "grok-4.7"]);
    assert.is(source, "service");
    assert.equal(warnings, []);
    assert.equal(host.received.map(({ path }) => method(path)).sort(), ["AvailableModels", "GetDefaultModelForCli", "GetUsableModels"]);
    for (const { headers, method: verb } of host.received) {
      assert.is(verb, "POST");
      assert.is(headers["authorization"], `Bearer ${TOKEN}`);
      assert.is(headers["content-type"], "application/proto");
      assert.is(headers["x-cursor-client-type"], "cli");
      assert.is(headers["x-ghost-mode"], "true");
    }
    const bodies = Object.fromEntries(host.received.map(({ path, body }) => [method(path), Buffer.from(body).toString("hex")]));
    assert.equal(bodies, { AvailableModels: "28013801", GetDefaultModelForCli: "", GetUsableModels: "" });
  }));

for (const [what, answer] of [
  ["in another content type", { contentType: `text/${TOKEN}` }],
  ["with a control character in it", { status: 400, body: `no: ${TOKEN.slice(0, 9)}\u0001${TOKEN.slice(9)}` }],
  ["cut at the end of the words", { status: 400, body: `${"y".repeat(480)}${TOKEN}` }],
] as [string, AccountAnswer][])
  test(`a token that comes back ${what} is in no warning`, () =>
    withPlace({ answer: () => answer }, async ({ ask, warnings }) => {
      await ask();
      assert.ok(warnings.length > 0);
      assert.not.match(warnings.join().toLowerCase(), /opaque-s|secret-token/);
    }));

test("catalog gives the rows alone", () =>
  withPlace({}, async ({ host }) => {
    assert.equal((await catalog({ origin: host.origin, accessToken: TOKEN })).map((row) => row.id), ["grok-4.7", "composer-2.5"]);
  }));

for (const [what, answer] of [
  ["fails", { status: 500 }],
  ["is malformed", { contentType: "application/proto", body: new Uint8Array([0xff]) }],
  ["is a page", { contentType: "text/html", body: "<html>" }],
  ["is reset", "reset"],
] as [string, AccountAnswer][])
  test(`where AvailableModels ${what}, the usable models are bare rows`, () =>
    withPlace(only("AvailableModels", answer), async ({ ask, warnings }) => {
      const { rows, source } = await ask();
      assert.is(source, "service");
      assert.equal(rows.map((row) => row.slug), ["grok-4.7-low", "grok-4.7-medium", "grok-4.7-high", "composer-2.5"]);
      assert.equal(warnings, []);
    }));

test("AvailableModels is waited for two seconds at most", () =>
  withPlace(only("AvailableModels", "silence"), async ({ ask }) => {
    const start = performance.now();
    const { result, waited } = await waiting(ask());
    assert.is(result.source, "service");
    assert.ok(performance.now() - start > 1_900 && waited < 3_000, `${waited} ms`);
  }));

for (const [what, answer, words] of [
  ["is refused", { status: 401, body: `no ${TOKEN}` }, "access token"],
  ["fails", { status: 503, body: TOKEN }, "unavailable"],
  ["is malformed", { contentType: "application/proto", body: new Uint8Array([0x0a, 0x05]) }, "cannot be read"],
  ["is a page", { contentType: "text/html", body: "<html>" }, "text/html"],
  ["has no content type", {}, "no content type"],
  ["is empty", { contentType: "application/proto" }, "no model"],
  ["is reset", "reset", "Connection lost"],
] as [string, AccountAnswer, string][])
  test(`where GetUsableModels ${what}, the built-in list is used and the warning says why, without the token`, () =>
    withPlace(only("GetUsableModels", answer), async ({ ask, warnings }) => {
      const { rows, source, checkedAt } = await ask();
      assert.is(source, "built-in");
      assert.is(checkedAt, undefined);
      assert.ok(rows.length > 0);
      assert.is(warnings.length, 1);
      assert.match(warnings[0]!, /^Using the built-in model list: /);
      assert.match(warnings[0]!, words);
      assert.not.match(warnings[0]!, TOKEN);
    }));

for (const accessToken of ["two words", "two\r\nlines", "Gr\u00fc\u00dfe"])
  test(`the token ${JSON.stringify(accessToken)} goes into no header: nothing is sent`, () =>
    withPlace({}, async ({ host, ask, warnings }) => {
      assert.is((await ask({ accessToken })).source, "built-in");
      assert.is(host.received.length, 0);
      assert.match(warnings.join(), "holds characters that no header may hold");
      assert.not.match(warnings.join(), accessToken);
    }));

test("all calls together end at their time-box", () =>
  withPlace({ answer: () => "silence" }, async ({ ask, warnings }) => {
    const { result, waited } = await waiting(ask({ timeoutMs: 80 }));
    assert.is(result.source, "built-in");
    assert.ok(waited < 200, `${waited} ms`);
    assert.match(warnings[0]!, "timed out");
  }));

test("a time-box of nothing asks nothing", () =>
  withPlace({}, async ({ host, ask }) => {
    assert.is((await ask({ timeoutMs: 0 })).source, "built-in");
    assert.is(host.received.length, 0);
  }));

test("a list is kept for its owner only and is current for ten minutes", () =>
  withPlace({}, async ({ host, file, ask }) => {
    const first = await ask({ now: () => 5_000 });
    assert.is((await stat(file)).mode & 0o777, 0o600);
    assert.not.match(await readFile(file, "utf8"), TOKEN);
    assert.equal(await readdir(join(file, "..")), ["catalog.json"]);
    assert.equal(await ask({ now: () => 5_000 + CATALOG_LIFETIME_MS - 1 }), { rows: first.rows, source: "current", checkedAt: 5_000 });
    assert.is(host.received.length, 3);
    assert.is((await ask({ now: () => 5_000 + CATALOG_LIFETIME_MS })).source, "service");
    assert.is(host.received.length, 6);
  }));

test("a list from the future is not current", () =>
  withPlace({}, async ({ ask }) => {
    await ask({ now: () => 9_000_000 });
    assert.is((await ask({ now: () => 5_000 })).source, "service");
  }));

test("force asks although the list is current", () =>
  withPlace({}, async ({ ask }) => {
    await ask();
    assert.is((await ask({ force: true })).source, "service");
  }));

test("the last known list is used when the service fails, with a warning that says of when it is", () =>
  withPlace({}, async ({ host, ask, warnings }) => {
    const first = await ask({ now: () => 0 });
    await host.close();
    assert.equal(await ask({ now: () => 3_600_000 }), { rows: first.rows, source: "last-known", checkedAt: 0 });
    assert.match(warnings[0]!, "Using the last known model list, of 1970-01-01T00:00:00.000Z: Connection lost");
  }));

test("without a token the last known list is used whosever it is", () =>
  withPlace({}, async ({ host, ask, warnings }) => {
    await ask({ now: () => 0 });
    assert.is((await ask({ accessToken: undefined, now: () => CATALOG_LIFETIME_MS })).source, "last-known");
    assert.match(warnings[0]!, "nobody is logged in");
    assert.is(host.received.length, 3);
  }));

test("without a token or a kept list there is the built-in one", () =>
  withPlace({}, async ({ ask, warnings }) => {
    const { rows, source } = await ask({ accessToken: undefined, file: undefined });
    assert.is(source, "built-in");
    assert.ok(rows.length > 0);
    assert.is(warnings[0], "Using the built-in model list: nobody is logged in");
  }));

test("the list of another account is not used", () =>
  withPlace({}, async ({ host, ask }) => {
    await ask({ accessToken: syntheticToken(60, "one") });
    assert.is((await ask({ accessToken: syntheticToken(60, "one") })).source, "current");
    assert.is((await ask({ accessToken: syntheticToken(60, "two") })).source, "service");
    await host.close();
    assert.is((await ask({ accessToken: syntheticToken(60, "three") })).source, "built-in");
  }));

test("a token that cannot stand in a header is a warning", () =>
  withPlace({}, async ({ host, ask, warnings }) => {
    assert.is((await ask({ accessToken: "two\nlines" })).source, "built-in");
    assert.not.match(warnings[0]!, "lines");
    assert.is(host.received.length, 0);
  }));

test("a list that cannot be kept is a warning", () =>
  withPlace({}, async ({ file, ask, warnings }) => {
    await writeFile(join(file, "..", "..", "blocked"), "");
    assert.is((await ask({ file: join(file, "..", "..", "blocked", "catalog.json") })).source, "service");
    assert.match(warnings[0]!, "could not be kept");
  }));

test("an abort is no list", () =>
  withPlace({ answer: () => "silence" }, async ({ ask }) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 30);
    assert.is(((await rejects(ask({ signal: stop.signal }))) as CursorError).kind, "aborted");
    assert.is(((await rejects(ask({ signal: AbortSignal.abort() }))) as CursorError).kind, "aborted");
  }));

test("an origin that is not allowed is an error", async () => {
  assert.is(((await rejects(catalog({ origin: "https://example.com", accessToken: TOKEN }))) as CursorError).code, "origin_not_allowed");
});

const ROW = { id: "a", name: "A", slug: "a", maxMode: false, images: true, contextWindow: 1, maxTokens: 1 };
const kept = (rows: unknown, more: object = {}) => JSON.stringify({ checkedAt: 1, account: "x", rows, ...more });
for (const [what, content] of [
  ["nothing", ""],
  ["a truncated object", '{"checkedAt":1'],
  ["a list", "[]"],
  ["no rows", kept([])],
  ["rows that are no list", kept({})],
  ["a row that is no object", kept([null])],
  ["a row with an empty slug", kept([{ ...ROW, slug: "" }])],
  ["a row with a slug that is too long", kept([{ ...ROW, slug: "x".repeat(201) }])],
  ["a row with an id that is none", kept([{ ...ROW, id: "a b" }])],
  ["a row without a name", kept([{ ...ROW, name: 7 }])],
  ["a row with a window of nothing", kept([{ ...ROW, contextWindow: 0 }])],
  ["a row with a window that is no number", kept([{ ...ROW, contextWindow: "1" }])],
  ["a row with levels that are none", kept([{ ...ROW, thinkingLevelMap: 7 }])],
  ["a row with a level that is no slug", kept([{ ...ROW, thinkingLevelMap: { high: 7 } }])],
  ["a row whose maxMode is no boolean", kept([{ ...ROW, maxMode: "yes" }])],
  ["a time that is none", kept([ROW], { checkedAt: "now" })],
  ["a time that no Date can show", kept([ROW], { checkedAt: 8.64e15 + 1 })],
  ["no account", kept([ROW], { account: undefined })],
  ["0xFF bytes", Buffer.from([0xff, 0xff])],
  ["more than it may", Buffer.alloc(4 * 1024 * 1024 + 1)],
] as [string, string | Uint8Array][])
  test(`a kept list that holds ${what} counts as none`, () =>
    withPlace({}, async ({ file, ask }) => {
      await ask();
      await writeFile(file, content);
      assert.is(await readLastKnown(file), undefined);
    }));

test("a kept list is read without what is no row, its names and windows as a list may have them", () =>
  withPlace({}, async ({ file, ask }) => {
    await ask();
    await writeFile(file, kept([{ ...ROW, slug: " " }, { ...ROW, name: "\u001bA", contextWindow: 1e13 }, null, ...Array.from({ length: 1_000 }, () => ROW)]));
    const { rows } = (await readLastKnown(file))!;
    assert.equal([rows.length, rows[0]], [1_000, { ...ROW, contextWindow: 10_000_000 }]);
  }));

const LONG = "n".repeat(2_000);
for (const [what, more, leftOut] of [
  ["a slug that is none", [{ modelId: "a b" }], 1],
  ["a name of 2,000 characters", [{ modelId: "a", displayName: LONG }], 0],
  ["30,000 models", Array.from({ length: 30_000 }, (_, index) => ({ modelId: `m-${index}`, displayName: LONG.slice(0, 100) })), 29_001],
] as const)
  test(`a list with ${what} can be kept: it is asked for once`, () =>
    withPlace({ usable: [{ modelId: "composer-2.5" }, ...more], available: [] }, async ({ ask, warnings }) => {
      const first = await ask({ now: () => 1 });
      assert.is(first.source, "service");
      assert.equal(await ask({ now: () => 2 }), { rows: first.rows, source: "current", checkedAt: 1 });
      assert.equal(warnings, leftOut === 0 ? [] : [`The model list lacks ${leftOut} of the account's models: their slugs cannot be used, or they are more than 1000.`]);
    }));

test("a kept list is read back as it was, and foreign levels are dropped", () =>
  withPlace({}, async ({ file, ask }) => {
    const { rows } = await ask();
    assert.equal((await readLastKnown(file))?.rows, rows);
    await writeFile(file, kept([{ ...ROW, thinkingLevelMap: { high: "a-high", __proto__: { low: "x" }, other: "y" }, more: 1 }]));
    assert.equal((await readLastKnown(file))?.rows, [{ ...ROW, thinkingLevelMap: { off: null, minimal: null, low: null, medium: null, high: "a-high", xhigh: null, max: null } }]);
  }));

test.run();
