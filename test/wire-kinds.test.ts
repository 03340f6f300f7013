/** Every scalar kind against bytes of an independent encoder (protobufjs), and what each kind refuses. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import * as wire from "../wire/index.ts";
import { encodeFields, message, oneof, optional, Reader, repeated, WireError, Writer, type Field, type ScalarName } from "../wire/index.ts";
import { SCALARS } from "../wire/kinds.ts";
import { bytes, hex } from "./check.ts";

const test = suite("wire kinds");

/** Field 1 with each value: [value, bytes]. */
const GOLDEN: Readonly<Record<ScalarName, readonly (readonly [value: unknown, hex: string])[]>> = {
  int32: [
    [0, "0800"],
    [1, "0801"],
    [127, "087f"],
    [128, "088001"],
    [300, "08ac02"],
    [2147483647, "08ffffffff07"],
    [-1, "08ffffffffffffffffff01"],
    [-2147483648, "0880808080f8ffffffff01"],
  ],
  uint32: [
    [0, "0800"],
    [127, "087f"],
    [128, "088001"],
    [16383, "08ff7f"],
    [16384, "08808001"],
    [4294967295, "08ffffffff0f"],
  ],
  sint32: [
    [0, "0800"],
    [-1, "0801"],
    [1, "0802"],
    [-2, "0803"],
    [2147483647, "08feffffff0f"],
    [-2147483648, "08ffffffff0f"],
  ],
  int64: [
    [0n, "0800"],
    [1n, "0801"],
    [9007199254740993n, "088180808080808010"],
    [9223372036854775807n, "08ffffffffffffffff7f"],
    [-1n, "08ffffffffffffffffff01"],
    [-9223372036854775808n, "0880808080808080808001"],
  ],
  uint64: [
    [0n, "0800"],
    [1n, "0801"],
    [4294967296n, "088080808010"],
    [18446744073709551615n, "08ffffffffffffffffff01"],
  ],
  sint64: [
    [0n, "0800"],
    [-1n, "0801"],
    [1n, "0802"],
    [-2n, "0803"],
    [9223372036854775807n, "08feffffffffffffffff01"],
    [-9223372036854775808n, "08ffffffffffffffffff01"],
  ],
  safe64: [
    [0, "0800"],
    [4294967295, "08ffffffff0f"],
    [4294967296, "088080808010"],
    [9007199254740991, "08ffffffffffffff0f"],
    [-1, "08ffffffffffffffffff01"],
    [-9007199254740991, "0881808080808080f0ff01"],
  ],
  bool: [
    [false, "0800"],
    [true, "0801"],
  ],
  fixed32: [
    [0, "0d00000000"],
    [1, "0d01000000"],
    [4294967295, "0dffffffff"],
  ],
  sfixed32: [
    [0, "0d00000000"],
    [-1, "0dffffffff"],
    [2147483647, "0dffffff7f"],
    [-2147483648, "0d00000080"],
  ],
  float: [
    [0, "0d00000000"],
    [-0, "0d00000080"],
    [1.5, "0d0000c03f"],
    [-2, "0d000000c0"],
    [3.4028234663852886e38, "0dffff7f7f"],
    [Infinity, "0d0000807f"],
    [-Infinity, "0d000080ff"],
    [NaN, "0d0000c07f"],
  ],
  fixed64: [
    [0n, "090000000000000000"],
    [1n, "090100000000000000"],
    [18446744073709551615n, "09ffffffffffffffff"],
  ],
  sfixed64: [
    [0n, "090000000000000000"],
    [-1n, "09ffffffffffffffff"],
    [-9223372036854775808n, "090000000000000080"],
    [9223372036854775807n, "09ffffffffffffff7f"],
  ],
  double: [
    [0, "090000000000000000"],
    [-0, "090000000000000080"],
    [1.5, "09000000000000f83f"],
    [0.1, "099a9999999999b93f"],
    [-1e300, "099c7500883ce437fe"],
    [5e-324, "090100000000000000"],
    [Infinity, "09000000000000f07f"],
    [NaN, "09000000000000f87f"],
  ],
  string: [
    ["", "0a00"],
    ["a", "0a0161"],
    ["é", "0a02c3a9"],
    ["模型", "0a06e6a8a1e59e8b"],
    ["😀", "0a04f09f9880"],
    ["a\0b", "0a03610062"],
  ],
  text: [
    ["", "0a00"],
    ["a", "0a0161"],
    ["😀", "0a04f09f9880"],
  ],
  bytes: [
    [bytes(""), "0a00"],
    [bytes("00ff"), "0a0200ff"],
  ],
};

