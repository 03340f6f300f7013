/** The clocks by hand: what starts, restarts and stops each, and what happens a millisecond around its end. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { camel, EXEC, InteractionUpdate, QUERIES, UPDATES } from "../lib/agent/index.ts";
import { duration, TIMERS, type Timer } from "../lib/session/timers.ts";
import { tableOf } from "../fixtures/vectors.ts";
import { endings, request, results, Rig, running, settings, TOOLS } from "./session-rig.ts";

const test = suite("session clocks");
const tools = [TOOLS["add"]!];
const asked = { request: request("hi", { tools }) };
type Play = (rig: Rig) => unknown;

const word: Play = (rig) => rig.text("a");
const call: Play = (rig) => rig.call(1, "add");
const parked: Play = (rig) => {
  rig.call(1, "add");
  rig.fire("burst");
};
const continued: Play = (rig) => {
  parked(rig);
  rig.step({ type: "continue", request: results(rig) });
};

/** Each clock: what leads to it, how long it runs from there, and the error at its end. */
const TABLE: readonly [name: string, lead: Play, ms: number, code: string][] = [
  ["the first work of a Run", () => {}, 30_000, "first_token_timeout"],
  ["the next work after a text", word, 120_000, "idle_timeout"],
  ["the first work after a result", continued, 30_000, "first_token_timeout"],
  ["the next work after a result and a text", (rig) => [continued(rig), word(rig)], 120_000, "idle_timeout"],
  ["the host's result", parked, 1_800_000, "tool_timeout"],
];
for (const [name, lead, ms, code] of TABLE) {
  test(`D54 ${name} may take ${ms} ms and not one more`, () => {
    const rig = running(asked);
    lead(rig);
    rig.after(ms - 1);
    assert.is(rig.error, undefined);
    rig.after(1);
    assert.is(rig.error!.code, code);
    assert.is(rig.error!.kind, "network");
  });
  test(`D54 ${name}: one millisecond before its end something comes, and the next clock starts anew`, () => {
    const rig = running(asked);
    lead(rig);
    rig.after(ms - 1);
    if (code === "tool_timeout") rig.step({ type: "continue", request: results(rig) });
    else word(rig);
    const next = code === "tool_timeout" ? 30_000 : 120_000;
    rig.after(next - 1);
    assert.is(rig.error, undefined);
    rig.after(1);
    assert.ok(rig.error);
  });
  for (const [end, stop] of Object.entries<Play>({ abort: (rig) => rig.step({ type: "abort" }), error: (rig) => rig.endStream({ code: "internal" }) }))
    test(`D54 ${name}: an ${end} stops every clock`, () => {
      const rig = running(asked);
      lead(rig);
      stop(rig);
      const count = rig.all.length;
      assert.is(rig.next(), undefined);
      rig.after(10_000_000);
      assert.is(rig.all.length, count);
    });
}

test("D54 a turn that is done stops every clock", () => {
  const rig = running(asked);
  word(rig);
  rig.turnEnded();
  assert.equal(rig.next(), ["drain", rig.now + 500]);
  rig.after(500);
  assert.is(rig.next(), undefined);
});

test("D54 connecting counts against the first clock, and a second connection gets no more time", () => {
  const rig = new Rig();
  rig.after(20_000);
  rig.step({ type: "closed", end: { type: "socket", code: "ECONNRESET", message: "" } });
  rig.after(9_999);
  assert.is(rig.error, undefined);
  rig.after(1);
  assert.is(rig.error!.code, "first_token_timeout");
});

test("a second connection begins with its own heartbeats and PINGs", () => {
  const rig = running(asked);
  rig.answers = false;
  rig.after(20_000);
  assert.ok(rig.running("pong"));
  rig.step({ type: "closed", end: { type: "reset", code: 0 } });
  for (const timer of ["heartbeat", "ping", "pong"] as const) assert.not.ok(rig.running(timer), timer);
  rig.step({ type: "opened" });
  for (const timer of ["heartbeat", "ping"] as const) assert.ok(rig.running(timer), timer);
});

test("D54 an embedder's own times hold, and name themselves", () => {
  const clocks = { first: 10, idle: 20, toolUse: 30 };
  for (const [lead, name] of [[() => {}, "first"], [word, "idle"], [parked, "toolUse"]] as const) {
    const rig = running({ ...asked, settings: settings({ clocks: { ...clocks, burst: 5 } }) });
    lead(rig);
    rig.after(clocks[name]);
    assert.match(rig.error!.message, new RegExp(` ${clocks[name]} ms`));
  }
});

