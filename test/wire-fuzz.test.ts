/**
 * Any bytes give a value or a WireError, never another exception, and never cost more than their length allows. Bytes
 * are noise, and vectors that were cut, changed, joined and nested. The seed is printed; `FUZZ_SEED` repeats a run; `FUZZ_TIMES=10` does ten times as much.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { MALFORMED } from "../fixtures/malformed.ts";
import { VECTORS } from "../fixtures/vectors.ts";
import * as agent from "../lib/agent/index.ts";
import { hot } from "../lib/agent/hot.ts";
import { decodeEndStream, decodeValue, encodeEnvelope, encodeFields, encodeValue, EnvelopeReader, fields, message, Reader, WireError, type Message } from "../wire/index.ts";
import { readValue } from "../wire/value.ts";
import { bytes, hex } from "./check.ts";
import { FUZZ_TIMES, random, type Random } from "./random.ts";

const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_201);
/** How long each test goes on at most, and for how many inputs. */
const LIMIT = { ms: 600 * FUZZ_TIMES, inputs: 2000 * FUZZ_TIMES } as const;

const test = suite(`wire fuzz, seed ${SEED}`);
console.log(`wire fuzz: FUZZ_SEED=${SEED}`);

const tables = (Object.values(agent) as unknown[]).filter(isTable);
const seeds = [...VECTORS, ...MALFORMED].map((vector) => bytes(vector.hex)).filter(({ length }) => length > 0 && length < 4096);
/** Frames of the shapes that the fast decoder takes, to be changed from there. */
const hotSeeds = [
  ...["some text", "模型", "a delta of more than twenty bytes"].flatMap((text) => [{ textDelta: { text } }, { thinkingDelta: { text } }]).map((interactionUpdate) => ({ interactionUpdate })),
  ...["", "00", "ff".repeat(300)].map((data) => ({ conversationCheckpointUpdate: bytes(data) })),
  ...[5, 300, 70000].map((id) => ({ kvServerMessage: { id, setBlobArgs: { blobId: new Uint8Array(32).fill(id), blobData: bytes("01020304") } } })),
  ...[["path"], ["path", "offset", "模型", ""]].map((keys) => ({
    execServerMessage: {
      id: 7,
      mcpArgs: { name: "mcp_pi_edit", args: new Map(keys.map((key) => [key, encodeValue({ key })])), toolCallId: "toolu_0123456789", providerIdentifier: "pi", toolName: "edit" },
      execId: "exec-7-0123456789",
    },
  })),
].map((value) => agent.AgentServerMessage.encode(value));
/** Values of the shape that the fast decoder takes. */
const valueSeeds = [null, true, -0.5, "模型", "some text of no few bytes", [1, [], {}, "an element of a list"], { path: "/home/user", edits: [{ old: "one line", new: null }], 模型: { a: false } }].map(encodeValue);
/** The server's message without its fast decoder. */
const Slow = message(agent.AgentServerMessage.fields) as Message<unknown>;

/** Runs `check` on inputs until the limit. */
function each(name: string, check: (input: Uint8Array, random: Random) => void, from: readonly Uint8Array[] = seeds): void {
  test(name, () => {
    const chance = random(SEED);
    const until = performance.now() + LIMIT.ms;
    for (let count = 0; count < LIMIT.inputs && performance.now() < until; count++) {
      const input = inputOf(chance, from);
      try {
        check(input, chance);
      } catch (error) {
        throw new Error(`input ${count}: ${hex(input).slice(0, 2000)}`, { cause: error });
      }
    }
  });
}

each("fields come back byte for byte or are refused", (input) => {
  const list = attempt(() => fields(input));
  if (list !== undefined) assert.is(hex(encodeFields(list)), hex(input));
});

each("every table gives a value or a WireError", (input, chance) => {
  const table = chance.pick(tables);
  const value = attempt(() => table.decode(input));
  if (value === undefined) return;
  // What was decoded can be encoded, and what that wrote says the same again.
  const written = table.encode(value);
  assert.is(hex(table.encode(table.decode(written))), hex(written));
});

const sameHot = (input: Uint8Array): void => {
  const golden = told(() => Slow.decode(input));
  const fast = hot(input);
  if (fast !== undefined) assert.equal(fast, golden);
  assert.equal(told(() => agent.AgentServerMessage.decode(input)), golden);
};
each("the fast decoder gives what the table gives, or nothing", sameHot);
each("the fast decoder gives what the table gives, near its shapes", sameHot, hotSeeds);

