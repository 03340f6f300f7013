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

test("README.md's program has at most 25 lines, compiles and runs", () =>
  withProgram(samples("README.md"), async (folder) => {
    assert.ok(samples("README.md")[0]!.trimEnd().split("\n").length <= 25);
    const host = await startLoopback({ token: "synthetic-token", script: [...DOUBLES] });
    try {
      const env = cleanEnv({ PI_CURSOR_TOKEN: "synthetic-token", CURSOR_PROVIDER_AGENT_ORIGIN: host.origin });
      const ran = await ended(spawn(process.execPath, [join(folder, "0.js")], { env, cwd: folder }));
      assert.equal(ran, { code: 0, stdout: "Let me see. It is 42.", stderr: "" });
      assert.equal(host.received.flatMap(({ violations }) => violations), []);
    } finally {
      await host.close();
    }
  }));

test("lib/README.md's recorder writes captures that can be replayed, one a Run", () =>
  withProgram(samples("lib/README.md"), async (folder) => {
    const { recorder } = (await import(pathToFileURL(join(folder, "0.js")).href)) as { recorder(name: string): (frame: CapturedFrame) => void };
    const name = join(folder, "run");
    const host = await startLoopback({ script: [{ text: "Hello." }, { turnEnded: true }, { end: true }] });
    const provider = createProvider({ accessToken: "synthetic-token", origin: host.origin, env: {}, handles: null, onFrame: recorder(name) });
    try {
      for (let run = 0; run < 2; run++) for await (const _ of provider.stream({ model: { id: "composer-2.5" }, messages: [{ role: "user", content: "Hi." }], tools: [] }));
      assert.equal(readdirSync(folder).filter((file) => file.endsWith(".jsonl")), ["run.1.jsonl", "run.2.jsonl"]);
      for (const file of ["run.1.jsonl", "run.2.jsonl"]) {
        const { code, stderr } = await cli(["replay", "--check", join(folder, file)]);
        assert.equal({ code, stderr }, { code: 0, stderr: "" });
      }
    } finally {
      await provider.close();
      await host.close();
    }
  }));

test.run();

/** The TypeScript that a document shows. */
function samples(document: string): string[] {
  return Array.from(readText(document).matchAll(/^```ts\n([^]*?)^```$/gm), ([, sample]) => sample!);
}

/** Runs `work` beside the compiled samples, `0.js` and so on, in a folder into which this package is installed. */
async function withProgram(sources: readonly string[], work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "embedding-"));
  try {
    mkdirSync(join(folder, "node_modules"));
    for (const name of ["cursor-wire", "@types"]) symlinkSync(fileURLToPath(new URL(name === "@types" ? "node_modules/@types" : ".", root)), join(folder, "node_modules", name));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    for (const [index, source] of sources.entries()) writeFileSync(join(folder, `${index}.ts`), source);
    const { compilerOptions: ours } = JSON.parse(readText("tsconfig.json")) as { compilerOptions: object };
    const compilerOptions = { ...ours, rootDir: null, outDir: null, incremental: false, tsBuildInfoFile: null };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    const compiled = await ended(spawn(process.execPath, [TSC, "-p", folder]));
    assert.equal(compiled, { code: 0, stdout: "", stderr: "" });
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
