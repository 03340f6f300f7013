/** H6: whatever the host does, a call ends once, in time, and its result is there. Seeded; the seed is in the names. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { Fault, FaultAction, FaultStep, Script, Step } from "../lib/loopback/index.ts";
import { callsOf, LINES, onStage, result, tool, user } from "./pi-fake.ts";
import { waiting } from "./waiting.ts";

/** ms that a call may wait: for the clocks below, and no more than that. */
const BUDGET = 4_000;
const CLOCKS = { CURSOR_PROVIDER_FIRST_TOKEN_MS: "120", CURSOR_PROVIDER_IDLE_MS: "120", CURSOR_PROVIDER_TOOLUSE_WATCHDOG_MS: "200" };

/** A small generator of numbers (mulberry32): the same seed gives the same script. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const FAULTS: FaultStep[] = [
  { type: "cut" },
  { type: "cut", reset: true },
  { type: "reset", code: 0 },
  { type: "reset", code: 8 },
  { type: "reset", code: 11 },
  { type: "goaway", cut: true },
  { type: "goaway", code: 11, cut: true },
  { type: "end_stream" },
  { type: "partial_frame" },
  { type: "oversize" },
  { type: "stall" },
  { type: "trailers", trailers: { "grpc-status": "13" } },
];
const PLACED: FaultAction[] = [...FAULTS, { type: "data_after_end" }];
const STEPS: Step[] = [
  { text: "text" },
  { thinking: "thought" },
  { tokens: 3 },
  { heartbeats: 2 },
  { announce: 2 },
  { mcp: { tool: "read", args: { path: "a" } } },
  { mcp: { tool: "nosuch" } },
  { exec: { case: "shellArgs", args: { command: "ls" }, wait: false } },
  { exec: { raw: "ba0300", wait: false } },
  { query: { case: "webSearchRequestQuery", wait: false } },
  { getBlob: "root", wait: false },
  { setBlob: { text: "blob" }, wait: false },
  { checkpoint: true },
  { raw: "ff" },
  { raw: "0a" },
  { bytes: "0000" },
  { wait: 5 },
  { turnEnded: true },
  { end: true },
  { end: { error: { code: "internal", message: "broken" } } },
  ...FAULTS.map((fault): Step => ({ fault })),
];

function scriptOf(pick: (below: number) => number): Script {
  return Array.from({ length: 1 + pick(7) }, () => STEPS[pick(STEPS.length)]!);
}

const test = suite("pi any script");

for (let seed = 1; seed <= 40; seed++)
  test(`H6 a random script ends once (seed ${seed})`, () => {
    const pick = random(seed);
    const scripts = [scriptOf(pick), scriptOf(pick), scriptOf(pick)];
    const faults: Fault[] = pick(4) === 0 ? [{ ...PLACED[pick(PLACED.length)]!, run: 0 } as Fault] : [];
    return onStage({ line: LINES[seed % 2]!, script: scripts, faults, env: CLOCKS }, async ({ ask }) => {
      // Long enough to be told from a call that ends by itself, so that one that does not names its script.
      const options = { signal: AbortSignal.timeout(10 * BUDGET) };
      const tools = { tools: [tool("read", "path")] };
      const messages = [user("hi")];
      for (let leg = 0; leg < 3; leg++) {
        const { result: { events, message }, waited } = await waiting(ask(messages, options, tools));
        const shown = JSON.stringify(scripts);
        assert.ok(waited < BUDGET, `${shown} waited ${waited} ms`);
        assert.is(events.filter(({ type }) => type === "done" || type === "error").length, 1, shown);
        assert.is(events.at(-1)!.type === "done", ["stop", "toolUse"].includes(message.stopReason), shown);
        const calls = callsOf(message);
        assert.is(message.stopReason === "toolUse", calls.length > 0 && message.stopReason !== "error" && message.stopReason !== "aborted", shown);
        if (message.stopReason !== "toolUse") return;
        messages.push(message, ...calls.map((call) => result(call.id, call.name, "r")));
      }
    });
  });

test.run();
