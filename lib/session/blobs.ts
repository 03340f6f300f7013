import { blobId, hex } from "../agent/blob-id.ts";
import { LIMITS } from "../agent/limits.ts";

/** The blobs of one Run, in memory. Nothing is ever evicted: the service may ask for any of them (PROTOCOL §6, DESIGN D6). */
export class Blobs {
  readonly #blobs = new Map<string, Uint8Array>();
  #bytes = 0;

  /** Keeps `content` under the SHA-256 of it and returns that id, or undefined where it does not fit. */
  add(content: Uint8Array): Uint8Array | undefined {
    const id = blobId(content);
    return this.set(id, content) ? id : undefined;
  }

  /** Keeps a copy of `content` under `id`. False, and nothing changes, where it does not fit or `id` is none. */
  set(id: Uint8Array, content: Uint8Array): boolean {
    if (id.length === 0 || id.length > LIMITS.blobId) return false;
    const key = hex(id);
    const held = this.#blobs.get(key);
    const bytes = this.#bytes - (held?.length ?? 0) + content.length;
    if (content.length > LIMITS.blob || bytes > LIMITS.blobStore || (held === undefined && this.#blobs.size >= LIMITS.blobs)) return false;
    this.#blobs.set(key, content.slice());
    this.#bytes = bytes;
    return true;
  }

  /** The blob of this id. */
  get(id: Uint8Array): Uint8Array | undefined {
    return id.length > LIMITS.blobId ? undefined : this.#blobs.get(hex(id));
  }

  /** Every blob by hex id, for a handle: a snapshot whose contents are shared. */
  all(): Map<string, Uint8Array> {
    return new Map(this.#blobs);
  }

  /** Takes over the blobs of a handle. False where they do not fit. */
  restore(blobs: ReadonlyMap<string, Uint8Array>): boolean {
    for (const [key, content] of blobs) {
      if (!(content instanceof Uint8Array)) return false;
      this.#blobs.set(key, content);
      this.#bytes += content.length;
    }
    return this.#bytes <= LIMITS.blobStore && this.#blobs.size <= LIMITS.blobs;
  }
}
