/** Handle files that someone damaged, and handles over the limits: none of them is used, and nothing throws. */
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rename, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { LIMITS } from "../lib/agent/limits.ts";
import { fileHandleStore } from "../lib/driver/handle-store.ts";
import { Handles } from "../lib/driver/handles.ts";
import type { Diagnostic, Handle } from "../lib/session/turn.ts";
import { rejects } from "./check.ts";
import { inFolder } from "./folder.ts";
import { handleOf, sha256, wordsOf } from "./handles.ts";

const test = suite("handle-damage");

/** What a provider says about the handle of the session `s`, which must cost it nothing else. */
async function refusal(folder: string): Promise<string> {
  const told: Diagnostic[] = [];
  const handles = new Handles(fileHandleStore(folder), (diagnostic) => told.push(diagnostic));
  assert.is(await handles.load("s", new AbortController().signal), undefined);
  assert.equal(told.map(({ type, sessionId }) => [type, sessionId]), [["handle_unreadable", "s"]]);
  assert.ok(told[0]!.message.startsWith(`The session's handle cannot be read: Error: ${join(folder, JSON_FILE)}: `), told[0]!.message);
  return told[0]!.message;
}

const JSON_FILE = "s.json";
const BLOB = join("s.blobs", sha256("x"));
const CHECKPOINT = join("s.blobs", sha256("checkpoint of c"));
const damages: [name: string, said: RegExp, damage: (folder: string) => Promise<unknown>][] = [
  ["G1 the JSON is empty", /it is no JSON/, (folder) => truncate(join(folder, JSON_FILE), 0)],
  ["G1 the JSON is truncated", /it is no JSON/, (folder) => truncate(join(folder, JSON_FILE), 100)],
  ["G1 the JSON is bytes of 0xff", /it is no JSON/, (folder) => writeFile(join(folder, JSON_FILE), Buffer.alloc(500, 0xff))],
  ["G1 the JSON has wrong types", /it is no object/, (folder) => writeFile(join(folder, JSON_FILE), "[]")],
  ["the JSON is over 16 MiB", /the JSON of a handle takes 16777217 bytes/, (folder) => truncate(join(folder, JSON_FILE), 16 * 1024 * 1024 + 1)],
  ["the JSON is a folder", /is a folder, not a file: move it away/, (folder) => rm(join(folder, JSON_FILE)).then(() => mkdir(join(folder, JSON_FILE)))],
  ["the JSON is a link", /is a link, not a file/, (folder) => rename(join(folder, JSON_FILE), join(folder, "o.json")).then(() => symlink("o.json", join(folder, JSON_FILE)))],
  ["the JSON is a pipe", /is a pipe, not a file/, (folder) => rm(join(folder, JSON_FILE)).then(() => promisify(execFile)("mkfifo", [join(folder, JSON_FILE)]))],
  ["a blob is missing", /is missing/, (folder) => rm(join(folder, BLOB))],
  ["a blob is empty", /is another content/, (folder) => truncate(join(folder, BLOB), 0)],
  ["a blob is longer", /is another content/, (folder) => writeFile(join(folder, BLOB), "xx")],
  ["a blob is another of that length", /is another content/, (folder) => writeFile(join(folder, BLOB), "y")],
  ["a blob is a link to itself", /is a link, not a file/, (folder) => rm(join(folder, BLOB)).then(() => symlink(sha256("x"), join(folder, BLOB)))],
  ["the checkpoint is missing", /is missing/, (folder) => rm(join(folder, CHECKPOINT))],
  ["the checkpoint is truncated", /is another content/, (folder) => truncate(join(folder, CHECKPOINT), 3)],
  ["all blobs are missing", /is missing/, (folder) => rm(join(folder, "s.blobs"), { recursive: true })],
  ["the blobs are a link to those of another session", /s\.blobs is a link, not a folder: move it away/, (folder) => rm(join(folder, "s.blobs"), { recursive: true }).then(() => symlink("o.blobs", join(folder, "s.blobs")))],
  ["the blobs are a file", /s\.blobs is a file, not a folder/, (folder) => rm(join(folder, "s.blobs"), { recursive: true }).then(() => writeFile(join(folder, "s.blobs"), ""))],
];
for (const [name, said, damage] of damages) {
  test(`${name}: no handle, a diagnostic, and never another's`, () =>
    inFolder(async (folder) => {
      await fileHandleStore(folder).save("s", handleOf("c", "x"));
      await fileHandleStore(folder).save("o", handleOf("other", "x"));
      await damage(folder);
      assert.match(await refusal(folder), said);
    }));
}

for (const content of ["", "y", "xx"]) {
  test(`G10 a blob that became ${JSON.stringify(content)} is written anew by the next save`, () =>
    inFolder(async (folder) => {
      await fileHandleStore(folder).save("s", handleOf("c", "x"));
      await writeFile(join(folder, BLOB), content);
      const store = fileHandleStore(folder);
      await rejects(store.load("s"));
      await store.save("s", handleOf("c", "x"));
      assert.is(wordsOf(await fileHandleStore(folder).load("s")), "c: x");
    }));
}

