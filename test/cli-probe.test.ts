/** `probe`: the protocol document's checks, here against the embedded host and against hosts that misbehave (DESIGN §5). */
import { existsSync } from "node:fs";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { filesBelow, readText } from "../fixtures/load.ts";
import { openWorkbench } from "../lib/cli/inproc.ts";
import { PROBES } from "../lib/cli/probes.ts";
import { startLoopback, type Script } from "../lib/loopback/index.ts";
import { cli, objects } from "./cli-spawn.ts";
import { cpuTime } from "./cpu-time.ts";

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
  ["contract", [{ text: "I will not" }, { turnEnded: true }, { end: true }], /fail contract a tool never seen before is called: no call\nfail contract its nested arguments are exact: no call\n$/],
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

test("a command of line breaks is read in time with its length", async () => {
  const command = `x${"\n".repeat(100_000)}x`;
  const host = await startLoopback({ script: [{ announce: 1 }, { exec: { case: "shellArgs", args: { command } } }, { textFrom: "results" }, { turnEnded: true }, { end: true }] });
  try {
    const started = cpuTime();
    const ran = await cli(["probe", "native", "--origin", host.origin]);
    assert.match(ran.stdout, "only echo is known here");
    assert.ok(cpuTime() - started < 4_000);
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

test("native --inproc writes, reads, searches, fails and deletes for real, in a folder that is gone afterwards", async () => {
  const ran = await cli(["probe", "native", "--inproc", "--loopback", "--json"], { env: { CURSOR_PROVIDER_NATIVE_EXEC: "inproc" } });
  assert.is(ran.code, 0, ran.stdout + ran.stderr);
  const checks = objects(ran) as { ok: boolean; detail: string }[];
  assert.equal(checks.map(({ ok }) => ok), [true, true, true, true, true]);
  const folder = /\/[^"]*cursor-wire-probe-[^"/]+/.exec(checks[0]!.detail)![0];
  assert.not.ok(existsSync(folder), folder);
});

test("in-process execution is refused everywhere else", async () => {
  for (const line of [["run", "--loopback", "hi"], ["probe", "native", "--loopback"], ["probe", "agent", "--loopback"]]) {
    const ran = await cli(line, { env: { CURSOR_PROVIDER_NATIVE_EXEC: "inproc" } });
    assert.is(ran.code, 1, line.join(" "));
    assert.match(ran.stderr, "inproc is refused outside");
  }
});

test("nothing but the workbench of that probe starts processes, and nothing but the probe reaches it", () => {
  const sources = [...filesBelow("wire"), ...filesBelow("lib")].filter((file) => file.endsWith(".ts")).map((file) => [file, readText(file)] as const);
  const starts = /child_process|worker_threads|node:cluster|node:vm|process\.(?:binding|dlopen)/;
  assert.equal(sources.filter(([, source]) => starts.test(source)).map(([file]) => file), ["lib/cli/inproc.ts"]);
  assert.equal(sources.filter(([, source]) => /from "[^"]*\/inproc\.ts"|import\("[^"]*\/inproc/.test(source)).map(([file]) => file), ["lib/cli/probe.ts"]);
});

for (const [name, call, text, isError] of [
  ["a command", { name: "bash", arguments: { command: "echo out; echo err >&2" } }, "out\nerr\n", false],
  ["a silent command", { name: "bash", arguments: { command: "true" } }, "(no output)", false],
  ["a failing command", { name: "bash", arguments: { command: "echo no; exit 4" } }, "no\n\n\nCommand exited with code 4", true],
  ["a killed command", { name: "bash", arguments: { command: "kill -9 $$" } }, "(no output)\n\nCommand ended by SIGKILL", true],
  ["a path outside the folder", { name: "read", arguments: { path: "../../etc/passwd" } }, /outside the probe's folder/, true],
  ["a tool that is none", { name: "nothing", arguments: {} }, "There is no tool nothing.", true],
] as const)
  test(`the workbench answers ${name}`, () => {
    const bench = openWorkbench();
    try {
      const answer = bench.answer({ type: "tool_call", id: "1", ...call });
      assert.is(answer.isError, isError);
      if (typeof text === "string") assert.is(answer.text, text);
      else assert.match(answer.text, text);
    } finally {
      bench.close();
    }
  });

test("the workbench's commands see no token, and the folder as their home", () => {
  const bench = openWorkbench();
  process.env["PI_CURSOR_TOKEN"] = "secret";
  try {
    const { text } = bench.answer({ type: "tool_call", id: "1", name: "bash", arguments: { command: "env; cd; pwd" } });
    assert.not.match(text, /secret|PI_CURSOR_TOKEN/);
    assert.match(text, new RegExp(`^HOME=${bench.folder}$`, "m"));
    assert.ok(text.endsWith(`\n${bench.folder}\n`), text);
  } finally {
    delete process.env["PI_CURSOR_TOKEN"];
    bench.close();
  }
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
  assert.is(ran.stderr, "interrupted\n");
});

test.run();
