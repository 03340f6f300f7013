/** What an embedder hands in may throw, reject, or never settle: a turn does not hang on it. */
import { aborted, localError, type CursorError } from "../session/errors.ts";

/** Calls the host's function, which may be an async one, and tells where it throws or rejects. */
export function guarded(call: () => unknown, onThrow: () => void): void {
  try {
    const result = call();
    // Not by its class: a promise may come from another realm.
    if (typeof (result as PromiseLike<unknown> | undefined | null)?.then === "function") Promise.resolve(result).catch(onThrow);
  } catch {
    onThrow();
  }
}

/**
 * Calls `then` at the abort of a host's signal, until the function that it returns is called.
 * @throws CursorError `invalid_request` where the signal throws
 */
export function whenAborted(signal: AbortSignal | undefined, then: () => void): () => void {
  try {
    signal?.addEventListener("abort", then, { once: true });
  } catch {
    throw localError("invalid_request", "The signal is no AbortSignal.", "Correct the request.");
  }
  return () => guarded(() => signal?.removeEventListener("abort", then), () => {});
}

/**
 * What `work` comes to, or the abort, whichever comes first; no listener stays.
 * @param failure makes the error of the abort
 */
export async function unlessAborted<T>(work: T | Promise<T>, signal: AbortSignal | undefined, failure: () => CursorError = aborted): Promise<T> {
  if (!(work instanceof Promise) || signal === undefined) return work;
  let onAbort: (() => void) | undefined;
  const stop = new Promise<never>((_, reject) => {
    onAbort = () => reject(failure());
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([stop, work]);
  } finally {
    signal.removeEventListener("abort", onAbort!);
  }
}

/**
 * What `call` comes to, or an error after `ms`. An abort settles nothing here: the leg is settled elsewhere, and the timer
 * must not keep the process alive after it.
 */
export function within<T>(ms: number, call: () => T | Promise<T>, code: string, signal?: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(localError(code, `A callback of the host did not settle within ${ms} ms.`, "Check the provider's accessToken and handles."));
    const timeout = signal?.aborted ? undefined : setTimeout(late, ms);
    signal?.addEventListener("abort", () => clearTimeout(timeout), { once: true });
    // In a promise: a function of JavaScript may as well throw, or give no promise.
    new Promise<T>((given) => given(call())).then(resolve, reject).finally(() => clearTimeout(timeout));
  });
}
