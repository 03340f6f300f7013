/** Handle files when a disk fails or a process dies at any point of a save, and when two processes save at once. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { DISK, type Disk } from "../lib/driver/disk.ts";
import { fileHandleStore, FileHandleStore } from "../lib/driver/handle-store.ts";
import { rejects } from "./check.ts";
import { inFolder } from "./folder.ts";
import { handleOf, wordsOf } from "./handles.ts";

const test = suite("handle-crash");

const OLD = handleOf("old", "shared", "only old");
const NEW = handleOf("new", "shared", "new 1", "new 2", "new 3");
const OLD_WORDS = "old: shared only old";
const NEW_WORDS = "new: shared new 1 new 2 new 3";

/** What {@link failing} may fail at: what changes the disk and may throw. */
const STEPS = ["create", "rename", "remove", "makeFolder"] as const;

interface Fault {
  /** The step, counted from 1, at which it happens. */
  at: number;
  /** Before the step is done, while a file that it makes is half written, or after. */
  when: "before" | "during" | "after";
  /** Whether everything fails from then on, as for a process that is dead, or this step alone. */
  dead: boolean;
}

/** The disk with a fault; `steps` counts what was asked of it. */
function failing({ at, when, dead }: Fault): Disk & { steps: number } {
  const disk = { ...DISK, steps: 0 };
  for (const step of STEPS) {
    const real = DISK[step] as (...parameters: unknown[]) => Promise<void>;
    (disk as Record<string, unknown>)[step] = async (...parameters: unknown[]) => {
      const number = ++disk.steps;
      const error = Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
      if (number > at && dead) throw error;
      if (number === at && when !== "after") {
        const [path, content] = parameters as Parameters<Disk["create"]>;
        if (when === "during" && step === "create") await DISK.create(path, content.subarray(0, content.length / 2));
        throw error;
      }
      await real(...parameters);
      if (number === at) throw error;
    };
  }
  return disk;
}

/** A store on that disk whose session `s` has the handle OLD. */
async function oldStore(folder: string, disk: Disk): Promise<FileHandleStore> {
  await fileHandleStore(folder).save("s", OLD);
  return new FileHandleStore(folder, disk);
}

async function loaded(folder: string): Promise<string | undefined> {
  return wordsOf(await fileHandleStore(folder).load("s"));
}

/** The steps of a save of NEW over OLD. */
const total = await inFolder(async (folder) => {
  const disk = failing({ at: Infinity, when: "before", dead: false });
  await (await oldStore(folder, disk)).save("s", NEW);
  return disk.steps;
});

test("a save is made of the steps that the faults below go through", () => {
  // The folder, four new contents, the JSON that is created and renamed, two old contents that are removed.
  assert.is(total, 1 + 4 + 2 + 2);
});

for (let at = 1; at <= total; at++) {
  for (const when of ["before", "during", "after"] as const) {
    test(`a process that dies ${when} step ${at} leaves the old handle or the new one, whole`, () =>
      inFolder(async (folder) => {
        const store = await oldStore(folder, failing({ at, when, dead: true }));
        const saved = await store.save("s", NEW).then(
          () => true,
          () => false,
        );
        const words = await loaded(folder);
        assert.ok(words === NEW_WORDS || (words === OLD_WORDS && !saved), `${words}`);
        // The next save, by another process, writes anew what was cut short, and cleans up.
        await fileHandleStore(folder).save("s", NEW);
        assert.is(await loaded(folder), NEW_WORDS);
        await fileHandleStore(folder).save("s", OLD);
        assert.is(await loaded(folder), OLD_WORDS);
        assert.is((await readdir(join(folder, "s.blobs"))).length, 3);
        assert.equal((await readdir(folder)).sort(), ["s.blobs", "s.json"]);
      }));
  }

  test(`G1 a disk that is full at step ${at} costs the new handle or nothing`, () =>
    inFolder(async (folder) => {
      const store = await oldStore(folder, failing({ at, when: "during", dead: false }));
      // After the JSON is in place, only cleaning up can fail.
      if (at > total - 2) await store.save("s", NEW);
      else {
        assert.is(((await rejects(store.save("s", NEW))) as NodeJS.ErrnoException).code, "ENOSPC");
        assert.is((await readdir(join(folder, "s.blobs"))).length, 3, "nothing of the new handle stays");
      }
      assert.is(await loaded(folder), at > total - 2 ? NEW_WORDS : OLD_WORDS);
      await store.save("s", NEW);
      assert.is(await loaded(folder), NEW_WORDS);
    }));
}

