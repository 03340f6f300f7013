import type { PiAssistantMessage, PiEvent, PiStream } from "./pi.ts";

/**
 * The stream that answers one of Pi's calls. Pushing never waits for a reader; the first `done` or `error` ends it, and
 * what is pushed after that is dropped, so there is exactly one end. What is unread has no bound: Pi 1 moves all of it
 * into a queue of its own at once, Pi 0.73 asks for the result alone where it compacts, and the message that both keep
 * grows by the same deltas.
 */
export class EventStream implements PiStream {
  readonly #events: PiEvent[] = [];
  /** Where the unread ones begin. */
  #head = 0;
  readonly #result: Promise<PiAssistantMessage>;
  #resolve!: (message: PiAssistantMessage) => void;
  #over = false;
  /** Wakes the readers that wait for the next event. */
  #wake: (() => void)[] = [];

  constructor() {
    this.#result = new Promise((resolve) => (this.#resolve = resolve));
  }

  /** Whether it has ended. */
  get over(): boolean {
    return this.#over;
  }

  push(event: PiEvent): void {
    if (this.#over) return;
    this.#events.push(event);
    if (event.type === "done" || event.type === "error") {
      this.#over = true;
      this.#resolve(event.type === "done" ? event.message : event.error);
    }
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** The final message. Never rejects. */
  result(): Promise<PiAssistantMessage> {
    return this.#result;
  }

  /** The events from the next unread one on: each is read once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<PiEvent, void, undefined> {
    for (;;) {
      if (this.#head < this.#events.length) yield this.#take();
      else if (this.#over) return;
      else await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** The next unread event. The read ones are let go in bulk: `shift` would move all the others each time. */
  #take(): PiEvent {
    const event = this.#events[this.#head++]!;
    if (this.#head > 1024 || this.#head === this.#events.length) {
      this.#events.splice(0, this.#head);
      this.#head = 0;
    }
    return event;
  }
}
