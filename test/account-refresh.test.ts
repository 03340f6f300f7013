/** Refreshing an access token. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { refresh } from "../lib/account/refresh.ts";
import { syntheticToken, type AccountAnswer, type AccountOptions } from "../lib/loopback/account.ts";
import type { CursorError } from "../lib/session/errors.ts";
import { startAccountHost, type AccountHost } from "./account-host.ts";
import { rejects } from "./check.ts";
import { cpuTime } from "./cpu-time.ts";

const test = suite("account refresh");
const SECRET = "refresh-secret-1";
/** Just below what a model list may take. */
const BRACKETS = "[".repeat(8 * 1024 * 1024 - 1);

async function withHost<T>(options: AccountOptions, work: (host: AccountHost) => Promise<T>): Promise<T> {
  const host = await startAccountHost({ refreshToken: SECRET, ...options });
  try {
    return await work(host);
  } finally {
    await host.close();
  }
}
const json = (value: unknown, status = 200): AccountAnswer => ({ status, contentType: "application/json", body: JSON.stringify(value) });

test("a refresh sends the grant and gives the new access token with its expiry", () =>
  withHost({ accessToken: () => syntheticToken(3600) }, async ({ origin, received }) => {
    const before = Date.now();
    const result = await refresh({ origin, refresh: SECRET });
    assert.equal(JSON.parse(new TextDecoder().decode(received[0]!.body)), { grant_type: "refresh_token", client_id: "KbZUR41cY7W6zRSdpSUJ7I7mLYBKOCmB", refresh_token: SECRET });
    assert.is(`${received[0]!.method} ${received[0]!.path} ${received[0]!.headers["content-type"]}`, "POST /oauth/token application/json");
    assert.is(result.refresh, SECRET);
    assert.ok(Math.abs(result.expires - before - 55 * 60_000) < 5_000, String(result.expires - before));
  }));

test("F1 a refresh keeps the original refresh token, so the second one is accepted too", () =>
  withHost({ answer: ({ body }) => (Buffer.from(body).includes(SECRET) ? json({ access_token: "new-access", refresh_token: "new-access" }) : json({ shouldLogout: true })) }, async ({ origin }) => {
    const first = await refresh({ origin, refresh: SECRET });
    const second = await refresh({ origin, refresh: first.refresh });
    assert.equal([first.refresh, second.refresh, second.access], [SECRET, SECRET, "new-access"]);
  }));

test("F4 callers at the same time share one refresh", () =>
  withHost({}, async ({ origin, received }) => {
    const [a, b] = await Promise.all([refresh({ origin, refresh: SECRET }), refresh({ origin, refresh: SECRET })]);
    assert.is(a.access, b.access);
    assert.is.not(a, b);
    assert.is(received.length, 1);
  }));

test("a version that no header may hold is refused before anything is sent", () =>
  withHost({}, async ({ origin, received }) => {
    const error = (await rejects(refresh({ origin, refresh: SECRET, env: { CURSOR_CLI_VERSION: "1\r\nx: y" } }))) as CursorError;
    assert.equal([error.kind, error.code, received.length], ["local", "invalid_environment", 0]);
    assert.match(error.message, "CURSOR_CLI_VERSION");
  }));

test("callers with other tokens do not share it", () =>
  withHost({ answer: () => json({ access_token: "a" }) }, async ({ origin, received }) => {
    await Promise.all([refresh({ origin, refresh: "one" }), refresh({ origin, refresh: "two" })]);
    assert.is(received.length, 2);
  }));

test("a caller that aborts leaves the refresh to the others", () =>
  withHost({}, async ({ origin, received }) => {
    const stop = new AbortController();
    const leaving = refresh({ origin, refresh: SECRET, signal: stop.signal });
    const staying = refresh({ origin, refresh: SECRET });
    stop.abort();
    assert.is(((await rejects(leaving)) as CursorError).kind, "aborted");
    assert.is((await staying).refresh, SECRET);
    assert.is(received.length, 1);
  }));

test("a refresh that the last caller aborted is stopped, and the next one starts anew", () =>
  withHost({ answer: () => "silence" }, async ({ origin, received }) => {
    const stop = new AbortController();
    const work = refresh({ origin, refresh: SECRET, signal: stop.signal });
    setTimeout(() => stop.abort(), 50);
    assert.is(((await rejects(work)) as CursorError).code, "aborted");
    const again = new AbortController();
    const next = refresh({ origin, refresh: SECRET, signal: again.signal });
    setTimeout(() => again.abort(), 50);
    await rejects(next);
    assert.is(received.length, 2);
  }));

test("a signal that has already aborted sends nothing", () =>
  withHost({}, async ({ origin, received }) => {
    assert.is(((await rejects(refresh({ origin, refresh: SECRET, signal: AbortSignal.abort() }))) as CursorError).kind, "aborted");
    assert.is(received.length, 0);
  }));

for (const [what, answer] of [
  ["200 with shouldLogout", json({ access_token: "ignored", shouldLogout: true })],
  ["200 with an empty token", json({ access_token: "" })],
  ["200 with JSON that has no token", json({})],
  ["200 with a token of control characters", json({ access_token: `${SECRET}\n\u001b[2J` })],
  ["200 with a token beyond ASCII", json({ access_token: `${SECRET}\u00e4` })],
  ["200 with a token of 20,000 characters", json({ access_token: SECRET.padEnd(20_000, "x") })],
  ["200 with a page", { contentType: "text/html", body: `<html>${SECRET}` }],
  ["404", { status: 404, body: SECRET }],
  ["400 with an error", json({ error: `invalid_grant ${SECRET}` }, 400)],
  ["401", { status: 401 }],
] as [string, AccountAnswer][])
  test(`${what} is an auth error that holds no token`, () =>
    withHost({ answer: () => answer }, async ({ origin }) => {
      const error = (await rejects(refresh({ origin, refresh: SECRET }))) as CursorError;
      assert.is(`${error.kind} ${error.code}`, "auth refresh_refused");
      assert.not.match(`${error.message} ${error.nextStep} ${String(error.cause)}`, SECRET);
    }));

for (const [what, answer] of [
  ["503", { status: 503, body: SECRET }],
  ["a reset", "reset"],
  ["a lost connection", "cut"],
] as [string, AccountAnswer][])
  test(`${what} is a network error that holds no token`, () =>
    withHost({ answer: () => answer }, async ({ origin }) => {
      const error = (await rejects(refresh({ origin, refresh: SECRET }))) as CursorError;
      assert.is(error.kind, "network");
      assert.not.match(`${error.message} ${String(error.cause)}`, SECRET);
    }));

for (const [status, expected] of [
  [200, "remote answer_too_large"],
  [401, "auth refresh_refused"],
  [503, "network unavailable"],
] as const)
  test(`8 MiB of brackets with ${status} cost no time`, () =>
    withHost({ answer: () => ({ status, contentType: "application/json", body: BRACKETS }) }, async ({ origin }) => {
      const start = cpuTime();
      const error = (await rejects(refresh({ origin, refresh: SECRET }))) as CursorError;
      assert.ok(cpuTime() - start < 1_000);
      assert.is(`${error.kind} ${error.code}`, expected);
    }));

test.run();
