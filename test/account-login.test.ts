/** Login by PKCE and polling, against an account host on 127.0.0.1. */
import { createHash } from "node:crypto";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { login, type LoginOptions } from "../lib/account/login.ts";
import type { AccountAnswer, AccountOptions, AccountRequest } from "../lib/loopback/account.ts";
import type { CursorError } from "../lib/session/errors.ts";
import { startAccountHost } from "./account-host.ts";
import { rejects } from "./check.ts";
import { cpuTime } from "./cpu-time.ts";

const test = suite("account login");
/** Just below what a model list may take. */
const BRACKETS = "[".repeat(8 * 1024 * 1024 - 1);

interface Tried {
  outcome: unknown;
  address: URL;
  pauses: number[];
  polls: AccountRequest[];
}

/** Logs in at a loopback without waiting. */
async function tried(account: AccountOptions, options: Partial<LoginOptions> = {}): Promise<Tried> {
  const host = await startAccountHost(account);
  const pauses: number[] = [];
  let address = "";
  const work = login({
    origin: host.origin,
    onAddress: (given) => (address = given),
    wait: (ms) => Promise.resolve(pauses.push(ms)),
    now: () => 1000,
    ...options,
  });
  const outcome = await work.catch((error: unknown) => error);
  await host.close();
  return { outcome, address: new URL(address), pauses, polls: host.received };
}

/** Answers the polls one after the other; the last one for good. */
function answers(...list: AccountAnswer[]): (request: AccountRequest) => AccountAnswer {
  let at = 0;
  return () => list[Math.min(at++, list.length - 1)]!;
}

const code = (outcome: unknown) => `${(outcome as CursorError).kind} ${(outcome as CursorError).code}`;
const json = (value: unknown, status = 200): AccountAnswer => ({ status, contentType: "application/json", body: JSON.stringify(value) });
const tokens = json({ accessToken: "access", refreshToken: "refresh" });

test("a login gives the tokens, and the expiry of one that cannot be read is an hour away", async () => {
  const { outcome } = await tried({ answer: answers(tokens) });
  assert.equal(outcome, { access: "access", refresh: "refresh", expires: 3_601_000 });
});

test("the address holds the challenge of the verifier that is polled with, and is itself never fetched", async () => {
  const { address, polls } = await tried({ answer: answers(tokens) });
  const { verifier = "", uuid = "" } = Object.fromEntries(polls[0]!.query);
  assert.is(`${address.origin}${address.pathname}`, "https://cursor.com/loginDeepControl");
  assert.equal(Object.fromEntries(address.searchParams), {
    challenge: createHash("sha256").update(verifier).digest("base64url"),
    uuid,
    mode: "login",
    redirectTarget: "cli",
  });
  assert.match(verifier, /^[\w-]{43}$/);
  assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.is(polls[0]!.path, "/auth/poll");
  assert.is(polls[0]!.headers["authorization"], undefined);
  assert.is(polls[0]!.headers["x-cursor-client-type"], "cli");
});

test("404 is pending, and the pauses grow by 1.2 from one second to ten", async () => {
  const { outcome, pauses } = await tried({ pendingPolls: 20 });
  assert.is((outcome as { refresh?: string }).refresh, "synthetic-refresh");
  assert.equal(pauses.slice(0, 3).map(Math.round), [1000, 1200, 1440]);
  assert.is(pauses.at(-1), 10_000);
  assert.is(pauses.length, 21);
});

test("after 150 polls nobody is waited for", async () => {
  const { outcome, polls } = await tried({ pendingPolls: 1000 });
  assert.is(code(outcome), "auth login_expired");
  assert.is(polls.length, 150);
});

test("403 is final and says why, without the verifier", async () => {
  const { outcome, polls } = await tried({ answer: ({ query }) => json({ error: `no seat left for ${query.get("verifier")}` }, 403) });
  assert.is(code(outcome), "auth login_refused");
  assert.match((outcome as Error).message, "no seat left for [redacted]");
  assert.is(polls.length, 1);
});

test("403 without words is final too", async () => {
  const { outcome } = await tried({ answer: answers({ status: 403, contentType: "text/html", body: "<html>" }) });
  assert.is((outcome as Error).message, "The service refused the login");
});

for (const [what, answer] of [
  ["JSON without tokens", json({ accessToken: "" })],
  ["a token of control characters", json({ accessToken: "a\n\u001b[2J", refreshToken: "refresh" })],
  ["a token of 20,000 characters", json({ accessToken: "x".repeat(20_000), refreshToken: "refresh" })],
  ["a page", { contentType: "text/html", body: "<html>" }],
  ["a list", json([])],
] as [string, AccountAnswer][])
  test(`200 with ${what} is an auth error`, async () => {
    const { outcome } = await tried({ answer: answers(answer) });
    assert.is(code(outcome), "auth login_without_tokens");
  });

for (const [what, answer] of [
  ["lost connections", "cut"],
  ["resets", "reset"],
  ["answers of 503", { status: 503, body: "down" }],
] as [string, AccountAnswer][]) {
  test(`three ${what} in a row give up`, async () => {
    const { outcome, polls } = await tried({ answer: answers(answer) });
    assert.is((outcome as CursorError).kind, "network");
    assert.is(polls.length, 3);
  });
  test(`two ${what} and one pending poll begin the count anew`, async () => {
    const pending: AccountAnswer = { status: 404 };
    const { outcome } = await tried({ answer: answers(answer, answer, pending, answer, answer, tokens) });
    assert.is((outcome as { access?: string }).access, "access");
  });
}

test("any other status is final", async () => {
  const { outcome, polls } = await tried({ answer: answers({ status: 400, body: "bad" }) });
  assert.is((outcome as CursorError).kind, "remote");
  assert.is(polls.length, 1);
});

test("a redirect is not followed", async () => {
  const { outcome, polls } = await tried({ answer: answers({ status: 307 }) });
  assert.is((outcome as CursorError).code, "http_status");
  assert.is(polls.length, 1);
});

test("a login can be stopped while it waits", async () => {
  const stop = new AbortController();
  const { outcome, polls } = await tried({}, { signal: stop.signal, wait: () => Promise.reject(new Error("stopped")) });
  assert.is(code(outcome), "aborted aborted");
  assert.is(polls.length, 0);
});

test("a login can be stopped while it polls", async () => {
  const stop = new AbortController();
  const { outcome } = await tried({ answer: () => (stop.abort(), "silence") }, { signal: stop.signal });
  assert.is(code(outcome), "aborted aborted");
});

test("the real clock waits a second before the first poll and hears the signal", async () => {
  const stop = new AbortController();
  const work = login({ origin: "http://127.0.0.1:9", onAddress: () => stop.abort(), signal: stop.signal });
  assert.is(code(await rejects(work)), "aborted aborted");
});

test("an origin that is not allowed is refused before anything is shown", async () => {
  let shown = false;
  const error = await rejects(login({ origin: "https://example.com", onAddress: () => (shown = true) }));
  assert.is(code(error), "local origin_not_allowed");
  assert.not.ok(shown);
});

for (const [status, expected] of [
  [200, "remote answer_too_large"],
  [403, "auth login_refused"],
  [401, "auth unauthenticated"],
] as const)
  test(`8 MiB of brackets with ${status} cost no time`, async () => {
    const start = cpuTime();
    const { outcome } = await tried({ answer: answers({ status, contentType: "application/json", body: BRACKETS }) });
    assert.ok(cpuTime() - start < 1_000);
    assert.is(code(outcome), expected);
  });

test.run();
