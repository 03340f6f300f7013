/** The assertions and functions that uvu lacks. Compare bytes as hex: uvu's diff of bytes is one line an index. */

/** Bytes as lower-case hex. */
export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

/**
 * The bytes of hex; blanks are ignored.
 * @throws Error where it is no hex
 */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  const digits = text.replaceAll(/\s/g, "");
  if (!/^([0-9a-f]{2})*$/i.test(digits)) throw new Error(`no hex: ${text}`);
  return new Uint8Array(Buffer.from(digits, "hex"));
}

/**
 * Waits for `work` to reject and returns what it rejected with.
 * @throws Error where it resolves
 */
export async function rejects(work: Promise<unknown> | (() => Promise<unknown>)): Promise<unknown> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    return error;
  }
  throw new Error("expected a rejection");
}

/**
 * Ways to cut bytes into chunks: whole, byte by byte, in two at every place (at 64 places where there are more), and
 * in threes with an empty chunk between. Each way joins to the same bytes.
 */
export function* chunkings(whole: Uint8Array): Generator<Uint8Array[]> {
  yield [whole];
  yield Array.from(whole, (_, index) => whole.subarray(index, index + 1));
  const step = Math.max(1, Math.ceil(whole.length / 64));
  for (let at = 1; at < whole.length; at += step) yield [whole.subarray(0, at), whole.subarray(at)];
  const threes: Uint8Array[] = [];
  for (let at = 0; at < whole.length; at += 3) threes.push(whole.subarray(at, at + 3), whole.subarray(0, 0));
  yield threes;
}
