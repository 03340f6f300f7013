/** `run`: one turn for people and for programs (DESIGN §5), and `serve`. */
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { createConnection, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { startLoopback, type Script } from "../lib/loopback/index.ts";
import { root } from "../fixtures/load.ts";
import { cli, objects } from "./cli-spawn.ts";
import { rawHost } from "./raw-host.ts";

const test = suite("cli run");

const HELLO: Script = [{ thinking: "Hm." }, { text: "\n\nHello!" }, { tokens: 5 }, { checkpoint: true }, { turnEnded: true }, { end: true }];

/** Runs `work` with a folder that is gone afterwards. */
async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "cli-run-"));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A script as a file. */
function scriptIn(folder: string, script: unknown): string {
  const file = join(folder, "script.json");
  writeFileSync(file, typeof script === "string" ? script : JSON.stringify(script));
  return file;
}

test("--loopback alone plays the demo: thinking, text, tools, usage", async () => {
  const ran = await cli(["run", "--loopback", "What is six times seven, and what time is it?"]);
  assert.is(ran.code, 0, ran.stderr);
  assert.is(ran.stderr, "");
  assert.match(ran.stdout, /^thinking: /);
  assert.match(ran.stdout, '\ncalculator {"expression":"6 * 7"}\n');
  assert.match(ran.stdout, "\n  = 42\n");
  assert.match(ran.stdout, /\n {2}= \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n/);
  assert.match(ran.stdout, "Six times seven is 42, and your clock says");
  assert.match(ran.stdout, /\n— \d+ tokens in \(estimated\), \d+ out\n$/);
});

test("words without quotes are one prompt, and --json prints the events", () =>
  inFolder(async (folder) => {
    const file = scriptIn(folder, [{ textFrom: "prompt", template: "You said: {prompt}" }, { tokens: 3 }, { turnEnded: true }, { end: true }]);
    const ran = await cli(["run", `--loopback=${file}`, "--json", "hello", "there"]);
    assert.is(ran.code, 0, ran.stderr);
    const events = objects(ran);
    assert.equal(events[0], { type: "text", delta: "You said: hello there" });
    assert.equal(events.at(-2)!["output"], 3);
    assert.equal(events.at(-1), { type: "done", reason: "stop" });
  }));

test("what the host of a script objects to is said, and the run exits with 1", () =>
  inFolder(async (folder) => {
    const file = scriptIn(folder, [{ expect: { text: "Hello." } }, { text: "Hi." }, { turnEnded: true }, { end: true }]);
    const ran = await cli(["run", `--loopback=${file}`, "Hey."]);
    assert.equal([ran.code, ran.stderr], [1, 'the host objects: the text "Hello." was expected\n']);
    assert.is((await cli(["run", `--loopback=${file}`, "Hello."])).code, 0);
  }));

test("text begins on a line of its own, without the blank lines in front of it", () =>
  inFolder(async (folder) => {
    const ran = await cli(["run", `--loopback=${scriptIn(folder, HELLO)}`, "hi"]);
    assert.match(ran.stdout, "thinking: Hm.\nHello!\n—");
    const coloured = await cli(["run", `--loopback=${scriptIn(folder, HELLO)}`, "hi"], { tty: true });
    assert.match(coloured.stdout, "\u001b[2mthinking: Hm.\u001b[22m\nHello!");
  }));

test("tool results and failures are shown, long ones cut", () =>
  inFolder(async (folder) => {
    const expression = `${"1+".repeat(150)}1`;
    const file = scriptIn(folder, [{ announce: 2 }, { mcp: { tool: "calculator", args: { expression } } }, { mcp: { tool: "clock", args: { timeZone: 5 } } }, { awaitResults: true }, { text: "ok" }, { turnEnded: true }, { end: true }]);
    const ran = await cli(["run", `--loopback=${file}`, "hi"]);
    assert.match(ran.stdout, / … \d+ more characters\nclock/);
    assert.match(ran.stdout, "  = 151\n");
    assert.match(ran.stdout, "  failed: timeZone must be a string\n");
    const json = objects(await cli(["run", `--loopback=${file}`, "--json", "hi"]));
    assert.equal(json.filter(({ type }) => type === "tool_result").map(({ text }) => text), ["151", "timeZone must be a string"]);
  }));

