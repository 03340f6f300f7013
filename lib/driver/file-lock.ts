/**
 * A lock between processes: a file that one of them created. Whoever finds it waits, unless it was left behind: its
 * process is gone, or it gave no sign of life for too long. Only one process breaks such a lock at a time, holding a
 * second file meanwhile. A process that slept through all that may still hold a lock beside another; what the lock
 * protects must then be harmless, as a handle that fails its check is.
 */
import { randomUUID } from "node:crypto";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { lutimes, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { DISK, statsOf } from "./disk.ts";

/** Milliseconds without a sign of life after which a lock counts as left behind, whoever holds it. */
const STALE = 10_000;
/** Milliseconds between two looks at a lock. */
const POLL = 15;
/** What a lock holds: host, process and a token of its own. */
const LOCK = /^(\S+) ([1-9]\d{0,9}) \S+$/;
/** Bytes of the largest file that may be a lock. */
const SIZE_LIMIT = 1024;

/**
 * Runs `work` while holding the lock file `path`, whose folder is made where it lacks. `stale` is in milliseconds.
 * @throws what `work` throws, the error of a folder that can not be written, an Error at once where something else than
 * a lock stands there, which is left alone, or an Error where the lock can not be had in three times `stale`
 */
export async function locked<T>(path: string, work: () => Promise<T>, stale: number = STALE): Promise<T> {
  const token = `${hostname()} ${process.pid} ${randomUUID()}`;
  const deadline = performance.now() + 3 * stale;
  while (!(await taken(path, token))) {
    if (performance.now() > deadline) throw new Error(`${path} stays locked`);
    if (!(await broken(path, stale))) await new Promise((resolve) => setTimeout(resolve, POLL));
  }
  const alive = setInterval(() => void touch(path), stale / 4);
  try {
    return await work();
  } finally {
    clearInterval(alive);
    // Someone may have broken this lock meanwhile and hold their own.
    if ((await contentOf(path).catch(() => undefined)) === token) await rm(path, { force: true });
  }
}

async function taken(path: string, token: string): Promise<boolean> {
  try {
    create(path, token);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") await DISK.makeFolder(dirname(path));
    else if (code !== "EEXIST") throw error;
    return false;
  }
}

/** Makes and fills the file in one go: a process that dies between the two leaves a lock that says nothing of it. */
function create(path: string, token: string): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeSync(file, token);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Removes a lock that was left behind. False where it was not, or someone else is at it. */
async function broken(path: string, stale: number): Promise<boolean> {
  if (!(await isLeftBehind(path, stale))) return false;
  const guard = `${path}.break`;
  try {
    await writeFile(guard, "", { flag: "wx", mode: 0o600 });
  } catch {
    if (await isOld(guard, stale)) await rm(guard, { force: true });
    return false;
  }
  try {
    // Someone may have broken it and taken it anew before the guard was ours.
    const still = await isLeftBehind(path, stale);
    if (still) await rm(path, { force: true });
    return still;
  } finally {
    await rm(guard, { force: true });
  }
}

async function isLeftBehind(path: string, stale: number): Promise<boolean> {
  const content = await contentOf(path);
  if (content === undefined) return false;
  // Its process died between making and filling it.
  if (content === "") return isOld(path, stale / 10);
  const [, host, pid] = LOCK.exec(content) ?? [];
  if (pid === undefined) throw new Error(`${path} holds no lock: move it away`);
  return (host === hostname() && !isAlive(Number(pid))) || (await isOld(path, stale));
}

/** Whether a file's time is far from now: on either side, for clocks are set. */
async function isOld(path: string, stale: number): Promise<boolean> {
  const stats = await statsOf(path, "file");
  return stats !== undefined && Math.abs(Date.now() - stats.mtimeMs) > stale;
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await lutimes(path, now, now).catch(() => {});
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

async function contentOf(path: string): Promise<string | undefined> {
  const content = await DISK.read(path, (size) => {
    if (size > SIZE_LIMIT) throw new Error(`${path} is a file of ${size} bytes, not a lock: move it away`);
  });
  return content && new TextDecoder().decode(content);
}
