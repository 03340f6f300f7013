/** Handles in files and in memory: what is saved is loaded, and nothing else ever is. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { fileHandleStore, memoryHandleStore, type HandleStore } from "../lib/driver/handle-store.ts";
import type { CursorError } from "../lib/session/errors.ts";
import type { Handle } from "../lib/session/turn.ts";
import { hex, rejects } from "./check.ts";
import { inFolder } from "./folder.ts";
import { handleOf, namesIn, sha256, wordsOf } from "./handles.ts";

const test = suite("handle-store");

function same(one: Handle | undefined, other: Handle): void {
  assert.equal({ ...one, checkpoint: hex(one!.checkpoint), blobs: Array.from(one!.blobs, ([id, blob]) => [id, hex(blob)]) }, {
    ...other,
    checkpoint: hex(other.checkpoint),
    blobs: Array.from(other.blobs, ([id, blob]) => [id, hex(blob)]),
  });
}

const stores: Record<string, (folder: string) => HandleStore> = { file: fileHandleStore, memory: () => memoryHandleStore() };
for (const [name, open] of Object.entries(stores)) {
  test(`${name}: a session without a handle has none`, () =>
    inFolder(async (folder) => {
      const store = open(join(folder, "not", "there"));
      assert.is(await store.load("s"), undefined);
      await store.remove("s");
    }));

  test(`D44 ${name}: every blob that was saved is loaded`, () =>
    inFolder(async (folder) => {
      const store = open(folder);
      const handle = handleOf("c1", "root prompt", "set by the service", "");
      await store.save("s", handle);
      same(await store.load("s"), handle);
    }));

  test(`D43 ${name}: a blob that came after the checkpoint is in the next handle`, () =>
    inFolder(async (folder) => {
      const store = open(folder);
      await store.save("s", handleOf("c1", "early"));
      const late = handleOf("c1", "early", "late");
      await store.save("s", late);
      same(await store.load("s"), late);
    }));

  test(`${name}: a blob is kept under the id that the service chose`, () =>
    inFolder(async (folder) => {
      const store = open(folder);
      const handle = handleOf("c1", "a");
      handle.blobs.set("00ff", Buffer.from("b")).set("__proto__", Buffer.from("b")).set(sha256("x"), Buffer.from("not x"));
      await store.save("s", handle);
      same(await store.load("s"), handle);
    }));

  test(`G4 ${name}: sessions have separate handles`, () =>
    inFolder(async (folder) => {
      const store = open(folder);
      await Promise.all([store.save("parent", handleOf("p", "shared", "p")), store.save("child", handleOf("c", "shared", "c"))]);
      await store.remove("child");
      assert.is(await store.load("child"), undefined);
      assert.is(wordsOf(await store.load("parent")), "p: shared p");
    }));

  test(`G7 ${name}: an id that only looks like another has no handle`, () =>
    inFolder(async (folder) => {
      const store = open(folder);
      await store.save("session-1", handleOf("c", "x"));
      for (const other of ["session-", "session-11", "session-1.json", "./session-1", "session-1/", "session-1\0", " session-1", "../session-1", ""]) {
        assert.is(await store.load(other), undefined, other);
      }
    }));

  test(`G10 ${name}: a removed handle is gone with its blobs, also for the next process`, () =>
    inFolder(async (folder) => {
      const store = open(folder);
      await store.save("s", handleOf("c", "x"));
      await store.remove("s");
      await store.remove("s");
      assert.is(await store.load("s"), undefined);
      assert.equal(await namesIn(folder), []);
    }));

  test(`${name}: what the host does to a handle afterwards changes nothing`, () =>
    inFolder(async (folder) => {
      const store = open(folder);
      const handle = handleOf("c", "x");
      const saving = store.save("s", handle);
      handle.blobs.clear();
      await saving;
      const loaded = await store.load("s");
      assert.is(wordsOf(loaded), "c: x");
      loaded!.blobs.clear();
      assert.is(wordsOf(await store.load("s")), "c: x");
    }));
}

test("G8 when a save resolves, another process loads the handle", () =>
  inFolder(async (folder) => {
    await fileHandleStore(folder).save("s", handleOf("c", "x"));
    const program = `const { fileHandleStore } = await import(${JSON.stringify(new URL(`../lib/driver/handle-store${import.meta.url.slice(-3)}`, import.meta.url).href)});
      const handle = await fileHandleStore(process.argv[1]).load("s"); console.log(handle.conversationId, handle.blobs.size);`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program, folder]);
    assert.is(stdout, "c 1\n");
  }));

test("files have mode 0600 in folders of mode 0700", () =>
  inFolder(async (folder) => {
    const handles = join(folder, "a", "handles");
    await fileHandleStore(handles).save("s", handleOf("c", "x"));
    for (const path of [join(folder, "a"), handles, join(handles, "s.blobs")]) assert.is((await stat(path)).mode & 0o777, 0o700, path);
    assert.is((await stat(join(handles, "s.json"))).mode & 0o777, 0o600);
    for (const name of await namesIn(join(handles, "s.blobs"))) assert.is((await stat(join(handles, "s.blobs", name))).mode & 0o777, 0o600, name);
  }));

test("a folder that was there keeps its mode", () =>
  inFolder(async (folder) => {
    await chmod(folder, 0o755);
    await fileHandleStore(folder).save("s", handleOf("c", "x"));
    assert.is((await stat(folder)).mode & 0o777, 0o755);
  }));

test("a plain session id names the files", () =>
  inFolder(async (folder) => {
    const id = "0190a_-Z".padEnd(100, "x");
    await fileHandleStore(folder).save(id, handleOf("c", "x"));
    assert.equal(await namesIn(folder), [`${id}.blobs`, `${id}.json`]);
    const blobs = await namesIn(join(folder, `${id}.blobs`));
    assert.equal(blobs, [sha256("x"), sha256("checkpoint of c")].sort());
  }));

const hostile = [
  "", ".", "..", "/", "../x", "/etc/passwd", "a/b", "a\\b", "a\0b", "a b", "a.b", "s.json", "lock", "=", "%2e", "CON:", "\u00e9", "e\u0301", "\ud800", "\ud801", "\ufffd",
  "x".repeat(101), "x".repeat(5000), `=${sha256("")}`, "\n", "~", "~root",
];
test("any other session id stays in the folder, under a name of its own", () =>
  inFolder(async (above) => {
    const folder = join(above, "handles");
    const store = fileHandleStore(folder);
    for (const [index, id] of hostile.entries()) await store.save(id, handleOf(`c${index}`, "x"));
    for (const [index, id] of hostile.entries()) assert.is((await store.load(id))?.conversationId, `c${index}`, JSON.stringify(id));
    assert.equal(await namesIn(above), ["handles"]);
    const names = await namesIn(folder);
    assert.is(names.length, hostile.length * 2);
    for (const name of names) assert.match(name, /^(lock|=[0-9a-f]{64})\.(json|blobs)$/);
    for (const id of hostile) await store.remove(id);
    assert.equal(await namesIn(folder), []);
  }));

test("a second save writes only new blobs and removes those that are no longer named", () =>
  inFolder(async (folder) => {
    const store = fileHandleStore(folder);
    await store.save("s", handleOf("c", "kept", "dropped"));
    const kept = join(folder, "s.blobs", sha256("kept"));
    const before = await stat(kept);
    await store.save("s", handleOf("c", "kept", "new"));
    const after = await stat(kept);
    assert.equal([after.ino, after.mtimeMs], [before.ino, before.mtimeMs]);
    assert.equal(await namesIn(join(folder, "s.blobs")), [sha256("kept"), sha256("new"), sha256("checkpoint of c")].sort());
  }));

test("a save removes the temporary files of processes that died, and leaves foreign files alone", () =>
  inFolder(async (folder) => {
    const store = fileHandleStore(folder);
    await store.save("s", handleOf("c", "x"));
    for (const name of ["0190.tmp", "lock.0190", "notes.txt"]) await writeFile(join(folder, "s.blobs", name), "");
    await store.save("s", handleOf("c", "x"));
    assert.equal(await namesIn(join(folder, "s.blobs")), [sha256("x"), sha256("checkpoint of c"), "notes.txt"].sort());
    await store.remove("s");
    assert.equal(await namesIn(join(folder, "s.blobs")), ["notes.txt"]);
  }));

test("G2 20 saves of one session at once end in the last one, with nothing left over", () =>
  inFolder(async (folder) => {
    const [one, two] = [fileHandleStore(folder), fileHandleStore(folder)];
    await Promise.all(Array.from({ length: 20 }, (_, number) => (number % 2 ? one : two).save("s", handleOf(`c${number}`, "shared", `own ${number}`))));
    assert.is(wordsOf(await one.load("s")), "c19: shared own 19");
    assert.equal(await namesIn(folder), ["s.blobs", "s.json"]);
    assert.is((await namesIn(join(folder, "s.blobs"))).length, 3);
  }));

test("a load waits for the save before it", () =>
  inFolder(async (folder) => {
    const store = fileHandleStore(folder);
    const saving = store.save("s", handleOf("c", "x"));
    assert.is(wordsOf(await store.load("s")), "c: x");
    await saving;
  }));

const JSON_FILE = "s.json";
const BLOB = join("s.blobs", sha256("x"));
const CHECKPOINT = join("s.blobs", sha256("checkpoint of c"));
const refusals: [name: string, said: RegExp, prepare: (folder: string) => Promise<unknown>][] = [
  ["a folder that is a file", /ENOTDIR/, (folder) => writeFile(join(folder, "handles"), "")],
  ["blobs that are a file", /s\.blobs is a file, not a folder/, (folder) => mkdir(join(folder, "handles")).then(() => writeFile(join(folder, "handles", "s.blobs"), ""))],
  ["a JSON that is a folder", /s\.json is a folder, not a file/, (folder) => mkdir(join(folder, "handles", JSON_FILE), { recursive: true })],
];
for (const [name, said, prepare] of refusals) {
  test(`${name} rejects the save and the load`, () =>
    inFolder(async (folder) => {
      await prepare(folder);
      const store = fileHandleStore(join(folder, "handles"));
      assert.match(((await rejects(store.save("s", handleOf("c", "x")))) as Error).message, said);
      await rejects(store.load("s"));
    }));
}

test("blobs behind a link are not read, written or removed, and the handle goes all the same", () =>
  inFolder(async (folder) => {
    const [ours, elsewhere] = [join(folder, "handles"), join(folder, "elsewhere")];
    await fileHandleStore(ours).save("s", handleOf("c", "x"));
    await rename(join(ours, "s.blobs"), elsewhere);
    await writeFile(join(elsewhere, "0190.tmp"), "");
    const before = await namesIn(elsewhere);
    for (const target of ["../elsewhere", "../nowhere"]) {
      await rm(join(ours, "s.blobs"), { force: true });
      await symlink(target, join(ours, "s.blobs"));
      const store = fileHandleStore(ours);
      assert.match(((await rejects(store.load("s"))) as Error).message, /s\.blobs is a link, not a folder: move it away/);
      assert.match(((await rejects(store.save("s", handleOf("d", "y")))) as Error).message, /s\.blobs is a link/);
      await store.remove("s");
    }
    assert.equal(await namesIn(elsewhere), before);
    assert.equal(await namesIn(folder), ["elsewhere", "handles"]);
    assert.equal(await namesIn(ours), ["s.blobs"]);
  }));

test("the handle folder itself may be a link", () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, "elsewhere"));
    await symlink("elsewhere", join(folder, "handles"));
    const store = fileHandleStore(join(folder, "handles"));
    await store.save("s", handleOf("c", "x"));
    assert.is(wordsOf(await store.load("s")), "c: x");
    await store.remove("s");
    assert.equal(await namesIn(join(folder, "elsewhere")), []);
  }));

test("a save removes what it may although something else than a file stands between", () =>
  inFolder(async (folder) => {
    const store = fileHandleStore(folder);
    await store.save("s", handleOf("c", "x"));
    for (let number = 10; number < 20; number++) await mkdir(join(folder, "s.blobs", `${number}.tmp`));
    await writeFile(join(folder, "s.blobs", "20.tmp"), "");
    await symlink("nowhere", join(folder, "s.blobs", "21.tmp"));
    await store.save("s", handleOf("c", "x"));
    const left = (await namesIn(join(folder, "s.blobs"))).filter((name) => name.endsWith(".tmp"));
    assert.equal(left, ["10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "21"].map((name) => `${name}.tmp`));
  }));

test("a new blob that can not be written leaves the older handle, and nothing of the new one", () =>
  inFolder(async (folder) => {
    const store = fileHandleStore(folder);
    await store.save("s", handleOf("c", "x"));
    const before = await namesIn(join(folder, "s.blobs"));
    await mkdir(join(folder, "s.blobs", sha256("new"), "in the way"), { recursive: true });
    await rejects(store.save("s", handleOf("d", "x", "new", "newer")));
    assert.is(wordsOf(await store.load("s")), "c: x");
    assert.equal((await namesIn(join(folder, "s.blobs"))).filter((name) => name !== sha256("new")), before);
  }));

test("nothing of the account is in a handle's JSON", () =>
  inFolder(async (folder) => {
    await fileHandleStore(folder).save("s", handleOf("c", "x"));
    const json = JSON.parse(await readFile(join(folder, JSON_FILE), "utf8")) as object;
    assert.equal(Object.keys(json), ["version", "conversationId", "fingerprint", "toolsetKey", "checkpoint", "blobs"]);
  }));

test("the variable names the folder, and ~ expands", () =>
  inFolder(async (home) => {
    for (const [value, folder] of [["~/h1", join(home, "h1")], [join(home, "h2"), join(home, "h2")], ["", join(home, ".config/pi/agent/cursor-provider/handles")], [undefined, join(home, ".config/pi/agent/cursor-provider/handles")]] as const) {
      const store = fileHandleStore(undefined, { HOME: home, CURSOR_PROVIDER_HANDLE_DIR: value });
      await store.save("s", handleOf("c", "x"));
      assert.equal(await namesIn(folder), ["s.blobs", "s.json"], String(value));
      await store.remove("s");
    }
  }));

test("the variable ~ alone is the home", () =>
  inFolder(async (home) => {
    await fileHandleStore(undefined, { HOME: home, CURSOR_PROVIDER_HANDLE_DIR: "~" }).save("s", handleOf("c", "x"));
    assert.equal(await namesIn(home), ["s.blobs", "s.json"]);
  }));

test("without HOME in the environment ~ is the home that the system knows", async () => {
  const name = `not-there-${randomBytes(8).toString("hex")}`;
  // A folder whose name is too long: the load touches nothing, and says where it looked.
  const store = fileHandleStore(undefined, { CURSOR_PROVIDER_HANDLE_DIR: `~/${"x".repeat(300)}` });
  const { message } = (await rejects(store.load(name))) as Error;
  assert.ok(message.startsWith(join(homedir(), "x".repeat(300), `${name}.json: `)), message);
});

test("~ is expanded only at the start, and only before a separator", () =>
  inFolder(async (folder) => {
    for (const name of ["~root", "a~"]) {
      await fileHandleStore(undefined, { HOME: "/not/there", CURSOR_PROVIDER_HANDLE_DIR: join(folder, name) }).save("s", handleOf("c", "x"));
      assert.equal(await namesIn(join(folder, name)), ["s.blobs", "s.json"]);
    }
  }));

test("~ with a name is refused: no such home is looked up", () => {
  for (const value of ["~bob", "~bob/x", "~~"]) assert.throws(() => fileHandleStore(undefined, { CURSOR_PROVIDER_HANDLE_DIR: value }), (error: unknown) => (error as CursorError).code === "invalid_environment");
});

test("a directory given as a parameter beats the variable", () =>
  inFolder(async (folder) => {
    await fileHandleStore(folder, { CURSOR_PROVIDER_HANDLE_DIR: join(folder, "other") }).save("s", handleOf("c", "x"));
    assert.equal(await namesIn(folder), ["s.blobs", "s.json"]);
  }));

test("files with times of long ago are used as they are", () =>
  inFolder(async (folder) => {
    await fileHandleStore(folder).save("s", handleOf("c", "x"));
    for (const path of [JSON_FILE, BLOB, CHECKPOINT]) await utimes(join(folder, path), 0, 0);
    assert.is(wordsOf(await fileHandleStore(folder).load("s")), "c: x");
  }));

test.run();