/** All values of the kind in one packed field 16. */
const PACKED: Partial<Record<ScalarName, string>> = {
  int32: "82012000017f8001ac02ffffffff07ffffffffffffffffff0180808080f8ffffffff01",
  bool: "8201020001",
  sfixed32: "82011000000000ffffffffffffff7f00000080",
  fixed64: "82011800000000000000000100000000000000ffffffffffffffff",
  sint64: "82011800010203feffffffffffffffff01ffffffffffffffffff01",
};

/** What each kind does not take. */
const REFUSED: Readonly<Record<ScalarName, readonly unknown[]>> = {
  int32: [2147483648, -2147483649, 0.5, NaN, Infinity, 1n, "1", null, true],
  uint32: [-1, 4294967296, 0.5, NaN, 1n, "1", null],
  sint32: [2147483648, -2147483649, 0.5, 1n],
  int64: [2n ** 63n, -(2n ** 63n) - 1n, 1, "1", null],
  uint64: [-1n, 2n ** 64n, 1],
  sint64: [2n ** 63n, -(2n ** 63n) - 1n, 1],
  safe64: [2 ** 64, -(2 ** 64), 0.5, NaN, Infinity, 1n, "1"],
  bool: [0, 1, "true", null],
  fixed32: [-1, 4294967296, 0.5],
  sfixed32: [2147483648, -2147483649, 0.5],
  float: [1n, "1", null],
  fixed64: [-1n, 2n ** 64n, 1],
  sfixed64: [2n ** 63n, -(2n ** 63n) - 1n, 1],
  double: [1n, "1", null],
  string: [1, null, new String("a"), bytes("61")],
  text: [1, null],
  bytes: ["61", [0x61], new ArrayBuffer(1), null],
};

/** Each kind and its `(no) => Field`. */
const KINDS = Object.keys(GOLDEN).map((kind) => [kind as ScalarName, wire[kind as ScalarName] as (no: number) => Field<unknown>] as const);

for (const [kind, field] of KINDS) {
  const Table = message({ v: optional(field(1)) });
  const Plain = message({ v: field(1) });
  const List = message({ v: repeated(field(16)) });
  const values = GOLDEN[kind].map(([value]) => value);

  for (const [value, golden] of GOLDEN[kind]) {
    test(`${kind} ${shown(value)}`, () => {
      assert.is(hex(Table.encode({ v: value as object })), golden);
      assert.ok(same(Table.decode(bytes(golden)).v, value));
    });
  }

  for (const value of REFUSED[kind]) {
    test(`${kind} refuses ${shown(value)}`, () => {
      assert.throws(
        () => Table.encode({ v: value as object }),
        (error: unknown) => error instanceof TypeError && error.message.startsWith(`v takes ${kind}, not `),
      );
      assert.throws(
        () => List.encode({ v: [value as object] }),
        (error: unknown) => error instanceof TypeError && error.message.startsWith(`v takes ${kind}, not `),
      );
    });
  }

  test(`${kind} is left out where it is the default and says nothing more`, () => {
    const zero = SCALARS[kind].zero as object;
    assert.is(hex(Plain.encode({ v: zero })), "");
    assert.is(hex(Table.encode({ v: zero })), GOLDEN[kind][0]![1]);
    assert.is(hex(message(oneof("arm", { v: field(1) })).encode({ v: zero })), GOLDEN[kind][0]![1]);
    for (const [value, golden] of GOLDEN[kind].slice(1)) assert.is(hex(Plain.encode({ v: value as object })), golden);
    assert.throws(() => Plain.encode({ v: REFUSED[kind][0] as object }), TypeError);
  });

  test(`repeated ${kind} comes back, unpacked and packed`, () => {
    assert.ok(sameList(List.decode(List.encode({ v: values as object[] })).v!, values));
    const unpacked = bytes(GOLDEN[kind].map(([, golden]) => `8${Number(`0x${golden[1]}`) & 7}01${golden.slice(2)}`).join(""));
    assert.ok(sameList(List.decode(unpacked).v!, values));
    assert.is(hex(List.encode({ v: [] })), "");
  });
}

