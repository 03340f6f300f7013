/** The fast decoder of a server message: what it takes, and that all else is left to the table. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentServerMessage } from "../lib/agent/index.ts";
import { hot } from "../lib/agent/hot.ts";
import { USUAL } from "../wire/hot-field.ts";
import { encodeValue, LIMITS, message, WireError, type Message } from "../wire/index.ts";
import { bytes, hex } from "./check.ts";

const test = suite("wire hot");
const Slow = message(AgentServerMessage.fields) as Message<unknown>;

/** A field: its tag and its content, or its fields. */
type Node = readonly [tag: number, content: string | readonly Node[]];

const ID: Node = [0x08, "05"];
const LONG_ID: Node = [0x08, "ac02"];
const ENTRY: Node = [0x12, [[0x0a, "70617468"], [0x12, hex(encodeValue("/a"))]]];
const CALL: Node = [0x5a, [[0x0a, "65646974"], ENTRY, [0x12, [[0x0a, ""], [0x12, ""]]], [0x1a, "746f6f6c75"], [0x22, "7069"], [0x2a, "65646974"]]];
const EXEC_ID: Node = [0x7a, "657865632d35"];

/** The shapes by name. */
const SHAPES: Readonly<Record<string, Node>> = {
  text: [0x0a, [[0x0a, [[0x0a, "6869"]]]]],
  "empty text": [0x0a, [[0x0a, [[0x0a, ""]]]]],
  "text that is no UTF-8": [0x0a, [[0x0a, [[0x0a, "68ff69"]]]]],
  "long text": [0x0a, [[0x0a, [[0x0a, "e6a8a1".repeat(100)]]]]],
  thinking: [0x0a, [[0x22, [[0x0a, "686d"]]]]],
  checkpoint: [0x1a, "0a0101"],
  "empty checkpoint": [0x1a, ""],
  blob: [0x22, [ID, [0x1a, [[0x0a, "07".repeat(32)], [0x12, "010203"]]]]],
  "blob of a longer id": [0x22, [LONG_ID, [0x1a, [[0x0a, "07".repeat(32)], [0x12, ""]]]]],
  call: [0x12, [ID, CALL, EXEC_ID]],
};

for (const [name, shape] of Object.entries(SHAPES)) {
  const whole = write(shape);

  test(`${name} is taken, and is what the table gives`, () => {
    const value = hot(whole);
    assert.ok(value);
    assert.equal(value, Slow.decode(whole));
    assert.equal(AgentServerMessage.decode(whole), value);
  });

  test(`${name}: every cut and every changed byte is the table's value or its error`, () => {
    for (let at = 0; at <= whole.length; at++) {
      same(whole.subarray(0, at));
      same(whole.subarray(at));
      for (const byte of [0x00, 0x07, 0x08, 0x0a, 0x12, 0x1a, 0x22, 0x80, 0xff, whole[at]! ^ 1, whole[at]! ^ 8]) {
        const changed = whole.slice();
        changed[at] = byte;
        same(changed);
      }
    }
  });

  test(`${name}: every field left out, doubled, moved, or with something beside it is the table's value`, () => {
    for (const variant of variants(shape)) same(write(variant));
    same(join(whole, whole));
    for (const other of Object.values(SHAPES)) same(join(whole, write(other)));
  });

  test(`${name}: lengths that are longer than they need to be are the table's value`, () => {
    for (const pad of [1, 2, 3, 4]) same(write(shape, pad));
  });
}

test("a call without arguments is the table's", () => {
  const bare = write([0x12, [ID, [0x5a, [[0x0a, "61"], [0x1a, "62"], [0x22, "63"], [0x2a, "64"]]], EXEC_ID]]);
  assert.is(hot(bare), undefined);
  same(bare);
});

test("an id of three bytes, or one cut off, is the table's", () => {
  for (const id of ["80808001", "80"]) {
    const frame = write([0x22, [[0x08, id], [0x1a, [[0x0a, "07".repeat(32)], [0x12, ""]]]]]);
    assert.is(hot(frame), undefined);
    same(frame);
    same(write([0x22, [[0x08, id]]]));
  }
});

