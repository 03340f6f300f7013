/** The transcripts of `run --session`: what lies at their name may be planted (DESIGN §5). */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { Failure } from "../lib/cli/failure.ts";
import { addTurn, loadTranscript } from "../lib/cli/transcript.ts";
import type { Message } from "../lib/index.ts";
import { rejects } from "./check.ts";
import { ended, start } from "./cli-spawn.ts";

const test = suite("cli transcript");

const MESSAGES: Message[] = [
  { role: "user", content: "one" },
  { role: "assistant", content: [{ type: "text", text: "two" }] },
];

/** Runs `work` with a folder and a transcript's name in it. */
async function inFolder(work: (folder: string, file: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "cli-transcript-"));
  try {
    await work(folder, join(folder, "s.transcript.json"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("what is added is loaded, is its owner's only, and stands behind what was there", () =>
  inFolder(async (folder, file) => {
    await addTurn(join(folder, "deep", "s"), MESSAGES);
    assert.is(await addTurn(file, []), 0);
    assert.is(await addTurn(file, MESSAGES), 0);
    assert.is(await addTurn(file, MESSAGES), 2);
    assert.equal(await loadTranscript(file), [...MESSAGES, ...MESSAGES]);
    assert.is(statSync(file).mode & 0o777, 0o600);
    assert.equal(readdirSync(folder).sort(), ["deep", "s.transcript.json"]);
  }));

test("turns that are added at once are all there", () =>
  inFolder(async (_, file) => {
    const before = await Promise.all(Array.from({ length: 5 }, () => addTurn(file, MESSAGES)));
    assert.equal(before.sort(), [0, 2, 4, 6, 8]);
    assert.is((await loadTranscript(file)).length, 10);
  }));

test("a link planted at any name of ours is not written through", () =>
  inFolder(async (folder, file) => {
    writeFileSync(join(folder, "precious"), "kept");
    for (const name of [file, `${file}.lock`]) {
      symlinkSync(join(folder, "precious"), name);
      await rejects(addTurn(file, MESSAGES));
      rmSync(name);
    }
    assert.is(readFileSync(join(folder, "precious"), "utf8"), "kept");
  }));

test("what can't be replaced is an error that leaves nothing behind", () =>
  inFolder(async (folder, file) => {
    mkdirSync(file);
    assert.is(((await rejects(addTurn(file, MESSAGES))) as Failure).code, "file_unreadable");
    assert.equal(readdirSync(folder), ["s.transcript.json"]);
    writeFileSync(join(folder, "file"), "");
    assert.is(((await rejects(addTurn(join(folder, "file", "x", "s"), MESSAGES))) as Failure).code, "file_unwritable");
  }));

const PLANTED: [name: string, plant: (file: string) => void, words: RegExp][] = [
  ["a link", (file) => symlinkSync("/dev/zero", file), /is a link, not a file/],
  ["a link to a transcript", (file) => (writeFileSync(`${file}.other`, JSON.stringify(MESSAGES)), symlinkSync(`${file}.other`, file)), /is a link, not a file/],
  ["a folder", (file) => mkdirSync(file), /is a folder, not a file/],
  ["a file over 64 MiB", (file) => (writeFileSync(file, ""), truncateSync(file, 64 * 1024 * 1024 + 1)), /is over 67108864 bytes/],
  ["brackets alone", (file) => writeFileSync(file, "[".repeat(1_000_001)), /it holds more than 1000000 values/],
];
for (const [name, plant, words] of PLANTED)
  test(`${name} in a transcript's place is refused with what to do`, () =>
    inFolder(async (_, file) => {
      plant(file);
      const error = (await rejects(loadTranscript(file))) as Failure;
      assert.is(error.code, "file_unreadable");
      assert.match(error.message, words);
      assert.match(error.nextStep, "Move it away");
    }));

const NONE: [name: string, content: unknown][] = [
  ["a part of another type", [{ role: "assistant", content: [{ type: "bogus" }] }]],
  ["a text that is none", [...MESSAGES, { role: "assistant", content: [{ type: "text", text: 1 }] }]],
  ["a result without its call", [{ role: "tool", content: [] }]],
  ["a call without arguments", [{ role: "assistant", content: [{ type: "tool_call", id: "i", name: "n" }] }]],
  ["nothing for a message", [null]],
  ["an object", { length: 0 }],
  ["a text", "one"],
];
for (const [name, content] of NONE)
  test(`${name} makes a file no transcript`, () =>
    inFolder(async (_, file) => {
      writeFileSync(file, JSON.stringify(content));
      assert.equal(await loadTranscript(file), []);
    }));

test("whatever a request may hold is loaded", () =>
  inFolder(async (_, file) => {
    const messages = [...MESSAGES, { role: "user", content: [{ type: "text", text: "t" }, { type: "image", mimeType: "image/png", data: "" }] }];
    writeFileSync(file, JSON.stringify(messages));
    assert.equal(await loadTranscript(file), messages);
  }));

if (process.platform !== "win32")
  test("a FIFO in a transcript's place ends a run at once", () =>
    inFolder(async (folder, file) => {
      execFileSync("mkfifo", [file]);
      const child = start(["run", "--origin", "http://127.0.0.1:1", "--session", "s", "hi"], { CURSOR_PROVIDER_HANDLE_DIR: folder });
      const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
      const ran = await ended(child);
      clearTimeout(timer);
      assert.is(ran.code, 1, ran.stderr);
      assert.match(ran.stderr, /^error local file_unreadable: .* is a pipe, not a file: move it away\nnext step: Move it away/);
    }));

test.run();