for (const [name, size, said] of [["checkpoint", LIMITS.checkpoint, /its checkpoint takes 8388609 bytes/], ["blob", LIMITS.blob, /one of its blobs takes 16777217 bytes/]] as const) {
  test(`G11 a ${name} over its limit is not read`, () =>
    inFolder(async (folder) => {
      await fileHandleStore(folder).save("s", handleOf("c", "x"));
      await truncate(join(folder, name === "blob" ? BLOB : CHECKPOINT), size + 1);
      assert.match(await refusal(folder), said);
    }));
}

test("G11 blobs of more than 64 MiB in all are not read", () =>
  inFolder(async (folder) => {
    const words = ["1", "2", "3", "4", "5"];
    await fileHandleStore(folder).save("s", handleOf("c", ...words));
    for (const word of words) await truncate(join(folder, "s.blobs", sha256(word)), 15 * 1024 * 1024);
    assert.match(await refusal(folder), /another content|its blobs take over 67108864 bytes/);
    // One content under many ids counts each time, as it will in the store of a Run.
    const json = JSON.parse(await readFile(join(folder, JSON_FILE), "utf8")) as { blobs: unknown[] };
    json.blobs = Array.from({ length: 5 }, (_, number) => [`id ${number}`, sha256("1")]);
    await writeFile(join(folder, JSON_FILE), JSON.stringify(json));
    assert.match(await refusal(folder), /its blobs take over 67108864 bytes/);
  }));

test("G11 more than 65,536 blobs are not read", () =>
  inFolder(async (folder) => {
    await fileHandleStore(folder).save("s", handleOf("c", "x"));
    const json = JSON.parse(await readFile(join(folder, JSON_FILE), "utf8")) as { blobs: unknown[] };
    json.blobs = Array.from({ length: LIMITS.blobs + 1 }, (_, number) => [`id ${number}`, sha256("x")]);
    await writeFile(join(folder, JSON_FILE), JSON.stringify(json));
    assert.match(await refusal(folder), /it names 65537 blobs/);
  }));

function many(count: number, bytes: number): Map<string, Uint8Array> {
  const content = new Uint8Array(bytes);
  return new Map(Array.from({ length: count }, (_, number) => [`id ${number}`, content]));
}
const tooLarge: [name: string, change: Partial<Handle>][] = [
  ["a checkpoint over 8 MiB", { checkpoint: new Uint8Array(LIMITS.checkpoint + 1) }],
  ["a blob over 16 MiB", { blobs: many(1, LIMITS.blob + 1) }],
  ["blobs over 64 MiB", { blobs: many(5, 14 * 1024 * 1024) }],
  ["over 65,536 blobs", { blobs: many(LIMITS.blobs + 1, 0) }],
  ["an empty conversation id", { conversationId: "" }],
  ["ids that take over 16 MiB of JSON", { blobs: new Map(Array.from(many(LIMITS.blobs, 0), ([id, content]) => [id.padEnd(256, "x"), content])) }],
];
for (const [name, change] of tooLarge) {
  test(`G11 ${name}: the save rejects and the older handle stays`, () =>
    inFolder(async (folder) => {
      const store = fileHandleStore(folder);
      await store.save("s", handleOf("c", "x"));
      assert.instance(await rejects(store.save("s", { ...handleOf("c", "x"), ...change })), RangeError);
      assert.is(wordsOf(await store.load("s")), "c: x");
    }));
}

test("G11 60 MiB are saved and loaded, and saved again without a write of a blob", () =>
  inFolder(async (folder) => {
    const handle = handleOf("c");
    for (let number = 0; number < 240; number++) {
      handle.blobs.set(`id ${number}`, new Uint8Array(256 * 1024).fill(number));
    }
    const store = fileHandleStore(folder);
    /** The blobs' files as they lie on disk: a file that is written again is younger. */
    const files = async (): Promise<string[]> => {
      const names = (await readdir(join(folder, "s.blobs"))).sort();
      return Promise.all(names.map(async (name) => `${name} ${(await stat(join(folder, "s.blobs", name), { bigint: true })).mtimeNs}`));
    };
    await store.save("s", handle);
    const written = await files();
    assert.ok(written.length >= 240);
    await store.save("s", handle);
    assert.equal(await files(), written);
    const loaded = await fileHandleStore(folder).load("s");
    assert.is(loaded!.blobs.size, 240);
    for (const [id, blob] of loaded!.blobs) assert.is(Buffer.compare(blob, handle.blobs.get(id)!), 0);
    assert.ok((await stat(join(folder, JSON_FILE))).size < 20_000);
  }));

test.run();
