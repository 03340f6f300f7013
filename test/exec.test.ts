/** T-AGENT: every exec case has a row, a line in PROTOCOL.md, a request and an answer made by an independent encoder. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { tableOf } from "../fixtures/document.ts";
import { vector } from "../fixtures/vectors.ts";
import {
  AgentClientMessage,
  answerQuery,
  arms,
  asksMcpState,
  camel,
  EXEC,
  execByName,
  ExecClientMessage,
  ExecServerMessage,
  GrepArgs,
  QUERIES,
  queryByName,
  readGrep,
  refuse,
  UPDATES,
  updateByName,
  type ExecRow,
} from "../lib/agent/index.ts";
import * as agent from "../lib/agent/index.ts";
import { bytes, hex } from "./check.ts";

const test = suite("exec");
const TEXT = "No operation was performed.";

for (const row of EXEC as readonly ExecRow[]) {
  const name = camel(row.name);
  test(`exec ${row.no} ${row.name} is in the document`, () => {
    const section = row.block === "document" ? "§5" : "§5.2";
    assert.ok(tableOf(section).rows.some(([no, word, decision]) => no === String(row.no) && word === row.name && decision === row.decision));
  });
  test(`exec ${row.no} ${row.name} is asked as an independent encoder asks it`, () => {
    const { arms: found, unknown } = arms(bytes(vector(`exec ${row.no} request`).hex));
    assert.is(found.length, 1);
    assert.is(unknown.length, 0);
    const exec = found[0]!.execServerMessage as Record<string, unknown>;
    assert.equal(Object.keys(exec).sort(), ["execId", "id", name].sort());
    assert.is(ExecServerMessage.fields[name]!.no, row.no);
    assert.is(ExecServerMessage.fields[name]!.table, (agent as Record<string, unknown>)[row.args]);
  });
  test(`exec ${row.no} ${row.name} is refused in the bytes of an independent encoder`, () => {
    const exec = arms(bytes(vector(`exec ${row.no} request`).hex)).arms[0]!.execServerMessage!;
    const reply = refuse(row, exec, (exec as Record<string, object>)[name]!, TEXT);
    assert.is(hex(AgentClientMessage.encode(reply)), vector(`exec ${row.no} refusal`).hex);
  });
  test(`exec ${row.no} ${row.name} names the result and the arm that the answer has`, () => {
    assert.is(row.result === undefined, row.decision === "throw");
    if (row.result === undefined || row.arm === undefined) return;
    const result = ExecClientMessage.fields[camel(row.result.name)]!;
    assert.is(result.no, row.result.no);
    const table = (typeof result.table === "function" ? result.table() : result.table)!;
    assert.is(table.fields[camel(row.arm.name)]?.no, row.arm.no);
  });
}

test("an exec without a row is thrown, and its id of 0 is said", () => {
  assert.equal(refuse(undefined, {}, {}, TEXT), { execClientControlMessage: { throw: { id: 0, error: TEXT } } });
  assert.equal(AgentClientMessage.decode(bytes(vector("exec without a row refusal").hex)), { execClientControlMessage: { throw: { error: TEXT } } });
});

test("a refusal repeats no exec_id where none came, and no argument that is absent", () => {
  const reply = refuse(execByName.get("shellArgs"), { id: 3 }, { command: "ls" }, TEXT);
  assert.equal(reply, { execClientMessage: { id: 3, shellResult: { rejected: { command: "ls", reason: TEXT } } } });
});

test("the tables are found by name", () => {
  assert.is(execByName.size, EXEC.length);
  assert.is(execByName.get("shellStreamArgs")?.no, 14);
  assert.is(queryByName.size, QUERIES.length);
  assert.is(queryByName.get("webFetchRequestQuery")?.no, 9);
  assert.is(updateByName.size, UPDATES.length);
  assert.is(updateByName.get("toolRequestsListed")?.no, 27);
});

for (const row of QUERIES)
  test(`query ${row.no} ${row.name} is answered in the bytes of an independent encoder`, () => {
    const query = arms(bytes(vector(`query ${row.no} request`).hex)).arms[0]!.interactionQuery!;
    assert.ok(row.name === "setup_vm_environment_args" || camel(row.name) in query);
    const reply = { interactionResponse: answerQuery(row, query.id ?? 0, TEXT) };
    assert.is(hex(AgentClientMessage.encode(reply)), vector(`query ${row.no} answer`).hex);
  });

test("exec 36 asks for the servers' state, or for a plan", () => {
  const published = bytes("120c08017a0178a202040a027069");
  assert.is(asksMcpState(published, ["pi"]), true);
  assert.is(asksMcpState(published, ["other"]), false);
  assert.is(asksMcpState(bytes(vector("exec 36 request").hex), ["pi"]), false, "a text in field 2");
  assert.is(asksMcpState(bytes(vector("exec 36 that only asks to start the servers").hex), ["pi"]), true);
  assert.is(asksMcpState(bytes("12 0c a202 09 0a027069 0a0378797a"), ["pi"]), false, "one of two is not ours");
  assert.is(asksMcpState(bytes("12 0b a202 08 0a027069 0a027069"), ["pi"]), true);
  assert.is(asksMcpState(bytes("12 03 a202 00"), ["pi"]), true, "no name at all");
  assert.is(asksMcpState(bytes("12 02 0801"), ["pi"]), false, "another exec");
});

test("a search is read in either layout", () => {
  const older = GrepArgs.decode(bytes(vector("a search in the older layout").hex));
  assert.equal(readGrep(older), { pattern: "x", path: "/app/src", caseInsensitive: true, outputMode: "content" });
  const newer = { pattern: "x", path: "/app", outputMode: "count", contextAfter: 2, caseInsensitive: false };
  assert.equal(readGrep(newer), newer);
  assert.equal(readGrep({ pattern: "x", outputMode: "/app" }), { pattern: "x", path: "/app" });
  assert.equal(readGrep({ path6: "/app" }), { path: "/app" });
  assert.equal(readGrep({ outputMode: "", outputMode11: "content" }), { outputMode: "content" });
  assert.equal(readGrep({ caseInsensitive: false, caseInsensitive2: true }), { caseInsensitive: false });
});

test.run();