test("the fast decoder takes each of its shapes", () => {
  // All but the last blob, whose id takes three bytes.
  const taken = hotSeeds.filter((seed) => hot(seed) !== undefined);
  assert.is(taken.length, hotSeeds.length - 1);
});

const sameValue = (input: Uint8Array): void => assert.equal(told(() => decodeValue(input)), told(() => readValue(new Reader(input), null, 0)));
each("the fast decoder of a Value gives what the rules give", sameValue);
each("the fast decoder of a Value gives what the rules give, near its shape", sameValue, valueSeeds);

each("a Value gives JSON that comes back, or a WireError", (input) => {
  const json = attempt(() => decodeValue(input));
  if (json === undefined) return;
  const again = decodeValue(encodeValue(json));
  assert.equal(JSON.stringify(again), JSON.stringify(json));
});

each("an end-stream is read or refused", (input) => {
  attempt(() => decodeEndStream(input));
});

each("a stream of envelopes gives the same however it is cut", (input, chance) => {
  const stream = chance.below(2) ? input : Buffer.concat(Array.from({ length: 1 + chance.below(4) }, () => encodeEnvelope(chance.below(20) ? 0 : chance.below(256), inputOf(chance, seeds))));
  const whole = outcome([stream]);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < stream.length; ) {
    const length = 1 + chance.below(chance.below(2) ? 3 : 40);
    chunks.push(stream.subarray(at, at + length));
    at += length;
  }
  assert.equal(outcome(chunks), whole);
});

each("what a table wrote is read by wire type, and a cut of it is refused or shorter", (input, chance) => {
  const cut = input.subarray(0, chance.below(input.length + 1));
  const whole = attempt(() => fields(input));
  const part = attempt(() => fields(cut));
  if (whole && part) assert.ok(part.length <= whole.length);
});

test("text of any code units comes back as TextEncoder would write it", () => {
  const chance = random(SEED);
  for (let count = 0; count < 500; count++) {
    const text = Array.from({ length: chance.below(60) }, () => String.fromCharCode(chance.pick([chance.below(128), chance.below(2048), chance.below(65536), 0xd800 + chance.below(2048)]))).join("");
    const { text: back = "" } = agent.TextDeltaUpdate.decode(agent.TextDeltaUpdate.encode({ text }));
    assert.is(back, new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(text)), JSON.stringify(text));
  }
});

test.run();

/** The result, or undefined where the bytes are refused. Any other exception is a failure. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

/** The result, or what the error says where the bytes are refused. */
function told(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    if (error instanceof WireError) return error.message;
    throw error;
  }
}

function outcome(chunks: readonly Uint8Array[]): string[] {
  const reader = new EnvelopeReader({ limit: 100_000 });
  const seen: string[] = [];
  const refused = attempt(() => {
    for (const chunk of chunks) for (const { flags, payload } of reader.push(chunk)) seen.push(`${flags} ${hex(payload)}`);
    reader.end();
    return true;
  });
  if (!refused) seen.push(`${reader.failure!.code} ${reader.failure!.offset}`);
  return seen;
}

/** Noise, or a vector that something happened to. */
function inputOf(chance: Random, from: readonly Uint8Array[]): Uint8Array {
  if (chance.below(10) === 0) return Uint8Array.from({ length: chance.below(40) }, () => chance.below(256));
  let input = Uint8Array.from(chance.pick(from));
  for (let changes = chance.below(4); changes > 0; changes--) input = changed(input, chance.pick(from), chance);
  return input;
}

function changed(input: Uint8Array<ArrayBuffer>, other: Uint8Array, chance: Random): Uint8Array<ArrayBuffer> {
  const at = chance.below(input.length + 1);
  switch (chance.below(8)) {
    case 0:
      return input.slice(0, at);
    case 1:
      return input.slice(at);
    case 2:
      return joined(input, other);
    case 3:
      return joined(input.slice(0, at), other, input.slice(at));
    case 4:
      return joined(Uint8Array.of((1 + chance.below(12)) * 8 + 2, input.length & 127), input);
    case 5:
      return joined(input.slice(0, at), Uint8Array.from({ length: 1 + chance.below(12) }, () => 128 + chance.below(128)), input.slice(at));
    case 6:
      return joined(input, input);
    default: {
      const copy = input.slice();
      if (at < copy.length) copy[at] = chance.below(2) ? chance.below(256) : copy[at]! ^ (1 << chance.below(8));
      return copy;
    }
  }
}

function joined(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts));
}

function isTable(item: unknown): item is Message<unknown> {
  return typeof item === "object" && item !== null && "fields" in item && "encode" in item;
}
