/** Whatever bytes a peer or a file holds, inspect, redact and replay come to an end and throw nothing of their own; `FUZZ_TIMES=10` tries ten times as many. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { list, readText } from "../fixtures/load.ts";
import { AgentClientMessage, AgentServerMessage } from "../lib/agent/index.ts";
import { Failure } from "../lib/cli/failure.ts";
import { framesOf } from "../lib/cli/inspect-source.ts";
import { readRecording, type Recording } from "../lib/cli/recording.ts";
import { redactPayload } from "../lib/cli/redact.ts";
import { check } from "../lib/cli/replay-check.ts";
import { replayRun } from "../lib/cli/replay-run.ts";
import { showMessage } from "../lib/cli/shown.ts";
import type { AnyTable } from "../lib/cli/walk.ts";
import { CursorError } from "../lib/index.ts";
import { encodeEnvelope } from "../wire/index.ts";
import { FUZZ_TIMES, random, type Random } from "./random.ts";

const SEED = Number(process.env["FUZZ_SEED"] ?? 20261201);
const ROUNDS = 120 * FUZZ_TIMES;

const test = suite(`cli fuzz, FUZZ_SEED=${SEED}`);

const TABLES = { client: AgentClientMessage as AnyTable, server: AgentServerMessage as AnyTable };
const CAPTURES = list("fixtures/captures").filter((name) => name.endsWith(".jsonl") && !name.startsWith("checkpoint"));

/** The bytes with a few of them changed, some removed, some repeated. */
function mutated(bytes: Uint8Array, chance: Random): Uint8Array {
  const copy = Array.from(bytes);
  for (let times = 1 + chance.below(4); times > 0 && copy.length > 0; times--) {
    const at = chance.below(copy.length);
    const kind = chance.below(10);
    if (kind < 6) copy[at] = chance.below(256);
    else if (kind < 8) copy.splice(at, 1 + chance.below(4));
    else copy.splice(at, 0, ...copy.slice(at, at + 1 + chance.below(8)));
  }
  return Uint8Array.from(copy);
}

for (const name of CAPTURES) {
  test(`${name}: changed frames are shown, and redacted to the same length`, async () => {
    const chance = random(SEED);
    const { frames } = await recording(name);
    for (let round = 0; round < ROUNDS; round++) {
      const frame = chance.pick(frames);
      const payload = mutated(frame.envelope.subarray(5), chance);
      showMessage(payload, TABLES[frame.from], { fields: 500, text: 50, bytes: 20 });
      showMessage(payload, undefined, { fields: 500, text: 50, bytes: 20 });
      const copy = payload.slice();
      redactPayload(copy, frame.from);
      assert.is(copy.length, payload.length);
    }
  });

  test(`${name}: changed server frames replay to an end`, async () => {
    const chance = random(SEED + 1);
    const original = await recording(name);
    for (let round = 0; round < ROUNDS / 3; round++) {
      const at = chance.below(original.frames.length);
      const frames = original.frames.map((frame, index) => {
        if (frame.from === "client" || (index !== at && chance.below(10) > 0)) return frame;
        return { ...frame, envelope: encodeEnvelope(chance.below(20) === 0 ? 2 : 0, mutated(frame.envelope.subarray(5), chance)) };
      });
      const replayed = replayRun({ ...original, frames }, { onEvent() {}, onResult() {}, onDiagnostic() {} });
      const { end } = replayed;
      assert.ok(["done", "failed", "restarted", "unfinished"].includes(end.type));
      if (end.type === "failed") assert.is.not(end.error.code, "defect", String(end.error.message));
      check({ ...original, frames }, replayed);
    }
  });

  test(`${name}: a changed file is read or refused`, async () => {
    const chance = random(SEED + 2);
    const whole = Buffer.from(readText(`fixtures/captures/${name}`));
    for (let round = 0; round < ROUNDS / 10; round++) {
      const bytes = mutated(whole, chance);
      try {
        for await (const found of framesOf(each(bytes), name)) assert.ok(found);
        const read = await readRecording(each(bytes), name);
        replayRun(read, { onEvent() {}, onResult() {}, onDiagnostic() {} });
      } catch (error) {
        assert.ok(error instanceof Failure || error instanceof CursorError, String((error as Error).stack));
      }
    }
  });
}

test.run();

function recording(name: string): Promise<Recording> {
  return readRecording(each(Buffer.from(readText(`fixtures/captures/${name}`))), name);
}

async function* each(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