test("words of the service that a host would take for a retry are told as details", () =>
  inFolder(async (folder) => {
    const file = scriptIn(folder, [{ end: { error: { code: "invalid_argument", message: "no network \u001b[2J, eyJhbGciOiJub25lIn0.e30." } } }]);
    const ran = await cli(["run", `--loopback=${file}`, "hi"]);
    assert.not.match(ran.stderr.split("\n")[0]!, "network");
    assert.match(ran.stderr, /^details: .*no network.*\[redacted\]/m);
    assert.not.match(ran.stderr, "\u001b[2J");
    const [error] = objects(await cli(["run", `--loopback=${file}`, "--json", "hi"])).filter(({ type }) => type === "error");
    assert.match(String(error!["details"]), "no network");
  }));

test("bytes that cannot be read are told as details, where their numbers look like a retry", () =>
  inFolder(async (folder) => {
    const ran = await cli(["run", `--loopback=${scriptIn(folder, [{ bytes: "00ffffffff" }, { hang: true }])}`, "hi"]);
    assert.match(ran.stderr, /^error protocol-drift envelope_length: [^\d]*$/m);
    assert.match(ran.stderr, /^details: .*4294967295 bytes declared/m);
  }));

test("what a model says can't command the terminal", () =>
  inFolder(async (folder) => {
    const ran = await cli(["run", `--loopback=${scriptIn(folder, [{ text: "\u001b]0;x\u0007\u009b2J" }, { turnEnded: true }, { end: true }])}`, "hi"]);
    assert.match(ran.stdout, "␛]0;x␇\ufffd2J\n");
  }));

test("a failed turn exits 1 with kind, code and next step, and its text on a line of its own", () =>
  inFolder(async (folder) => {
    const file = scriptIn(folder, [{ text: "I begin" }, { end: { error: { code: "unavailable", message: "later" } } }]);
    const ran = await cli(["run", `--loopback=${file}`, "hi"]);
    assert.is(ran.code, 1);
    assert.is(ran.stdout, "I begin\n");
    assert.match(ran.stderr, /^error network unavailable: .*later/m);
    assert.match(ran.stderr, /^next step: Try again/m);
    const json = objects(await cli(["run", `--loopback=${file}`, "--json", "hi"]));
    assert.is(json.at(-1)!["type"], "error");
    assert.is(json.at(-1)!["code"], "unavailable");
  }));

test("a diagnostic in the midst of a text has a line of its own on a terminal, and costs a pipe's text nothing", async () => {
  const line = ["run", `--loopback=${fileURLToPath(new URL("fixtures/captures/drift.script.json", root))}`, "hi"];
  assert.match((await cli(line, { tty: true, env: { NO_COLOR: "1" } })).both, /^Two arms, \ndrift: .*\n(?:drift: .*\n)*one message\. /m);
  assert.match((await cli(line)).stdout, /^Two arms, one message\. /m);
});

test("drift is a diagnostic on stderr", () =>
  inFolder(async (folder) => {
    const ran = await cli(["run", `--loopback=${scriptIn(folder, [{ raw: "0a060a040a0268695a00" }, { turnEnded: true }, { end: true }])}`, "hi"]);
    assert.is(ran.code, 0);
    assert.match(ran.stderr, /^drift: .*field 11/m);
  }));

test("a model that calls on and on is stopped", () =>
  inFolder(async (folder) => {
    const file = scriptIn(folder, [{ repeat: 60, steps: [{ announce: 1 }, { mcp: { tool: "clock" } }, { awaitResults: true }] }]);
    const ran = await cli(["run", `--loopback=${file}`, "hi"]);
    assert.is(ran.code, 1);
    assert.match(ran.stderr, "error local too_many_legs");
  }));

