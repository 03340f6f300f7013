/** README.md says what is so: its tables are those of the code. */
import { existsSync } from "node:fs";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { list, readText, root } from "../fixtures/load.ts";
import { VERBS } from "../lib/cli/verbs.ts";
import { VARIABLES } from "../lib/driver/variables.ts";

const test = suite("cli readme");

const README = readText("README.md");

/** The rows of the table whose first heading is this, as their cells. */
function table(heading: string): string[][] {
  const lines = README.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`)) + 2;
  const end = lines.findIndex((line, index) => index >= start && !line.startsWith("|"));
  return lines.slice(start, end).map((line) => line.slice(2, -2).split(" | "));
}

test("the environment table is the code's", () => {
  const rows = Object.entries(VARIABLES).map(([name, { initial, meaning }]) => [`\`${name}\``, initial ? `\`${initial}\`` : "–", meaning]);
  assert.equal(table("variable"), rows);
});

test("the verbs are the command's", () => {
  assert.equal(table("verb"), VERBS.map(({ name, summary }) => [`\`${name}\``, summary]));
});

test("every file it names is there", () => {
  for (const [, path = ""] of README.matchAll(/\]\(([^)]+)\)/g)) assert.ok(existsSync(new URL(path, root)), path);
});

test("the commands to try it are package.json's", () => {
  const { scripts } = JSON.parse(readText("package.json")) as { scripts: Record<string, string> };
  assert.match(README, "npm ci && npm start");
  assert.match(README, "npm ci && npm test");
  assert.match(scripts["start"]!, /^node dist\/lib\/cli\/main\.js run --loopback "/);
});

test("fixtures/README.md names every capture, its script and every folder", () => {
  const text = readText("fixtures/README.md");
  for (const name of list("fixtures/captures").filter((file) => !file.endsWith(".sh"))) assert.ok(text.includes(`\`${name}\``), name);
  for (const name of list("fixtures").filter((file) => !file.includes("."))) assert.ok(text.includes(`\`${name}/\``), name);
});

test("the changelog begins with the package's version", () => {
  const { version } = JSON.parse(readText("package.json")) as { version: string };
  const [, first] = /^## (\S+) – \d{4}-\d\d-\d\d$/m.exec(readText("CHANGELOG.md"))!;
  assert.is(first, version);
});

test.run();
