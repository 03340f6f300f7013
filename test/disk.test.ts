/** What the disk of this machine is asked for, where a system answers oddly. */
import { existsSync } from "node:fs";
import { mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { DISK } from "../lib/driver/disk.ts";
import { rejects } from "./check.ts";

const test = suite("disk");
let folder = "";

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), "cursor-wire-"));
});
test.after(() => rm(folder, { recursive: true }));

test("a folder is made with those above it, for its owner alone, and made once by any number", async () => {
  const path = join(folder, "a", "b", "c");
  await Promise.all(Array.from({ length: 8 }, () => DISK.makeFolder(path)));
  await DISK.makeFolder(path);
  for (const made of [path, join(folder, "a")]) assert.is((await stat(made)).mode & 0o777, 0o700);
});

test("a folder that can't be made says why, and soon", async () => {
  const file = join(folder, "file");
  await writeFile(file, "");
  await symlink(join(folder, "none", "none"), join(folder, "dangling"));
  const code = async (path: string): Promise<unknown> => ((await rejects(DISK.makeFolder(path))) as NodeJS.ErrnoException).code;
  assert.is(await code(file), "EEXIST");
  assert.is(await code(join(file, "below")), "ENOTDIR");
  assert.is(await code(join(folder, "dangling")), "EEXIST");
  // It exists, and takes no folder.
  if (existsSync("/proc/self")) assert.is(await code("/proc/cursor-wire/handles"), "ENOENT");
});

test.run();