test("without a token it says what to do", async () => {
  const ran = await cli(["run", "hi"]);
  assert.is(ran.code, 1);
  assert.match(ran.stderr, "error auth no_access_token: There is no access token.");
  assert.match(ran.stderr, "next step: Set PI_CURSOR_TOKEN to an access token, or add --loopback");
});

test("an origin off the allowlist is refused before a token is asked for", async () => {
  for (const options of [{ line: ["--origin", "https://evil.example"] }, { env: { CURSOR_PROVIDER_AGENT_ORIGIN: "https://evil.example" } }]) {
    const ran = await cli(["run", ...(options.line ?? []), "hi"], { env: { PI_CURSOR_TOKEN: "secret-token", ...options.env } });
    assert.is(ran.code, 1);
    assert.match(ran.stderr, "error local origin_not_allowed");
    assert.not.match(ran.stderr, "secret-token");
  }
});

const USAGE: [line: string[], message: RegExp][] = [
  [["run"], /run needs PROMPT/],
  [["run", "--loopback", ""], /the PROMPT is empty/],
  [["run", "--loopback", "  "], /the PROMPT is empty/],
  [["run", "--loopback", "--origin", "http://127.0.0.1:1", "hi"], /exclude each other/],
  [["run", "--loopback", "package.json", "hi"], /write --loopback=package.json/],
  [["run", "hi", "--loopback", "package.json"], /package.json is a file: write --loopback=package.json to play it, or the prompt in quotes/],
  [["run", "--loopback", "--redact", "hi"], /--redact needs --record/],
  [["serve", "--port", "x"], /--port needs a number/],
  [["serve", "--port", "70000"], /--port needs a number/],
  [["serve", "a", "b"], /serve takes \[FILE\] only/],
];
for (const [line, message] of USAGE)
  test(`usage: ${line.join(" ")}`, async () => {
    const ran = await cli(line);
    assert.is(ran.code, 2);
    assert.match(ran.stderr, message);
  });

const SCRIPTS: [name: string, script: unknown, code: RegExp][] = [
  ["no JSON", "[{", /script_invalid: .*script\.json/],
  ["no step", [{ sing: 1 }], /script_invalid: .*step 1/],
  ["no capture", `{"capture":1}\n{"at":1}`, /^error local capture_invalid: \S*script\.json:1: "rpc" is missing/],
];
for (const [name, script, code] of SCRIPTS)
  test(`a script that is ${name} is refused`, () =>
    inFolder(async (folder) => {
      const ran = await cli(["run", `--loopback=${scriptIn(folder, script)}`, "hi"]);
      assert.is(ran.code, 1);
      assert.match(ran.stderr, code);
    }));

test("a script that is not there is refused", async () => {
  const ran = await cli(["run", "--loopback=/no/such/file", "hi"]);
  assert.is(ran.code, 1);
  assert.match(ran.stderr, "error local file_unreadable: cannot read /no/such/file");
});

test("a capture can be the host", async () => {
  const ran = await cli(["run", `--loopback=${fileURLToPath(new URL("fixtures/captures/text.jsonl", root))}`, "hi"]);
  assert.is(ran.code, 0, ran.stderr);
  assert.match(ran.stdout, "Hello! Grüße, 你好, 👋.\n");
  assert.is(ran.stderr, "");
});

