import { LIMITS } from "../agent/limits.ts";
import type { TurnEvent } from "../session/turn.ts";

/** Bytes of undelivered events above which the stream is paused; the other half is for frames on their way (DESIGN D23). */
const HIGH = LIMITS.undelivered / 2;
/** And below which it goes on. */
const LOW = HIGH / 4;

/** What a leg asks of its Run. */
export interface LegOwner {
  /** The reader left before the leg was over. */
  onAbandoned(): void;
  /** The reader is behind, or has caught up. */
  onPressure(high: boolean): void;
}

/** The events of one leg, from the Run that pushes them to the host that iterates: one reader, once. */
export class Leg implements AsyncIterableIterator<TurnEvent> {
  /** Whom the reader's doings concern, the last event's reading included. */
  owner: LegOwner | undefined;
  readonly #events: { event: TurnEvent; size: number }[] = [];
  #head = 0;
  #size = 0;
  #high = false;
  #state: "open" | "done" | "failed" | "left" = "open";
  #error: unknown;
  #waiting: { resolve: (result: IteratorResult<TurnEvent>) => void; reject: (error: unknown) => void }[] = [];

  /** Whether events may still come. */
  get open(): boolean {
    return this.#state === "open";
  }

  /** Hands an event over. `size`: about the bytes that it holds. */
  push(event: TurnEvent, size: number): void {
    if (!this.open) return;
    const waiting = this.#waiting.shift();
    if (waiting) {
      waiting.resolve({ value: event, done: false });
      return;
    }
    this.#events.push({ event, size });
    this.#press(size);
  }

  /** Ends the leg after what has been pushed. */
  end(): void {
    if (!this.open) return;
    this.#state = "done";
    for (const { resolve } of this.#waiting.splice(0)) resolve({ value: undefined, done: true });
  }

  /** Throws `error` to the reader after what has been pushed. */
  fail(error: unknown): void {
    if (!this.open) return;
    const [first, ...others] = this.#waiting.splice(0);
    this.#state = first ? "done" : "failed";
    this.#error = error;
    first?.reject(error);
    for (const { resolve } of others) resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<TurnEvent>> {
    if (this.#head < this.#events.length) {
      const { event, size } = this.#events[this.#head++]!;
      if (this.#head > 1024 || this.#head === this.#events.length) {
        this.#events.splice(0, this.#head);
        this.#head = 0;
      }
      this.#press(-size);
      return Promise.resolve({ value: event, done: false });
    }
    if (this.#state === "failed") {
      this.#state = "done";
      return Promise.reject(this.#error);
    }
    if (!this.open) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** The reader leaves: like an abort, if it had not read the leg to its end (DESIGN §4). */
  return(): Promise<IteratorResult<TurnEvent>> {
    const left = this.open || this.#head < this.#events.length;
    this.end();
    this.#state = "left";
    this.#events.length = this.#head = 0;
    if (left) this.owner?.onAbandoned();
    return Promise.resolve({ value: undefined, done: true });
  }

  #press(size: number): void {
    this.#size += size;
    const high = this.#high ? this.#size > LOW : this.#size > HIGH;
    if (high === this.#high) return;
    this.#high = high;
    this.owner?.onPressure(high);
  }
}
