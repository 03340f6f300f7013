/** `login` and `models` against an account host on this machine. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { startAccountHost } from "./account-host.ts";
import { cli, objects } from "./cli-spawn.ts";

const test = suite("cli account");

test("login prints the service's page on stderr", async () => {
  const ran = await cli(["login"], { signal: AbortSignal.abort() });
  assert.match(ran.stderr, /^Open this page in a browser and log in:\nhttps:\/\/cursor\.com\/loginDeepControl\?challenge=.*\ninterrupted\n$/);
});

test("login on a host of this machine sends nobody to the service, and prints the token alone on stdout", async () => {
  const host = await startAccountHost({ accessToken: () => "synthetic-access" });
  try {
    const ran = await cli(["login", "--origin", host.origin]);
    assert.is(ran.code, 0, ran.stderr);
    assert.is(ran.stdout, "synthetic-access\n");
    assert.is(ran.stderr, `${host.origin} is a host of this machine: there is no page to open.\n`);
  } finally {
    await host.close();
  }
});

test("login shows no token on a terminal", async () => {
  const host = await startAccountHost({ accessToken: () => "synthetic-access" });
  try {
    const ran = await cli(["login", "--origin", host.origin], { tty: true });
    assert.is(ran.code, 0);
    assert.not.match(ran.stdout + ran.stderr, "synthetic-access");
    assert.match(ran.stdout, "export PI_CURSOR_TOKEN=$(cursor-wire login)");
  } finally {
    await host.close();
  }
});

test("login ends at an interrupt, and refuses an origin off the allowlist", async () => {
  assert.is((await cli(["login", "--origin", "http://127.0.0.1:1"], { signal: AbortSignal.abort() })).code, 130);
  for (const verb of ["login", "models"]) {
    const ran = await cli([verb, "--origin", "https://evil.example"]);
    assert.is(ran.code, 1);
    assert.match(ran.stderr, "error local origin_not_allowed");
    assert.match(ran.stderr, "next step: Use https://api2.cursor.sh, where accounts live");
  }
});

test("models lists slugs, and the slug of each thinking level", async () => {
  const host = await startAccountHost();
  try {
    const env = { PI_CURSOR_TOKEN: "synthetic" };
    const ran = await cli(["models", "--origin", host.origin], { env });
    assert.is(ran.code, 0, ran.stderr);
    assert.is(ran.stderr, "");
    assert.match(ran.stdout, /^composer-2\.5 +Composer 2\.5 \(200k; images\)$/m);
    assert.match(ran.stdout, /^grok-4\.7-medium .*low: grok-4\.7-low, medium: grok-4\.7-medium, high: grok-4\.7-high/m);
    const rows = objects(await cli(["models", "--json", "--origin", host.origin], { env }));
    assert.equal(rows.map(({ type, source }) => [type, source]), [["model", "service"], ["model", "service"]]);
  } finally {
    await host.close();
  }
});

test("models of a host of this machine needs no token; where it is not there, the warning ends in the next step", async () => {
  const host = await startAccountHost();
  const line = ["models", "--json", "--origin", host.origin];
  assert.equal(objects(await cli(line)).map(({ source }) => source), ["service", "service"]);
  await host.close();
  assert.match((await cli(line)).stderr, /Using the built-in model list: Connection lost: .*[^.]\. Try again; if it stays, check the connection to the service\.\n$/);
});

test("models without a token lists the built-in ones and says so", async () => {
  const ran = await cli(["models"]);
  assert.is(ran.code, 0);
  assert.match(ran.stderr, "Using the built-in model list: nobody is logged in");
  assert.match(ran.stdout, "composer");
});

test.run();
