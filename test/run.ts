/**
 * Runs every *.test file here with uvu, and turns uvu's silent passes (a throwing hook, `throw null`, a forgotten
 * `suite.run()`, an empty suite, an open handle) into failures. With arguments, only files whose names hold one of them.
 */
import { readdir } from "node:fs/promises";

type Result = [errors: string | true, passed: number, skipped: number, total: number];
type Suite = () => Promise<Result>;
const uvu = globalThis as unknown as { UVU_DEFER: 1; UVU_INDEX: number; UVU_QUEUE: [name: string, ...suites: Suite[]][] };

const LIMIT_MS = Number(process.env["TEST_LIMIT_MS"] ?? 120_000);
const watchdog = setTimeout(() => fatal(`not done after ${LIMIT_MS} ms`), LIMIT_MS);
uvu.UVU_DEFER = 1; // Must be set before uvu is loaded: uvu then leaves exec() to us.
const { exec } = await import("uvu");

const here = new URL("./", import.meta.url);
const wanted = process.argv.slice(2);
const files = (await readdir(here))
  .filter((name) => /\.test\.[jt]s$/.test(name) && (wanted.length === 0 || wanted.some((word) => name.includes(word))))
  .sort();
const sum = { passed: 0, failed: 0, skipped: 0 };
for (const [index, file] of files.entries()) {
  uvu.UVU_INDEX = index;
  const group: [string, ...Suite[]] = [file];
  uvu.UVU_QUEUE[index] = group;
  await import(new URL(file, here).href);
  if (group.length === 1) fatal(`${file}: no suite.run()`);
  for (let i = 1; i < group.length; i++) {
    const run = group[i] as Suite;
    group[i] = async () => {
      const result = await run();
      const [errors, passed, skipped, total] = result;
      sum.passed += passed;
      sum.skipped += skipped;
      sum.failed += Math.max(total - passed, total === 0 ? 1 : 0);
      // A throwing hook, `throw null` and an empty suite all come back as `true`.
      if (errors === true && (passed < total || total === 0)) result[0] = `${file}: ${passed} of ${total} tests ran to an end`;
      return result;
    };
  }
}
await exec();
clearTimeout(watchdog);
console.log(`${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`);
if (sum.failed > 0 || sum.passed === 0 || (process.env["CI"] && sum.skipped > 0)) process.exitCode = 1;
setTimeout(() => fatal(`handles left open: ${process.getActiveResourcesInfo().join(", ")}`), 1000).unref();

function fatal(why: string): never {
  console.error(`test run: ${why}`);
  process.exit(1);
}
