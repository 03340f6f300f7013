/** The work that waits, by key. */
const queues = new Map<string, Promise<unknown>>();

/** Does the works of one key one after the other, in the order of the calls, whether or not they fail. */
export function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const turn = (queues.get(key) ?? Promise.resolve()).then(work);
  const settled = turn.catch(() => {}).then(() => {
    if (queues.get(key) === settled) queues.delete(key);
  });
  queues.set(key, settled);
  return turn;
}

/** Works that {@link each} does at a time. */
const AT_ONCE = 8;

/** Does `work` for each item, several at a time. Throws the first error, when nothing is running any more. */
export async function each<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items].values();
  const errors: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (const item of left) {
      if (errors.length > 0) return;
      await work(item).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (errors.length > 0) throw errors[0];
}
