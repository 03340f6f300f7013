/** `probe`: the protocol document's checks, here against the embedded host and against hosts that misbehave (DESIGN §5). */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PROBES } from "../lib/cli/probes.ts";
import { startLoopback, type Script } from "../lib/loopback/index.ts";
import { cli, objects } from "./cli-spawn.ts";

const test = suite("cli probe");

for (const { name } of PROBES)
  test(`probe ${name} --loopback: every check holds`, async () => {
    const ran = await cli(["probe", name, "--loopback", "--json"]);
    assert.is(ran.code, 0, ran.stdout + ran.stderr);
    const checks = objects(ran);
    assert.ok(checks.length >= 3);
    for (const check of checks) {
      assert.is(check["probe"], name);
      assert.is.not(check["ok"], false, JSON.stringify(check));
    }
  });

test("probe all --loopback runs each", async () => {
  const ran = await cli(["probe", "all", "--loopback"]);
  assert.is(ran.code, 0);
  for (const { name } of PROBES) assert.match(ran.stdout, new RegExp(`^ok   ${name} `, "m"));
});

/** Hosts that misbehave → the check that says so. */
const FAILING: [name: string, script: Script, what: RegExp][] = [
  ["agent", [{ text: "ping" }, { turnEnded: true }, { end: true }], /fail agent +text arrives: ping/],
  ["native", [{ text: "I will not" }, { turnEnded: true }, { end: true }], /fail native +a command reaches the host's tool: no call/],
  ["native", [{ announce: 1 }, { exec: { case: "shellArgs", args: { command: "ls" } } }, { textFrom: "results" }, { turnEnded: true }, { end: true }], /fail native +its output reaches the model: shellArgs: only echo is known here/],
  ["resume", [{ text: "what word?" }, { turnEnded: true }, { end: true }], /fail resume +the model remembers: what word\?/],
  ["fidelity", [{ text: "nothing" }, { turnEnded: true }, { end: true }], /fail fidelity the rules reach the model: not seen/],
  ["contract", [{ announce: 1 }, { mcp: { tool: "ledger_append", args: { title: "stock" } } }, { awaitResults: true }, { text: "." }, { turnEnded: true }, { end: true }], /fail contract its nested arguments are exact: \{"title":"stock"\}/],
];
for (const [name, script, what] of FAILING)
  test(`probe ${name} fails: ${what.source.slice(5, 60)}`, async () => {
    const host = await startLoopback({ script });
    try {
      const ran = await cli(["probe", name, "--origin", host.origin]);
      assert.is(ran.code, 1);
      assert.match(ran.stdout, what);
    } finally {
      await host.close();
    }
  });

test("a quoted echo is answered without its quotes", async () => {
  const host = await startLoopback({ script: [{ announce: 1 }, { exec: { case: "shellArgs", args: { command: "cd / && echo 'cw-7f3a9c'" } } }, { textFrom: "results" }, { turnEnded: true }, { end: true }] });
  try {
    const ran = await cli(["probe", "native", "--origin", host.origin]);
    assert.match(ran.stdout, "ok   native   its output reaches the model: shellArgs: cw-7f3a9c");
  } finally {
    await host.close();
  }
});

test("a turn that fails is an error of one probe, and a failed check among all", async () => {
  const host = await startLoopback({ script: [{ end: { error: { code: "unavailable", message: "later" } } }] });
  try {
    const one = await cli(["probe", "agent", "--origin", host.origin]);
    assert.is(one.code, 1);
    assert.match(one.stderr, "error network unavailable");
    const all = await cli(["probe", "all", "--origin", host.origin]);
    assert.is(all.code, 1);
    assert.is(all.stdout.match(/^fail \w+ +the turn comes to its end: network unavailable/gm)?.length, PROBES.length);
  } finally {
    await host.close();
  }
});

test("a token that is refused ends all of them at once", async () => {
  const host = await startLoopback({ token: "right" });
  try {
    const ran = await cli(["probe", "all", "--origin", host.origin], { env: { PI_CURSOR_TOKEN: "wrong-token" } });
    assert.is(ran.code, 1);
    assert.match(ran.stderr, "error auth unauthenticated");
    assert.not.match(ran.stderr, "wrong-token");
    assert.is(host.received.length, 1);
  } finally {
    await host.close();
  }
});

test("without a token it says what to do", async () => {
  const ran = await cli(["probe", "agent"]);
  assert.is(ran.code, 1);
  assert.match(ran.stderr, "error auth no_access_token");
});

test("--inproc is refused: it is not built", async () => {
  const ran = await cli(["probe", "native", "--inproc", "--loopback"]);
  assert.is(ran.code, 1);
  assert.match(ran.stderr, "error local inproc_not_built: running native execs in this process is not built yet");
});

const USAGE: [line: string[], message: RegExp][] = [
  [["probe"], /probe needs NAME/],
  [["probe", "agnet"], /there is no probe agnet; did you mean agent\?/],
  [["probe", "x"], /there is no probe x$/m],
  [["probe", "agent", "--inproc"], /--inproc belongs to: probe native/],
  [["probe", "agent", "--loopback", "--origin", "http://127.0.0.1:1"], /exclude each other/],
];
for (const [line, message] of USAGE)
  test(`usage: ${line.join(" ")}`, async () => {
    const ran = await cli(line);
    assert.is(ran.code, 2);
    assert.match(ran.stderr, message);
  });

test("an interrupt ends it with 130", async () => {
  const ran = await cli(["probe", "all", "--loopback"], { signal: AbortSignal.abort() });
  assert.is(ran.code, 130);
});

test.run();
