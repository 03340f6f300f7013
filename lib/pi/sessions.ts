/** The providers behind Pi's sessions: one each, so that a session's token, environment and parked Run are its own. */
import { createProvider, type Provider } from "../index.ts";
import { fileHandleStore, memoryHandleStore, type HandleStore } from "../driver/handle-store.ts";
import type { Environment } from "../driver/variables.ts";
import { thrownText } from "../session/failures.ts";
import { split } from "../session/history.ts";
import type { Diagnostic, TurnRequest } from "../session/turn.ts";

/** One session's provider, or that of a call without a session. */
export class Slot {
  readonly provider: Provider;
  readonly handles: HandleStore;
  readonly sessionId: string | undefined;
  readonly env: Environment;
  /** What the next Run logs in with; set before each leg. */
  token = "";
  /** The model whose Run is parked, and what stops waiting for it. */
  #parked: { slug: string; calls: readonly string[]; since: number; forget: () => void } | undefined;
  readonly #onIdle: (slot: Slot) => void;

  /** @param onIdle called when nothing is parked here any more */
  constructor(sessionId: string | undefined, env: Environment, handles: HandleStore, onDiagnostic: (diagnostic: Diagnostic) => void, onIdle: (slot: Slot) => void) {
    this.sessionId = sessionId;
    this.env = env;
    this.handles = handles;
    this.#onIdle = onIdle;
    this.provider = createProvider({
      accessToken: () => this.token,
      env,
      handles,
      onDiagnostic: (diagnostic) => {
        if (diagnostic.type === "parked_run_lost") this.#forget();
        onDiagnostic(diagnostic);
      },
    });
  }

  /** The calls of the parked Run and when they were parked, in ms since 1970. */
  get parked(): { calls: readonly string[]; since: number } | undefined {
    return this.#parked;
  }

  /**
   * A leg has ended with calls: its Run waits for their results. Pi aborts a tool by the same signal and, in 1.x, never
   * comes back then, so the signal goes on to count until the next leg.
   */
  park(slug: string, calls: readonly string[], signal: AbortSignal | undefined): void {
    const onAbort = () => this.end();
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#parked = { slug, calls, since: Date.now(), forget: () => signal?.removeEventListener("abort", onAbort) };
    if (signal?.aborted) this.end();
  }

  /** A leg begins. A Run that is parked for another model is of no use to it. */
  resume(slug: string): void {
    if (this.#parked !== undefined && this.#parked.slug !== slug) this.end();
    this.#forget();
  }

  /** Ends the parked Run, if there is one. */
  end(): void {
    this.#forget();
    if (this.sessionId === undefined) void this.close();
    else this.provider.end(this.sessionId);
  }

  /** Ends everything. */
  async close(): Promise<void> {
    this.#forget();
    await this.provider.close();
  }

  #forget(): void {
    if (this.#parked === undefined) return;
    this.#parked.forget();
    this.#parked = undefined;
    this.#onIdle(this);
  }
}

/** All slots, and what is known of Pi's sessions. */
export class Sessions {
  readonly #slots = new Map<string, Slot>();
  /** Slots of calls without a session that wait for results. */
  readonly #oneOffs = new Set<Slot>();
  /** The working folder of each session that has started. */
  readonly #folders = new Map<string, string | undefined>();
  /** The sessions that Pi does not keep. */
  readonly #fleeting = new Set<string>();
  /** The last diagnostics, for the status. */
  readonly diagnostics: Diagnostic[] = [];

  /** A session has started in a folder. Where Pi does not keep it, nothing of it may outlive the process. */
  started(sessionId: string, folder: string | undefined, isKept: boolean): void {
    this.#folders.set(sessionId, folder);
    if (!isKept) this.#fleeting.add(sessionId);
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
    if (sessionId === undefined) return this.#oneOff(request, env) ?? this.#make(undefined, env);
    const known = this.#slots.get(sessionId);
    if (known !== undefined && isSame(known.env, env)) return known;
    void known?.close();
    const slot = this.#make(sessionId, env);
    this.#slots.set(sessionId, slot);
    return slot;
  }

  /** Where a session's handle is, or would be. */
  handlesOf(sessionId: string, env: Environment): HandleStore {
    return this.#slots.get(sessionId)?.handles ?? fileHandleStore(undefined, env);
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

  /** A leg has ended: parked where it has calls, else over; a slot without a session lives only while parked. */
  ended(slot: Slot, slug: string, calls: readonly string[], signal: AbortSignal | undefined): void {
    if (calls.length > 0) slot.park(slug, calls, signal);
    if (slot.sessionId !== undefined) return;
    if (slot.parked === undefined) void slot.close();
    else this.#oneOffs.add(slot);
  }

  /** Ends one session. */
  async stopped(sessionId: string): Promise<void> {
    const slot = this.#slots.get(sessionId);
    this.#slots.delete(sessionId);
    this.#folders.delete(sessionId);
    this.#fleeting.delete(sessionId);
    await slot?.close();
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    const slots = [...this.#slots.values(), ...this.#oneOffs];
    this.#slots.clear();
    this.#oneOffs.clear();
    this.#folders.clear();
    this.#fleeting.clear();
    await Promise.all(slots.map((slot) => slot.close()));
  }

  #oneOff(request: TurnRequest, env: Environment): Slot | undefined {
    const answered = new Set(split(request.messages).results.map(({ toolCallId }) => toolCallId));
    const [found, ...others] = [...this.#oneOffs].filter((slot) => isSame(slot.env, env) && slot.parked?.calls.some((id) => answered.has(id)));
    // Ids are one Run's own: where they may mean several, a new Run is told everything.
    return others.length > 0 ? undefined : found;
  }

  #make(sessionId: string | undefined, env: Environment): Slot {
    const handles = sessionId === undefined || this.#fleeting.has(sessionId) ? memoryHandleStore() : fileHandleStore(undefined, env);
    return new Slot(sessionId, env, handles, (diagnostic) => this.#diagnose(diagnostic), (slot) => this.#oneOffs.delete(slot));
  }

  #diagnose(diagnostic: Diagnostic): void {
    this.diagnostics.push(diagnostic);
    if (this.diagnostics.length > 5) this.diagnostics.shift();
  }
}

function isSame(a: Environment, b: Environment): boolean {
  return a === b || Object.keys({ ...a, ...b }).every((name) => a[name] === b[name]);
}
