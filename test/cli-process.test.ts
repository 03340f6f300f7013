/** The built command as a process: exit codes, pipes, signals (DESIGN §5). */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../fixtures/load.ts";
import { encodeEnvelope } from "../wire/index.ts";
import { bytes } from "./check.ts";
import { ended, spawned, start } from "./cli-spawn.ts";

const test = suite("cli process");

const HI = "0a060a040a026869";

const SCRIPT = fileURLToPath(new URL("fixtures/captures/text.script.json", root));

const EXITS: [name: string, line: string[], code: number, stdout: RegExp, stderr: RegExp][] = [
  ["done is 0", ["inspect", "--hex", HI], 0, /textDelta/, /^$/],
  ["failed is 1", ["inspect", "/no/such/file"], 1, /^$/, /^error local file_unreadable: .*\nnext step: /],
  ["no token is 1", ["run", "hi"], 1, /^$/, /^error auth no_access_token/],
  ["an unknown verb is 2", ["rnu"], 2, /^$/, /did you mean run\?/],
  ["a turn is 0, and the process ends by itself", ["run", `--loopback=${SCRIPT}`, "hi"], 0, /Hello! Grüße/, /^$/],
];
for (const [name, line, code, stdout, stderr] of EXITS)
  test(name, async () => {
    const ran = await spawned(line);
    assert.is(ran.code, code, ran.stderr);
    assert.match(ran.stdout, stdout);
    assert.match(ran.stderr, stderr);
  });

test("a pipe has no colours, whatever TERM says", async () => {
  const ran = await spawned(["inspect", "--hex", HI], { env: { TERM: "xterm-256color" } });
  assert.not.match(ran.stdout, "\u001b");
});

test("a reader that leaves ends it quietly", async () => {
  const child = start(["inspect"]);
  child.stdin!.on("error", () => {});
  const many = encodeEnvelope(0, bytes(HI));
  child.stdin!.write(Buffer.concat(Array.from({ length: 10_000 }, () => many)));
  await once(child.stdout!, "data");
  child.stdout!.destroy();
  let stderr = "";
  child.stderr!.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "exit")) as [number];
  assert.is(stderr, "");
  assert.is(code, 0);
});

test("a long output into a slow pipe comes whole", async () => {
  const frames = 4000;
  const ran = await spawned(["inspect", "--json"], { input: Buffer.concat(Array.from({ length: frames }, () => encodeEnvelope(0, bytes(HI)))) });
  assert.is(ran.code, 0);
  assert.is(ran.stdout.split("\n").length, frames + 1);
});

test("SIGINT during a turn ends it soon, with 130", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cli-process-"));
  try {
    const file = join(folder, "script.json");
    writeFileSync(file, JSON.stringify([{ text: "I begin" }, { hang: true }]));
    const child = start(["run", `--loopback=${file}`, "hi"]);
    const result = ended(child);
    await said(child, "I begin");
    const sent = performance.now();
    child.kill("SIGINT");
    const ran = await result;
    assert.is(ran.code, 130);
    assert.match(ran.stderr, "interrupted");
    assert.ok(performance.now() - sent < 2000);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("SIGINT ends serve with 130", async () => {
  const child = start(["serve"]);
  const result = ended(child);
  await said(child, "listening on");
  child.kill("SIGINT");
  assert.is((await result).code, 130);
});

test("SIGINT ends a wait for stdin, and a second one at once", async () => {
  for (const times of [1, 2]) {
    const child = start(["inspect"]);
    child.stdin!.on("error", () => {});
    child.stdin!.write(encodeEnvelope(0, bytes(HI)));
    const result = ended(child);
    await said(child, "textDelta");
    const sent = performance.now();
    for (let time = 0; time < times; time++) {
      child.kill("SIGINT");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const ran = await result;
    // The second may meet a process that is ending already, and has no handler left.
    assert.ok(ran.code === 130 || (times === 2 && ran.code === null), String(ran.code));
    assert.ok(performance.now() - sent < 1900, "before its patience is over");
  }
});

test.run();

/** Waits until the program has written `words` to stdout. */
async function said(child: ChildProcess, words: string): Promise<void> {
  let text = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes(words)) resolve();
    });
    child.once("close", () => reject(new Error(`ended without saying ${words}: ${text}`)));
  });
}
