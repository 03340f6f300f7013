/** What an embedder hands in may throw, reject, or never settle: a turn does not hang on it. */
import { aborted, CursorError } from "../session/errors.ts";

/** Calls the host's function, which may be an async one, and tells where it throws or rejects. */
export function guarded(call: () => unknown, onThrow: () => void): void {
  try {
    const result = call();
    if (result instanceof Promise) result.catch(onThrow);
  } catch {
    onThrow();
  }
}

/** `promise`, or the abort, whichever comes first. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(aborted());
    signal.addEventListener("abort", () => reject(aborted()), { once: true });
    promise.then(resolve, reject);
  });
}

/** `promise`, or an error after `ms`: whatever an embedder hands in, the turn does not hang on it. */
export function within<T>(ms: number, promise: Promise<T>, code: string, signal?: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const timeout = setTimeout(() => reject(new CursorError({ kind: "local", code, message: `A callback of the host did not settle within ${ms} ms.`, nextStep: "Check the provider's accessToken and handles." })), ms);
    // An abort settles the leg elsewhere; the timer must not keep the process alive after it.
    signal?.addEventListener("abort", () => clearTimeout(timeout), { once: true });
    promise.then(resolve, reject).finally(() => clearTimeout(timeout));
  });
}
