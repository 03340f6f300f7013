/** The host's store of handles as a provider uses it: in order, with patience, and never at the cost of a turn. */
import { thrownText } from "../session/failures.ts";
import type { Diagnostic, Handle } from "../session/turn.ts";
import { FileHandleStore, type HandleStore } from "./handle-store.ts";
import { within } from "./settle.ts";

/** ms that a store may take before the turn goes on without it. */
const PATIENCE = 5000;

/** What is kept for the sessions of a provider. */
export class Handles {
  readonly #store: HandleStore | null;
  readonly #onDiagnostic: (diagnostic: Diagnostic) => void;
  /** What the store is asked to keep or to forget, by session: the next of it, and a load, come after. */
  readonly #keeping = new Map<string, Promise<void>>();

  /** @param store null keeps nothing */
  constructor(store: HandleStore | null, onDiagnostic: (diagnostic: Diagnostic) => void) {
    this.#store = store;
    this.#onDiagnostic = onDiagnostic;
    // One that was made without a listener has something to say as well.
    if (store instanceof FileHandleStore) store.onDiagnostic ??= onDiagnostic;
  }

  /** The session's handle, if it has one that can be used. Never rejects; an abort is left to the caller. */
  async load(sessionId: string | undefined, signal: AbortSignal): Promise<Handle | undefined> {
    if (sessionId === undefined) return undefined;
    await this.#keeping.get(sessionId);
    try {
      return readHandle(await within(PATIENCE, () => this.#store?.load(sessionId), "handle_timeout", signal));
    } catch (error) {
      if (!signal.aborted) this.#onDiagnostic({ type: "handle_unreadable", message: `The session's handle cannot be read: ${thrownText(error)}` });
      return undefined;
    }
  }

  /** Keeps the session's handle, or forgets it. Never rejects. */
  keep(sessionId: string | undefined, handle: Handle | undefined): Promise<void> {
    if (sessionId === undefined) return Promise.resolve();
    const kept = (this.#keeping.get(sessionId) ?? Promise.resolve()).then(() => this.#write(sessionId, handle));
    this.#keeping.set(sessionId, kept);
    return kept.then(() => {
      if (this.#keeping.get(sessionId) === kept) this.#keeping.delete(sessionId);
    });
  }

  /** Resolves when nothing is being kept any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#keeping.values());
  }

  async #write(sessionId: string, handle: Handle | undefined): Promise<void> {
    const store = this.#store;
    if (store === null) return;
    try {
      await within(PATIENCE, () => (handle ? store.save(sessionId, handle) : store.remove(sessionId)), "handle_timeout");
    } catch (error) {
      this.#onDiagnostic({ type: "handle_not_kept", message: `The session's handle cannot be written: ${thrownText(error)}` });
    }
  }
}

/** What a store gave, if it is a handle. */
function readHandle(given: unknown): Handle | undefined {
  if (given === undefined || given === null) return undefined;
  const { conversationId, checkpoint, blobs, fingerprint, toolsetKey } = given as Handle;
  const texts = [conversationId, fingerprint, toolsetKey].every((text) => typeof text === "string");
  if (!texts || !(checkpoint instanceof Uint8Array) || !(blobs instanceof Map)) throw new TypeError("it is no handle");
  return { conversationId, checkpoint, blobs, fingerprint, toolsetKey };
}
