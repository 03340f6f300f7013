/** The host's store of handles as a provider uses it: in order, with patience, and never at the cost of a turn. */
import { thrownText } from "../session/failures.ts";
import type { Diagnostic, Handle } from "../session/turn.ts";
import type { HandleStore } from "./handle-store.ts";
import { within } from "./settle.ts";

/** ms that a store may take before the turn goes on without it. */
const PATIENCE = 5000;

/** What is kept for the sessions of a provider. */
export class Handles {
  readonly #store: HandleStore | null;
  readonly #onDiagnostic: (diagnostic: Diagnostic) => void;
  /** What the store was last asked to keep or to forget for a session, waited for or not: the next of it comes after. */
  readonly #writing = new Map<string, Promise<void>>();

  /** @param store null keeps nothing */
  constructor(store: HandleStore | null, onDiagnostic: (diagnostic: Diagnostic) => void) {
    this.#store = store;
    this.#onDiagnostic = onDiagnostic;
  }

  /** The session's handle, if it has one that can be used. Never rejects; an abort is left to the caller. */
  async load(sessionId: string | undefined, signal: AbortSignal): Promise<Handle | undefined> {
    if (sessionId === undefined) return undefined;
    const read = async (): Promise<unknown> => {
      await this.#written(sessionId);
      return this.#store?.load(sessionId);
    };
    try {
      return readHandle(await within(PATIENCE, read, "handle_timeout", signal));
    } catch (error) {
      if (!signal.aborted) this.#onDiagnostic({ type: "handle_unreadable", message: `The session's handle cannot be read: ${thrownText(error)}`, sessionId });
      return undefined;
    }
  }

  /** Keeps the session's handle, or forgets it. Never rejects. */
  async keep(sessionId: string | undefined, handle: Handle | undefined): Promise<void> {
    const store = this.#store;
    if (sessionId === undefined || store === null) return;
    const writing: Promise<void> = this.#written(sessionId).then(() => {
      // What was asked for since replaces it.
      if (this.#writing.get(sessionId) !== writing) return;
      return handle ? store.save(sessionId, handle) : store.remove(sessionId);
    });
    this.#writing.set(sessionId, writing);
    const forget = (): void => void (this.#writing.get(sessionId) === writing && this.#writing.delete(sessionId));
    writing.then(forget, forget);
    try {
      await within(PATIENCE, () => writing, "handle_timeout");
    } catch (error) {
      this.#onDiagnostic({ type: "handle_not_kept", message: `The session's handle cannot be written: ${thrownText(error)}` });
    }
  }

  /** Resolves when nothing is being kept any more, or the store's time is up. */
  async settled(): Promise<void> {
    const all = Promise.all([...this.#writing.keys()].map((sessionId) => this.#written(sessionId)));
    await within(PATIENCE, () => all, "handle_timeout").catch(() => {});
  }

  /** Resolves when the store has done what it was last asked for this session. */
  async #written(sessionId: string): Promise<void> {
    await this.#writing.get(sessionId)?.catch(() => {});
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
