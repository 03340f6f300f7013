/** The fast decoder of a Value: what it takes, and that all else is left to the reading by the rules. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { USUAL } from "../wire/hot-field.ts";
import { elements, hotValue } from "../wire/hot-value.ts";
import { decodeValue, encodeValue, LIMITS, Reader, WireError, type Json } from "../wire/index.ts";
import { readValue } from "../wire/value.ts";
import { bytes, hex } from "./check.ts";
import { random } from "./random.ts";

const test = suite("wire hot value");

/** JSON whose bytes, as they are written here, are of the usual shape. */
const TAKEN: readonly Json[] = [
  null,
  true,
  false,
  -0.5,
  "",
  "模型 😀",
  "x".repeat(5000),
  [],
  {},
  [null, [], {}, "a string that is shared", true, 2],
  { "": null, path: "/home/user/a.ts", edits: [{ old: "x".repeat(40), new: "é".repeat(40) }], 模型: "y".repeat(300) },
];

for (const json of TAKEN) {
  const whole = encodeValue(json);
  const name = JSON.stringify(json).slice(0, 60);

  test(`${name} is taken, and is what the rules give`, () => {
    assert.equal(hotValue(whole), json);
    assert.equal(slow(whole).json, json);
    assert.equal(hotValue(whole), json, "once more: nothing is kept of the last one");
  });

  test(`${name}: every cut and every changed byte is the rules' value or their error`, () => {
    for (let at = 0; at <= Math.min(whole.length, 400); at++) {
      same(whole.subarray(0, at));
      same(whole.subarray(at));
      for (const byte of [0x00, 0x07, 0x08, 0x0a, 0x11, 0x12, 0x1a, 0x20, 0x2a, 0x32, 0x80, 0xff, whole[at]! ^ 1, whole[at]! ^ 8]) {
        const changed = whole.slice();
        changed[at] = byte;
        same(changed);
      }
    }
  });
}

/** Bytes that the rules allow and no encoder writes. */
const UNUSUAL: Readonly<Record<string, string>> = {
  "no kind": "",
  "an unknown field alone": "4801",
  "a kind and an unknown field": "2001 4801",
  "two kinds": "2001 1a0161",
  "a null of another number": "0805",
  "a bool of the next number": "2002",
  "a bool of another number": "2005",
  "a long bool": "208100",
  "a tag that is longer than it needs to be": "a00001",
  "an entry without key": "2a06 0a04 12022001",
  "an entry without value": "2a05 0a03 0a0161",
  "an entry with its value first": "2a09 0a07 12022001 0a0161",
  "an entry with two keys": "2a0c 0a0a 0a0161 0a0162 12022001",
  "an entry with two values": "2a0d 0a0b 0a0161 12022001 12022000",
  "an entry whose value has no kind": "2a07 0a05 0a0161 1200",
  "an element without kind": "3202 0a00",
  "an unknown field among elements": "3206 0a022001 4801",
  "the key __proto__": "2a11 0a0f 0a095f5f70726f746f5f5f 12022001",
};

for (const [name, input] of Object.entries(UNUSUAL))
  test(`${name} is left to the rules`, () => {
    assert.is(hotValue(bytes(input)), undefined);
    same(bytes(input));
  });

test("a length of up to four bytes is taken, a longer one is not", () => {
  for (const length of ["01", "8100", "818000", "81808000"]) assert.is(hotValue(bytes(`1a${length} 61`)), "a");
  same(bytes("1a8180808000 61"));
  assert.is(hotValue(bytes("1a8180808000 61")), undefined);
  const large = "x".repeat(3_000_000);
  assert.is(hotValue(encodeValue(large)), large);
});

test("what lies around the value is not read", () => {
  const slab = bytes("1a0161 2a090a070a016112022001 0a0161");
  const value = slab.subarray(3, slab.length - 3);
  assert.equal(hotValue(value), { a: true });
  // Lengths that end with what surrounds them, or one byte behind it; elements and values that are empty at the end.
  for (const input of [
    "320c0a0632040a061a040a020800",
    "2a1b0a100a0161120b2a090a100a0161120b1a090a070a016212022001",
    "32070a031a02610800",
    "32060a031a026161",
    "2a0b0a070a016112022001",
    "32020a000800",
    `32848000 0a81800020 01`,
  ]) {
    same(bytes(input));
    for (const end of [1, 2, 3]) same(bytes(input).subarray(0, -end));
  }
});

