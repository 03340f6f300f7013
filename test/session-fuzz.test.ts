/**
 * The core against hundreds of services that say anything, valid or not, in any order, with clocks, results and aborts between.
 * Whatever they do: no exception, one end and nothing after it, every request answered once. The seed is printed;
 * `FUZZ_SEED` repeats a run; `FUZZ_TIMES=10` does ten times as much.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentServerMessage, camel, EXEC, QUERIES, UPDATES } from "../lib/agent/index.ts";
import type { TransportEnd } from "../lib/session/failures.ts";
import { TIMERS, type Timer } from "../lib/session/timers.ts";
import type { Handle, TurnRequest } from "../lib/session/turn.ts";
import { CONNECT_CODES, encodeValue, WireError, type Decoded } from "../wire/index.ts";
import { FUZZ_TIMES, random, type Random } from "./random.ts";
import { after, request, results, Rig, TOOLS } from "./session-rig.ts";

const SEED = Number(process.env["FUZZ_SEED"] ?? 20261);
const RUNS = 500 * FUZZ_TIMES;
const STEPS = 24;
console.log(`session fuzz: FUZZ_SEED=${SEED}`);
const test = suite("session fuzz");
type ServerMessage = Decoded<typeof AgentServerMessage>;

const WORDS = ["", "a", "mcp_pi_add", "add", "bash", "ls -l", "src/a.ts", "**/*.ts", "\ud800", "nothing here"];
const BLOBS = [new Uint8Array(0), Uint8Array.of(1), new Uint8Array(32).fill(7), new Uint8Array(200)];
const ENDS: readonly TransportEnd[] = [
  { type: "end" },
  { type: "trailer", status: "0", message: "" },
  { type: "trailer", status: "5", message: "" },
  { type: "response", status: 503, contentType: "", body: "" },
  { type: "reset", code: 0 },
  { type: "reset", code: 11 },
  { type: "goaway", code: 0 },
  { type: "socket", code: "ECONNRESET", message: "" },
];

function update(dice: Random): ServerMessage {
  const { name, meaning } = dice.pick(dice.below(3) === 0 ? UPDATES : UPDATES.filter((row) => ["text", "thinking", "tokens", "turnEnded", "burst"].includes(row.meaning)));
  const value = { text: { text: dice.pick(WORDS) }, thinking: { text: dice.pick(WORDS) }, tokens: { tokens: dice.below(100) - 10 }, burst: { callCount: dice.below(4) } }[meaning as string] ?? {};
  return { interactionUpdate: { [camel(name)]: value } };
}
function exec(dice: Random): ServerMessage {
  const id = dice.below(6);
  const ids = { ...(id > 0 && { id }), ...(dice.below(2) === 0 && { execId: "e" }) };
  if (dice.below(2) === 0) return { execServerMessage: { ...ids, mcpArgs: { toolName: dice.pick(WORDS), toolCallId: dice.pick(WORDS), args: new Map([["a", dice.below(9) === 0 ? Uint8Array.of(255) : encodeValue(1)]]) } } };
  const { name } = dice.pick(EXEC);
  const all: Record<string, unknown> = { command: dice.pick(WORDS), path: dice.pick(WORDS), pattern: dice.pick(WORDS), glob: dice.pick(WORDS) };
  const table = AgentServerMessage.fields["execServerMessage"]!.table as { fields: Record<string, { table: { fields: Record<string, { kind: string }> } }> };
  const { fields } = table.fields[camel(name)]!.table;
  return { execServerMessage: { ...ids, [camel(name)]: Object.fromEntries(Object.entries(all).filter(([key]) => fields[key]?.kind === "text")) } };
}
function other(dice: Random): ServerMessage {
  switch (dice.below(6)) {
    case 0:
      return { kvServerMessage: { id: 1, setBlobArgs: { blobId: dice.pick(BLOBS), ...(dice.below(3) > 0 && { blobData: dice.pick(BLOBS) }) } } };
    case 1:
      return dice.below(3) === 0 ? { kvServerMessage: { id: 1, getBlobArgs: { blobId: dice.pick(BLOBS) } } } : { ttftBreakdown: Uint8Array.of(8, 1) };
    case 2:
      return { interactionQuery: { id: 1, [camel(dice.pick(QUERIES).name)]: {} } };
    case 3:
      return { execServerControlMessage: { abort: { id: dice.below(6) } } };
    default:
      return { conversationCheckpointUpdate: Uint8Array.of(0x50, dice.below(100)) };
  }
}

/** A payload that may be broken: cut, changed in places, or nothing but noise. */
function broken(dice: Random): Uint8Array {
  if (dice.below(3) === 0) return Uint8Array.from({ length: dice.below(12) }, () => dice.below(256));
  const payload = AgentServerMessage.encode(dice.pick([update, exec, other])(dice));
  if (dice.below(2) === 0) return payload.subarray(0, dice.below(payload.length + 1));
  for (let count = dice.below(3); count >= 0; count--) payload[dice.below(payload.length)] = dice.below(256);
  return payload;
}

/** An exec is answered and closed once, or it is the host's; one that the host has already is not answered. */
function sendExec(rig: Rig, message: ServerMessage): void {
  const { id = 0 } = message.execServerMessage!;
  const isOpen = ["running", "parked", "draining"].includes(rig.session.phase);
  const had = rig.session.pending.has(id);
  const sent = rig.sent(rig.server(message));
  const closes = sent.filter(({ execClientControlMessage: control }) => control?.streamClose && (control.streamClose.id ?? 0) === id).length;
  const gone = rig.session.phase === "over";
  if (!isOpen || had || gone) assert.is(closes, 0, JSON.stringify(message));
  else assert.is(closes, rig.session.pending.has(id) ? 0 : 1, JSON.stringify(message));
}