test("--record writes a capture that replays, readable by its owner only, without the token", () =>
  inFolder(async (folder) => {
    const host = await startLoopback({ script: HELLO, token: "secret-token" });
    try {
      const file = join(folder, "run.jsonl");
      const ran = await cli(["run", "--origin", host.origin, "--record", file, "hi"], { env: { PI_CURSOR_TOKEN: "secret-token", CURSOR_PROVIDER_HANDLE_DIR: folder } });
      assert.is(ran.code, 0, ran.stderr);
      assert.match(ran.stderr, `recorded: ${file}`);
      assert.is(statSync(file).mode & 0o777, 0o600);
      const text = readFileSync(file, "utf8");
      assert.is((JSON.parse(text.split("\n")[0]!) as { source: string }).source, "synthetic");
      for (const line of text.trim().split("\n").slice(1)) assert.not.match(Buffer.from((JSON.parse(line) as { envelope: string }).envelope, "base64").toString("latin1"), "secret-token");
      assert.is((await cli(["replay", "--check", file])).code, 0);
    } finally {
      await host.close();
    }
  }));

test("--record --redact leaves none of the texts", () =>
  inFolder(async (folder) => {
    const file = join(folder, "run.jsonl");
    const ran = await cli(["run", `--loopback=${scriptIn(folder, HELLO)}`, "--record", file, "--redact", "my private prompt"]);
    assert.is(ran.code, 0, ran.stderr);
    const lines = readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.is(lines[0]!["redacted"], true);
    const bytes = Buffer.concat(lines.slice(1).map(({ envelope }) => Buffer.from(envelope as string, "base64"))).toString("latin1");
    for (const word of ["private", "Hello", "Hm.", process.cwd()]) assert.not.ok(bytes.includes(word), word);
    assert.ok(bytes.includes("calculator"));
    assert.is((await cli(["replay", "--check", file])).code, 0);
  }));

test("a file that can't be recorded to stops the run before anything is sent", () =>
  inFolder(async (folder) => {
    const host = await startLoopback({ script: HELLO });
    try {
      const ran = await cli(["run", "--origin", host.origin, "--record", join(folder, "none", "x"), "hi"]);
      assert.is(ran.code, 1);
      assert.match(ran.stderr, "error local file_unwritable");
      assert.is(host.received.length, 0);
    } finally {
      await host.close();
    }
  }));

test("a recording that breaks off in the middle of a turn fails the run, behind its answer", () =>
  inFolder(async (folder) => {
    const host = await rawHost((peer, index) => {
      if (index === 0) peer.socket.destroy();
      else peer.respond().text("Hello!").turnEnded().endStream().stream.end();
    });
    try {
      // The second connection is recorded to a file of its own, and that name is taken.
      mkdirSync(join(folder, "run.2.jsonl"));
      const ran = await cli(["run", "--origin", host.origin, "--record", join(folder, "run.jsonl"), "hi"], { env: { PI_CURSOR_TOKEN: "secret-token", CURSOR_PROVIDER_HANDLE_DIR: folder } });
      assert.is(ran.code, 1);
      assert.match(ran.stdout, /^Hello!\n/);
      assert.match(ran.stderr, "error local file_unwritable");
    } finally {
      await host.close();
    }
  }));

test("a failed turn is recorded too", () =>
  inFolder(async (folder) => {
    const file = join(folder, "x.jsonl");
    const ran = await cli(["run", `--loopback=${scriptIn(folder, [{ end: { error: { code: "internal" } } }])}`, "--record", file, "hi"]);
    assert.is(ran.code, 1);
    assert.match(ran.stderr, `recorded: ${file}`);
    assert.is((await cli(["replay", "--check", file])).code, 0);
  }));

test("--session with --loopback says in one line that nothing is kept", () =>
  inFolder(async (folder) => {
    const handles = join(folder, "handles");
    const ran = await cli(["run", `--loopback=${scriptIn(folder, HELLO)}`, "--session", "s", "hi"], { env: { CURSOR_PROVIDER_HANDLE_DIR: handles } });
    assert.is(ran.code, 0);
    assert.is(ran.stderr, "--session keeps nothing here: the conversations of the embedded host end with it.\n");
    assert.not.ok(existsSync(handles));
  }));

