/** The provider behind one of Pi's sessions, or behind a call without a session, and the legs that are asked of it. */
import { createProvider, type Provider } from "../index.ts";
import type { HandleStore } from "../driver/handle-store.ts";
import type { Environment } from "../driver/variables.ts";
import type { Diagnostic } from "../session/turn.ts";

/** One of Pi's calls in its slot: until its stream is over or, where it ends with calls, until its Run is parked no more. */
export class SlotLeg {
  /** The model that its Run is of. */
  slug = "";
  /** Set while its Run is parked: the calls that wait for results, and since when, in ms since 1970. */
  parked: { calls: readonly string[]; since: number } | undefined;
  readonly #stop = new AbortController();
  readonly #given: AbortSignal | undefined;

  /** @param given Pi's signal */
  constructor(given: AbortSignal | undefined) {
    this.#given = given;
    given?.addEventListener("abort", this.stop, { once: true });
  }

  /** Aborted by Pi's signal, and by the end of the slot. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Ends the leg, whatever it waits for. */
  readonly stop = (): void => this.#stop.abort();

  /** Lets go of Pi's signal. */
  release(): void {
    this.#given?.removeEventListener("abort", this.stop);
  }
}

/** One session's provider, or that of a call without a session, which lives as long as it has a leg. */
export class Slot {
  readonly provider: Provider;
  readonly handles: HandleStore;
  readonly sessionId: string | undefined;
  readonly env: Environment;
  /** What the next Run logs in with; set before each leg. */
  token = "";
  /** The legs that are not over, the parked one too. */
  readonly #legs = new Set<SlotLeg>();
  /** The leg that began last: only its Run can be parked. */
  #latest: SlotLeg | undefined;
  readonly #onOver: (slot: Slot) => void;

  /** @param onOver called when a slot without a session has closed after its last leg */
  constructor(sessionId: string | undefined, env: Environment, handles: HandleStore, onDiagnostic: (diagnostic: Diagnostic) => void, onOver: (slot: Slot) => void) {
    this.sessionId = sessionId;
    this.env = env;
    this.handles = handles;
    this.#onOver = onOver;
    this.provider = createProvider({
      accessToken: () => this.token,
      env,
      handles,
      onDiagnostic: (diagnostic) => {
        if (diagnostic.type === "parked_run_lost") this.#unpark();
        onDiagnostic(diagnostic);
      },
    });
  }

  /** The calls of the parked Run and when they were parked. */
  get parked(): SlotLeg["parked"] {
    return this.#latest?.parked;
  }

  /** Pi calls. What its extensions do before the Run is a part of the leg, which the end of the slot ends, too. */
  enter(signal: AbortSignal | undefined): SlotLeg {
    const leg = new SlotLeg(signal);
    this.#legs.add(leg);
    return leg;
  }

  /** A leg goes to the provider. A Run that is parked for another model is of no use to it. */
  begin(leg: SlotLeg, slug: string): void {
    if (this.parked !== undefined && this.#latest?.slug !== slug) this.end();
    this.#unpark();
    leg.slug = slug;
    this.#latest = leg;
  }

  /**
   * A leg has ended with calls: its Run waits for their results, unless a later leg has ended it. Pi aborts a tool by
   * the same signal and, in 1.x, never comes back then, so the signal goes on to count until the next leg.
   */
  park(leg: SlotLeg, calls: readonly string[]): void {
    if (leg !== this.#latest || calls.length === 0) return;
    leg.parked = { calls, since: Date.now() };
    const onAbort = () => this.drop(leg);
    leg.signal.addEventListener("abort", onAbort, { once: true });
    if (leg.signal.aborted) onAbort();
  }

  /** Nobody comes back to a leg: ends its Run, if it is parked. */
  drop(leg: SlotLeg): void {
    if (leg.parked !== undefined) this.end();
  }

  /** A leg is over; one whose Run is parked is not, yet. */
  leave(leg: SlotLeg): void {
    if (leg.parked !== undefined) return;
    leg.release();
    this.#legs.delete(leg);
    if (this.sessionId === undefined && this.#legs.size === 0) void this.provider.close().then(() => this.#onOver(this));
  }

  /** Ends the parked Run, if there is one. */
  end(): void {
    this.#unpark();
    if (this.sessionId === undefined) void this.provider.close();
    else this.provider.end(this.sessionId);
  }

  /** Ends everything. */
  async close(): Promise<void> {
    for (const leg of this.#legs) leg.stop();
    await this.provider.close();
  }

  #unpark(): void {
    const leg = this.#latest;
    if (leg?.parked === undefined) return;
    leg.parked = undefined;
    this.leave(leg);
  }
}
