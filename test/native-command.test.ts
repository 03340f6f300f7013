/** Commands that stand in for tools, and quoting: proved by a real shell in a folder of their own. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { rowOf } from "../fixtures/native/cases.ts";
import { bash } from "../fixtures/native/tools.ts";
import { composite } from "../lib/session/native/composite.ts";
import { enter, quote } from "../lib/session/native/quote.ts";
import { nativeResults, translate } from "../lib/session/native/translate.ts";

const test = suite("native-command");

const NASTY = [
  "plain.txt", "two words", "it's", '"quoted"', "$(touch pwned)", "`touch pwned`", "$HOME", "a\nb", "\n", "-rf", "--", "-", "*", "?[a]", "~", "a;touch pwned", "a&touch pwned",
  "a|b", "a>b", "\\", "\\'", "'", "''", "'; touch pwned; '", "#x", "!x", "é 日本 🙂", "a\tb", "{a,b}", "%s %n", "D0:5", "\ufffd", "x=1", "a\rb",
];

/** Runs `work` in a fresh folder that is removed afterwards. */
function inFolder(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "native-"));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What a host's command tool says of a command, in Pi's words. */
function host(command: string, folder: string): { content: { type: "text"; text: string }[]; isError: boolean } {
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command], { cwd: folder, encoding: "utf8" });
  const text = stdout + stderr || "(no output)";
  return { content: [{ type: "text", text: status === 0 ? text : `${text}\n\nCommand exited with code ${status}` }], isError: status !== 0 };
}

/** The answer to an exec that a host with nothing but a shell carries out in `folder`. */
function run(row: string, args: object, folder: string): unknown {
  const translation = translate(rowOf(row), args, [bash], folder)!;
  assert.is(translation.composite, true);
  const { command } = translation.arguments as { command: string };
  return nativeResults(translation, host(command, folder))[0];
}

// One shell for all the words: to start one takes longer than what it does.
test("a quoted word is one word of the shell, untouched", () => {
  inFolder((folder) => {
    const script = NASTY.map((word) => `printf '%s|' ${quote(word)} end; printf '\\0'`).join("\n");
    const out = execFileSync("sh", ["-c", script], { cwd: folder, encoding: "utf8" });
    assert.equal(out.split("\0"), [...NASTY.map((word) => `${word}|end|`), ""]);
    assert.not.ok(existsSync(join(folder, "pwned")));
  });
});

test("a folder of any name is entered", () => {
  inFolder((folder) => {
    for (const word of NASTY) mkdirSync(join(folder, word));
    execFileSync("sh", ["-c", NASTY.map((word) => `(\n${enter(word, "pwd > here")}\n) || exit`).join("\n")], { cwd: folder });
    for (const word of NASTY) assert.ok(existsSync(join(folder, word, "here")), word);
  });
});

for (const word of NASTY)
  test(`a file called ${JSON.stringify(word)} is deleted, alone, and its size reported`, () => {
    inFolder((folder) => {
      writeFileSync(join(folder, word), "größe");
      writeFileSync(join(folder, "other"), "stays");
      assert.equal(run("deleteArgs", { path: word }, folder), { deleteResult: { success: { path: word, deletedFile: word, fileSize: 7 } } });
      assert.not.ok(existsSync(join(folder, word)));
      assert.is(readFileSync(join(folder, "other"), "utf8"), "stays");
      assert.not.ok(existsSync(join(folder, "pwned")));
    });
  });

for (const word of ["two words", "it's", "$(touch pwned)", "-rf"])
  test(`a file called ${JSON.stringify(word)} is searched`, () => {
    inFolder((folder) => {
      writeFileSync(join(folder, word), "one\n  needle\n");
      const { content } = union(run("grepArgs", { pattern: "need.e", path: word }, folder), folder);
      assert.equal(content, { matches: [{ file: word, matches: [{ lineNumber: 2, content: "  needle" }] }], totalLines: 1, totalMatchedLines: 1 });
    });
  });

