/** The programs that the documents show compile as strictly as the project does, against what a host imports, and run. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readText, root } from "../fixtures/load.ts";
import { createProvider, type CapturedFrame } from "../lib/index.ts";
import { startLoopback } from "../lib/loopback/index.ts";
import { cleanEnv, cli, ended } from "./cli-spawn.ts";

const test = suite("embedding");

const TSC = createRequire(import.meta.url).resolve("typescript/package.json").replace("package.json", "bin/tsc");
const DOUBLES = [{ announce: 1 }, { text: "Let me see. " }, { mcp: { tool: "double", args: { n: 21 } } }, { awaitResults: true }, { textFrom: "results", template: "It is {double}." }, { turnEnded: true }, { end: true }] as const;

test("the programs of the documents compile and run", () =>
  withPrograms(async (folder) => {
    await runsReadme(folder);
    await recordsRuns(folder);
    await testsAlone(folder);
    await readsFrames(folder);
  }));

test.run();

/** README.md's program, which has at most 25 lines. */
async function runsReadme(folder: string): Promise<void> {
  const [program] = samplesOf("README.md");
  assert.ok(program!.trimEnd().split("\n").length <= 25);
  const host = await startLoopback({ token: "synthetic-token", script: [...DOUBLES] });
  try {
    const env = cleanEnv({ PI_CURSOR_TOKEN: "synthetic-token", CURSOR_PROVIDER_AGENT_ORIGIN: host.origin });
    const ran = await ended(spawn(process.execPath, [join(folder, "program.js")], { env, cwd: folder }));
    assert.equal(ran, { code: 0, stdout: "Let me see. It is 42.", stderr: "" });
    assert.equal(host.received.flatMap(({ violations }) => violations), []);
  } finally {
    await host.close();
  }
}

/** lib/README.md's recorder, whose captures can be replayed, one a Run. */
async function recordsRuns(folder: string): Promise<void> {
  const { recorder } = (await import(pathToFileURL(join(folder, "recorder.js")).href)) as { recorder(name: string): (frame: CapturedFrame) => void };
  const host = await startLoopback({ script: [{ text: "Hello." }, { turnEnded: true }, { end: true }] });
  const provider = createProvider({ accessToken: "synthetic-token", origin: host.origin, env: {}, handles: null, onFrame: recorder(join(folder, "run")) });
  try {
    for (let run = 0; run < 2; run++) for await (const _ of provider.stream({ model: { id: "composer-2.5" }, messages: [{ role: "user", content: "Hi." }], tools: [] }));
    const files = readdirSync(folder).filter((file) => file.endsWith(".jsonl"));
    assert.equal(files, ["run.1.jsonl", "run.2.jsonl"]);
    const { code, stderr } = await cli(["replay", "--check", ...files.map((file) => join(folder, file))]);
    assert.equal({ code, stderr }, { code: 0, stderr: "" });
  } finally {
    await provider.close();
    await host.close();
  }
}

/** lib/README.md's turn against a host of its own. */
async function testsAlone(folder: string): Promise<void> {
  const ran = await ended(spawn(process.execPath, [join(folder, "tester.js")], { env: cleanEnv(), cwd: folder }));
  assert.equal(ran, { code: 0, stdout: "text usage done []\n", stderr: "" });
}

/** lib/README.md's reader of captures. */
async function readsFrames(folder: string): Promise<void> {
  const capture = fileURLToPath(new URL("fixtures/captures/text.jsonl", root));
  const { code, stdout, stderr } = await ended(spawn(process.execPath, [join(folder, "reader.js"), capture], { env: cleanEnv(), cwd: folder }));
  assert.equal({ code, stderr }, { code: 0, stderr: "" });
  assert.match(stdout, /^Hello!/m);
  assert.match(stdout, /^turnEnded$/m);
}

/** The TypeScript programs that a document shows. */
function samplesOf(document: string): string[] {
  return Array.from(readText(document).matchAll(/^```ts\n([^]*?)^```$/gm), ([, found]) => found!);
}

/** Runs `work` beside the compiled programs, in a folder into which this package is installed. */
async function withPrograms(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "embedding-"));
  try {
    mkdirSync(join(folder, "node_modules"));
    for (const name of ["cursor-wire", "@types"]) symlinkSync(fileURLToPath(new URL(name === "@types" ? "node_modules/@types" : ".", root)), join(folder, "node_modules", name));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    for (const [document, names] of Object.entries({ "README.md": ["program"], "lib/README.md": ["recorder", "tester", "reader"] })) {
      const samples = samplesOf(document);
      assert.is(samples.length, names.length);
      for (const [index, name] of names.entries()) writeFileSync(join(folder, `${name}.ts`), samples[index]!);
    }
    const { compilerOptions: ours } = JSON.parse(readText("tsconfig.json")) as { compilerOptions: object };
    const compilerOptions = { ...ours, rootDir: null, outDir: null, incremental: false, tsBuildInfoFile: null, skipLibCheck: true };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    const compiled = await ended(spawn(process.execPath, [TSC, "-p", folder]));
    assert.equal(compiled, { code: 0, stdout: "", stderr: "" });
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