test("ids that are no UTF-8 are the table's error", () => {
  const fields = CALL[1] as readonly Node[];
  const broken = fields.map(([tag]): Node => [0x5a, fields.map((field) => (field[0] === tag ? [tag, "70ff"] : field))]);
  for (const call of [[0x12, [ID, CALL, [0x7a, "ff"]]] as Node, ...broken.slice(-3, -1).map((call): Node => [0x12, [ID, call, EXEC_ID]])]) {
    assert.is(hot(write(call)), undefined);
    assert.throws(() => AgentServerMessage.decode(write(call)), (error: unknown) => error instanceof WireError && error.code === "utf8");
    same(write(call));
  }
});

test("so many arguments are taken, more are left, and all are counted, though they have one name", () => {
  const call = (count: number): Uint8Array => write([0x12, [ID, [0x5a, `0a0161${"12040a001200".repeat(count)}1a01622201632a0164`], EXEC_ID]]);
  assert.ok(hot(call(USUAL)));
  assert.is(hot(call(USUAL + 1)), undefined);
  same(call(USUAL + 1));
  assert.ok(AgentServerMessage.decode(call(LIMITS.elements)));
  assert.throws(() => AgentServerMessage.decode(call(LIMITS.elements + 1)), (error: unknown) => error instanceof WireError && error.code === "elements");
});

test("nothing of one frame is left for the next", () => {
  for (const frame of ["1a80808080", "1a8080808000", "1a"]) {
    assert.ok(hot(bytes("1a03010203")));
    assert.is(hot(bytes(frame)), undefined);
    same(bytes(frame));
  }
});

test("what stands in a call behind its tool's name is not the exec's", () => {
  const inside = write([0x12, [ID, [0x5a, [...(CALL[1] as readonly Node[]), EXEC_ID]]]]);
  assert.is(hot(inside), undefined);
  same(inside);
});

test("an argument given twice keeps the last value", () => {
  const twice = write([0x12, [ID, [0x5a, [[0x0a, "61"], ENTRY, [0x12, [[0x0a, "70617468"], [0x12, "2001"]]], [0x1a, "62"], [0x22, "63"], [0x2a, "64"]]], EXEC_ID]]);
  assert.equal(hot(twice), Slow.decode(twice));
});

test("bytes of a fast value are views, and nothing is read around the frame", () => {
  const slab = join(bytes("ffff"), write(SHAPES["blob"]!), bytes("0a05"));
  const frame = slab.subarray(2, slab.length - 2);
  assert.equal(hot(frame), Slow.decode(frame));
  assert.is(hot(frame)!.kvServerMessage!.setBlobArgs!.blobData!.buffer, slab.buffer);
});

test.run();

function same(input: Uint8Array): void {
  const golden = outcome(() => Slow.decode(input));
  assert.equal(outcome(() => AgentServerMessage.decode(input)), golden, hex(input));
  const fast = hot(input);
  if (fast !== undefined) assert.equal(fast, golden, hex(input));
}

/** The value, or the error's code, place and path. */
function outcome(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    assert.instance(error, WireError);
    const { code, offset, path } = error as WireError;
    return `${code} at ${offset} in ${path}`;
  }
}

/** The tree with one field left out, doubled, swapped with the next, or an unknown one beside it: at each place, at each level. */
function* variants([tag, content]: Node): Generator<Node> {
  if (typeof content === "string") return;
  const UNKNOWN: Node = [0xf8, "0101"];
  for (let at = 0; at <= content.length; at++) {
    const before = content.slice(0, at);
    const after = content.slice(at + 1);
    const node = content[at];
    yield [tag, [...before, UNKNOWN, ...content.slice(at)]];
    if (node === undefined) continue;
    yield [tag, [...before, ...after]];
    yield [tag, [...before, node, node, ...after]];
    yield [tag, [...after, node, ...before]];
    for (const variant of variants(node)) yield [tag, [...before, variant, ...after]];
  }
}

/** The bytes of a tree; each length takes `pad` bytes more than it needs. */
function write([tag, content]: Node, pad = 0): Uint8Array<ArrayBuffer> {
  const body = typeof content === "string" ? bytes(content) : join(...content.map((node) => write(node, pad)));
  if (tag === 0x08 || tag === 0xf8) return join(Uint8Array.of(tag), body);
  const length: number[] = [];
  let rest = body.length;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  length.push(rest);
  for (let index = 0; index < pad; index++) {
    length[length.length - 1]! |= 128;
    length.push(0);
  }
  return join(Uint8Array.of(tag, ...length), body);
}

function join(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts));
}