test("arrays and objects nest as deep as the limit, and what nests deeper is left", () => {
  // Each level around a value: an element of a list, an entry of an object.
  const wraps = [(inner: Uint8Array) => sized("32", sized("0a", inner)), (inner: Uint8Array) => sized("2a", sized("0a", bytes("0a016b"), sized("12", inner)))];
  for (const wrap of wraps) {
    let value: Uint8Array = bytes("2001");
    for (let depth = 0; depth < LIMITS.depth; depth++) value = wrap(value);
    assert.ok(hotValue(value));
    same(value);
    assert.is(hotValue(wrap(value)), undefined);
    assert.throws(() => decodeValue(wrap(value)), (error: unknown) => error instanceof WireError && error.code === "depth");
  }
});

test("elements are counted alike, from where the count stood", () => {
  const value = encodeValue([1, { a: [2, 3], b: null }]);
  assert.ok(hotValue(value));
  assert.is(elements, 6);
  for (const before of [0, 7, LIMITS.elements - 6]) {
    assert.is(slow(value, before).elements, before + 6);
    const count = { elements: before };
    assert.equal(decodeValue(value, count), [1, { a: [2, 3], b: null }]);
    assert.is(count.elements, before + 6);
  }
  assert.throws(() => decodeValue(value, { elements: LIMITS.elements - 5 }), (error: unknown) => error instanceof WireError && error.code === "elements");
});

test("so many elements are taken, more are left", () => {
  for (const make of [(count: number): Json => Array<null>(count).fill(null), (count: number): Json => Object.fromEntries(Array.from({ length: count }, (_, index) => [index, null]))]) {
    assert.ok(hotValue(encodeValue(make(USUAL))));
    assert.is(hotValue(encodeValue(make(USUAL + 1))), undefined);
    assert.equal(decodeValue(encodeValue(make(USUAL + 1))), make(USUAL + 1));
  }
});

test("a key that a frozen prototype holds is left to the rules, and nothing of its value is in the next one", () => {
  const [broken, next] = [encodeValue(["A".repeat(20), { toString: 1 }]), encodeValue(["B".repeat(20)])];
  const kept = Object.getOwnPropertyDescriptor(Object.prototype, "toString")!;
  // As in a host that freezes the prototypes: the key cannot be assigned.
  Object.defineProperty(Object.prototype, "toString", { ...kept, writable: false });
  try {
    assert.throws(() => hotValue(broken), TypeError);
    assert.is(JSON.stringify(decodeValue(broken)), JSON.stringify(["A".repeat(20), { toString: 1 }]));
  } finally {
    Object.defineProperty(Object.prototype, "toString", kept);
  }
  assert.equal(decodeValue(next), ["B".repeat(20)]);
});

test("random JSON is taken and comes back", () => {
  const { below, pick } = random(2026);
  const make = (depth: number): Json => {
    switch (below(depth > 3 ? 4 : 6)) {
      case 0:
        return pick([null, true, false]);
      case 1:
        return below(1e9) / 7;
      case 2:
        return "a".repeat(below(200));
      case 3:
        return "模型é".repeat(below(60));
      case 4:
        return Array.from({ length: below(5) }, () => make(depth + 1));
      default:
        return Object.fromEntries(Array.from({ length: below(5) }, (_, index) => [`key ${index}`, make(depth + 1)]));
    }
  };
  for (let round = 0; round < 500; round++) {
    const json = make(0);
    const whole = encodeValue(json);
    assert.equal(hotValue(whole), json);
    const changed = whole.slice();
    changed[below(changed.length)] = below(256);
    same(changed);
  }
});

test.run();

function same(input: Uint8Array): void {
  const golden = outcome(() => slow(input).json);
  assert.equal(outcome(() => decodeValue(input)), golden, hex(input));
  const fast = hotValue(input);
  if (fast !== undefined) assert.equal(fast, golden, hex(input));
}

function slow(input: Uint8Array, counted = 0): { json: Json; elements: number } {
  const reader = new Reader(input);
  reader.elements = counted;
  return { json: readValue(reader, null, 0), elements: reader.elements };
}

/** The value, or the error's code and place. */
function outcome(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    assert.instance(error, WireError);
    const { code, offset } = error as WireError;
    return `${code} at ${offset}`;
  }
}

/** A tag, the length of what follows in two bytes, and that. */
function sized(tag: string, ...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const body = Buffer.concat(parts);
  return new Uint8Array([...bytes(tag), (body.length & 127) | 128, body.length >>> 7, ...body]);
}
