/** PROTOCOL.md and lib/agent say the same, what comments cite is there, README.md explains every code, lib/README.md every diagnostic. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { document, sections, tableOf, tables } from "../fixtures/document.ts";
import { filesBelow, readText } from "../fixtures/load.ts";
import { tableOf as nestedTable } from "../fixtures/vectors.ts";
import * as agent from "../lib/agent/index.ts";
import { CONNECT_FAILURES } from "../lib/session/failures.ts";
import { TIMERS } from "../lib/session/timers.ts";
import type { Field, Message } from "../wire/index.ts";

const test = suite("docs");
const exported = agent as unknown as Record<string, Message<unknown> | undefined>;
const names = new Map(Object.entries(exported).map(([name, table]) => [table, name]));

for (const { title, section, header, rows } of tables)
  if (title !== undefined)
    test(`${section} ${title}`, () => {
      const table = exported[title];
      assert.ok(table?.fields, `${title} is no table`);
      assert.equal(header, ["field", "name", "type", "meaning"]);
      const ours = Object.entries(table.fields).map(([name, field]) => [String(field.no), snake(name), typeOf(field)]);
      assert.equal(
        rows.map((row) => row.slice(0, 3)),
        ours.sort((a, b) => Number(a[0]) - Number(b[0])),
      );
    });

test("the messages that a reader meets first have their tables", () => {
  const titles = tables.map(({ title }) => title);
  for (const title of ["AgentClientMessage", "AgentRunRequest", "McpToolDefinition", "ConversationStateStructure", "AgentServerMessage", "KvServerMessage", "KvClientMessage"])
    assert.ok(titles.includes(title), title);
});

test("§4.1 UPDATES", () => {
  assert.equal(
    tableOf("§4.1").rows,
    agent.UPDATES.map(({ no, name, meaning, work }) => [String(no), name, meaning, work ? "yes" : "no"]),
  );
});

for (const [section, newer] of [["§5", false], ["§5.2", true]] as const)
  test(`${section} EXEC`, () => {
    const ours = agent.EXEC.filter((row: agent.ExecRow) => (row.block === "newer") === newer).map((row: agent.ExecRow) => [
      String(row.no),
      row.name,
      row.decision,
      row.result ? `${row.result.name} (${row.result.no}), ${row.arm?.name} (${row.arm?.no})` : "",
      row.echo.join(", "),
      [...(row.native ? [row.native] : []), ...(row.translated ? ["translated"] : [])].join(", "),
    ]);
    assert.equal(tableOf(section).rows, ours);
  });

for (const [section, newer] of [["§7", false], ["§7.1", true]] as const)
  test(`${section} QUERIES`, () => {
    const ours = agent.QUERIES.filter((row: agent.QueryRow) => (row.block === "newer") === newer).map((row: agent.QueryRow) => [
      String(row.no),
      row.name,
      row.decision,
      `${row.response}, ${row.arm}`,
      row.reason ?? "",
    ]);
    assert.equal(tableOf(section).rows, ours);
  });

test("§11 LIMITS", () => {
  const ours = agent.LIMIT_ROWS.map(({ name, value, unit, section, meaning }) => [name, value.toLocaleString("en-US"), unit, section, meaning]);
  assert.equal(tableOf("§11").rows, ours);
});

test("every table of PROTOCOL.md is one that is checked", () => {
  const checked = ["§4.1", "§5", "§5.2", "§7", "§7.1", "§11"];
  assert.equal(tables.filter(({ title }) => title === undefined).map(({ section }) => section), checked);
});

test("the cases of the tables are the arms of the messages", () => {
  const arms = (table: Message<never>, oneof: string): string[] =>
    Object.entries(table.fields).filter(([, field]) => field.oneof === oneof).map(([name, { no }]) => `${no} ${snake(name)}`).sort();
  const cases = (rows: readonly { no: number; name: string }[]): string[] => rows.map(({ no, name }) => `${no} ${name}`).sort();
  assert.equal(cases(agent.UPDATES), arms(agent.InteractionUpdate as Message<never>, "message"));
  assert.equal(cases(agent.EXEC), arms(agent.ExecServerMessage as Message<never>, "message"));
  assert.equal(cases(agent.QUERIES), arms(agent.InteractionQuery as Message<never>, "query"));
});

test("every section that is cited exists", () => {
  const sources = ["wire", "lib"].flatMap(filesBelow).filter((file) => file.endsWith(".ts"));
  const texts = [["PROTOCOL.md", document], ...sources.map((file) => [file, readText(file)])] as const;
  for (const [file, text] of texts) for (const section of citations(text).protocol) assert.ok(sections.has(section), `${file}: PROTOCOL ${section}`);
});

test("every part and decision of the design that is cited exists", () => {
  const sources = ["wire", "lib"].flatMap(filesBelow).filter((file) => file.endsWith(".ts"));
  const cited = sources.flatMap((file) => citations(readText(file)).design.map((part) => ({ file, part })));
  for (const { file, part } of cited) assert.ok(hasDesign(part), `${file}: DESIGN ${part}`);
  // What is looked for is still what comments write.
  assert.ok(new Set(cited.map(({ part }) => part)).size >= 20);
  assert.not(hasDesign("D24") || hasDesign("§9"));
});

test("the decisions stand in order, each once", () => {
  const found = Array.from(document.matchAll(/^\*\*(D\d+) /gm), ([, name]) => name);
  assert.equal(found, Array.from({ length: 23 }, (_, index) => `D${index + 1}`));
});

test("citations are found in each of their forms", () => {
  const { protocol, design } = citations("(§1) PROTOCOL §2.1, §3; DESIGN D1, D2. DESIGN\n * D8–D9 DESIGN §7 // RFC 9113 §7 and PROTOCOL\n    // §4.\n PROTOCOL §99 D0:");
  assert.equal(protocol, ["§1", "§2.1", "§3", "§4", "§99"]);
  assert.equal(design, ["D1", "D2", "D8", "D9", "§7"]);
  assert.not(sections.has("§99"));
});

test("the codes that README.md explains are the code's, and none that a Run fails with is left out", () => {
  const rows = readText("README.md").split("\n").filter((line) => /^\| `[a-z_]+`.* \| `(?:auth|network|remote|local|protocol-drift|aborted)` \|/.test(line));
  const explained = rows.flatMap((row) => Array.from(row.split(" | ")[0]!.matchAll(/`([a-z_]+)`/g), ([, code]) => code!));
  const code = ["lib/session", "lib/driver", "lib/account", "lib/pi"].flatMap(filesBelow).map(readText).join("\n");
  for (const name of explained) assert.ok(code.includes(`"${name}"`), name);
  const written = code.matchAll(/\bcode: "([a-z_]+)"|\b(?:remote|drift|local)\("([a-z_]+)"|\bfailed\("[a-z-]+", "([a-z_]+)"/g);
  const codes = Array.from(written, ([, one, two, three]) => one ?? two ?? three!);
  assert.ok(codes.length > 40);
  for (const name of [...codes, ...Object.values(CONNECT_FAILURES).map(({ code: row }) => row), ...Object.values(TIMERS).flatMap((row) => ("code" in row ? row.code : []))])
    assert.ok(explained.includes(name), `README.md does not explain ${name}`);
});

test("the diagnostics that lib/README.md explains are the code's", () => {
  const [, table = ""] = /^## Diagnostics$([^]*)/m.exec(readText("lib/README.md"))!;
  const rows = table.split("\n").filter((line) => line.startsWith("| `"));
  const explained = rows.flatMap((row) => Array.from(row.split(" | ")[0]!.matchAll(/`([a-z_]+)`/g), ([, type]) => type!));
  const code = ["lib/session", "lib/driver"].flatMap(filesBelow).map(readText).join("\n");
  const told = code.matchAll(/\bnote\(\s*\w+,\s*"([a-z_]+)"|\{\s*type: "([a-z_]+)",\s*message\b/g);
  assert.equal(explained.sort(), [...new Set(Array.from(told, ([, one, two]) => one ?? two!))].sort());
});

test.run();

/** What a text cites: sections of PROTOCOL.md, named or not, and parts and decisions of its §12. Other books are left out. */
function citations(text: string): { protocol: string[]; design: string[] } {
  const protocol: string[] = [];
  const design: string[] = [];
  const part = String.raw`(?:§\d+(?:\.\d+)*|\bD\d+\b)`;
  // A comment's line break, with what begins its next line, is a space.
  const flat = text.replaceAll(/\n\s*(?:\*(?!\*)|\/\/)?\s*/g, " ");
  for (const [, book, list] of flat.matchAll(new RegExp(`(?:\\b(DESIGN|PROTOCOL|RFC \\d+) )?(${part}(?:(?:, | and |–)${part})*)`, "g")))
    for (const [name] of list!.matchAll(new RegExp(part, "g")))
      if (book === "DESIGN") design.push(name);
      else if ((book === undefined || book === "PROTOCOL") && name.startsWith("§")) protocol.push(name);
  return { protocol, design };
}

/** Whether PROTOCOL.md §12 has a part (`§3` is §12.3) or a decision. */
function hasDesign(part: string): boolean {
  return part.startsWith("§") ? sections.has(`§12.${part.slice(1)}`) : new RegExp(`^\\*\\*${part} `, "m").test(document);
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A field's type as the document writes it. */
function typeOf(field: Field<unknown>): string {
  const one =
    field.kind === "message"
      ? names.get(nestedTable(field))
      : field.kind === "map"
        ? `map<${field.entry!.map(typeOf).join(", ")}>`
        : ({ text: "string", safe64: "int64" } as Record<string, string>)[field.kind] ?? field.kind;
  return `${field.repeated ? "repeated " : ""}${one}${field.oneof ? "*" : ""}`;
}