test("D21 no command runs where its folder can not be entered", () => {
  inFolder((folder) => {
    for (const command of ["touch pwned", "false; touch pwned", "false || touch pwned", "true & touch pwned", "cat <<E\nx\nE\ntouch pwned", "touch pwned # comment"])
      assert.is.not(spawnSync("sh", ["-c", enter("/no/such/folder", command)], { cwd: folder }).status, 0);
    assert.not.ok(existsSync(join(folder, "pwned")));
  });
});

const WHOLE: readonly [command: string, output: string][] = [
  ["echo a; echo b", "a\nb\n"],
  ["false || echo b", "b\n"],
  ["echo a && echo b", "a\nb\n"],
  ["echo a | cat", "a\n"],
  ["cat <<E\nx;y\nE", "x;y\n"],
  ["echo a # comment", "a\n"],
  ["echo a 2>&1", "a\n"],
  ["echo a\necho b", "a\nb\n"],
];
for (const [command, output] of WHOLE)
  test(`D21 ${JSON.stringify(command)} means the same in another folder`, () => {
    inFolder((folder) => assert.is(execFileSync("sh", ["-c", enter(folder, command)], { encoding: "utf8" }), output));
  });

test("a simple command stays one line", () => {
  assert.is(enter("/a b", "ls 2>&1"), "cd -- '/a b' && ls 2>&1");
  assert.is(enter("-", "ls"), "cd -- './-' && ls");
});

test("a failing command keeps its exit code in another folder", () => {
  inFolder((folder) => assert.is(spawnSync("sh", ["-c", enter(folder, "true; exit 7")]).status, 7));
});

test("a missing file to delete is not found", () => {
  inFolder((folder) => assert.equal(run("deleteArgs", { path: "gone" }, folder), { deleteResult: { fileNotFound: { path: "gone" } } }));
});

test("a folder to delete is no file, and stays", () => {
  inFolder((folder) => {
    mkdirSync(join(folder, "dir"));
    assert.equal(run("deleteArgs", { path: "dir" }, folder), { deleteResult: { notFile: { path: "dir", actualType: "directory" } } });
    assert.ok(existsSync(join(folder, "dir")));
  });
});

test("an empty file is deleted, its size is 0", () => {
  inFolder((folder) => {
    writeFileSync(join(folder, "empty"), "");
    assert.equal(run("deleteArgs", { path: "empty" }, folder), { deleteResult: { success: { path: "empty", deletedFile: "empty" } } });
    assert.not.ok(existsSync(join(folder, "empty")));
  });
});

/** A folder of sources. */
function sources(work: (folder: string) => void): void {
  inFolder((folder) => {
    for (const dir of ["src", "src/deep", ".git", "node_modules"]) mkdirSync(join(folder, dir));
    writeFileSync(join(folder, "src/a.ts"), "alpha\nBeta 1\ngamma\n");
    writeFileSync(join(folder, "src/deep/b.tsx"), "beta 22\n");
    writeFileSync(join(folder, "src/deep/c.js"), "beta\n");
    work(folder);
  });
}

/** The union of a search's result. */
function union(result: unknown, folder: string): any {
  return (result as any).grepResult.success.workspaceResults.get(folder);
}

test("a search by a command finds lines and those around them", () => {
  sources((folder) => {
    const { content } = union(run("grepArgs", { pattern: "Beta", path: "src/a.ts", context: 1 }, folder), folder);
    assert.equal(content.matches, [{ file: "src/a.ts", matches: [{ lineNumber: 1, content: "alpha", isContextLine: true }, { lineNumber: 2, content: "Beta 1" }, { lineNumber: 3, content: "gamma", isContextLine: true }] }]);
    assert.is(content.totalMatchedLines, 1);
  });
});

