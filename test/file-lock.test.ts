/** The lock between processes. */
import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { statSync, utimesSync } from "node:fs";
import { lutimes, mkdir, readFile, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { locked } from "../lib/driver/file-lock.ts";
import { rejects } from "./check.ts";
import { inFolder } from "./folder.ts";
import { until } from "./raw-host.ts";
import { waiting } from "./waiting.ts";

const test = suite("file-lock");

/** ms after which no lock of a test counts as left behind: where one is waited for, the test never ends. */
const NEVER = 3_600_000;

test("one work at a time holds the lock, and nothing is left of it", () =>
  inFolder(async (folder) => {
    let held = 0;
    let done = 0;
    const work = async (): Promise<void> => {
      assert.is(++held, 1);
      await new Promise((resolve) => setTimeout(resolve, 2));
      held--;
      done++;
    };
    await Promise.all(Array.from({ length: 10 }, () => locked(join(folder, "lock"), work)));
    assert.is(done, 10);
    assert.equal(await readdir(folder), []);
  }));

test("the lock's folder is made where it lacks", () =>
  inFolder(async (folder) => {
    assert.is(await locked(join(folder, "a", "b", "lock"), async () => "done"), "done");
  }));

test("a work that throws lets the lock go", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    const error = await rejects(locked(path, () => Promise.reject(new Error("work"))));
    assert.is((error as Error).message, "work");
    assert.is(await locked(path, async () => 1), 1);
  }));

test("a folder that can not be one rejects", () =>
  inFolder(async (folder) => {
    await writeFile(join(folder, "file"), "");
    const error = (await rejects(locked(join(folder, "file", "lock"), async () => assert.unreachable()))) as NodeJS.ErrnoException;
    assert.is(error.code, "ENOTDIR");
  }));

test("the lock of a process that is gone is broken at once", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    const gone = execFileSync(process.execPath, ["-e", "console.log(process.pid)"], { encoding: "utf8" }).trim();
    await writeFile(path, `${hostname()} ${gone} token`);
    await locked(path, async () => {}, NEVER);
    assert.equal(await readdir(folder), []);
  }));

for (const [name, content] of [
  ["of a process that lives", `${hostname()} ${process.ppid} token`],
  ["of another machine", "elsewhere.invalid 1 token"],
  ["without a content", ""],
] as const) {
  test(`a lock ${name} is waited for while it is young, and broken when it is old`, () =>
    inFolder(async (folder) => {
      const path = join(folder, "lock");
      await writeFile(path, content);
      let entered = false;
      const work = locked(path, async () => {
        entered = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 60));
      assert.not.ok(entered);
      await utimes(path, 0, 0);
      await work;
      assert.ok(entered);
      assert.equal(await readdir(folder), []);
    }));
}

for (const content of ["hello", " ", `${hostname()} x`, `${hostname()} 0 token`, `${hostname()} -1 token`, `${hostname()} NaN token`, "z".repeat(1024), "z".repeat(1025)])
  test(`what stands in a lock's place and is none is told at once, and left: ${content.slice(-12)}`, () =>
    inFolder(async (folder) => {
      const path = join(folder, "lock");
      await writeFile(path, content);
      const { result, waited } = await waiting(rejects(locked(path, async () => {})));
      assert.match(String(result), "move it away");
      assert.ok(waited < 200, `${waited} ms`);
      assert.is(await readFile(path, "utf8"), content);
    }));

test("a lock from the future is broken", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    await writeFile(path, "elsewhere.invalid 1 token");
    const later = Date.now() / 1000 + 3600;
    await utimes(path, later, later);
    assert.is(await locked(path, async () => 1), 1);
  }));

test("a lock that others broke and took is left to them", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    await locked(path, async () => {
      await rm(path);
      await writeFile(path, "theirs");
    });
    assert.is(await readFile(path, "utf8"), "theirs");
  }));

