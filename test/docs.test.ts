/** PROTOCOL.md and lib/agent say the same. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { document, sections, tableOf, tables } from "../fixtures/document.ts";
import { filesBelow, readText } from "../fixtures/load.ts";
import { tableOf as nestedTable } from "../fixtures/vectors.ts";
import * as agent from "../lib/agent/index.ts";
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

for (const [section, block] of [["§5", "document"], ["§5.2", "newer"]])
  test(`${section} EXEC`, () => {
    const ours = agent.EXEC.filter((row: agent.ExecRow) => row.block === block).map((row: agent.ExecRow) => [
      String(row.no),
      row.name,
      row.decision,
      row.result ? `${row.result.name} (${row.result.no}), ${row.arm?.name} (${row.arm?.no})` : "",
      row.echo.join(", "),
      [...(row.native ? [row.native] : []), ...(row.translated ? ["translated"] : [])].join(", "),
    ]);
    assert.equal(tableOf(section!).rows, ours);
  });

for (const [section, block] of [["§7", "document"], ["§7.1", "newer"]])
  test(`${section} QUERIES`, () => {
    const ours = agent.QUERIES.filter((row: agent.QueryRow) => row.block === block).map((row: agent.QueryRow) => [
      String(row.no),
      row.name,
      row.decision,
      `${row.response}, ${row.arm}`,
      row.reason ?? "",
    ]);
    assert.equal(tableOf(section!).rows, ours);
  });

test("§11 LIMITS", () => {
  const ours = agent.LIMIT_ROWS.map(({ name, value, unit, section, meaning }) => [name, value.toLocaleString("en-US"), unit, section, meaning]);
  assert.equal(tableOf("§11").rows, ours);
});

test("every table of the document is one that is checked", () => {
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
  const cited = (text: string): string[] => Array.from(text.matchAll(/(?<!DESIGN )§(\d+(?:\.\d+)?)/g), ([section]) => section);
  for (const section of cited(document)) assert.ok(sections.has(section), `PROTOCOL.md: ${section}`);
  for (const file of filesBelow("lib/agent"))
    for (const section of cited(readText(file))) assert.ok(sections.has(section), `${file}: ${section}`);
});

test.run();

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
