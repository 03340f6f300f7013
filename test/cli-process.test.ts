/** The built command as a process: exit codes, pipes, signals (DESIGN §5). */
import { once } from "node:events";
import { closeSync, constants, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { root } from "../fixtures/load.ts";
import { startLoopback } from "../lib/loopback/index.ts";
import { encodeEnvelope } from "../wire/index.ts";
import { bytes } from "./check.ts";
import { cleanEnv, ended, MAIN, spawned, start, type Ran } from "./cli-spawn.ts";
import { covered } from "./covered.ts";
import { inFolder } from "./folder.ts";

const test = suite("cli process");

const HI = "0a060a040a026869";

const SCRIPT = fileURLToPath(new URL("fixtures/captures/text.script.json", root));
const CAPTURE = fileURLToPath(new URL("fixtures/captures/text.jsonl", root));

const EXITS: [name: string, line: string[], code: number, stdout: RegExp, stderr: RegExp][] = [
  ["done is 0, and a pipe has no colours", ["inspect", "--hex", HI], 0, /^[^\u001b]*textDelta[^\u001b]*$/, /^$/],
  ["failed is 1", ["inspect", "/no/such/file"], 1, /^$/, /^error local file_unreadable: .*\nnext step: /],
  ["no token is 1", ["run", "hi"], 1, /^$/, /^error auth no_access_token/],
  ["an unknown verb is 2", ["rnu"], 2, /^$/, /did you mean run\?/],
  ["a turn is 0, and the process ends by itself", ["run", `--loopback=${SCRIPT}`, "hi"], 0, /Hello! Grüße/, /^$/],
];
for (const [name, line, code, stdout, stderr] of EXITS)
  test(name, async () => {
    const ran = await spawned(line, { env: { TERM: "xterm-256color" } });
    assert.is(ran.code, code, ran.stderr);
    assert.match(ran.stdout, stdout);
    assert.match(ran.stderr, stderr);
  });

test("stdout and stderr in one file stand in the order in which they were written", () =>
  inFolder(async (folder) => {
    const file = join(folder, "both");
    const [to, drift] = [openSync(file, "w"), fileURLToPath(new URL("fixtures/captures/drift.jsonl", root))];
    await once(spawn(process.execPath, [MAIN, "replay", CAPTURE, drift, "/no/such/file"], { env: cleanEnv(), stdio: ["ignore", to, to] }), "exit");
    closeSync(to);
    const order = readFileSync(file, "utf8").match(/^\S*(?:text|drift)\.jsonl|^drift: |^error/gm)!.map((line) => basename(line));
    assert.equal(order, ["text.jsonl", "drift.jsonl", "drift: ", "drift: ", "drift: ", "error"]);
  }));

test("a reader that leaves ends it quietly", async () => {
  const child = start(["inspect"]);
  child.stdin!.on("error", () => {});
  const many = encodeEnvelope(0, bytes(HI));
  child.stdin!.write(Buffer.concat(Array.from({ length: 10_000 }, () => many)));
  await once(child.stdout!, "data");
  child.stdout!.destroy();
  let stderr = "";
  child.stderr!.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "exit")) as [number];
  assert.is(stderr, "");
  assert.is(code, 0);
});

test("a long output into a slow pipe comes whole", async () => {
  const frames = 4000;
  const ran = await spawned(["inspect", "--json"], { input: Buffer.concat(Array.from({ length: frames }, () => encodeEnvelope(0, bytes(HI)))) });
  assert.is(ran.code, 0);
  assert.is(ran.stdout.split("\n").length, frames + 1);
});

test("a reader that leaves a turn ends it in order, with 0", () =>
  inFolder(async (folder) => {
    const script = join(folder, "script.json");
    writeFileSync(script, JSON.stringify([{ text: "on and on ".repeat(1000), chunks: "words", everyMs: 10 }]));
    const capture = join(folder, "run.jsonl");
    const child = start(["run", `--loopback=${script}`, "--record", capture, "hi"], covered());
    const result = within(ended(child), child);
    await said(child, "on");
    child.stdout!.destroy();
    const ran = await result;
    assert.is(ran.code, 0);
    assert.is(ran.stderr, `recorded: ${capture}\n`);
  }));

if (existsSync("/dev/full"))
  test("output that cannot be written is said once", async () => {
    const full = openSync("/dev/full", "w");
    try {
      const child = spawn(process.execPath, [MAIN, "run", "--loopback", "hi"], { env: cleanEnv({ PI_CURSOR_TOKEN: "any", ...covered() }), stdio: ["ignore", full, "pipe"] });
      const ran = await within(ended(child), child);
      assert.is(ran.code, 1);
      assert.is(ran.stderr, "error local output_unwritable: cannot write to stdout: no space left\nnext step: Free some space.\n");
    } finally {
      closeSync(full);
    }
  });

for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const)
  test(`${signal} during a turn ends it soon, with ${code}`, () =>
    inFolder(async (folder) => {
      const file = join(folder, "script.json");
      writeFileSync(file, JSON.stringify([{ text: "I begin" }, { hang: true }]));
      // All three take the same lines, and coverage costs a third of the start.
      await interrupted(start(["run", `--loopback=${file}`, "hi"], signal === "SIGINT" ? covered() : {}), "I begin", signal, code);
    }));

