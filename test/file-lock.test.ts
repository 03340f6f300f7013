/** The lock between processes. */
import { execFileSync } from "node:child_process";
import { mkdir, readFile, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { locked } from "../lib/driver/file-lock.ts";
import { rejects } from "./check.ts";
import { inFolder } from "./folder.ts";

const test = suite("file-lock");

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
    const started = performance.now();
    await locked(path, async () => {});
    assert.ok(performance.now() - started < 5_000);
    assert.equal(await readdir(folder), []);
  }));

for (const [name, content] of [
  ["of a process that lives", `${hostname()} ${process.ppid} token`],
  ["of another machine", "elsewhere.invalid 1 token"],
  ["without a content", ""],
  ["with a content that is no lock's", `${hostname()} x`],
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
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.is(entered, age === 0);
      await rm(`${path}.break`, { force: true });
      await work;
      assert.equal(await readdir(folder), []);
    }));
}

test("a lock that can not be read is an error in the end, not a wait for ever", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    await mkdir(path);
    assert.match(((await rejects(locked(path, async () => assert.unreachable(), 20))) as Error).message, /stays locked$/);
  }));

test("a holder that takes long is waited for, because its lock stays young", () =>
  inFolder(async (folder) => {
    const path = join(folder, "lock");
    let held = true;
    const long = locked(path, () => new Promise((resolve) => setTimeout(resolve, 600)).then(() => (held = false)), 300);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await locked(path, async () => assert.not.ok(held), 300);
    await long;
    assert.equal(await readdir(folder), []);
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