/** Messages that are no work: heartbeats and the like. */
const REST = [
  { conversationCheckpointUpdate: Uint8Array.of(8, 1) },
  { execServerControlMessage: { abort: { id: 1 } } },
  { ttftBreakdown: Uint8Array.of(8, 1) },
  ...UPDATES.filter(({ work, meaning }) => !work && meaning !== "turnEnded").map(({ name }) => ({ interactionUpdate: { [camel(name)]: {} } })),
];
for (const message of REST)
  test(`D8 ${JSON.stringify(message).slice(0, 60)} is no work`, () => {
    const rig = running(asked);
    rig.after(29_999);
    rig.server(message);
    rig.after(1);
    assert.is(rig.error!.code, "first_token_timeout");
    const idle = running(asked);
    word(idle);
    idle.after(119_999);
    idle.server(message);
    idle.after(1);
    assert.is(idle.error!.code, "idle_timeout");
  });

const WORK = [
  ...UPDATES.filter(({ work }) => work).map(({ name }) => ({ interactionUpdate: { [camel(name)]: {} } })),
  ...EXEC.filter(({ no }) => no !== 11).map(({ name }) => ({ execServerMessage: { id: 9, [camel(name)]: {} } })),
  ...QUERIES.map(({ name }) => ({ interactionQuery: { id: 9, [camel(name)]: {} } })),
  { kvServerMessage: { id: 9, setBlobArgs: { blobId: Uint8Array.of(1) } } },
];
for (const message of WORK)
  test(`D8 ${JSON.stringify(message)} is work`, () => {
    const rig = running(asked);
    rig.after(29_999);
    rig.server(message);
    assert.not.ok(rig.running("first"));
    rig.after(119_999);
    assert.is(rig.error, undefined);
    rig.server(message);
    rig.after(119_999);
    assert.is(rig.error, undefined);
  });

test("every update of the table is either", () => {
  const names = Object.keys(InteractionUpdate.fields);
  assert.is(UPDATES.length, names.length);
  for (const name of names) assert.ok(tableOf(InteractionUpdate.fields[name]!), name);
});

test("D53 heartbeats of the service for ten minutes after the last work do not hide that it does nothing", () => {
  const rig = running(asked);
  word(rig);
  for (let ms = 0; ms < 600_000 && rig.error === undefined; ms += 5_000) {
    rig.after(5_000);
    if (rig.error === undefined) rig.server({ interactionUpdate: { heartbeat: {} } });
  }
  assert.is(rig.error!.code, "idle_timeout");
  assert.is(rig.now, 120_000);
});

for (const [name, lead] of Object.entries<Play>({ running: word, bursting: call, parked }))
  test(`while ${name}, a heartbeat goes out every 15 s and a PING every 20 s`, () => {
    const rig = running({ ...asked, settings: settings({ clocks: { burst: name === "bursting" ? 100_000 : 150 } }) });
    lead(rig);
    const actions = rig.after(60_000);
    assert.is(actions.filter(({ type }) => type === "ping").length, 3);
    assert.is(rig.sent(actions).filter(({ clientHeartbeat }) => clientHeartbeat).length, 4);
  });

test("a second call does not put off the heartbeat of the first", () => {
  const rig = running(asked);
  call(rig);
  rig.after(100);
  rig.call(2, "add");
  const sent = rig.sent(rig.after(2_900));
  assert.equal(sent, [{ execClientControlMessage: { heartbeat: { id: 1 } } }, { execClientControlMessage: { heartbeat: { id: 2 } } }]);
});

for (const [name, lead] of Object.entries<Play>({ parked, draining: (rig) => [word(rig), rig.turnEnded()] }))
  test(`work while ${name} starts no clock of the running turn`, () => {
    const rig = running(asked);
    lead(rig);
    word(rig);
    assert.not.ok(rig.running("idle"));
    assert.not.ok(rig.running("first"));
  });

test("a PING has 20 s for its answer; any byte is one", () => {
  for (const answered of [true, false]) {
    const rig = running(asked);
    word(rig);
    rig.answers = false;
    rig.after(39_999);
    assert.is(rig.error, undefined);
    if (answered) rig.step({ type: "alive" });
    rig.after(1);
    assert.equal(endings(rig), answered ? [] : ["network connection_lost"]);
  }
});

test("a second PING gives the first no more time", () => {
  const rig = running(asked);
  rig.fire("ping");
  assert.ok(rig.running("pong"));
  rig.fire("ping");
  assert.equal(rig.last.map(({ type }) => type), ["ping", "arm"]);
});

test("a clock that was stopped meanwhile fires without effect", () => {
  const rig = running(asked);
  word(rig);
  for (const timer of Object.keys(TIMERS) as Timer[]) if (!rig.running(timer)) assert.equal(rig.step({ type: "timer", timer }), []);
});

test("each clock's time is the table's, or the embedder's for its three", () => {
  const clocks = { first: 1, idle: 2, toolUse: 3 };
  for (const timer of Object.keys(TIMERS) as Timer[]) assert.is(duration(timer, clocks), timer in clocks ? clocks[timer as keyof typeof clocks] : TIMERS[timer].ms);
});

test.run();