test("ten waiters break one old lock and still work one at a time", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    await writeFile(path, "elsewhere.invalid 1 token");
    await utimes(path, 0, 0);
    let held = 0;
    await Promise.all(
      Array.from({ length: 10 }, () =>
        locked(path, async () => {
          assert.is(++held, 1);
          await new Promise((resolve) => setTimeout(resolve, 2));
          held--;
        }),
      ),
    );
    assert.equal(await readdir(folder), []);
  }));

for (const [age, name] of [[0, "that was left behind is removed"], [Date.now() / 1000, "of another process is waited for"]] as const) {
  test(`a second file ${name} before an old lock is broken`, () =>
    inFolder(async (folder) => {
      const path = join(folder, "lock");
      await writeFile(path, "elsewhere.invalid 1 token");
      await utimes(path, 0, 0);
      await writeFile(`${path}.break`, "");
      await utimes(`${path}.break`, age, age);
      let entered = false;
      const work = locked(path, async () => {
        entered = true;
      });
      if (age > 0) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        assert.not.ok(entered);
        await rm(`${path}.break`);
      }
      await work;
      assert.equal(await readdir(folder), []);
    }));
}

const PLANTED: [name: string, plant: (path: string) => Promise<unknown>][] = [
  ["pipe", (path) => promisify(execFile)("mkfifo", [path])],
  ["socket", (path) => once(createServer().unref().listen(path), "listening")],
  ["folder", (path) => mkdir(path)],
  ["link", (path) => symlink("nowhere", path)],
  ["file of 2000 bytes", (path) => writeFile(path, " ".repeat(2000))],
];
for (const [name, plant] of PLANTED) {
  test(`a ${name} where the lock should be is told at once, and left alone`, () =>
    inFolder(async (folder) => {
      const path = join(folder, "lock");
      await plant(path);
      await lutimes(path, 0, 0);
      const error = (await rejects(locked(path, async () => assert.unreachable(), NEVER))) as Error;
      assert.ok(error.message.includes(`${path} is a ${name}, not a `), error.message);
      assert.match(error.message, /: move it away$/);
      assert.equal(await readdir(folder), ["lock"]);
    }));
}

test("a pipe beside an old lock, where it is broken, is told and left alone", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    await writeFile(path, "elsewhere.invalid 1 token");
    await utimes(path, 0, 0);
    await promisify(execFile)("mkfifo", [`${path}.break`]);
    await utimes(`${path}.break`, 0, 0);
    assert.match(((await rejects(locked(path, async () => assert.unreachable()))) as Error).message, /lock\.break is a pipe, not a file/);
    assert.equal(await readdir(folder), ["lock", "lock.break"]);
  }));

test("a pipe that took the lock's place under its holder is left alone, and costs the work nothing", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    const work = async (): Promise<string> => {
      await rm(path);
      await promisify(execFile)("mkfifo", [path]);
      return "done";
    };
    assert.is(await locked(path, work), "done");
    assert.equal(await readdir(folder), ["lock"]);
  }));

test("a lock that stays young is an error in the end, not a wait for ever", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    const stale = 200;
    await writeFile(path, "elsewhere.invalid 1 token");
    // Ahead of now, so that a busy machine may be late with the next touch.
    const touching = setInterval(() => utimesSync(path, new Date(), new Date(Date.now() + stale * 0.9)), 10);
    assert.match(((await rejects(locked(path, async () => assert.unreachable(), stale))) as Error).message, /stays locked$/);
    clearInterval(touching);
  }));

test("a holder keeps its lock young", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    await locked(
      path,
      async () => {
        utimesSync(path, 0, 0);
        await until(() => statSync(path).mtimeMs > 0, "the lock is touched");
      },
      20,
    );
  }));

test("a lock that is taken away under its holder stays away", () =>
  inFolder(async (folder) => {
    await locked(
      join(folder, "lock"),
      async () => {
        await rm(join(folder, "lock"));
        await new Promise((resolve) => setTimeout(resolve, 20));
      },
      20,
    );
    assert.equal(await readdir(folder), []);
  }));

test.run();
