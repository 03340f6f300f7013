/**
 * Drives the real Pi, both lines, against the embedded host and checks what either side saw. Installs them into a
 * temporary folder, so it needs a network once; not part of `npm test`.
 *
 *     npm run e2e [-- WORD…]      only cases whose names hold one of the words; `1.6` and `0.73` choose a line
 *
 * Prints a line a case; exit code 1 where any failed.
 */
import { ACCOUNT_CASES } from "./account-cases.ts";
import type { Case } from "./case.ts";
import { EXTENSION_CASES } from "./extension-cases.ts";
import { FAULT_CASES } from "./fault-cases.ts";
import { installed, type Pi } from "./install.ts";
import { Scene } from "./scene.ts";
import { SESSION_CASES } from "./session-cases.ts";
import { TURN_CASES } from "./turn-cases.ts";

const CASES: readonly Case[] = [...TURN_CASES, ...SESSION_CASES, ...EXTENSION_CASES, ...FAULT_CASES, ...ACCOUNT_CASES];

const words = process.argv.slice(2);
const lines = (await installed()).filter(({ line }) => !words.some((word) => word === "1.6" || word === "0.73") || words.includes(line));
const wanted = words.filter((word) => word !== "1.6" && word !== "0.73");
const cases = CASES.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
const sum = { passed: 0, failed: 0 };
for (const pi of lines) {
  console.log(pi.name);
  for (const one of cases.filter(({ line = pi.line }) => line === pi.line)) {
    const start = Date.now();
    let error = await attempt(pi, one);
    const first = error;
    // Whole programs on a machine that others use: what fails once is tried once more, and says so.
    if (error !== undefined) error = await attempt(pi, one);
    const seconds = ((Date.now() - start) / 1000).toFixed(1);
    sum[error === undefined ? "passed" : "failed"]++;
    if (error !== undefined) console.log(`  FAILED  ${one.name}\n${indented(error)}`);
    else if (first !== undefined) console.log(`  passed  ${one.name}, at the second try (${seconds} s); at the first:\n${indented(first)}`);
    else console.log(`  passed  ${one.name} (${seconds} s)`);
  }
}
console.log(`${sum.passed} passed, ${sum.failed} failed`);
if (sum.failed > 0 || sum.passed === 0) process.exitCode = 1;

/** Runs a case; what went wrong, if anything did. */
async function attempt(pi: Pi, one: Case): Promise<string | undefined> {
  const scene = await Scene.open(pi, one.setting);
  try {
    await one.check(scene);
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    await scene.close();
  }
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "          ");
}
