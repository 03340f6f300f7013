/** Tables: how a value is read and written by its rows. Bytes are written by hand from protobuf's rules. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  bool,
  bytes as raw,
  double,
  fixed64,
  int32,
  LIMITS,
  map,
  message,
  nested,
  oneof,
  repeated,
  rowOf,
  sint32,
  string,
  text,
  uint32,
  uint64,
  WireError,
  type Decoded,
  type Field,
  type Message,
  type UnknownField,
} from "../wire/index.ts";
import { bytes, hex } from "./check.ts";

const test = suite("wire message");

const Point = message({ x: int32(1), y: int32(2) });
const Shape = message({
  id: uint32(1),
  name: text(2),
  at: nested(3, Point),
  corners: repeated(nested(4, Point)),
  tags: repeated(text(5)),
  ...oneof("fill", { colour: uint32(6), pattern: nested(7, Point), image: raw(8) }),
  ...oneof("edge", { solid: bool(9), dashed: nested(10, Point) }),
  far: uint32(300),
  last: bool(LIMITS.fieldNumber),
});

interface Node {
  child?: Node;
  id?: number;
  unknown?: UnknownField[];
}
const Tree: Message<Node> = message({ child: nested(2, (): Message<Node> => Tree), id: uint32(1) });

test("an empty message has no property", () => {
  assert.equal(Shape.decode(bytes("")), {});
  assert.is(hex(Shape.encode({})), "");
});

test("a value is written in the order of field numbers, whatever the order of its properties", () => {
  const golden = "0805" + "120161" + "1a0408011002" + "22020801" + "2a0162" + "e01201" + "f8ffffff0f01";
  assert.is(hex(Shape.encode({ id: 5, name: "a", at: { x: 1, y: 2 }, corners: [{ x: 1 }], tags: ["b"], far: 1, last: true })), golden);
  assert.is(hex(Shape.encode({ last: true, far: 1, tags: ["b"], corners: [{ x: 1 }], at: { y: 2, x: 1 }, name: "a", id: 5 })), golden);
  assert.equal(Shape.decode(bytes(golden)), { id: 5, name: "a", at: { x: 1, y: 2 }, corners: [{ x: 1 }], tags: ["b"], far: 1, last: true });
});

test("the last one wins for singular fields", () => {
  assert.equal(Shape.decode(bytes("0801 120161 0802 120162")), { id: 2, name: "b" });
});

test("a singular message given twice merges, deeply", () => {
  assert.equal(Shape.decode(bytes("1a020801 1a021002")), { at: { x: 1, y: 2 } });
  assert.equal(Shape.decode(bytes("1a0408011002 1a020803 1a00")), { at: { x: 3, y: 2 } });
  assert.equal(Tree.decode(bytes("1206 0801 1202 0802 1204 1202 1200")), { child: { id: 1, child: { id: 2, child: {} } } });
});

test("elements of a repeated message do not merge", () => {
  assert.equal(Shape.decode(bytes("22020801 22021002 2200")), { corners: [{ x: 1 }, { y: 2 }, {}] });
});

test("a oneof keeps its last arm", () => {
  assert.equal(Shape.decode(bytes("3001 3a020801")), { pattern: { x: 1 } });
  assert.equal(Shape.decode(bytes("3a020801 3001")), { colour: 1 });
  assert.equal(Shape.decode(bytes("3001 3a020801 420163")).pattern, undefined);
  assert.equal(Object.keys(Shape.decode(bytes("3001 3a020801 420163"))), ["image"]);
});

test("the same arm given twice merges, unless another came between", () => {
  assert.equal(Shape.decode(bytes("3a020801 3a021002")), { pattern: { x: 1, y: 2 } });
  assert.equal(Shape.decode(bytes("3a020801 0805 3a021002")), { id: 5, pattern: { x: 1, y: 2 } });
  assert.equal(Shape.decode(bytes("3a020801 3001 3a021002")), { pattern: { y: 2 } });
});

test("two oneofs do not disturb each other", () => {
  assert.equal(Shape.decode(bytes("3a020801 4801 3a021002")), { pattern: { x: 1, y: 2 }, solid: true });
  assert.equal(Shape.decode(bytes("4801 3001 52020801 3001")), { colour: 1, dashed: { x: 1 } });
  assert.equal(Shape.decode(bytes("52020801 3001 52021002 420161")), { dashed: { x: 1, y: 2 }, image: bytes("61") });
});

test("a oneof inside a message that comes twice keeps the last arm of both", () => {
  const Outer = message({ shape: nested(1, Shape) });
  assert.equal(Outer.decode(bytes("0a023001 0a043a020801")), { shape: { pattern: { x: 1 } } });
  assert.equal(Outer.decode(bytes("0a043a020801 0a023001")), { shape: { colour: 1 } });
  assert.equal(Outer.decode(bytes("0a043a020801 0a043a021002")), { shape: { pattern: { x: 1, y: 2 } } });
});

test("a known number with another wire type is kept as unknown and heard of", () => {
  const heard: UnknownField[] = [];
  const value = Shape.decode(bytes("0a0161 0805 1001 3a020a00"), (field) => heard.push(field));
  assert.equal(value.id, 5);
  assert.equal(heard.map(({ no, type, bytes }) => [no, type, hex(bytes)]), [
    [1, 2, "0a0161"],
    [2, 0, "1001"],
    [1, 2, "0a00"],
  ]);
  assert.equal(value.unknown!.map(({ bytes }) => hex(bytes)), ["0a0161", "1001"]);
  assert.equal(value.pattern!.unknown!.map(({ bytes }) => hex(bytes)), ["0a00"]);
  assert.is(hex(Shape.encode(value)), "0805" + "3a020a00" + "0a0161" + "1001");
});

test("a number may have several rows of different wire types", () => {
  const Grep = message({ pattern: text(1), path: text(2), caseInsensitive: bool(2), context: fixed64(2) });
  assert.equal(Grep.decode(bytes("12012e 1001 110100000000000000")), { path: ".", caseInsensitive: true, context: 1n });
  assert.is(hex(Grep.encode({ caseInsensitive: true, path: "." })), "1001" + "12012e");
});

test("unknown fields keep their exact bytes and order, groups and long varints included", () => {
  const golden = ["9a06020001", "a3060801a406", "a9060102030405060708", "b0068180808000", "9a0600", "ad0601020304"].join("");
  const value = Shape.decode(bytes("0805" + golden));
  assert.is(value.unknown!.length, 6);
  assert.is(hex(Shape.encode(value)), "0805" + golden);
  assert.is(hex(Shape.encode({ unknown: value.unknown!, id: 6 })), "0806" + golden);
});

test("unknown fields of a message that comes twice are all kept", () => {
  const value = Shape.decode(bytes("1a03980601 1a03980602"));
  assert.is(hex(Shape.encode(value)), "1a06" + "980601" + "980602");
});

test("a map has an entry a key, the last one wins", () => {
  const Bag = message({ counts: map(1, text(1), uint32(2)) });
  const value = Bag.decode(bytes("0a050a01611001 0a050a01621002 0a050a01611003"));
  assert.equal([...value.counts!], [["a", 3], ["b", 2]]);
  assert.is(hex(Bag.encode(value)), "0a050a01611003" + "0a050a01621002");
  assert.is(hex(Bag.encode({ counts: new Map() })), "");
});

test("a key or value that a map's entry leaves out is its kind's zero", () => {
  const zeroOf = (field: Field<unknown>): unknown => message({ m: map(1, text(1), field) }).decode(bytes("0a030a016b")).m!.get("k");
  assert.is(zeroOf(text(2)), "");
  assert.is(zeroOf(bool(2)), false);
  assert.is(zeroOf(uint32(2)), 0);
  assert.is(zeroOf(double(2)), 0);
  assert.is(zeroOf(uint64(2)), 0n);
  assert.equal(zeroOf(raw(2)), new Uint8Array(0));
  assert.equal(zeroOf(nested(2, Point)), {});
  for (const [key, zero] of [[string(1), ""], [uint32(1), 0], [bool(1), false], [uint64(1), 0n]] as [Field<unknown>, unknown][]) {
    assert.equal([...message({ m: map(1, key, raw(2)) }).decode(bytes("0a00")).m!], [[zero, new Uint8Array(0)]]);
  }
  assert.equal([...message({ m: map(1, text(1), sint32(2)) }).decode(bytes("0a021003")).m!], [["", -2]]);
});

test("messages as values of a map merge inside one entry, not across entries", () => {
  const Bag = message({ points: map(1, text(1), nested(2, Point)) });
  const value = Bag.decode(bytes("0a0b 0a0161 12020801 12021002 0a07 0a0162 12020803"));
  assert.equal([...value.points!], [["a", { x: 1, y: 2 }], ["b", { x: 3 }]]);
  assert.is(hex(Bag.encode(value)), "0a09" + "0a0161" + "120408011002" + "0a07" + "0a0162" + "12020803");
});

test("what is unknown inside a map's entry is heard of", () => {
  const Bag = message({ counts: map(1, text(1), uint32(2)) });
  const heard: string[] = [];
  const value = Bag.decode(bytes("0a0a 0a0161 1a0178 1001 0805"), ({ bytes }) => heard.push(hex(bytes)));
  assert.equal([...value.counts!], [["a", 1]]);
  assert.equal(heard, ["1a0178", "0805"]);
});

test("keys that name a prototype's properties are keys like others", () => {
  const Bag = message({ counts: map(1, text(1), uint32(2)) });
  const keys = ["__proto__", "constructor", "toString", "hasOwnProperty"];
  const value = Bag.decode(Bag.encode({ counts: new Map(keys.map((key, index) => [key, index])) }));
  assert.equal([...value.counts!.keys()], keys);
});

test("messages nest as deep as the limit, on both sides", () => {
  const chain = (depth: number): Node => Array.from({ length: depth }).reduce<Node>((child) => ({ child }), {});
  const deepest = Tree.encode(chain(LIMITS.depth));
  assert.equal(Tree.decode(deepest), chain(LIMITS.depth));
  assert.throws(() => Tree.encode(chain(LIMITS.depth + 1)), (error: unknown) => error instanceof RangeError);
  const deeper = new Uint8Array([0x12, deepest.length & 127 | 128, deepest.length >> 7, ...deepest]);
  const error = failure(() => Tree.decode(deeper));
  assert.is(error.code, "depth");
  assert.is(error.path, Array.from({ length: LIMITS.depth + 1 }, () => "child").join("."));
});

test("groups count into the depth of the messages around them", () => {
  const groups = (count: number): string => "4b".repeat(count) + "4c".repeat(count);
  Point.decode(bytes(groups(LIMITS.depth)));
  assert.is(failure(() => Point.decode(bytes(groups(LIMITS.depth + 1)))).code, "depth");
  Tree.decode(bytes(`12${"c601"}${groups(99)}`));
  const { code, path } = failure(() => Tree.decode(bytes(`12c801${groups(100)}`)));
  assert.equal([code, path], ["depth", "child.9"]);
});

test("a cycle is refused", () => {
  const node: Node = {};
  node.child = node;
  assert.throws(() => Tree.encode(node), (error: unknown) => error instanceof RangeError && /holds itself/.test(error.message));
});

test("properties out of order cost no more than once a level", () => {
  // Written again from its start at each level, this would take 2^100 steps.
  const chain = Array.from({ length: LIMITS.depth }).reduce<Node>((child) => ({ child, id: 1 }), {});
  assert.is(Tree.decode(Tree.encode(chain)).id, 1);
});

test("an error's path is the way to the field", () => {
  const Outer = message({ list: repeated(nested(1, Shape)), table: map(2, text(1), nested(2, Shape)) });
  for (const [input, path, offset] of [
    ["0a04 1a02 1080", "list.at.y", 5],
    ["0a00 0a02 1280", "list.name", 5],
    ["0a03 9a0605", "list.99", 4],
    ["0a01 80", "list", 2],
    ["80", "", 0],
    ["1206 1204 1a02 08ff", "table.value.at.x", 7],
    ["1202 0a05", "table.key", 3],
    ["0a06 52020801 1001 0a05", "list", 9],
  ] as const) {
    const error = failure(() => Outer.decode(bytes(input)));
    assert.equal([error.path, error.offset], [path, offset], input);
  }
});

test("an error of the caller's own listener passes as it is", () => {
  const own = new Error("no more");
  assert.throws(
    () => Shape.decode(bytes("1a03980601"), () => { throw own; }),
    (error: unknown) => error === own,
  );
});

test("a value that is none of the table's is refused", () => {
  for (const [value, words] of [
    [{ nothing: 1 }, "no field is called nothing"],
    [{ id: 1, nothing: 1 }, "no field is called nothing"],
    [{ id: "1" }, "id takes uint32, not string"],
    [{ id: -1 }, "id takes uint32, not -1"],
    [{ id: null }, "id takes uint32, not null"],
    [{ name: 5n }, "name takes text, not 5"],
    [{ at: 5 }, "at takes an object, not 5"],
    [{ at: null }, "at takes an object, not null"],
    [{ at: "x" }, "at takes an object, not string"],
    [{ tags: "abc" }, "tags takes an array, not string"],
    [{ tags: ["a", undefined] }, "tags takes text, not undefined"],
    [{ corners: {} }, "corners takes an array, not object"],
    [{ corners: [null] }, "corners takes an object, not null"],
    [{ at: { x: 1, z: 1 } }, "no field is called z"],
    [{ image: [1] }, "image takes bytes, not object"],
  ] as [object, string][])
    assert.throws(() => Shape.encode(value), (error: unknown) => error instanceof TypeError && error.message === words);
  assert.throws(
    () => message({ m: map(1, text(1), uint32(2)) }).encode({ m: { a: 1 } as never }),
    (error: unknown) => error instanceof TypeError && error.message === "m takes a Map, not object",
  );
});

test("only own properties are written, and an undefined one is absent", () => {
  assert.is(hex(Point.encode(Object.create({ x: 1 }) as object)), "");
  assert.is(hex(Point.encode(Object.assign(Object.create({ x: 1 }) as object, { y: 2 }))), "1002");
  assert.is(hex(Point.encode({ x: undefined, y: 2 } as never)), "1002");
  assert.is(hex(Point.encode({ x: undefined } as never)), "");
  assert.is(hex(Point.encode(Object.assign(Object.create(null) as object, { x: 1 }))), "0801");
});

test("a table that contradicts itself is refused where it is declared", () => {
  assert.throws(() => message({ a: uint32(1), b: bool(1) }), /field 1 has two rows of one wire type/);
  assert.throws(() => message({ a: repeated(uint32(300)), b: text(300) }), /field 300 has two rows of one wire type/);
  for (const no of [0, -1, 0.5, NaN, LIMITS.fieldNumber + 1]) assert.throws(() => message({ a: uint32(no) }), /is no field number/);
  for (const name of ["unknown", "__proto__", "constructor", "toString"])
    assert.throws(() => message(Object.fromEntries([[name, uint32(1)]])), new RegExp(`${name} is no name for a field`));
});

test("rowOf names a tag's row and the table inside", () => {
  const Bag = message({ points: map(1, text(1), nested(2, Point)), n: repeated(uint32(2)), at: nested(3, Point) }) as Message<never>;
  assert.is(rowOf(Bag, 0x0a)!.name, "points");
  assert.equal(Object.keys(rowOf(Bag, 0x0a)!.nested!.fields), ["key", "value"]);
  assert.is(rowOf(Bag, 0x12)!.name, "n");
  assert.is(rowOf(Bag, 0x10)!.name, "n");
  assert.is(rowOf(Bag, 0x10)!.nested, undefined);
  assert.is(rowOf(Bag, 0x1a)!.nested as unknown, Point);
  assert.is(rowOf(Bag, 0x0d), undefined);
  assert.is(rowOf(Shape as Message<never>, 300 * 8)!.name, "far");
});

test("a fast decoder is asked first and the table decides where it declines", () => {
  const Fast = message({ x: int32(1) }, (input) => (input.length === 2 ? { x: 42 } : undefined));
  assert.equal(Fast.decode(bytes("0801")), { x: 42 });
  assert.equal(Fast.decode(bytes("088001")), { x: 128 });
});

test("views of a Buffer decode to plain views", () => {
  const { image } = Shape.decode(Buffer.from("42020102", "hex"));
  assert.is(image!.constructor, Uint8Array);
  assert.is(hex(image!), "0102");
});

test("what is decoded encodes to the same value again", () => {
  const value: Decoded<typeof Shape> = { id: 1, name: "模型", at: {}, corners: [{ x: -1 }, {}], tags: ["", "b"], image: bytes("00ff"), dashed: { y: 5 }, far: 7 };
  assert.equal(Shape.decode(Shape.encode(value)), value);
});

test.run();

function failure(work: () => unknown): WireError {
  try {
    work();
  } catch (error) {
    assert.instance(error, WireError);
    return error as WireError;
  }
  throw new Error("accepted");
}
