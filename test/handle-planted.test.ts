/** Whatever may stand at any name that the handle store uses: nothing waits, throws uncaught or leaves the folder. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { chmod, chown, lchown, link, lstat, lutimes, mkdir, readdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { fileHandleStore } from "../lib/driver/handle-store.ts";
import { spied } from "./endure.ts";
import { inFolder } from "./folder.ts";
import { handleOf, sha256, wordsOf } from "./handles.ts";

const test = suite("handle-planted");
/** One pipe and one device: a process for each that is planted would take most of the time. */
const made = mkdtempSync(join(tmpdir(), "cursor-wire-"));
const PIPE = join(made, "pipe");
const DEVICE = join(made, "device");
execFileSync("mkfifo", [PIPE]);
process.once("exit", () => rmSync(made, { recursive: true }));
/** A whole handle and more that a link may lead to; nothing of it may ever change. */
const ELSEWHERE = join(made, "elsewhere");
let elsewhere: Promise<void> | undefined;

async function fillElsewhere(): Promise<void> {
  await fileHandleStore(ELSEWHERE).save("s", handleOf("c", "x"));
  await link(PIPE, join(ELSEWHERE, "pipe"));
  await writeFile(join(ELSEWHERE, "s.blobs", "0190.tmp"), "");
  if (!ROOT) return;
  // Open to the user below: what a followed link could do there must be possible.
  await chmod(made, 0o755);
  for (const path of [".", ...(await readdir(ELSEWHERE, { recursive: true }))]) await lchown(join(ELSEWHERE, path), NOBODY, NOBODY);
}
/** To root every file is readable: the store then works as this user. */
const NOBODY = 65534;
const ROOT = process.getuid?.() === 0;

const BLOB = join("s.blobs", sha256("x"));
const CHECKPOINT = join("s.blobs", sha256("checkpoint of c"));
const LOCK = join("s.blobs", "lock");
/** Names that a save needs, and names that it only passes over. */
const NEEDED = ["s.json", "s.blobs", BLOB, CHECKPOINT, LOCK];
const PASSED = [`${LOCK}.break`, join("s.blobs", "0190.tmp")];

interface Kind {
  /** What it is to the store. */
  is: "file" | "folder" | "neither";
  /** Names at which a save can not do with it, other than for what it is. */
  refusedAt?: readonly string[];
  /** Makes it. */
  plant(path: string): Promise<unknown>;
}

const KINDS: Record<string, Kind> = {
  "a pipe": { is: "neither", plant: (path) => link(PIPE, path) },
  "a socket": { is: "neither", plant: (path) => once(createServer().unref().listen(path), "listening") },
  "a link to nothing": { is: "neither", plant: (path) => symlink("nowhere", path) },
  "a link to itself": { is: "neither", plant: (path) => symlink(path, path) },
  "a link to a file": { is: "neither", plant: (path) => symlink(join(ELSEWHERE, "s.json"), path) },
  "a link to a folder": { is: "neither", plant: (path) => symlink(join(ELSEWHERE, "s.blobs"), path) },
  "a link to a pipe": { is: "neither", plant: (path) => symlink(join(ELSEWHERE, "pipe"), path) },
  "an empty folder": { is: "folder", plant: (path) => mkdir(path) },
  "a folder that holds something": { is: "folder", plant: (path) => mkdir(join(path, "in the way"), { recursive: true }) },
  "an empty file": { is: "file", plant: (path) => writeFile(path, "") },
  "a file of 20 MiB": { is: "file", refusedAt: [LOCK], plant: (path) => writeFile(path, "").then(() => truncate(path, 20 * 1024 * 1024)) },
  "a file that may not be read": { is: "file", refusedAt: [LOCK], plant: (path) => writeFile(path, "x", { mode: 0 }) },
};
if (ROOT) {
  KINDS["a device"] = { is: "neither", plant: (path) => link(DEVICE, path) };
  execFileSync("mknod", [DEVICE, "c", "1", "3"]);
  KINDS["another user's file"] = { is: "file", refusedAt: [LOCK], plant: (path) => writeFile(path, "x", { mode: 0o600 }).then(() => chown(path, NOBODY - 1, 0)) };
}

/** Rejects after a second: less than any lock is waited for. */
async function soon<T>(work: Promise<T>): Promise<T> {
  let limit: NodeJS.Timeout;
  const late = new Promise<never>((_, reject) => (limit = setTimeout(() => reject(new Error("not within a second")), 1000)));
  return Promise.race([work, late]).finally(() => clearTimeout(limit));
}

/** Every path below a folder with what it is, its size and its time. */
async function picture(folder: string): Promise<string[]> {
  const paths = (await readdir(folder, { recursive: true })).sort();
  return Promise.all(paths.map(async (path) => JSON.stringify([path, await standing(join(folder, path))])));
}

async function standing(path: string): Promise<unknown> {
  const { ino, mode, size, mtimeMs } = await lstat(path);
  return [ino, mode, size, mtimeMs];
}

/** Runs `work` as a user to whom modes mean something. */
async function asUser(folder: string, work: () => Promise<void>): Promise<void> {
  if (!ROOT) return work();
  for (const path of [".", ...(await readdir(folder, { recursive: true }))]) {
    const { uid } = await lstat(join(folder, path));
    if (uid === 0) await lchown(join(folder, path), NOBODY, NOBODY);
  }
  process.seteuid!(NOBODY);
  try {
    await work();
  } finally {
    process.seteuid!(0);
  }
}

/** Loads, saves, loads and removes over what stands at `path`. */
async function use(folder: string, path: string, refused: boolean): Promise<void> {
  const store = fileHandleStore(folder);
  const first = await soon(store.load("s").then(wordsOf, ({ message }: Error) => message));
  assert.ok(first === "c: x" || first?.startsWith(join(folder, "s.json: ")), first);
  const error = await soon(store.save("s", handleOf("c", "x")).catch((thrown: Error) => thrown));
  if (refused) {
    assert.instance(error, Error);
    assert.ok(error!.message.includes(path), error!.message);
    assert.match(error!.message, /: move it away$|^EACCES/);
  } else {
    assert.is(error, undefined);
    assert.is(wordsOf(await soon(store.load("s"))), "c: x");
  }
  await soon(store.remove("s").catch(() => {}));
  assert.is(await soon(store.load("s").catch(() => undefined)), undefined);
}

for (const name of [...NEEDED, ...PASSED])
  for (const [kind, { is, refusedAt, plant }] of Object.entries(KINDS))
    test(`${kind} at ${name.replace(/[0-9a-f]{64}/, (hash) => hash.slice(0, 4))}`, () =>
      inFolder((above) =>
        spied(async () => {
          await (elsewhere ??= fillElsewhere());
          const folder = join(above, "handles");
          await fileHandleStore(folder).save("s", handleOf("c", "x"));
          const path = join(folder, name);
          await rm(path, { recursive: true, force: true });
          await plant(path);
          // Old enough that a lock would be broken.
          await lutimes(path, 0, 0);
          const before = await picture(ELSEWHERE);
          const there = await standing(path);
          const fits = is === (name === "s.blobs" ? "folder" : "file");
          const refused = NEEDED.includes(name) && (!fits || refusedAt?.includes(name) === true);
          await asUser(above, () => use(folder, path, refused));
          assert.equal(await picture(ELSEWHERE), before);
          if (is !== "file" && !fits) assert.equal(await standing(path), there);
        }),
      ));

test.run();
