/** Imports go down only, and the lower folders are pure. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { filesBelow, list, readText } from "../fixtures/load.ts";

interface Layer {
  /** The folders it may import besides itself. */
  readonly folders: readonly string[];
  /** The node: modules it may import; one file may have more. */
  readonly node: readonly string[] | "any";
  readonly only?: Readonly<Record<string, readonly string[]>>;
  /** Neither clock nor chance, socket, file, environment or timer. */
  readonly pure?: true;
}

const DRIVER_NODE = ["http2", "fs", "fs/promises", "path", "os", "url", "crypto", "net", "tls", "stream", "buffer", "timers/promises"];

/** The folders from the bottom up. */
const LAYERS: Readonly<Record<string, Layer>> = {
  wire: { folders: [], node: [], pure: true },
  "lib/agent": { folders: ["wire"], node: [], only: { "lib/agent/blob-id.ts": ["crypto"] }, pure: true },
  "lib/session": { folders: ["wire", "lib/agent"], node: [], pure: true },
  "lib/driver": { folders: ["wire", "lib/agent", "lib/session"], node: DRIVER_NODE },
  "lib/account": { folders: ["wire", "lib/agent", "lib/session", "lib/driver"], node: DRIVER_NODE },
  "lib/loopback": { folders: ["wire", "lib/agent", "lib/session", "lib/driver", "lib/account"], node: DRIVER_NODE },
  "lib/pi": { folders: ["wire", "lib/agent", "lib/session", "lib/driver", "lib/account", "lib"], node: ["path", "os", "url"] },
  "lib/cli": {
    folders: ["wire", "lib/agent", "lib/session", "lib/driver", "lib/loopback", "lib/account", "lib/pi", "lib"],
    node: "any",
  },
  lib: { folders: ["wire", "lib/agent", "lib/session", "lib/driver", "lib/account"], node: [] },
};

/** What a pure folder never does: read a clock, roll dice, set a timer, look around. */
const IMPURE =
  /\bDate\.now\b|\bnew\s+Date\b|\bMath\.random\b|\b(?:performance|process|console|crypto)\??\.\w|\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|fetch|require)\s*\(/;

const test = suite("layers");

for (const [folder, layer] of Object.entries(LAYERS)) {
  for (const file of filesOf(folder)) {
    const source = readText(file);
    test(`${file} imports only what is below it`, () => {
      for (const specifier of importsOf(source)) {
        if (specifier.startsWith("node:")) {
          const allowed = [...(layer.node === "any" ? [specifier.slice(5)] : layer.node), ...(layer.only?.[file] ?? [])];
          assert.ok(allowed.includes(specifier.slice(5)), `${file} must not import ${specifier}`);
          continue;
        }
        assert.ok(specifier.startsWith("."), `${file} must not import the package ${specifier}`);
        assert.ok(specifier.endsWith(".ts"), `${file}: ${specifier} lacks its .ts`);
        const target = folderOf(new URL(specifier, `file:///${file}`).pathname.slice(1));
        assert.ok(target === folder || layer.folders.includes(target), `${folder} must not import ${target} (${specifier})`);
        assert.not.ok(target === folder && specifier === "./index.ts", `${file} must not import its own index`);
      }
    });
    test(`${file} has at most 300 lines`, () => assert.ok(source.split("\n").length <= 301));
    test(`${file} makes no code at run time`, () => {
      assert.not.match(code(source), /\beval\s*\(|\bnew\s+Function\b/);
    });
    if (layer.pure)
      test(`${file} is pure`, () => {
        assert.not.match(code(source), IMPURE);
      });
  }
}

test("every folder of lib has a layer", () => {
  const folders = list("lib").filter((name) => !name.includes("."));
  for (const name of folders) assert.ok(`lib/${name}` in LAYERS, `lib/${name}`);
});

test("the imports of a source are found in each of their forms", () => {
  const source = 'import a from "./a.ts";\nimport {\n  b,\n} from "./b.ts";\nimport "./c.ts";\nexport * from "./d.ts";\nawait import("./e.ts");\n// import f from "./f.ts";\n';
  assert.equal(importsOf(source), ["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.ts"]);
});

test("what is impure is found, what only reads like it is not", () => {
  for (const source of ["Date.now()", "new Date()", "Math.random()", "process.env", "setTimeout (f)", "crypto.randomUUID()"]) assert.match(code(source), IMPURE);
  for (const source of ['"Date.now()"', "// process.env", "/* setTimeout(f) */", "`the process ends`", "this.required(1)"]) assert.not.match(code(source), IMPURE);
});

test.run();

/** The TypeScript files of a folder: of all folders below it too, but of `lib` only its own. */
function filesOf(folder: string): string[] {
  return filesBelow(folder).filter((file) => file.endsWith(".ts") && (folder !== "lib" || file.split("/").length === 2));
}

/** The layer that holds a file, or its top folder where none does. */
function folderOf(file: string): string {
  const [top = "", second = ""] = file.split("/");
  return `${top}/${second}` in LAYERS ? `${top}/${second}` : top;
}

function importsOf(source: string): string[] {
  const found = withoutComments(source).matchAll(/\bfrom\s+"([^"]+)"|\bimport\s*\(\s*"([^"]+)"|^\s*import\s+"([^"]+)"/gm);
  return Array.from(found, ([, from, dynamic, bare]) => from ?? dynamic ?? bare ?? "");
}

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$|\s\/\/ .*$/gm, "");
}

/** The source without comments and strings. */
function code(source: string): string {
  return withoutComments(source).replaceAll(/"(?:[^"\\\n]|\\.)*"/g, '""');
}