test("--session goes on with the remote conversation in the next process", () =>
  inFolder(async (folder) => {
    const second: Script = [{ expect: { resume: true, conversationId: "same", mcpTools: false } }, ...HELLO];
    const host = await startLoopback({ script: [HELLO, second] });
    try {
      const env = { CURSOR_PROVIDER_HANDLE_DIR: folder };
      for (const prompt of ["one", "two"]) assert.is((await cli(["run", "--origin", host.origin, "--session", "s/1", prompt], { env })).code, 0);
      assert.equal(host.received.flatMap(({ violations }) => violations), []);
      const [transcript] = readdirSync(folder).filter((name) => name.endsWith(".transcript.json"));
      assert.match(transcript!, /^=[0-9a-f]{64}\./);
      assert.is(statSync(join(folder, transcript!)).mode & 0o777, 0o600);
      const messages = JSON.parse(readFileSync(join(folder, transcript!), "utf8")) as { role: string }[];
      assert.equal(messages.map(({ role }) => role), ["user", "assistant", "user", "assistant"]);
    } finally {
      await host.close();
    }
  }));

test("runs of one session at once lose no turn, and say so", () =>
  inFolder(async (folder) => {
    const host = await startLoopback({ script: [{ wait: 300 }, ...HELLO] });
    try {
      const env = { CURSOR_PROVIDER_HANDLE_DIR: folder };
      const rans = await Promise.all(["one", "two"].map((prompt) => cli(["run", "--origin", host.origin, "--session", "s", prompt], { env })));
      assert.equal(rans.map(({ code }) => code), [0, 0]);
      assert.equal(rans.map(({ stderr }) => /^Another run of this session/m.test(stderr)).sort(), [false, true]);
      const messages = JSON.parse(readFileSync(join(folder, "s.transcript.json"), "utf8")) as { role: string; content: unknown }[];
      assert.equal(messages.filter(({ role }) => role === "user").map(({ content }) => content).sort(), ["one", "two"]);
    } finally {
      await host.close();
    }
  }));

test("a transcript that is none begins anew, one that can't be read or written is an error", () =>
  inFolder(async (folder) => {
    const host = await startLoopback({ script: HELLO });
    try {
      const line = ["run", "--origin", host.origin, "--session", "s", "hi"];
      for (const broken of ["{", "{}", "[1]", '[{"role":"user"}]']) {
        writeFileSync(join(folder, "s.transcript.json"), broken);
        assert.is((await cli(line, { env: { CURSOR_PROVIDER_HANDLE_DIR: folder } })).code, 0, broken);
        assert.is((JSON.parse(readFileSync(join(folder, "s.transcript.json"), "utf8")) as unknown[]).length, 2);
      }
      rmSync(join(folder, "s.transcript.json"));
      mkdirSync(join(folder, "s.transcript.json"));
      const unreadable = await cli(line, { env: { CURSOR_PROVIDER_HANDLE_DIR: folder } });
      assert.is(unreadable.code, 1);
      assert.match(unreadable.stderr, "file_unreadable");
      writeFileSync(join(folder, "file"), "");
      const unwritable = await cli(line, { env: { CURSOR_PROVIDER_HANDLE_DIR: join(folder, "file") } });
      assert.is(unwritable.code, 1);
      assert.match(unwritable.stderr, /file_unreadable|file_unwritable/);
    } finally {
      await host.close();
    }
  }));

test("an interrupt during a turn exits 130", () =>
  inFolder(async (folder) => {
    const controller = new AbortController();
    const running = cli(["run", `--loopback=${scriptIn(folder, [{ text: "I begin" }, { hang: true }])}`, "hi"], { signal: controller.signal });
    setTimeout(() => controller.abort(), 150);
    const ran = await running;
    assert.is(ran.code, 130);
    assert.match(ran.stderr, "interrupted");
  }));

