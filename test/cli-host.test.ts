/** What `serve` and `run --loopback=FILE` are given: scripts and captures, however long (DESIGN §5). */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../fixtures/load.ts";
import { cli, ended, start } from "./cli-spawn.ts";

const test = suite("cli host");

const MIB = 1024 * 1024;
const SCRIPT = JSON.stringify([{ text: "Hello!" }, { turnEnded: true }, { end: true }]);
const CAPTURE = readFileSync(fileURLToPath(new URL("fixtures/captures/text.jsonl", root)), "utf8");

async function inFile(content: string, work: (file: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "cli-host-"));
  try {
    writeFileSync(join(folder, "file"), content);
    await work(join(folder, "file"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const HOSTS: [name: string, content: () => string, said: string][] = [
  ["a capture that is longer than a script may be", () => `${CAPTURE}${" ".repeat(17 * MIB)}\n`, "Hello! Grüße"],
  ["a script behind a byte order mark", () => `\ufeff${SCRIPT}`, "Hello!"],
  ["a capture behind a byte order mark", () => `\ufeff${CAPTURE}`, "Hello! Grüße"],
  ["a script behind blank lines", () => `\n \r\n${SCRIPT}`, "Hello!"],
  ["a capture behind blank lines", () => `\n\n${CAPTURE}`, "Hello! Grüße"],
];
for (const [name, content, said] of HOSTS)
  test(`${name} is a host`, () =>
    inFile(content(), async (file) => {
      const ran = await cli(["run", `--loopback=${file}`, "hi"]);
      assert.is(ran.code, 0, ran.stderr);
      assert.match(ran.stdout, said);
    }));

const REFUSED: [name: string, content: () => string, error: RegExp][] = [
  ["a script over 16 MiB", () => SCRIPT + " ".repeat(16 * MIB - SCRIPT.length + 1), /^error local script_invalid: .*file: it is over 16777216 bytes\nnext step: A script is/],
  ["a script of brackets alone", () => "[".repeat(16 * MIB), /^error local script_invalid: .*file: it holds more than 1000000 values\nnext step: A script is/],
  ["a capture with a line over 24 MiB", () => `${CAPTURE}${" ".repeat(24 * MIB + 1)}`, /^error local line_too_long: .*file:\d+: the line is over/],
  ["an empty file", () => "", /^error local script_invalid/],
  ["a brace alone", () => "{", /^error local capture_invalid: \S*file:1: the line is no JSON; each line of a capture is an object\n/],
];
for (const [name, content, error] of REFUSED)
  test(`${name} is refused`, () =>
    inFile(content(), async (file) => {
      const ran = await cli(["run", `--loopback=${file}`, "hi"]);
      assert.is(ran.code, 1);
      assert.match(ran.stderr, error);
    }));

if (existsSync("/dev/zero"))
  test("serve /dev/zero ends soon", async () => {
    const ran = await cli(["serve", "/dev/zero"]);
    assert.is(ran.code, 1);
    assert.match(ran.stderr, "error local script_invalid: /dev/zero: it is over");
  });

const ENDLESS = [
  ["capture", '{"capture":2}\n'],
  ["script", SCRIPT + " ".repeat(16 * MIB)],
] as const;
for (const [name, begin] of ENDLESS)
  test(`a refused ${name} on stdin is not waited for to its end`, async () => {
    const child = start(["run", "--loopback=-", "hi"]);
    child.stdin!.on("error", () => {});
    child.stdin!.write(begin);
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
    const ran = await ended(child);
    clearTimeout(timer);
    assert.is(ran.code, 1, ran.stderr);
    assert.match(ran.stderr, `error local ${name}_invalid: stdin:`);
  });

test.run();
