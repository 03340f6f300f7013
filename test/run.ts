/**
 * Runs every *.test file here with uvu, in a few processes, and turns uvu's silent passes (a throwing hook, `throw null`,
 * a forgotten `suite.run()`, an empty suite, an open handle) into failures. With arguments, only files whose names hold
 * one of them. Most tests wait for sockets and clocks, so more processes than cores pay. With --coverage it leaves out the
 * lasting ones and ends in the coverage bars, as coverage-*.json set them; they need a build with --sourceMap.
 */
import { fork, spawn, type ChildProcess } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

type Result = [errors: string | true, passed: number, skipped: number, total: number];
type Suite = () => Promise<Result>;
interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const WORKERS = 4;
const FILE_LIMIT_MS = Number(process.env["TEST_LIMIT_MS"] ?? 90_000);
/** So many failed files are run once more. */
const ALONE = 3;
/** Files that take seconds start first, so that none is left alone at the end. */
const SLOW = ["endure", "natives", "driver-faults", "provider", "cli-process", "handle", "pi-account", "embedding", "cli-", "pi-", "loopback", "session-", "scenarios", "prompt", "wire-malformed", "images", "account", "wire-utf8", "native-command"];

/** Thousands of turns cover nothing that one does not: they are no part of a run that counts. */
const LASTING = "endure-";

const here = new URL("./", import.meta.url);
/** A build that is not cleaned first may hold what has no source any more. */
const sources = new URL("../../test/", import.meta.url);
const self = fileURLToPath(import.meta.url);

const { values, positionals } = parseArgs({ options: { worker: { type: "boolean" }, coverage: { type: "boolean" } }, allowPositionals: true });
if (values.worker) await work();
else if (values.coverage) await covered(positionals);
else await lead(positionals);

async function covered(wanted: readonly string[]): Promise<void> {
  const folder = fileURLToPath(new URL("../../coverage/tmp", import.meta.url));
  await rm(folder, { recursive: true, force: true });
  process.env["NODE_V8_COVERAGE"] = folder;
  await lead(wanted, LASTING);
  delete process.env["NODE_V8_COVERAGE"];
  if (process.exitCode) return;
  const reports = await Promise.all(["core", "rest"].map((part) => report(`test/coverage-${part}.json`)));
  for (const { output, code } of reports) {
    console.log(output);
    process.exitCode ||= code;
  }
}

async function report(config: string): Promise<{ output: string; code: number }> {
  const c8 = createRequire(import.meta.url).resolve("c8/bin/c8.js");
  const child = spawn(process.execPath, [c8, "report", "--config", config], { cwd: fileURLToPath(new URL("../../", import.meta.url)) });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const code = await new Promise<number>((resolve) => child.on("close", (ended) => resolve(ended ?? 1)));
  return { output: `${config}${output}`, code };
}