test("a search by a command heeds case, globs and the kind of pattern", () => {
  sources((folder) => {
    const files = (args: object): string[] => [...(union(run("grepArgs", { outputMode: "files_with_matches", ...args }, folder), folder).files.files ?? [])].sort();
    assert.equal(files({ pattern: "beta" }), ["src/deep/b.tsx", "src/deep/c.js"]);
    assert.equal(files({ pattern: "beta", caseInsensitive: true }), ["src/a.ts", "src/deep/b.tsx", "src/deep/c.js"]);
    assert.equal(files({ pattern: "beta", glob: "**/*.{ts,tsx}" }), ["src/deep/b.tsx"]);
    assert.equal(files({ pattern: "beta", glob: "*.js", path: "src" }), ["src/deep/c.js"]);
    assert.equal(files({ pattern: "^[Bb]eta [0-9]+$" }), ["src/a.ts", "src/deep/b.tsx"]);
    assert.equal(files({ pattern: "nothing of this" }), []);
  });
});

test("a search by a command counts", () => {
  sources((folder) => {
    const { count } = union(run("grepArgs", { pattern: "a", outputMode: "count", path: "src/a.ts" }, folder), folder);
    assert.equal(count, { counts: [{ file: "src/a.ts", count: 3 }], totalFiles: 1, totalMatches: 3 });
  });
});

test("a literal search by a command takes no pattern", () => {
  sources((folder) => {
    writeFileSync(join(folder, "src/d.txt"), "a.c\nabc\n");
    assert.equal(run("piGrepArgs", { pattern: "a.c", literal: true, path: "src/d.txt" }, folder), { piGrepResult: { success: { output: "src/d.txt:1:a.c" } } });
    assert.equal(run("piGrepArgs", { pattern: "zzz", path: "src/d.txt" }, folder), { piGrepResult: { success: { output: "No matches found" } } });
  });
});

test("a search below a missing folder is an error", () => {
  inFolder((folder) => {
    assert.match((run("grepArgs", { pattern: "a", path: "gone" }, folder) as any).grepResult.error.error, /No such file/);
    assert.match((run("grepArgs", { pattern: "a", path: "gone", glob: "*.ts" }, folder) as any).grepResult.error.error, /gone/);
  });
});

test("D24 names are found by a command", () => {
  sources((folder) => {
    const names = (args: object): string[] => [...(union(run("grepArgs", args, folder), folder).files.files ?? [])].sort();
    assert.equal(names({ pattern: "", glob: "**/*.{ts,tsx}" }), ["src/a.ts", "src/deep/b.tsx"]);
    assert.equal(names({ pattern: "", glob: "*.js", path: "src" }), ["src/deep/c.js"]);
    assert.equal(names({ pattern: "", glob: "*.zig" }), []);
  });
});

test("a limited search by a command has the first lines and knows of more", () => {
  inFolder((folder) => {
    writeFileSync(join(folder, "many"), "x\n".repeat(1_000));
    const { content } = union(run("grepArgs", { pattern: "x", path: "many", headLimit: 2 }, folder), folder);
    assert.equal(content.matches, [{ file: "many", matches: [{ lineNumber: 1, content: "x" }, { lineNumber: 2, content: "x" }] }]);
    assert.is(content.headLimitApplied, 2);
    assert.equal(union(run("grepArgs", { glob: "*", headLimit: 5 }, folder), folder).files, { files: ["many"], totalFiles: 1 });
    assert.match((run("grepArgs", { pattern: "x", path: "gone", headLimit: 2 }, folder) as any).grepResult.error.error, /No such file/);
  });
});