for (const [kind, { type, zero, is, read, write }] of Object.entries(SCALARS)) {
  test(`${kind} alone, by its row of SCALARS`, () => {
    for (const [value, golden] of GOLDEN[kind as ScalarName]) {
      assert.ok(is(value));
      assert.is(Number(`0x${golden.slice(0, 2)}`) & 7, type);
      const writer = new Writer();
      write(writer, value as never);
      const alone = writer.finish();
      assert.is(hex(alone), golden.slice(2));
      assert.ok(same(read(new Reader(alone)), value));
    }
    assert.ok(is(zero));
  });
}

for (const [kind, packed] of Object.entries(PACKED)) {
  test(`repeated ${kind} is written packed`, () => {
    const List = message({ v: repeated(wire[kind as ScalarName](16) as Field<unknown>) });
    assert.is(hex(List.encode({ v: GOLDEN[kind as ScalarName].map(([value]) => value) })), packed);
  });
}

test("packed and unpacked mix in one field, in wire order", () => {
  const List = message({ v: repeated(wire.uint32(1)) });
  assert.equal(List.decode(bytes("0801 0a020203 0804 0a00 0a0105")).v, [1, 2, 3, 4, 5]);
  assert.equal(List.decode(bytes("0a00")).v, []);
});

test("a packed value that runs over its field is refused", () => {
  const List = message({ v: repeated(wire.fixed32(1)) });
  assert.throws(
    () => List.decode(bytes("0a03010203 0d04000000")),
    (error: unknown) => error instanceof WireError && error.code === "truncated" && error.offset === 2 && error.path === "v",
  );
});

test("wider varints are cut to the kind as protobuf says", () => {
  const Table = message({ i: wire.int32(1), u: wire.uint32(2), s: wire.sint32(3), b: wire.bool(4) });
  // 2^32 + 5 each; the bool has only its 64th bit set.
  assert.equal(Table.decode(bytes("088580808010 108580808010 188580808010 2080808080808080808001")), { i: 5, u: 5, s: -3, b: true });
  assert.equal(Table.decode(bytes("10ffffffffffffffffff01")), { u: 4294967295 });
});

test("a negative enum of another writer stays readable", () => {
  assert.is(message({ e: wire.int32(1) }).decode(bytes("08ffffffffffffffffff01")).e, -1);
});

test("safe64 beyond 2^53 is the nearest double", () => {
  const Table = message({ v: wire.safe64(1) });
  for (const [hex, v] of [["08ffffffffffffffff7f", 2 ** 63], ["0880808080808080808001", -(2 ** 63)], ["088180808080808010", 2 ** 53]] as const) {
    assert.is(Table.decode(bytes(hex)).v, v);
    // What was read can be written, and is read as the same again.
    assert.is(Table.decode(Table.encode({ v })).v, v);
  }
});

test("bytes are a view of the input", () => {
  const input = bytes("0a0200ff");
  const { v } = message({ v: wire.bytes(1) }).decode(input);
  assert.is(v!.buffer, input.buffer);
  input[2] = 7;
  assert.is(v![0], 7);
});

test("a field made by hand equals the kinds", () => {
  assert.is(hex(encodeFields([{ no: 1, type: 5, value: 4294967295 }])), "0dffffffff");
});

test.run();

function shown(value: unknown): string {
  if (value instanceof Uint8Array) return `bytes ${hex(value)}`;
  if (typeof value === "bigint") return `${value}n`;
  return Object.is(value, -0) ? "-0" : typeof value === "string" ? JSON.stringify(value) : `${typeof value === "object" && value ? value.constructor.name : value}`;
}

function same(a: unknown, b: unknown): boolean {
  return a instanceof Uint8Array && b instanceof Uint8Array ? hex(a) === hex(b) : Object.is(a, b);
}

function sameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => same(item, b[index]));
}
