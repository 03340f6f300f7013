/**
 * Handles between turns (PROTOCOL §10, DESIGN D3). For each session a folder of files holds
 *
 *     <name>.json        what the handle is, and the SHA-256 of its checkpoint and blobs
 *     <name>.blobs/      their contents, each under its SHA-256; a lock and a temporary file while a save runs
 *
 * A save writes only the contents that are not there yet, so a long conversation is not written again every turn. All
 * of them are on the disk before the JSON that names them is renamed into place, and what is no longer named goes after
 * that: at whatever point a process dies, the JSON there names files that are there. One that a dying process cut short
 * has another size than its content and is written anew. A load trusts none of it: it checks each SHA-256, and what does
 * not fit is no handle, so the conversation is rebuilt from the host's transcript.
 */
import { dirname, join, resolve } from "node:path";
import { blobId, hex } from "../agent/blob-id.ts";
import { LIMITS } from "../agent/limits.ts";
import { decodeHandleFile, encodeHandleFile, type HandleFile } from "../session/handle-file.ts";
import type { Handle } from "../session/turn.ts";
import { each, inTurn } from "./concurrency.ts";
import { DISK, temporaryName, type Disk } from "./disk.ts";
import { locked } from "./file-lock.ts";
import { handleFolder } from "./handle-folder.ts";
import { fileName } from "./file-name.ts";
import type { Environment } from "./variables.ts";

/** Where handles are kept, by session id. */
export interface HandleStore {
  /** The session's handle, or undefined where there is none. When this rejects, the conversation is rebuilt. */
  load(sessionId: string): Promise<Handle | undefined>;
  /** Replaces the session's handle. When this rejects, the older one stays. */
  save(sessionId: string, handle: Handle): Promise<void>;
  /** Removes the session's handle, if it has one. */
  remove(sessionId: string): Promise<void>;
}

/** Bytes of the largest handle file that is read. */
const JSON_LIMIT = 16 * 1024 * 1024;
/** Times that a load starts again because the handle was replaced under it. */
const TRIES = 3;
/** The names in a blob folder that a save may remove; all else is not ours. */
const OURS = /^([0-9a-f]{64}|.*\.tmp|lock\..*)$/;

/**
 * Handles as files of mode 0600 in `directory`, which is made with mode 0700 where it lacks; default is
 * `CURSOR_PROVIDER_HANDLE_DIR` of `env`, in which a leading `~` expands (DESIGN §7). A session id of up to 100 characters
 * `[A-Za-z0-9_-]` names its files; any other is named by its SHA-256. Where file names ignore case, so do session ids.
 * Saves of one session, by any number of processes, happen one after the other. `load` rejects where a handle can not be
 * used, with its path and what is wrong; `save` and `remove` do where the disk refuses.
 * @throws CursorError `invalid_environment` where the variable begins with a `~` and a name
 */
export function fileHandleStore(directory?: string, env: Environment = process.env): HandleStore {
  return new FileHandleStore(directory === undefined ? handleFolder(env) : resolve(directory));
}

/** Handles in memory, gone with the process. */
export function memoryHandleStore(): HandleStore {
  const handles = new Map<string, Handle>();
  return {
    load: async (sessionId) => {
      const handle = handles.get(sessionId);
      return handle && copyOf(handle);
    },
    save: async (sessionId, handle) => {
      handles.set(sessionId, copyOf(handle));
    },
    remove: async (sessionId) => {
      handles.delete(sessionId);
    },
  };
}

function copyOf(handle: Handle): Handle {
  return { ...handle, blobs: new Map(handle.blobs) };
}

/** The paths of a session's files. */
interface Place {
  json: string;
  blobs: string;
}

/** {@link fileHandleStore} on any disk. */
export class FileHandleStore implements HandleStore {
  readonly #folder: string;
  readonly #disk: Disk;
  /** Hex SHA-256 of contents that were hashed before: most of a conversation is the same as a turn ago. */
  readonly #hashes = new WeakMap<Uint8Array, string>();
  /** Paths whose content can not be read, or is not what their name says: they are written anew. */
  readonly #broken = new Set<string>();

