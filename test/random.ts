/** Numbers by chance that a seed repeats (mulberry32). */

/** A source of chance. */
export interface Random {
  /** A whole number from 0 up to, but not, `count`. */
  below(count: number): number;
  /** One of the items. */
  pick<T>(items: readonly T[]): T;
}

/** The source that `seed` starts. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number): number => Math.floor(next() * count);
  return { below, pick: (items) => items[below(items.length)]! };
}

/** How many times as much the random tests do as they do by default. */
export const FUZZ_TIMES = Number(process.env["FUZZ_TIMES"] ?? 1);
