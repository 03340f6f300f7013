/** Our codec and tables against the bytes of an independent encoder (fixtures/vectors). */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { fromJson, VECTORS } from "../fixtures/vectors.ts";
import * as agent from "../lib/agent/index.ts";
import { encodeFields, fields, type Message } from "../wire/index.ts";
import { bytes, hex } from "./check.ts";

const test = suite("vectors");

const tables = new Map<string, Message<unknown>>();
for (const [name, item] of Object.entries(agent)) if (isTable(item)) tables.set(name, item);

for (const vector of VECTORS) {
  test(`${vector.file}: ${vector.name}`, () => {
    const table = tables.get(vector.message);
    assert.ok(table, `${vector.message} is no table`);
    const value = fromJson(table, vector.json);
    assert.is(hex(table.encode(value)), vector.hex, "our bytes");
    const unknown: number[] = [];
    assert.equal(
      table.decode(bytes(vector.hex), ({ no }) => unknown.push(no)),
      value,
      "our value",
    );
    assert.equal(unknown, [], "unknown fields");
    assert.is(hex(encodeFields(fields(bytes(vector.hex)))), vector.hex, "by wire type alone");
  });
}

test("no two vectors share a name", () => {
  assert.is(new Set(VECTORS.map(({ name }) => name)).size, VECTORS.length);
});

test("every row of every table has a vector", () => {
  const seen = new Set<string>();
  const names = new Map(Array.from(tables, ([name, table]) => [table, name]));
  for (const { message, json } of VECTORS) {
    seen.add(message);
    fromJson(tables.get(message)!, json, (table, field) => seen.add(`${names.get(table)}.${field}`));
  }
  for (const [name, table] of tables) {
    assert.ok(seen.has(name), name);
    for (const field of Object.keys(table.fields)) assert.ok(seen.has(`${name}.${field}`), `${name}.${field}`);
  }
});

test("every case of an exec and of a query has a request and an answer", () => {
  const names = new Set(VECTORS.map(({ name }) => name));
  for (const { no } of agent.EXEC) for (const word of ["request", "refusal"]) assert.ok(names.has(`exec ${no} ${word}`), `exec ${no} ${word}`);
  for (const { no } of agent.QUERIES) for (const word of ["request", "answer"]) assert.ok(names.has(`query ${no} ${word}`), `query ${no} ${word}`);
});

test.run();

function isTable(item: unknown): item is Message<unknown> {
  return typeof item === "object" && item !== null && "fields" in item && "encode" in item;
}