  constructor(folder: string, disk: Disk = DISK) {
    this.#folder = folder;
    this.#disk = disk;
  }

  async load(sessionId: string): Promise<Handle | undefined> {
    const place = this.#place(sessionId);
    try {
      return await inTurn(place.json, () => this.#load(place));
    } catch (error) {
      throw new Error(`${place.json}: ${(error as Error).message}`, { cause: error });
    }
  }

  async save(sessionId: string, handle: Handle): Promise<void> {
    const place = this.#place(sessionId);
    const kept = copyOf(handle);
    await inTurn(place.json, () => this.#save(place, kept));
  }

  async remove(sessionId: string): Promise<void> {
    const place = this.#place(sessionId);
    await inTurn(place.json, () => this.#remove(place));
  }

  #place(sessionId: string): Place {
    const name = fileName(sessionId);
    return { json: join(this.#folder, `${name}.json`), blobs: join(this.#folder, `${name}.blobs`) };
  }

  async #load(place: Place): Promise<Handle | undefined> {
    await this.#check(place);
    let json = await this.#disk.read(place.json, checkJsonSize);
    for (let tries = 1; json !== undefined; tries++) {
      try {
        return await this.#read(place, json);
      } catch (error) {
        const now: Uint8Array | undefined = await this.#disk.read(place.json, checkJsonSize);
        if (tries === TRIES || (now !== undefined && hex(blobId(now)) === hex(blobId(json)))) throw error;
        json = now;
      }
    }
    return undefined;
  }

  /** Reads the handle that `json` says. Throws where anything is missing, too large or not what its name says. */
  async #read(place: Place, json: Uint8Array): Promise<Handle> {
    const decoded = decodeHandleFile(json);
    if (!decoded.ok) throw new Error(decoded.reason);
    const { conversationId, fingerprint, toolsetKey, checkpoint, blobs } = decoded.file;
    if (blobs.length > LIMITS.blobs) throw new Error(`it names ${blobs.length} blobs`);
    const uses = new Map<string, number>();
    for (const { content } of blobs) uses.set(content, (uses.get(content) ?? 0) + 1);
    let total = 0;
    const contents = new Map<string, Uint8Array>();
    await each(new Set([checkpoint, ...uses.keys()]), async (hash) => {
      const count = uses.get(hash) ?? 0;
      const path = join(place.blobs, hash);
      // Until it turns out whole.
      this.#broken.add(path);
      const content = await this.#disk.read(path, (size) => {
        total += size * count;
        if (hash === checkpoint && size > LIMITS.checkpoint) throw new Error(`its checkpoint takes ${size} bytes`);
        if (size > LIMITS.blob) throw new Error(`one of its blobs takes ${size} bytes`);
        if (total > LIMITS.blobStore) throw new Error(`its blobs take over ${LIMITS.blobStore} bytes`);
      });
      if (content === undefined) throw new Error(`${hash} is missing`);
      if (this.#hash(content) !== hash) throw new Error(`${hash} is another content`);
      this.#broken.delete(path);
      contents.set(hash, content);
    });
    return {
      conversationId,
      checkpoint: contents.get(checkpoint)!,
      blobs: new Map(blobs.map(({ id, content }) => [id, contents.get(content)!])),
      fingerprint,
      toolsetKey,
    };
  }

  async #save(place: Place, handle: Handle): Promise<void> {
    const { file, contents } = this.#describe(handle);
    const json = encodeHandleFile(file);
    checkJsonSize(json.length);
    await this.#check(place);
    await this.#disk.makeFolder(place.blobs);
    await locked(join(place.blobs, "lock"), async () => {
      const written: string[] = [];
      try {
        const present = new Set(await this.#disk.list(place.blobs));
        await each(contents, async ([hash, content]) => {
          const path = join(place.blobs, hash);
          if (present.has(hash)) {
            if ((await this.#disk.size(path)) === content.length && !this.#broken.has(path)) return;
            await this.#disk.remove(path);
          }
          written.push(path);
          await this.#disk.create(path, content);
          this.#broken.delete(path);
        });
        if (written.length > 0) await this.#disk.syncFolder(place.blobs);
        await this.#replace(place, json);
      } catch (error) {
        // The older handle stays; what was meant for the new one must not fill a disk that may be full.
        await each(written, (path) => this.#disk.remove(path)).catch(() => {});
        throw error;
      }
      await this.#disk.syncFolder(this.#folder);
      // The new handle is in place.
      await this.#sweep(place, contents).catch(() => {});
    });
  }

  async #remove(place: Place): Promise<void> {
    try {
      await this.#check(place);
      if ((await this.#disk.size(place.json)) !== undefined || (await this.#disk.list(place.blobs)).length > 0)
        await locked(join(place.blobs, "lock"), async () => {
          await this.#disk.remove(place.json);
          await this.#sweep(place, new Map());
        });
    } catch {
      // A disk too full for a lock, or blobs that are not ours: they stay, the handle must go.
      await this.#disk.remove(place.json);
    }
    await this.#disk.removeFolder(place.blobs);
    for (const path of this.#broken) if (dirname(path) === place.blobs) this.#broken.delete(path);
  }

  /**
   * Throws where something else stands at the names of a session. A link among them would lead out of the folder; the
   * folder itself may be one.
   */
  async #check(place: Place): Promise<void> {
    await this.#disk.size(place.json);
    await this.#disk.checkFolder(place.blobs);
  }

  /** What the file of a handle says, and its contents by SHA-256. Throws a RangeError where a load would refuse it. */
  #describe(handle: Handle): { file: HandleFile; contents: Map<string, Uint8Array> } {
    const { conversationId, fingerprint, toolsetKey } = handle;
    const contents = new Map<string, Uint8Array>();
    const add = (content: Uint8Array): string => {
      const hash = this.#hash(content);
      contents.set(hash, content);
      return hash;
    };
    let total = 0;
    for (const { length } of handle.blobs.values()) {
      if (length > LIMITS.blob) throw new RangeError(`The handle can not be kept: a blob takes ${length} bytes.`);
      total += length;
    }
    if (handle.checkpoint.length > LIMITS.checkpoint)
      throw new RangeError(`The handle can not be kept: its checkpoint takes ${handle.checkpoint.length} bytes.`);
    if (total > LIMITS.blobStore) throw new RangeError(`The handle can not be kept: its blobs take ${total} bytes.`);
    if (handle.blobs.size > LIMITS.blobs) throw new RangeError(`The handle can not be kept: it has ${handle.blobs.size} blobs.`);
    const blobs = Array.from(handle.blobs, ([id, content]) => ({ id, content: add(content) }));
    return { file: { conversationId, fingerprint, toolsetKey, checkpoint: add(handle.checkpoint), blobs }, contents };
  }

  /** Writes the JSON beside its place and renames it into it. */
  async #replace(place: Place, json: Uint8Array): Promise<void> {
    const temporary = join(place.blobs, temporaryName());
    try {
      await this.#disk.create(temporary, json);
      await this.#disk.rename(temporary, place.json);
    } catch (error) {
      await this.#disk.remove(temporary).catch(() => {});
      throw error;
    }
  }

  /** Removes what no handle names any more, and what dead processes left behind. The lock must be held. */
  async #sweep(place: Place, named: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const names = await this.#disk.list(place.blobs);
    const old = names.filter((name) => OURS.test(name) && !named.has(name));
    // What can not be removed now is tried again after the next save.
    await each(old, (name) => this.#disk.remove(join(place.blobs, name)).catch(() => {}));
  }

  #hash(content: Uint8Array): string {
    const hash = this.#hashes.get(content) ?? hex(blobId(content));
    this.#hashes.set(content, hash);
    return hash;
  }
}

function checkJsonSize(size: number): void {
  if (size > JSON_LIMIT) throw new RangeError(`the JSON of a handle takes ${size} bytes`);
}
