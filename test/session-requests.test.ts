/** What the service asks for: queries and execs. Each is answered once, closed once, and counted where it is no call. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { camel, EXEC, QUERIES } from "../lib/agent/index.ts";
import { LIMITS } from "../lib/agent/limits.ts";
import { bytes } from "./check.ts";
import { ended, endings, kinds, request, results, running, TOOLS, type Rig } from "./session-rig.ts";

const test = suite("session requests");
const tools = [TOOLS["add"]!];

for (const row of QUERIES)
  test(`D11 query ${row.no} gets the answer of its row under its id, and the turn goes on`, () => {
    const rig = running();
    rig.server({ interactionQuery: { id: 7, [camel(row.name)]: {} } });
    const [{ interactionResponse } = {}] = rig.sent();
    assert.is(interactionResponse!.id, 7);
    assert.equal(Object.keys(interactionResponse!), ["id", camel(row.response)]);
    rig.text("on");
    assert.equal(endings(ended(rig)), ["stop"]);
  });

test("D11 an unknown query ends the turn at once and is not answered", () => {
  const rig = running();
  rig.payload(bytes("3a05 0801 fa01 00"));
  assert.equal(endings(rig), ["protocol-drift unknown_message"]);
  assert.equal(rig.sent(), []);
  assert.match(rig.error!.message, /field 31/);
});

for (const [name, payload, id] of [["id 3", "1205 0803 ba03 00", 3], ["id 0", "1205 0800 ba03 00", 0], ["no id", "1203 ba03 00", 0]] as const)
  test(`D12 an exec with only an unknown field and ${name} is thrown, closed and counted`, () => {
    const rig = running();
    for (let miss = 1; miss < 8; miss++) {
      rig.payload(bytes(payload));
      const [thrown, closed] = rig.sent().map(({ execClientControlMessage }) => execClientControlMessage!);
      assert.is(thrown!.throw!.id ?? 0, id);
      assert.ok(thrown!.throw!.error!.length > 10);
      assert.is(closed!.streamClose!.id ?? 0, id);
      assert.is(rig.session.misses, miss);
    }
    rig.payload(bytes(payload));
    assert.equal(endings(rig), ["remote tool_loop"]);
    assert.equal(rig.sent(), []);
  });

test("D30 refusals, unknown cases, unknown tools and plan mode count alike; a call resets, also one that fails", () => {
  const misses = [{ shellArgs: { command: "ls" } }, {}, { mcpArgs: { toolName: "nothing" } }, { startGrindPlanningArgs: { explanation: "x" } }];
  const play = (interrupt: boolean): Rig => {
    const rig = running({ request: request("hi", { tools }) });
    for (let id = 0; id < 8; id++) {
      rig.server({ execServerMessage: { id, ...misses[id % misses.length]! } });
      if (!interrupt || id !== 5) continue;
      rig.call(100, "add");
      rig.fire("burst");
      const request = results(rig);
      rig.step({ type: "continue", request: { ...request, messages: request.messages.map((message) => (message.role === "tool" ? { ...message, isError: true } : message)) } });
    }
    return rig;
  };
  assert.equal(endings(play(false)), ["remote tool_loop"]);
  const reset = play(true);
  assert.equal(endings(reset), ["tool_use"]);
  assert.is(reset.session.misses, 2);
});

for (const [id, row] of EXEC.entries())
  test(`D52 exec ${row.no} ${row.name} is answered and closed once`, () => {
    const rig = running({ request: request("hi", { tools }) });
    rig.server({ execServerMessage: { id, execId: "e", [camel(row.name)]: row.decision === "lift" ? { toolName: "nothing" } : {} } });
    const sent = rig.sent();
    assert.is(sent.length, 2);
    const [answer, close] = sent;
    assert.is(close!.execClientControlMessage!.streamClose!.id ?? 0, id);
    if (row.decision === "throw") assert.is(answer!.execClientControlMessage!.throw!.id, id);
    else assert.equal([answer!.execClientMessage!.id ?? 0, answer!.execClientMessage!.execId, camel(row.result.name) in answer!.execClientMessage!], [id, "e", true]);
  });

test("D30 what is refused after the end of the turn is no loop", () => {
  const rig = running({ request: request("hi", { tools }) });
  const refused = (id: number) => rig.server({ execServerMessage: { id, fetchArgs: { url: "u" } } });
  for (let id = 1; id < 8; id++) refused(id);
  rig.text("a");
  rig.turnEnded();
  for (let id = 8; id < 12; id++) assert.equal(kinds(rig, refused(id)), ["execClientMessage", "execClientControlMessage"]);
  rig.after(500);
  assert.equal(endings(rig), ["stop"]);
});

test("D52 no more calls are kept warm than a leg holds", () => {
  const rig = running({ request: request("hi", { tools }) });
  for (let id = 1; id <= LIMITS.calls + 9; id++) rig.call(id, "add");
  rig.fire("execHeartbeat");
  assert.is(rig.sent().length, LIMITS.calls);
});

test("D52 a call is answered and closed once, and its heartbeats stop before", () => {
  const rig = running({ request: request("hi", { tools }) });
  rig.call(1, "add");
  rig.fire("burst");
  rig.fire("execHeartbeat");
  assert.equal(rig.sent(), [{ execClientControlMessage: { heartbeat: { id: 1 } } }]);
  rig.step({ type: "continue", request: results(rig) });
  assert.equal(kinds(rig), ["execClientMessage", "execClientControlMessage"]);
  assert.equal(rig.sent()[1], { execClientControlMessage: { streamClose: { id: 1 } } });
  assert.not.ok(rig.running("execHeartbeat"));
});

test.run();
