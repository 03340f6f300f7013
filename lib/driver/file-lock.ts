/**
 * A lock between processes: a file that one of them created. Whoever finds it waits, unless it was left behind: its
 * process is gone, or it is older than any honest holder takes. Two processes can, at the very worst, both break a lock
 * that was left behind; what the lock protects must then be harmless, as a handle that fails its check is.
 */
import { randomUUID } from "node:crypto";
import { open, readFile, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { DISK } from "./disk.ts";

/** Milliseconds after which a lock counts as left behind, whoever holds it. */
const STALE = 10_000;
/** Milliseconds between two looks at a lock. */
const POLL = 15;
/** Milliseconds after which a lock that can neither be had nor broken is an error. */
const PATIENCE = 3 * STALE;

/**
 * Runs `work` while holding the lock file `path`, whose folder is made where it lacks.
 * @throws what `work` throws, the error of a folder that can not be written, or an Error where the lock can not be had in 30 s
 */
export async function locked<T>(path: string, work: () => Promise<T>): Promise<T> {
  const token = `${hostname()} ${process.pid} ${randomUUID()}`;
  const deadline = Date.now() + PATIENCE;
  while (!(await taken(path, token))) {
    if (Date.now() > deadline) throw new Error(`${path} stays locked`);
    const holder = await leftBehind(path);
    if (holder === undefined) await new Promise((resolve) => setTimeout(resolve, POLL));
    else await broken(path, holder);
  }
  try {
    return await work();
  } finally {
    // Someone may have broken this lock meanwhile and hold their own.
    if ((await contentOf(path)) === token) await rm(path, { force: true });
  }
}

async function taken(path: string, token: string): Promise<boolean> {
  let file: FileHandle;
  try {
    file = await open(path, "wx", 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") await DISK.makeFolder(dirname(path));
    else if (code !== "EEXIST") throw error;
    return false;
  }
  try {
    await file.writeFile(token);
    return true;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** The content of a lock that was left behind; undefined while it is held, or gone. */
async function leftBehind(path: string): Promise<string | undefined> {
  const [content, stats] = await Promise.all([contentOf(path), stat(path).catch(() => undefined)]);
  if (content === undefined || stats === undefined) return undefined;
  const [host, pid] = content.split(" ");
  const gone = host === hostname() && !isAlive(Number(pid));
  return gone || Math.abs(Date.now() - stats.mtimeMs) > STALE ? content : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Removes the lock that holds `content`; one that was taken anew since then is put back. */
async function broken(path: string, content: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  if ((await contentOf(aside)) !== content) await rename(aside, path);
  else await rm(aside, { force: true });
}

function contentOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}
