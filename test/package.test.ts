/** What is published holds what its documents point at, and no file points at what is left out. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readJson, readText, root } from "../fixtures/load.ts";

const test = suite("package");
const { scripts, files } = readJson("package.json") as { scripts: Record<string, string>; files: string[] };

/** Whether npm packs a file: by its own rule, or as `files` says. */
function isPacked(path: string): boolean {
  const named = (entry: string): boolean => new RegExp(`^${entry.replaceAll(".", "\\.").replaceAll("*", "[^/]*")}(?:/|$)`).test(path);
  return existsSync(new URL(path, root)) && ["README.md", "LICENSE", "package.json", ...files].some(named);
}

const DOCUMENTS = ["README.md", "lib/README.md", "PROTOCOL.md", "CHANGELOG.md", "fixtures/scripts/README.md"];
for (const document of DOCUMENTS)
  test(`every link of ${document}, which is packed, leads to a file that is packed`, () => {
    assert.ok(isPacked(document));
    for (const [, target = ""] of readText(document).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)) assert.ok(isPacked(join(dirname(document), target)), target);
  });

test("the build that is packed names no source maps, which are left out", () => {
  const { compilerOptions } = readJson("tsconfig.json") as { compilerOptions: Record<string, unknown> };
  assert.ok(files.includes("!**/*.map"));
  assert.is(scripts["prepare"], "tsc");
  for (const option of ["sourceMap", "inlineSourceMap", "declarationMap"]) assert.is(compilerOptions[option], undefined);
});

test.run();
