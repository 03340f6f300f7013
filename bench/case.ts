/** One thing that is measured. */
export interface Case {
  /** What it is picked by on the command line. */
  readonly name: string;
  /** What one call of `run` works on, such as "frame". */
  readonly unit: string;
  /** Bytes of the wire that one call reads or writes: what MB/s is counted from. */
  readonly bytes: number;
  /** Does the work once and gives a number that depends on its result, so that no work is optimised away. */
  readonly run: () => number;
  /** Other ways to the same or a simpler end, by name: measured in turn with `run`, so that the ratios hold on a busy machine. */
  readonly baselines: Readonly<Record<string, () => number>>;
}