test("a folder is listed by a command, hidden names too", () => {
  sources((folder) => {
    writeFileSync(join(folder, ".hidden"), "");
    assert.equal(run("lsArgs", { path: "." }, folder), {
      lsResult: {
        success: {
          directoryTreeRoot: {
            absPath: `${folder}/.`,
            childrenDirs: [".git", "node_modules", "src"].map((name) => ({ absPath: `${folder}/./${name}` })),
            childrenFiles: [{ name: ".hidden" }],
            childrenWereProcessed: true,
            numFiles: 1,
          },
        },
      },
    });
    assert.match((run("lsArgs", { path: "gone" }, folder) as any).lsResult.error.error, /No such file/);
  });
});

const GLOBS: readonly [glob: string, names: string[] | undefined][] = [
  ["*.ts", ["*.ts"]],
  ["**/*.ts", ["*.ts"]],
  ["**/**/a", ["a"]],
  ["**", ["*"]],
  ["*.{a,b}", ["*.a", "*.b"]],
  ["src/*.ts", undefined],
  ["a**b", undefined],
  ["!*.ts", undefined],
  ["{a,{b,c}}", undefined],
  ["{a,b}{c,d}", undefined],
  [`{${"a,".repeat(20)}b}`, undefined],
];
for (const [glob, names] of GLOBS)
  test(`the glob ${glob.slice(0, 20)} is ${names === undefined ? "more than names" : `the names ${names.join(" ")}`}`, () => {
    const [, find] = / else (find .*); fi$/s.exec(composite({ intent: "find", values: { pattern: glob }, skip: 0, take: Infinity })!) ?? [];
    assert.equal(find && [...find.matchAll(/-name '([^']*)'/g)].map(([, name]) => name), names);
  });

const COMMANDS: readonly [row: string, args: object, command: string][] = [
  ["grepArgs", { pattern: "a\\d", multiline: true }, "rg --color=never -nH --no-heading -U --multiline-dotall -e 'a\\d' -- '.'"],
  ["grepArgs", { pattern: "a", type: "rust" }, "rg --color=never -nH --no-heading -t 'rust' -e 'a' -- '.'"],
  ["grepArgs", { pattern: "a", glob: "src/*.ts" }, "rg --color=never -nH --no-heading -g 'src/*.ts' -e 'a' -- ."],
  ["piGrepArgs", { pattern: "a.c", literal: true, glob: "src/*.ts" }, "rg --color=never -nH --no-heading -F -g 'src/*.ts' -e 'a.c' -- ."],
  ["grepArgs", { pattern: "a", outputMode: "count", context: 3 }, "if command -v rg >/dev/null 2>&1; then rg --color=never -cH -e 'a' -- '.'; else grep -rIcHE --exclude-dir=.git --exclude-dir=node_modules -e 'a' -- '.'; fi"],
  ["grepArgs", { pattern: "a\\d+?", contextAfter: 2 }, "if command -v rg >/dev/null 2>&1; then rg --color=never -nH --no-heading -A 2 -e 'a\\d+?' -- '.'; else grep -rInHP -A 2 --exclude-dir=.git --exclude-dir=node_modules -e 'a\\d+?' -- '.'; fi"],
  ["piFindArgs", { pattern: "src/*.ts", path: "/p" }, "cd -- '/p' && rg --files -g 'src/*.ts'"],
];
for (const [row, args, command] of COMMANDS)
  test(`${row} ${JSON.stringify(args)} is one command`, () => {
    assert.equal(translate(rowOf(row), args, [bash], "/w")?.arguments, { command });
  });

for (const intent of ["shell", "read", "write", "edit"] as const)
  test(`no command stands in for ${intent}`, () => {
    assert.is(composite({ intent, values: { path: "a" }, skip: 0, take: Infinity }), undefined);
  });

test("a listing or a search without a path is of the folder it runs in", () => {
  const plain = { values: {}, skip: 0, take: Infinity };
  assert.is(composite({ intent: "ls", ...plain }), "ls -1Ap -- '.'");
  assert.match(composite({ intent: "find", ...plain })!, "rg --files -g ''");
  assert.match(composite({ intent: "grep", ...plain })!, "-e '' -- '.'");
});

test.run();
