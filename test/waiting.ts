/**
 * The ms that `work` waited: turns of the event loop 10 ms or more apart count 10 ms. Where others keep the machine
 * busy, time passes in few turns; only a wait for a clock is made of many. So a bound on it says what the code waits
 * for, and nothing of the machine.
 */
export async function waiting<T>(work: Promise<T> | (() => Promise<T>)): Promise<{ result: T; waited: number }> {
  let waited = 0;
  const ticks = setInterval(() => (waited += 10), 10);
  try {
    return { result: await (typeof work === "function" ? work() : work), waited };
  } finally {
    clearInterval(ticks);
  }
}
