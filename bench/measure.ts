import type { Case } from "./case.ts";

/** What was measured of a case. */
export interface Measured {
  readonly case: string;
  readonly unit: string;
  readonly bytes: number;
  /** Nanoseconds of one call: the median of the rounds. */
  readonly ns: number;
  readonly megabytesPerSecond: number;
  /** The baselines by name, each with its own nanoseconds and how many times as long it takes. */
  readonly baselines: Readonly<Record<string, { readonly ns: number; readonly ratio: number }>>;
}

/** How long one round of one contender goes on. */
const ROUND_NS = 15e6;
const WARM_NS = 60e6;

/** Keeps what the calls give, so that none can be left out. */
let sink = 0;

/**
 * Measures a case and its baselines in interleaved rounds, each in another order.
 * @param rounds an odd number has a middle
 */
export function measure(item: Case, rounds: number, alone = false): Measured {
  const contenders = [item.run, ...(alone ? [] : Object.values(item.baselines))].map((run) => ({ run, ns: [] as number[] }));
  // As many calls for each, so that each leaves as much garbage.
  const count = Math.min(...contenders.map(({ run }) => warm(run)));
  for (let round = 0; round < rounds; round++)
    for (let index = 0; index < contenders.length; index++) {
      const { run, ns } = contenders[(index + round) % contenders.length]!;
      ns.push(time(run, count));
    }
  const [ns, ...others] = contenders.map((contender) => median(contender.ns));
  const baselines = Object.fromEntries(others.map((other, index) => [Object.keys(item.baselines)[index]!, { ns: rounded(other), ratio: rounded(other / ns!) }]));
  return { case: item.name, unit: item.unit, bytes: Math.round(item.bytes), ns: rounded(ns!), megabytesPerSecond: rounded((item.bytes / ns!) * 1000), baselines };
}

/** Runs until the compiler has seen enough; how many calls fill a round. */
function warm(run: () => number): number {
  let count = 1;
  for (let spent = 0; ; ) {
    const ns = time(run, count);
    spent += ns * count;
    if (spent > WARM_NS) return Math.max(1, Math.round(ROUND_NS / ns));
    if (ns * count < ROUND_NS / 4) count *= 2;
  }
}

/** Nanoseconds of one call, of `count` calls in a row. */
function time(run: () => number, count: number): number {
  const from = process.hrtime.bigint();
  for (let index = 0; index < count; index++) sink += run();
  return Number(process.hrtime.bigint() - from) / count;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

/** What the calls gave, in one number: print it, and nothing was in vain. */
export function observed(): number {
  return sink % 1000;
}
