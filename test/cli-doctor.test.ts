/** `doctor`: what a Run needs, without a connection and without secrets (DESIGN §5). */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { VARIABLES } from "../lib/driver/variables.ts";
import { cli, objects, type Ran } from "./cli-spawn.ts";
import { inFolder } from "./folder.ts";

const test = suite("cli doctor");

async function findings(env: Record<string, string>): Promise<{ ran: Ran; of(subject: string): Record<string, unknown>[] }> {
  const ran = await cli(["doctor", "--json"], { env });
  const all = objects(ran).filter(({ type }) => type === "finding");
  return { ran, of: (subject) => all.filter((finding) => finding["subject"] === subject) };
}

function token(claims: object): string {
  return `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;
}

test("a fresh machine lacks the token alone, and every variable is listed with its default", async () => {
  const ran = await cli(["doctor"]);
  assert.is(ran.code, 1, ran.stdout);
  assert.equal(ran.stdout.match(/^fail.*/gm), ["fail token         PI_CURSOR_TOKEN is not set"]);
  assert.match(ran.stdout, /^ +Set it: export PI_CURSOR_TOKEN=\$\(cursor-wire login\)\./m);
  assert.match(ran.stdout, /^ok {3}Node +v\d+\./m);
  assert.match(ran.stdout, /^ok {3}origin +https:\/\/agentn\.us\.api5\.cursor\.sh$/m);
  assert.match(ran.stdout, /^ok {3}account +https:\/\/api2\.cursor\.sh$/m);
  for (const [name, { initial }] of Object.entries(VARIABLES)) assert.ok(ran.stdout.includes(`${name.padEnd(37)} default  ${initial || "–"}\n`), name);
});

test("secrets are never printed", async () => {
  const secret = token({ exp: 4_000_000_000, sub: "someone" });
  for (const line of [["doctor"], ["doctor", "--json"]]) {
    const ran = await cli(line, { env: { PI_CURSOR_TOKEN: secret, CURSOR_PROVIDER_DEBUG: `Bearer ${secret}`, CURSOR_PROVIDER_AGENT_ORIGIN: "https://user:password@api2.cursor.sh" } });
    for (const part of [secret, secret.split(".")[1]!, "someone", "user:password"]) assert.not.ok(ran.stdout.includes(part), `${part} in ${ran.stdout}`);
    assert.match(ran.stdout, line.length === 1 ? /^PI_CURSOR_TOKEN +set +\(secret\)$/m : /"name":"PI_CURSOR_TOKEN","set":true,"meaning"/);
  }
  for (const name of ["CURSOR_PROVIDER_DEBUG", "CURSOR_PROVIDER_HANDLE_DIR", "CURSOR_PROVIDER_IDLE_MS"]) assert.not.match((await cli(["doctor"], { env: { [name]: secret } })).stdout, secret.slice(0, 20));
});

const NO_URL = "The origin is no plain http or https URL.";
/** Origins that hold a secret, and all that is said of them. */
const SECRET_ORIGINS: [origin: string, said: string][] = [
  ["https://user:p@secretpw@host.example/", 'The origin "https://host.example" is not on the allowlist.'],
  ["https:\\\\user:secretpw@host.example", 'The origin "https://host.example" is not on the allowlist.'],
  ["https:user:secretpw@host.example", 'The origin "https://host.example" is not on the allowlist.'],
  ["https://host.example/?token=secretpw", 'The origin "https://host.example" is not on the allowlist.'],
  ["https://host.example/secretpw", 'The origin "https://host.example" is not on the allowlist.'],
  ["https://host.example/#secretpw", 'The origin "https://host.example" is not on the allowlist.'],
  ["http://user:secretpw@127.0.0.1:1", 'The origin "http://127.0.0.1:1" may have no credentials.'],
  ["https://agentn.api5.cursor.sh/secretpw", 'The origin "https://agentn.api5.cursor.sh" may have no path.'],
  ["https://agentn.api5.cursor.sh?secretpw", 'The origin "https://agentn.api5.cursor.sh" may have no query.'],
  ["https://agentn.api5.cursor.sh/#?secretpw", 'The origin "https://agentn.api5.cursor.sh" may have no fragment.'],
  ["https://agentn.api5.cursor.sh:8443", 'The origin "https://agentn.api5.cursor.sh:8443" may have no port but the default one.'],
  ["https:\\\\user:secretpw@api2.cursor.sh:1/x?#", 'The origin "https://api2.cursor.sh:1" may have no credentials and no port but the default one and no path and no query and no fragment and no backslash or blank.'],
  ["user:secretpw@host.example", NO_URL],
  ["user:se/cretpw@host.example", NO_URL],
  ["blob:https://user:secretpw@host.example", NO_URL],
  ["https://user:se/cretpw@host.example", NO_URL],
  ["https://user:12/cretpw@host.example", NO_URL],
  ["https://user:?cretpw@host.example", NO_URL],
  ["https://user:#cretpw@host.example", NO_URL],
  ["secretpw", NO_URL],
];
for (const [origin, said] of SECRET_ORIGINS)
  test(`of the origin ${origin} no secret is shown`, async () => {
    const env = { CURSOR_PROVIDER_AGENT_ORIGIN: origin };
    const { ran, of } = await findings(env);
    assert.is(of("environment")[0]!["detail"], said);
    const people = await cli(["doctor"], { env });
    const run = await cli(["run", "--origin", origin, "hi"]);
    assert.match(run.stderr, said);
    for (const text of [ran.stdout, people.stdout, people.stderr, run.stdout, run.stderr]) assert.not.match(text, /user\b|cretpw|p@|12\//);
  });

test("an origin is listed by its protocol and host", async () => {
  const listed = async (origin: string): Promise<unknown> => objects((await findings({ CURSOR_PROVIDER_AGENT_ORIGIN: origin })).ran).find(({ name }) => name === "CURSOR_PROVIDER_AGENT_ORIGIN")!["value"];
  assert.is(await listed("https://agentn.us.api5.cursor.sh"), "https://agentn.us.api5.cursor.sh");
  assert.is(await listed("http://127.0.0.1:1"), "http://127.0.0.1:1");
  assert.is(await listed("https://host.example:8443/path"), "https://host.example:8443");
  assert.is(await listed("host"), "(no plain http or https URL)");
});

test("a host of this machine needs no token", async () => {
  const { ran, of } = await findings({ CURSOR_PROVIDER_AGENT_ORIGIN: "http://127.0.0.1:1" });
  assert.is(ran.code, 0, ran.stdout);
  assert.is(of("token")[0]!["state"], "ok");
  assert.is(of("account")[0]!["detail"], "http://127.0.0.1:1");
});

test("a token says when it runs out, and fails when it has", async () => {
  const later = await findings({ PI_CURSOR_TOKEN: token({ exp: 4_000_000_000 }) });
  assert.match(later.of("token")[0]!["detail"] as string, "it runs out at 2096-10-02");
  assert.is(later.ran.code, 0);
  const before = await findings({ PI_CURSOR_TOKEN: token({ exp: 1 }) });
  assert.match(before.of("token")[0]!["detail"] as string, "ran out at 1970");
  assert.match(before.of("token")[0]!["nextStep"] as string, "Set it anew: export PI_CURSOR_TOKEN=");
  assert.is(before.ran.code, 1);
  for (const opaque of ["opaque", token({ exp: "soon" }), token({ exp: 1e300 })]) assert.is((await findings({ PI_CURSOR_TOKEN: opaque })).of("token")[0]!["detail"], "PI_CURSOR_TOKEN is set");
});

test("a token that no header may hold fails", async () => {
  const { ran, of } = await findings({ PI_CURSOR_TOKEN: "a b" });
  assert.is(of("token")[0]!["state"], "fail");
  assert.is(ran.code, 1);
});

const WRONG: [env: Record<string, string>, detail: RegExp][] = [
  [{ CURSOR_PROVIDER_AGENT_ORIGIN: "https://evil.example" }, /not on the allowlist/],
  [{ CURSOR_PROVIDER_CHANNEL: "inference" }, /agent channel only/],
  [{ CURSOR_PROVIDER_IDLE_MS: "soon" }, /no positive whole number/],
  [{ CURSOR_PROVIDER_NATIVE_EXEC: "inproc" }, /inproc is refused/],
  [{ CURSOR_PROVIDER_HANDLE_DIR: "~bob/x" }, /the home of somebody else/],
];
for (const [env, detail] of WRONG)
  test(`${Object.keys(env)[0]}=${Object.values(env)[0]} fails`, async () => {
    const { ran, of } = await findings(env);
    assert.is(ran.code, 1);
    assert.match(of("environment")[0]!["detail"] as string, detail);
    assert.ok(of("environment")[0]!["nextStep"]);
  });

test("every wrong variable is told, in one go", async () => {
  const { of } = await findings({ CURSOR_PROVIDER_IDLE_MS: "soon", CURSOR_PROVIDER_MCP_META: "maybe", CURSOR_CLI_VERSION: "a b" });
  assert.equal(
    of("environment").map(({ state, detail }) => `${state} ${String(detail).split(":")[0]}`),
    ["fail CURSOR_PROVIDER_IDLE_MS", "fail CURSOR_PROVIDER_MCP_META", "fail CURSOR_CLI_VERSION"],
  );
});

test("a wrong variable hides nothing that the others say", async () => {
  const subjects = ["origin", "account", "clocks", "debug", "handles"];
  const good = { CURSOR_PROVIDER_DEBUG: "/no/such/folder/x", CURSOR_PROVIDER_HANDLE_DIR: "/dev/null" };
  const WRONG_EACH: [env: Record<string, string>, left: string[]][] = [
    [{ CURSOR_PROVIDER_IDLE_MS: "soon" }, subjects],
    [{ CURSOR_PROVIDER_AGENT_ORIGIN: "host" }, ["clocks", "debug", "handles"]],
    [{ CURSOR_PROVIDER_HANDLE_DIR: "~bob/x" }, ["origin", "account", "clocks", "debug"]],
    [{ CURSOR_PROVIDER_FIRST_TOKEN_MS: "0", CURSOR_PROVIDER_IDLE_MS: "0", CURSOR_PROVIDER_TOOLUSE_WATCHDOG_MS: "0" }, ["origin", "account", "debug", "handles"]],
  ];
  for (const [env, left] of WRONG_EACH) {
    const { of } = await findings({ ...good, ...env });
    assert.equal(subjects.filter((subject) => of(subject).length === 1), left, JSON.stringify(env));
    if (left === subjects) assert.match(of("clocks")[0]!["detail"] as string, /^first \d+ ms, tool use \d+ ms$/);
    assert.is(of("debug")[0]!["state"], "warn");
  }
});

test("a misspelt variable is warned of with the nearest", async () => {
  const { ran, of } = await findings({
    PI_CURSOR_TOKEN: "opaque",
    CURSOR_PROVIDER_IDEL_MS: "1",
    PI_CURSOR_TOKNE: "1",
    CURSOR_PROVIDER_SOMETHING_ELSE_ALTOGETHER: "1",
    PI_CURSORY: "1",
  });
  assert.is(ran.code, 0);
  assert.equal(of("environment").map(({ nextStep }) => nextStep), ["Did you mean CURSOR_PROVIDER_IDLE_MS?", "Did you mean PI_CURSOR_TOKEN?", undefined]);
  for (const finding of of("environment")) assert.is(finding["state"], "warn");
});

test("a debug file is noted", async () => {
  const noted = async (value: string): Promise<unknown> => (await findings({ CURSOR_PROVIDER_DEBUG: value })).of("debug")[0]?.["detail"];
  assert.match((await noted("/tmp/debug.jsonl")) as string, "/tmp/debug.jsonl");
  assert.is(await noted("off"), undefined);
});

test("a debug file that cannot be written is warned of", () =>
  inFolder(async (folder) => {
    const at = async (path: string): Promise<string> => {
      const [{ state, detail } = {}] = (await findings({ CURSOR_PROVIDER_DEBUG: path })).of("debug");
      return `${String(state)} ${String(detail).replaceAll(folder, "")}`;
    };
    writeFileSync(join(folder, "file"), "");
    assert.is(await at(join(folder, "file")), "note redacted summaries are written to /file");
    assert.is(await at(join(folder, "new")), "note redacted summaries are written to /new");
    assert.is(await at(folder), "warn  is a folder: nothing is written there");
    assert.is(await at(join(folder, "a", "b")), "warn cannot write /a/b: no such file or folder");
    assert.is(await at(join(folder, "file", "b")), "warn cannot write /file/b: a part of the path is no folder");
    if (process.getuid?.() !== 0) {
      mkdirSync(join(folder, "locked"), { mode: 0o500 });
      assert.is(await at(join(folder, "locked", "b")), "warn cannot write /locked/b: permission denied");
    }
    if (process.platform !== "win32") {
      execFileSync("mkfifo", [join(folder, "pipe")]);
      assert.is(await at(join(folder, "pipe")), "warn /pipe is a pipe: nothing is written there");
    }
  }));

test("the folder of handles is there, can be made, or is something else", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cli-doctor-"));
  try {
    const at = async (path: string): Promise<Record<string, unknown>> => (await findings({ CURSOR_PROVIDER_HANDLE_DIR: path })).of("handles")[0]!;
    assert.is((await at(folder))["detail"], folder);
    assert.is((await at(join(folder, "a", "b")))["detail"], `${join(folder, "a", "b")} (made when it is needed)`);
    writeFileSync(join(folder, "file"), "");
    assert.is((await at(join(folder, "file", "x")))["state"], "fail");
    assert.match((await findings({ HOME: folder })).of("handles")[0]!["detail"] as string, join(folder, ".config/pi/agent/cursor-provider/handles"));
    if (process.getuid?.() !== 0) {
      mkdirSync(join(folder, "locked"), { mode: 0o500 });
      assert.is((await at(join(folder, "locked")))["state"], "warn");
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("Pi is found on the PATH", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cli-doctor-"));
  try {
    mkdirSync(join(folder, "other", "pi"), { recursive: true });
    const path = `${join(folder, "other")}:${folder}`;
    assert.is((await findings({ PATH: path })).of("Pi")[0]!["state"], "note");
    writeFileSync(join(folder, "pi"), "#!/bin/sh\n");
    chmodSync(join(folder, "pi"), 0o755);
    assert.equal((await findings({ PATH: path })).of("Pi")[0], { type: "finding", subject: "Pi", state: "ok", detail: join(folder, "pi") });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.run();
