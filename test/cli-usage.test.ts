/** What the command line accepts, and what it says about what it does not (DESIGN §5). */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { parseArguments } from "../lib/cli/arguments.ts";
import { UsageError } from "../lib/cli/failure.ts";
import { nearest } from "../lib/loopback/nearest.ts";
import type { Verb } from "../lib/cli/verb.ts";
import { VERBS } from "../lib/cli/verbs.ts";
import { readText } from "../fixtures/load.ts";
import { cli } from "./cli-spawn.ts";

const test = suite("cli usage");

const VERB: Verb = {
  name: "demo",
  operands: "A [B]",
  summary: "a verb for the tests",
  details: [],
  options: [
    { name: "flag", meaning: "" },
    { name: "text", value: "T", meaning: "" },
    { name: "maybe", value: "FILE", optional: true, meaning: "" },
  ],
  examples: [],
  count: { least: 1, most: 2 },
  load: () => Promise.reject(new Error("not here")),
};

const ACCEPTED: [line: string, positionals: string[], values: Record<string, string | undefined>][] = [
  ["a", ["a"], {}],
  ["a b --flag", ["a", "b"], { flag: undefined }],
  ["--flag a", ["a"], { flag: undefined }],
  ["--text x a", ["a"], { text: "x" }],
  ["--text=x a", ["a"], { text: "x" }],
  ["--text=-x a", ["a"], { text: "-x" }],
  ["--text - a", ["a"], { text: "-" }],
  ["--text 1 --text 2 a", ["a"], { text: "2" }],
  ["--maybe a", ["a"], { maybe: undefined }],
  ["--maybe=f a", ["a"], { maybe: "f" }],
  ["a --json", ["a"], { json: undefined }],
  ["-- --flag", ["--flag"], {}],
  ["--help", [], { help: undefined }],
  ["-h a b c", ["a", "b", "c"], { help: undefined }],
];
for (const [line, positionals, values] of ACCEPTED)
  test(`accepts: ${line}`, () => {
    const args = parseArguments(VERB, line.split(" "));
    assert.equal(args.positionals, positionals);
    for (const name of ["flag", "text", "maybe", "json", "help"]) {
      assert.is(args.has(name), name in values, name);
      assert.is(args.value(name), values[name], name);
    }
  });

const REFUSED: [line: string, message: string][] = [
  ["a --flagg", "there is no option --flagg; did you mean --flag?"],
  ["a --may", "there is no option --may; did you mean --maybe?"],
  ["a --zzz", "there is no option --zzz"],
  ["a -x", "there is no option -x"],
  ["a --flag=1", "--flag takes no value"],
  ["a --text", "--text needs a value: T"],
  ["a --text=", "--text needs a value: T"],
  ["a --maybe=", "--maybe needs a value: FILE"],
  ["a --text --flag", "--text needs a value: T (write --text=--flag if you mean that)"],
  ["--flag", "demo needs A [B]"],
  ["a b c", "demo takes A [B] only"],
];
for (const [line, message] of REFUSED)
  test(`refuses: ${line}`, () => {
    try {
      parseArguments(VERB, line.split(" "));
    } catch (error) {
      assert.instance(error, UsageError);
      assert.is((error as UsageError).message, message);
      assert.is((error as UsageError).verb, "demo");
      return;
    }
    assert.unreachable("accepted");
  });

test("a verb without arguments says so", () => {
  assert.throws(() => parseArguments({ ...VERB, count: { least: 0, most: 0 } }, ["a"]), /demo takes no arguments/);
});

const NEAR: [word: string, near: string | undefined][] = [
  ["rnu", "run"],
  ["replya", "replay"],
  ["inspct", "inspect"],
  ["insp", "inspect"],
  ["docter", "doctor"],
  ["probes", "probe"],
  ["banana", undefined],
  ["", undefined],
];
for (const [word, near] of NEAR)
  test(`nearest to "${word}" is ${near}`, () => {
    assert.is(nearest(word, VERBS.map(({ name }) => name)), near);
  });

test("a misspelt option in front of the verb is named with the nearest", async () => {
  assert.match((await cli(["--versoin"])).stderr, "there is no option --versoin; did you mean --version?");
  assert.match((await cli(["--orign=x", "run"])).stderr, "there is no option --orign=x; did you mean --origin?");
  assert.match((await cli(["--zzz"])).stderr, /there is no option --zzz$/m);
});

test("no verb is a usage error", async () => {
  const ran = await cli([]);
  assert.is(ran.code, 2);
  assert.is(ran.stdout, "");
  assert.match(ran.stderr, "no verb is given");
});

test("an unknown verb is a usage error with the nearest", async () => {
  const ran = await cli(["replya", "x"]);
  assert.is(ran.code, 2);
  assert.match(ran.stderr, "there is no verb replya; did you mean replay?");
});

test("an unknown option in front of the verb is a usage error", async () => {
  const ran = await cli(["--jsn"]);
  assert.is(ran.code, 2);
  assert.match(ran.stderr, "there is no option --jsn");
});

for (const option of ["--json", "--loopback", "--origin=x"])
  test(`${option} in front of the verb is told where it belongs`, async () => {
    const ran = await cli([option, "doctor"]);
    assert.is(ran.code, 2);
    assert.match(ran.stderr, `write ${option} behind the verb: cursor-wire VERB ${option}`);
  });

test("a usage error of a verb points to its help", async () => {
  const ran = await cli(["run", "--modle", "x", "hi"]);
  assert.is(ran.code, 2);
  assert.match(ran.stderr, "did you mean --model?");
  assert.match(ran.stderr, "Try: cursor-wire run --help");
});

test("control characters of the command line do not reach the terminal", async () => {
  const ran = await cli(["\u001b[2Jx\u009b"]);
  assert.not.match(ran.stderr, /[\u001b\u009b]/);
});

for (const word of ["--help", "-h", "help"])
  test(`${word} prints every verb`, async () => {
    const ran = await cli([word]);
    assert.is(ran.code, 0);
    assert.is(ran.stderr, "");
    for (const { name, summary } of VERBS) assert.ok(ran.stdout.includes(`  ${name.padEnd(8)} ${summary}`), name);
  });

for (const verb of VERBS)
  test(`${verb.name} --help explains its options`, async () => {
    const [ran, help] = [await cli([verb.name, "--help"]), await cli(["help", verb.name])];
    assert.is(ran.code, 0);
    assert.is(ran.stdout, help.stdout);
    assert.ok(ran.stdout.startsWith(`Usage: cursor-wire ${verb.name}`));
    for (const { name, meaning } of verb.options) {
      assert.ok(ran.stdout.includes(`--${name}`), name);
      assert.ok(ran.stdout.includes(meaning), name);
    }
    for (const line of ran.stdout.split("\n").slice(2)) assert.ok(line.length <= 130, line);
  });

for (const verb of VERBS)
  test(`${verb.name} can be loaded`, async () => {
    assert.type(await verb.load(), "function");
  });

for (const word of ["--version", "-v"])
  test(`${word} prints the package's version`, async () => {
    const ran = await cli([word]);
    assert.is(ran.code, 0);
    assert.is(ran.stdout, `${(JSON.parse(readText("package.json")) as { version: string }).version}\n`);
  });

test.run();