for (const times of [1, 2])
  test(`SIGTERM leaves no folder of the probe's, sent ${times} times`, () =>
    inFolder(async (folder) => {
      const host = await startLoopback({ script: [{ hang: true }] });
      try {
        const child = start(["probe", "native", "--inproc", "--origin", host.origin], { TMPDIR: folder });
        const result = within(ended(child), child);
        await host.run(0);
        assert.is(readdirSync(folder).length, 1);
        for (let sent = 0; sent < times; sent++) child.kill("SIGTERM");
        assert.is((await result).code, 143);
        assert.equal(readdirSync(folder), []);
      } finally {
        await host.close();
      }
    }));

test("SIGINT ends serve with 130", async () => {
  const child = start(["serve"]);
  const result = ended(child);
  await said(child, "listening on");
  child.kill("SIGINT");
  assert.is((await result).code, 130);
});

for (const [verb, words] of [["inspect", "turnEnded"], ["replay", "Hello!"]] as const)
  test(`SIGINT ends the wait of ${verb} for stdin at once, with one line`, async () => {
    // The capture before it says when stdin is reached.
    await interrupted(start([verb, CAPTURE, "-"]), words);
  });

test("a second SIGINT ends what waits for stdin, too", async () => {
  const child = start(["inspect"], covered());
  child.stdin!.write(encodeEnvelope(0, bytes(HI)));
  const closed = once(child, "close") as Promise<[code: number | null, signal: string | null]>;
  await said(child, "textDelta");
  child.kill("SIGINT");
  child.kill("SIGINT");
  const [code, signal] = await closed;
  // By the signal itself where the second came when the first had ended it so far that Node no longer listened.
  assert.ok(code === 130 || signal === "SIGINT", `${code} ${signal}`);
});

test("a refused stdin is not waited for to its end", async () => {
  const child = start(["inspect"]);
  child.stdin!.write(bytes("00ffffffff08"));
  const ran = await within(ended(child), child);
  assert.is(ran.code, 1);
  assert.match(ran.stderr, "envelope_length: stdin");
});

if (process.platform !== "win32") {
  test("run in a folder that has been removed says what to do", () =>
    inFolder(async (folder) => {
      const child = spawn("sh", ["-c", 'cd "$1"; rmdir "$1"; exec "$2" "$3" run --loopback hi', "sh", folder, process.execPath, MAIN], { env: cleanEnv() });
      const ran = await within(ended(child), child);
      assert.is(ran.code, 1);
      assert.match(ran.stderr, /^error local no_working_directory: .*\nnext step: Change to a folder that exists\.\n$/);
    }));

  test("SIGINT ends the wait for a FIFO that nobody writes to, at once", () =>
    withFifo(async (fifo) => {
      await interrupted(start(["inspect", CAPTURE, fifo]), "turnEnded");
    }));

  for (const [verb, ...rest] of [["run", "hi"], ["serve"]] as const)
    test(`SIGINT ends the wait of ${verb} for a FIFO whose writer says nothing, at once`, () =>
      withFifo(async (fifo) => {
        const child = start([verb, verb === "run" ? `--loopback=${fifo}` : fifo, ...rest]);
        const writer = await opened(fifo);
        try {
          await interrupted(child);
        } finally {
          closeSync(writer);
        }
      }));

  test("a FIFO is read to its end", () =>
    withFifo(async (fifo) => {
      const result = ended(start(["inspect", fifo]));
      await writeFile(fifo, bytes(HI));
      const ran = await result;
      assert.is(ran.code, 0, ran.stderr);
      assert.match(ran.stdout, "textDelta");
    }));

  test("a recording goes into no FIFO, before anything is sent", () =>
    withFifo(async (fifo) => {
      const child = start(["run", "--loopback", "--record", fifo, "hi"]);
      const ran = await within(ended(child), child);
      assert.is(ran.code, 1);
      assert.is(ran.stdout, "");
      assert.match(ran.stderr, /^error local file_unwritable: .*it is a pipe\nnext step: Name a file/);
    }));
}

test.run();

/** Waits until the program has written `words` to stdout. */
async function said(child: ChildProcess, words: string): Promise<void> {
  let text = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes(words)) resolve();
    });
    child.once("close", () => reject(new Error(`ended without saying ${words}: ${text}`)));
  });
}

/** Sends a signal once the program has written `words`, or at once, and sees that it ends soon with one line. */
async function interrupted(child: ChildProcess, words?: string, signal: NodeJS.Signals = "SIGINT", code = 130): Promise<void> {
  const result = ended(child);
  if (words !== undefined) await said(child, words);
  const sent = performance.now();
  child.kill(signal);
  const ran = await within(result, child);
  assert.is(ran.code, code);
  assert.is(ran.stderr, "interrupted\n");
  assert.ok(performance.now() - sent < 1900, "before its patience is over");
}

/** What `result` comes to; a program that does not end is ended after ten seconds. */
async function within(result: Promise<Ran>, child: ChildProcess): Promise<Ran> {
  const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
  try {
    return await result;
  } finally {
    clearTimeout(timer);
  }
}

function withFifo(work: (fifo: string) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    const fifo = join(folder, "fifo");
    execFileSync("mkfifo", [fifo]);
    await work(fifo);
  });
}

/** Opens a FIFO for writing as soon as somebody reads it. */
async function opened(fifo: string): Promise<number> {
  for (;;) {
    try {
      return openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENXIO") throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