const POWER_CUTS: [what: string, damage: (path: string) => Promise<void>][] = [
  ["missing", (path) => rm(path)],
  ["empty", (path) => truncate(path, 0)],
  ["short", (path) => truncate(path, 3)],
];
for (const [what, damage] of POWER_CUTS) {
  test(`a power cut that leaves any file of a save ${what} costs the handle, and the next save makes it whole`, () =>
    inFolder(async (folder) => {
      await fileHandleStore(folder).save("s", NEW);
      for (const name of ["s.json", ...(await readdir(join(folder, "s.blobs"))).map((blob) => join("s.blobs", blob))]) {
        await damage(join(folder, name));
        const load = fileHandleStore(folder).load("s");
        if (what === "missing" && name === "s.json") assert.is(await load, undefined);
        else await rejects(load);
        await fileHandleStore(folder).save("s", NEW);
        assert.is(await loaded(folder), NEW_WORDS, name);
      }
    }));
}

test("a removal that dies after any step leaves no handle, or the whole one", () =>
  inFolder(async (folder) => {
    for (let at = 1; at <= 4; at++) {
      const store = await oldStore(folder, failing({ at, when: "after", dead: true }));
      await store.remove("s").catch(() => {});
      assert.is(await loaded(folder), undefined);
      await fileHandleStore(folder).remove("s");
      assert.equal(await readdir(folder), []);
    }
  }));

test("a handle is removed even where no lock can be had", () =>
  inFolder(async (folder) => {
    await fileHandleStore(folder).save("s", OLD);
    await rm(join(folder, "s.blobs"), { recursive: true });
    await writeFile(join(folder, "s.blobs"), "");
    await fileHandleStore(folder).remove("s");
    assert.equal(await readdir(folder), ["s.blobs"]);
  }));

test("a load that runs into a save of another process reads the handle that is there then", () =>
  inFolder(async (folder) => {
    let reads = 0;
    const disk: Disk = {
      ...DISK,
      read: async (path, check) => {
        const content = await DISK.read(path, check);
        if (path.endsWith(".json") && reads++ === 0) await replace(folder);
        return content;
      },
    };
    const store = await oldStore(folder, disk);
    assert.is(wordsOf(await store.load("s")), NEW_WORDS);
  }));

test("a load that runs into a removal finds no handle and says nothing", () =>
  inFolder(async (folder) => {
    await fileHandleStore(folder).save("s", OLD);
    const disk: Disk = {
      ...DISK,
      read: async (path, check) => {
        const content = await DISK.read(path, check);
        await DISK.remove(path);
        return path.endsWith(".json") ? content : undefined;
      },
    };
    const store = new FileHandleStore(folder, disk);
    assert.is(await store.load("s"), undefined);
  }));

test("a load gives up on a handle that changes all the time", () =>
  inFolder(async (folder) => {
    let reads = 0;
    const disk: Disk = { ...DISK, read: async (path) => (path.endsWith(".json") ? Buffer.from(`no JSON ${reads++}`) : undefined) };
    const store = new FileHandleStore(folder, disk);
    await rejects(store.load("s"));
    assert.is(reads, 4);
  }));

const WRITER = new URL(`./handle-writer${import.meta.url.slice(-3)}`, import.meta.url);

/** Replaces the handle of `s` by NEW from another process. */
async function replace(folder: string): Promise<void> {
  await promisify(execFile)(process.execPath, [WRITER.pathname, folder, "new", "1"]);
}

test("G2 two processes that save one session at once end in one whole handle, with nothing left over", () =>
  inFolder(async (folder) => {
    await Promise.all(["a", "b"].map((name) => promisify(execFile)(process.execPath, [WRITER.pathname, folder, name, "20"])));
    assert.match((await loaded(folder))!, /^[ab]19: shared [ab]19$/);
    assert.equal((await readdir(folder)).sort(), ["s.blobs", "s.json"]);
    assert.is((await readdir(join(folder, "s.blobs"))).length, 3);
  }));

for (const ms of [0, 5, 12, 21, 34]) {
  test(`kill -9 ${ms} ms into a stream of saves leaves a whole handle`, () =>
    inFolder(async (folder) => {
      const writer = spawn(process.execPath, [WRITER.pathname, folder, "k", "100000"], { stdio: ["ignore", "pipe", "inherit"] });
      await once(writer.stdout, "data");
      await new Promise((resolve) => setTimeout(resolve, ms));
      writer.kill("SIGKILL");
      await once(writer, "close");
      assert.match((await loaded(folder))!, /^k\d+: shared k\d+$/);
      await fileHandleStore(folder).save("s", OLD);
      assert.is((await readdir(join(folder, "s.blobs"))).length, 3);
    }));
}

test.run();
