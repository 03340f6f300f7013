/** Measures: `npm run bench [-- CASE…]`. See README.md. */
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import type { Case } from "./case.ts";
import { CODEC } from "./codec.ts";
import { latency } from "./latency.ts";
import { SESSION } from "./session.ts";
import { measure, observed, type Measured } from "./measure.ts";

/** Every case, in the order in which they run. A new file of cases is one more line. */
const CASES: readonly Case[] = [...CODEC, ...SESSION];

const HELP = `usage: npm run bench [-- CASE… [--json] [--alone] [--rounds N]]

Measures the cases whose names contain one of the words, or all of them.

  --json      one JSON object a line: the machine, then a line for each case
  --alone     without the baselines, for a profiler
  --rounds N  interleaved rounds to take the median of; default 15

cases: ${CASES.map(({ name }) => name).join(" ")} latency`;

const OPTIONS = { json: { type: "boolean" }, alone: { type: "boolean" }, rounds: { type: "string", default: "15" }, help: { type: "boolean", short: "h" } } as const;

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  let options: ReturnType<typeof parse>;
  try {
    options = parse(args);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  const { values, positionals } = options;
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const rounds = Number(values.rounds);
  const chosen = CASES.filter(({ name }) => positionals.length === 0 || positionals.some((word) => name.includes(word)));
  const timed = positionals.length === 0 || positionals.some((word) => "latency".includes(word));
  if ((chosen.length === 0 && !timed) || !Number.isSafeInteger(rounds) || rounds < 1) {
    console.error(chosen.length === 0 && !timed ? `no case is called ${positionals.join(" or ")}\n\n${HELP}` : `--rounds takes a whole number from 1, not ${values.rounds}`);
    return 2;
  }
  const machine = { node: process.version, platform: `${process.platform}-${process.arch}`, cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length, rounds };
  console.log(values.json ? JSON.stringify(machine) : `node ${machine.node}, ${machine.platform}, ${machine.cores} × ${machine.cpu}, median of ${rounds} rounds`);
  for (const item of chosen) {
    const measured = measure(item, rounds, values.alone);
    console.log(values.json ? JSON.stringify(measured) : line(measured));
  }
  if (timed) {
    const measured = await latency();
    const { deltas, median, p99 } = measured;
    console.log(values.json ? JSON.stringify(measured) : `latency           ${median.toFixed(2)} ms from the host's frame to Pi's event, median of ${deltas}; 99 % within ${p99.toFixed(2)} ms`);
  }
  if (!values.json) console.log(`(${observed()})`);
  return 0;
}

function parse(args: string[]) {
  return parseArgs({ args, options: OPTIONS, allowPositionals: true });
}

function line({ case: name, unit, ns, megabytesPerSecond, baselines }: Measured): string {
  const others = Object.entries(baselines).map(([other, { ns, ratio }]) => `${other} ${duration(ns)} ×${ratio.toFixed(2)}`);
  return `${name.padEnd(18)}${duration(ns).padStart(9)}/${unit.padEnd(8)}${megabytesPerSecond.toFixed(0).padStart(9)} MB/s  ${others.join(" · ")}`.trimEnd();
}

function duration(ns: number): string {
  return ns < 1e4 ? `${ns.toFixed(ns < 100 ? 1 : 0)} ns` : ns < 1e7 ? `${(ns / 1e3).toFixed(1)} us` : `${(ns / 1e6).toFixed(1)} ms`;
}
