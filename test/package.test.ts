/** What is published holds what its documents point at, and no file points at what is left out. */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readJson, readText, root } from "../fixtures/load.ts";
import { cleanEnv, ended } from "./cli-spawn.ts";

const test = suite("package");

test("every link of a document that is packed leads to a file that is packed", async () => {
  const { code, stdout } = await ended(spawn("npm", ["pack", "--dry-run", "--json", "--ignore-scripts", "--offline"], { cwd: fileURLToPath(root), env: cleanEnv() }));
  assert.is(code, 0);
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const packed = new Set(files.map(({ path }) => path));
  const documents = [...packed].filter((path) => path.endsWith(".md"));
  for (const document of ["README.md", "lib/README.md", "PROTOCOL.md", "fixtures/scripts/README.md"]) assert.ok(packed.has(document), document);
  for (const document of documents)
    for (const [, target = ""] of readText(document).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)) assert.ok(packed.has(join(dirname(document), target)), `${document}: ${target}`);
});

test("the build that is packed names no source maps, which are left out", () => {
  const { scripts, files } = readJson("package.json") as { scripts: Record<string, string>; files: string[] };
  const { compilerOptions } = readJson("tsconfig.json") as { compilerOptions: Record<string, unknown> };
  assert.ok(files.includes("!**/*.map"));
  assert.is(scripts["prepare"], "tsc");
  for (const option of ["sourceMap", "inlineSourceMap", "declarationMap"]) assert.is(compilerOptions[option], undefined);
});

test.run();
