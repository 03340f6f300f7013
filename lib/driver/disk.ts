import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, readdir, rename, rm, rmdir, stat, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * What a store of files asks of a disk. A test gives one that fails or dies at any step. What is asked for a file or a
 * folder throws where the name stands for something else, and says what: a link is not followed, a pipe not waited for.
 */
export interface Disk {
  /** The names in a folder; none where there is no such folder. */
  list(folder: string): Promise<string[]>;
  /** Throws where a name stands for something else than a folder. There need not be one. */
  checkFolder(path: string): Promise<void>;
  /** The bytes of a regular file; undefined where there is none of that name. */
  size(path: string): Promise<number | undefined>;
  /**
   * A regular file's content, or undefined where there is none of that name. `check` sees the size before anything is
   * allocated and may throw.
   */
  read(path: string, check: (size: number) => void): Promise<Uint8Array | undefined>;
  /** A new file of mode 0600 that is on the disk when this resolves. Throws where the name exists. */
  create(path: string, content: Uint8Array): Promise<void>;
  /** Moves a file over another of the same file system, at once. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a regular file, if it is there. */
  remove(path: string): Promise<void>;
  /** A folder of mode 0700 and those above it, where they lack. */
  makeFolder(path: string): Promise<void>;
  /** Removes a folder if it is empty; never throws. */
  removeFolder(path: string): Promise<void>;
  /** Puts the names in a folder on the disk, where the system can; never throws. */
  syncFolder(path: string): Promise<void>;
}

// A name in the folder may be a planted link or a pipe, which an ordinary open would follow or wait for.
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The disk of this machine. */
export const DISK: Disk = {
  list: async (folder) => {
    await statsOf(folder, "folder");
    return (await unlessMissing(readdir(folder))) ?? [];
  },
  checkFolder: async (path) => {
    await statsOf(path, "folder");
  },
  size: async (path) => (await statsOf(path, "file"))?.size,
  read: async (path, check) => {
    const file = await unlessMissing(open(path, READ)).catch(async (error: unknown) => {
      // A link and a socket can not be opened, and the system's words for that help nobody.
      await statsOf(path, "file");
      throw error;
    });
    if (file === undefined) return undefined;
    try {
      return await readAll(file, path, check);
    } finally {
      await file.close();
    }
  },
  create: async (path, content) => {
    const file = await open(path, "wx", 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
  },
  rename,
  remove: async (path) => {
    if ((await statsOf(path, "file")) !== undefined) await rm(path, { force: true });
  },
  makeFolder,
  removeFolder: (path) => rmdir(path).catch(ignore),
  syncFolder: async (path) => {
    const folder = await open(path, "r").catch(ignore);
    await folder?.sync().catch(ignore);
    await folder?.close().catch(ignore);
  },
};

/** Not by mkdir's `recursive`: that never ends where a folder that exists takes no other, as /proc does. */
async function makeFolder(path: string): Promise<void> {
  const make = (): Promise<void> => mkdir(path, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    const above = dirname(path);
    if (await isFolder(path)) return;
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || above === path) throw error;
    await makeFolder(above);
    // Another process may have been faster.
    await make().catch(async (again: unknown) => {
      if (!(await isFolder(path))) throw again;
    });
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then((stats) => stats.isDirectory(), () => false);
}

/** A name for a file that is being written, unique among processes. */
export function temporaryName(): string {
  return `${randomUUID()}.tmp`;
}

/**
 * What stands at a path itself, not what it links to; undefined where nothing does.
 * @throws Error where it is not what is wanted
 */
export async function statsOf(path: string, wanted: "file" | "folder"): Promise<Stats | undefined> {
  const stats = await unlessMissing(lstat(path));
  if (stats !== undefined) checkKind(path, stats, wanted);
  return stats;
}

function checkKind(path: string, stats: Stats, wanted: "file" | "folder"): void {
  const found = kindOf(stats);
  if (found !== wanted) throw new Error(`${path} is a ${found}, not a ${wanted}: move it away`);
}

function kindOf(stats: Stats): string {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  if (stats.isSymbolicLink()) return "link";
  if (stats.isFIFO()) return "pipe";
  return stats.isSocket() ? "socket" : "device";
}

async function readAll(file: FileHandle, path: string, check: (size: number) => void): Promise<Uint8Array> {
  const stats = await file.stat();
  checkKind(path, stats, "file");
  check(stats.size);
  const content = new Uint8Array(stats.size);
  let length = 0;
  while (length < content.length) {
    const { bytesRead } = await file.read(content, length, content.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return content.subarray(0, length);
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function ignore(): undefined {
  return undefined;
}