test("with --json an interrupt is an error object too", async () => {
  const ran = await cli(["run", "--loopback", "--json", "hi"], { signal: AbortSignal.abort() });
  assert.is(ran.code, 130);
  assert.is(objects(ran).at(-1)!["kind"], "aborted");
});

test("serve prints its origin and each Run, and ends at an interrupt with 130", () =>
  inFolder(async (folder) => {
    const controller = new AbortController();
    const port = await freePort();
    const serving = cli(["serve", "--json", "--port", String(port), scriptIn(folder, [{ raw: "0a060a040a026869" }, { turnEnded: true }, { end: true }])], { signal: controller.signal });
    const people = cli(["serve"], { signal: controller.signal });
    await reachable(port);
    assert.is((await cli(["run", "--origin", `http://127.0.0.1:${port}`, "hi"])).code, 0);
    const taken = await cli(["serve", "--port", String(port)]);
    assert.is(taken.code, 1);
    assert.match(taken.stderr, `error local port_taken: port ${port} is taken`);
    controller.abort();
    const ran = await serving;
    assert.is(ran.code, 130);
    const [listening, run] = objects(ran);
    assert.equal(listening, { type: "listening", origin: `http://127.0.0.1:${port}` });
    assert.is(run!["type"], "run");
    assert.equal(run!["violations"], []);
    const text = await people;
    assert.is(text.code, 130);
    assert.match(text.stdout, /listening on http:\/\/127\.0\.0\.1:\d+/);
    assert.match(text.stdout, /cursor-wire run --origin http:/);
  }));

test("serve answers login, models and a Run on one origin", async () => {
  const controller = new AbortController();
  const port = await freePort();
  const serving = cli(["serve", "--port", String(port)], { signal: controller.signal });
  await reachable(port);
  const env = { CURSOR_PROVIDER_AGENT_ORIGIN: `http://127.0.0.1:${port}` };
  const login = await cli(["login"], { env });
  assert.is(login.code, 0, login.stderr);
  const models = await cli(["models", "--json"], { env: { ...env, PI_CURSOR_TOKEN: login.stdout.trim() } });
  assert.equal(objects(models).map(({ source }) => source), ["service", "service"]);
  // Neither a garbled refresh nor a path that is none ends the host.
  const session = connect(env.CURSOR_PROVIDER_AGENT_ORIGIN);
  for (const path of ["/oauth/token", "//"]) {
    const stream = session.request({ ":method": "POST", ":path": path });
    stream.end("{");
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    assert.is(headers[":status"], path === "//" ? 404 : 200);
    stream.resume();
  }
  session.destroy();
  assert.is((await cli(["run", "hi"], { env })).code, 0);
  controller.abort();
  assert.match((await serving).stdout, "run 1: ");
});

test("serve tells what the client does wrong", async () => {
  const controller = new AbortController();
  const port = await freePort();
  const serving = cli(["serve", "--port", String(port)], { signal: controller.signal });
  await reachable(port);
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  const stream = session.request({ ":method": "POST", ":path": "/agent.v1.AgentService/Run", "content-type": "application/connect+proto" });
  stream.on("error", () => {});
  stream.write(Buffer.from([0, 0, 0, 0, 2, 0x3a, 0]));
  await new Promise((resolve) => setTimeout(resolve, 200));
  session.destroy();
  await new Promise((resolve) => setTimeout(resolve, 100));
  controller.abort();
  const ran = await serving;
  assert.match(ran.stdout, /\nrun 1: , 1 frames from the client, \w+\n {2}! header /);
});

test("serve that is interrupted before it begins does not stay", async () => {
  const ran = await cli(["serve"], { signal: AbortSignal.abort() });
  assert.is(ran.code, 130);
});

/** Waits until something listens. */
async function reachable(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const socket = createConnection(port, "127.0.0.1");
    const open = await new Promise<boolean>((resolve) => socket.once("connect", () => resolve(true)).once("error", () => resolve(false)));
    socket.destroy();
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test.run();
