/** The providers behind Pi's sessions: one each, so that a session's token, environment and parked Run are its own. */
import { fileHandleStore, memoryHandleStore, type HandleStore } from "../driver/handle-store.ts";
import type { Environment } from "../driver/variables.ts";
import { thrownText } from "../session/failures.ts";
import { split } from "../session/history.ts";
import type { Diagnostic, TurnRequest } from "../session/turn.ts";
import { Slot } from "./slot.ts";

/** All slots, and what is known of Pi's sessions. */
export class Sessions {
  readonly #slots = new Map<string, Slot>();
  /** Slots of calls without a session that are not over. */
  readonly #oneOffs = new Set<Slot>();
  /** The working folder of each session that has started. */
  readonly #folders = new Map<string, string | undefined>();
  /** The sessions that Pi does not keep. They stay here when they are over, for a call that comes late. */
  readonly #fleeting = new Set<string>();
  /** The last diagnostics, for the status. */
  readonly diagnostics: Diagnostic[] = [];

  /** A session has started in a folder. Where Pi does not keep it, nothing of it may outlive the process. */
  started(sessionId: string, folder: string | undefined, isKept: boolean): void {
    this.#folders.set(sessionId, folder);
    if (isKept) this.#fleeting.delete(sessionId);
    else this.#fleeting.add(sessionId);
  }

  /** Whether any session has started and is not over. */
  get any(): boolean {
    return this.#folders.size > 0;
  }

  /** Whether this session has started. */
  has(sessionId: string | undefined): boolean {
    return sessionId !== undefined && this.#folders.has(sessionId);
  }

  /** The folder that a session works in; for calls without one the folder of the session that started last. */
  folderOf(sessionId: string | undefined): string | undefined {
    return (sessionId === undefined ? undefined : this.#folders.get(sessionId)) ?? [...this.#folders.values()].at(-1);
  }

  /**
   * The slot for a request: its session's; without a session, that of the one-off whose calls it answers, or a new one.
   * A session whose environment is another one now starts anew.
   */
  slot(request: TurnRequest, env: Environment): Slot {
    const { sessionId } = request;
    if (sessionId === undefined) return this.#oneOff(request, env);
    const known = this.#slots.get(sessionId);
    if (known !== undefined && isSame(known.env, env)) return known;
    void known?.close();
    const slot = this.#make(sessionId, env);
    this.#slots.set(sessionId, slot);
    return slot;
  }

  /** Where a session's handle is, or would be. */
  handlesOf(sessionId: string, env: Environment): HandleStore {
    return this.#slots.get(sessionId)?.handles ?? this.#storeOf(sessionId, env);
  }

  /**
   * A session's transcript is another branch now. The remote conversation holds the one that was left, and nobody can
   * tell by the user's words: the next turn opens a new one.
   */
  async rewound(sessionId: string, env: Environment): Promise<void> {
    this.#slots.get(sessionId)?.end();
    try {
      await this.handlesOf(sessionId, env).remove(sessionId);
    } catch (error) {
      this.#diagnose({ type: "handle_not_kept", message: `The handle of a branch that was left cannot be removed: ${thrownText(error)}` });
    }
  }

  /** The slot of a session, if it has one. */
  find(sessionId: string): Slot | undefined {
    return this.#slots.get(sessionId);
  }

  /** Ends one session. */
  async stopped(sessionId: string): Promise<void> {
    const slot = this.#slots.get(sessionId);
    this.#slots.delete(sessionId);
    this.#folders.delete(sessionId);
    await slot?.close();
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    const slots = [...this.#slots.values(), ...this.#oneOffs];
    this.#slots.clear();
    this.#oneOffs.clear();
    this.#folders.clear();
    await Promise.all(slots.map((slot) => slot.close()));
  }

  #oneOff(request: TurnRequest, env: Environment): Slot {
    const answered = new Set(split(request.messages).results.map(({ toolCallId }) => toolCallId));
    const [found, ...others] = [...this.#oneOffs].filter((slot) => isSame(slot.env, env) && slot.parked?.calls.some((id) => answered.has(id)));
    // Ids are one Run's own: where they may mean several, a new Run is told everything.
    if (found !== undefined && others.length === 0) return found;
    const slot = this.#make(undefined, env);
    this.#oneOffs.add(slot);
    return slot;
  }

  #make(sessionId: string | undefined, env: Environment): Slot {
    return new Slot(sessionId, env, this.#storeOf(sessionId, env), (diagnostic) => this.#diagnose(diagnostic), (slot) => this.#oneOffs.delete(slot));
  }

  #storeOf(sessionId: string | undefined, env: Environment): HandleStore {
    return sessionId === undefined || this.#fleeting.has(sessionId) ? memoryHandleStore() : fileHandleStore(undefined, env);
  }

  #diagnose(diagnostic: Diagnostic): void {
    this.diagnostics.push(diagnostic);
    if (this.diagnostics.length > 5) this.diagnostics.shift();
  }
}

function isSame(a: Environment, b: Environment): boolean {
  return a === b || Object.keys({ ...a, ...b }).every((name) => a[name] === b[name]);
}