async function lead(wanted: readonly string[], without?: string): Promise<void> {
  const files = (await readdir(sources)).filter((name) => name.endsWith(".test.ts") && !(without && name.startsWith(without)) && (wanted.length === 0 || wanted.some((word) => name.includes(word)))).sort();
  if (files.length === 0) console.error(`test run: no test file is called ${wanted.join(" or ")}`);
  const rank = (file: string): number => (SLOW.findIndex((word) => file.startsWith(word)) + 1 || SLOW.length + 1);
  const queue = files.sort((a, b) => rank(a) - rank(b)).values();
  const counts = new Map<string, Counts>();
  await Promise.all(Array.from({ length: Math.min(WORKERS, files.length) }, () => worker(queue, counts)));
  const failed = [...counts].filter(([, { failed }]) => failed > 0).map(([file]) => file);
  // Tests of clocks must not fail for their neighbours' load: what failed beside others counts as it does alone.
  if (failed.length <= ALONE)
    for (const file of failed) {
      console.error(`test run: ${file} failed beside others and is run once more, alone`);
      await worker([file].values(), counts);
    }
  const sum = (name: keyof Counts): number => [...counts.values()].reduce((total, one) => total + one[name], 0);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`);
  if (sum("failed") > 0 || sum("passed") === 0 || (process.env["CI"] && sum("skipped") > 0)) process.exitCode = 1;
}

/** One process, fed with files until there are none; whatever goes wrong in it counts as a failure. */
async function worker(queue: Iterator<string>, counts: Map<string, Counts>): Promise<void> {
  const child = fork(self, ["--worker"]);
  const own: string[] = [];
  let file = "";
  let limit: NodeJS.Timeout | undefined;
  const next = (): void => {
    clearTimeout(limit);
    const { value, done } = queue.next();
    if (done) child.disconnect();
    else {
      file = value;
      own.push(file);
      // Until it says otherwise.
      counts.set(file, { passed: 0, failed: 1, skipped: 0 });
      limit = setTimeout(() => stop(child, `${file}: not done after ${FILE_LIMIT_MS} ms`), FILE_LIMIT_MS);
      child.send(file);
    }
  };
  child.on("message", ({ output, ...result }: Counts & { output: string }) => {
    process.stdout.write(output);
    counts.set(file, result);
    next();
  });
  next();
  const code = await new Promise<number | null>((resolve) => child.on("exit", resolve));
  clearTimeout(limit);
  // A test that failed may have left something open: that is no second failure.
  if (code === 0 || own.some((name) => counts.get(name)!.failed > 0)) return;
  counts.get(file)!.failed += 1;
  console.error(`test run: the process that ran ${file} last ended with ${code}`);
}

function stop(child: ChildProcess, why: string): void {
  console.error(`test run: ${why}`);
  child.kill("SIGKILL");
}

async function work(): Promise<void> {
  // Programs that tests start are mostly the same lines again: reading their coverage takes longer than running them.
  const { NODE_V8_COVERAGE: coverage } = process.env;
  delete process.env["NODE_V8_COVERAGE"];
  if (coverage !== undefined) process.env["TEST_COVERAGE"] = coverage;
  const uvu = globalThis as unknown as { UVU_DEFER: 1; UVU_INDEX: number; UVU_QUEUE: [name: string, ...suites: Suite[]][] };
  uvu.UVU_DEFER = 1; // Must be set before uvu is loaded: uvu then leaves exec() to us.
  const { exec } = await import("uvu");
  let ran = "";
  process.on("message", (file: string) => {
    ran = file;
    void run(file);
  });
  process.on("disconnect", () => {
    setTimeout(() => {
      console.error(`test run: handles left open, by ${ran} or a file before it: ${process.getActiveResourcesInfo().join(", ")}`);
      process.exit(1);
    }, 1500).unref();
  });

  async function run(file: string): Promise<void> {
    let output = `\n${file}\n`;
    const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = (chunk: string | Uint8Array): boolean => {
      output += String(chunk);
      return true;
    };
    const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
    const group: [string, ...Suite[]] = [file];
    uvu.UVU_QUEUE.length = 0;
    uvu.UVU_INDEX = 0;
    uvu.UVU_QUEUE[0] = group;
    await import(new URL(file.replace(/ts$/, "js"), here).href);
    if (group.length === 1) {
      counts.failed += 1;
      output += `${file}: no suite.run()\n`;
    }
    for (let index = 1; index < group.length; index++) group[index] = counted(group[index] as Suite, file, counts);
    await exec();
    process.stdout.write = write;
    // uvu sets it; the counts say the same.
    process.exitCode = 0;
    process.send!({ output, ...counts });
  }
}

function counted(suite: Suite, file: string, counts: Counts): Suite {
  return async () => {
    const result = await suite();
    const [errors, passed, skipped, total] = result;
    counts.passed += passed;
    counts.skipped += skipped;
    counts.failed += Math.max(total - passed, total === 0 ? 1 : 0);
    // A throwing hook, `throw null` and an empty suite all come back as `true`.
    if (errors === true && (passed < total || total === 0)) result[0] = `${file}: ${passed} of ${total} tests ran to an end`;
    return result;
  };
}