function carryOn(rig: Rig, dice: Random): void {
  const waiting = [...rig.session.pending.values()].filter(({ delivered }) => delivered).map(({ id }) => id);
  const wasParked = rig.session.phase === "parked";
  const leg = results(rig, dice.below(4) === 0 ? { tools: [TOOLS["bash"]!] } : {});
  const broken = dice.below(20) === 0;
  const sent = rig.sent(rig.step({ type: "continue", request: broken ? ({ ...leg, tools: null } as unknown as TurnRequest) : leg }));
  const closed = sent.flatMap(({ execClientControlMessage: control }) => (control?.streamClose ? [control.streamClose.id ?? 0] : []));
  assert.equal(closed, wasParked && !broken ? waiting : []);
}

function play(rig: Rig, dice: Random): void {
  switch (dice.below(20)) {
    case 0:
      if (dice.below(4) === 0) rig.payload(broken(dice));
      return;
    case 1: {
      const next = rig.next();
      if (next !== undefined) rig.fire(next[0]);
      return;
    }
    case 2:
      if (dice.below(3) === 0) rig.fire(dice.pick(Object.keys(TIMERS) as Timer[]));
      return;
    case 3:
    case 4:
    case 5:
      if (rig.session.phase === "running" && rig.running("burst")) rig.fire("burst");
      carryOn(rig, dice);
      return;
    case 6:
      rig.step(dice.pick([{ type: "alive" }, { type: "opened" }, { type: "opened" }, { type: "alive" }, { type: "malformed", error: new WireError("varint", 0) }]));
      return;
    case 7:
      if (dice.below(3) === 0) rig.step({ type: "closed", end: dice.pick(ENDS) });
      return;
    case 8:
      if (dice.below(3) === 0) rig.payload(new TextEncoder().encode(dice.pick(["{}", "{", '{"error":null}', ...CONNECT_CODES.map((code) => `{"error":{"code":"${code}"}}`)])), 2);
      return;
    case 9:
      if (dice.below(6) === 0) rig.step({ type: "abort" });
      return;
    case 10:
      rig.server(update(dice), other(dice), update(dice));
      return;
    case 11:
    case 12:
      rig.server(other(dice));
      return;
    case 13:
    case 14:
    case 15:
    case 16:
      sendExec(rig, exec(dice));
      return;
    default:
      rig.server(update(dice));
  }
}

/** What holds of every Run, whatever happened in it. */
function judge(rig: Rig): string {
  const ends = rig.all.filter((action) => action.type === "fail" || (action.type === "emit" && action.event.type === "done" && action.event.reason === "stop"));
  assert.is(ends.length, 1, "one end");
  assert.is(rig.all.filter(({ type }) => type === "close").length, 1, "one close");
  assert.is(rig.all.at(-1)!.type, "close", "and nothing after it");
  let calls = 0;
  let counted = false;
  for (const event of rig.emitted()) {
    if (event.type === "tool_call") calls += 1;
    if (event.type === "done") {
      assert.ok(counted, "usage stands before done");
      assert.is(event.reason === "tool_use", calls > 0, "tool_use where there were calls");
      calls = 0;
    }
    counted = event.type === "usage";
  }
  const ids = rig.emitted().flatMap((event) => (event.type === "tool_call" ? [event.id] : []));
  assert.is(new Set(ids).size, ids.length, "ids are unique");
  let answered: number | undefined;
  for (const { execClientMessage: answer, execClientControlMessage: control } of rig.sent(rig.all)) {
    if (control?.streamClose) assert.is(answered, control.streamClose.id ?? 0, "an answer stands before its close");
    answered = answer || control?.throw ? ((answer ?? control?.throw)!.id ?? 0) : undefined;
  }
  const [end] = ends;
  return end!.type === "fail" ? `${end!.error.kind} ${end!.error.code}` : "stop";
}

test(`${RUNS} random services with seed ${SEED}`, () => {
  const dice = random(SEED);
  const outcomes = new Map<string, number>();
  const toolsets = [[], [TOOLS["add"]!], Object.values(TOOLS)];
  let handle: Handle | undefined;
  for (let run = 0; run < RUNS; run++) {
    const tools = dice.pick(toolsets);
    const resume = handle !== undefined && dice.below(3) === 0;
    const messages = after([{ role: "user", content: "hi" }], "1", "two");
    const rig = new Rig({ request: request("hi", { tools, ...(resume && { messages }) }), ...(resume && { handle }) });
    try {
      if (dice.below(10) > 0) rig.step({ type: "opened" });
      for (let step = 0; step < STEPS; step++) play(rig, dice);
      if (rig.session.phase !== "over") rig.step({ type: "abort" });
      const outcome = judge(rig);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    } catch (error) {
      (error as Error).message = `run ${run} of seed ${SEED}: ${(error as Error).message}`;
      throw error;
    }
    if (!resume) handle = rig.saved ?? handle;
  }
  // The dice have to reach all kinds of ends, or the test shows nothing.
  for (const kind of ["stop", "aborted aborted", "remote tool_loop", "remote ended_early", "remote blob_not_found", "network connection_lost", "network first_token_timeout", "protocol-drift varint"])
    assert.ok((outcomes.get(kind) ?? 0) > 0, `${kind} in ${JSON.stringify([...outcomes])}`);
});

test.run();
