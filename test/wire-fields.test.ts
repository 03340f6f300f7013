/** Any bytes by wire type alone, and back byte for byte. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { VECTORS } from "../fixtures/vectors.ts";
import { encodeFields, fields, LIMITS, type WireField } from "../wire/index.ts";
import { bytes, hex } from "./check.ts";

const test = suite("wire fields");
const shape = (list: readonly WireField[]): unknown[] =>
  list.map(({ no, type, value }) => [no, type, value instanceof Uint8Array ? hex(value) : Array.isArray(value) ? shape(value as WireField[]) : value]);

test("each wire type gives its value", () => {
  assert.equal(shape(fields(bytes("08ff01 110100000000000080 1a0161 230801 2a00 24 2dffffffff"))), [
    [1, 0, 255n],
    [2, 1, 0x8000000000000001n],
    [3, 2, "61"],
    [4, 3, [[1, 0, 1n], [5, 2, ""]]],
    [5, 5, 4294967295],
  ]);
  assert.equal(fields(bytes("")), []);
});

test("raw is the field's exact bytes, a view", () => {
  const input = bytes("888000 8100 0a0161 0b 1001 0c");
  const list = fields(input);
  assert.equal(list.map(({ raw }) => hex(raw!)), ["8880008100", "0a0161", "0b10010c"]);
  assert.ok(list.every(({ raw }) => raw!.buffer === input.buffer));
});

test("fields come out as they came in, long varints and groups included", () => {
  for (const golden of ["", "88800081808000", "0b0c", "0b130801140c", "8a80000161", "f8ffffff0f01", "0a80808000"]) assert.is(hex(encodeFields(fields(bytes(golden)))), golden);
});

test("every vector comes out as it came in", () => {
  for (const { name, hex: golden } of VECTORS) assert.is(hex(encodeFields(fields(bytes(golden)))), golden, name);
});

test("a field made by hand is written minimally", () => {
  const list: WireField[] = [
    { no: 1, type: 0, value: 300n },
    { no: 1, type: 0, value: -1n },
    { no: 2, type: 1, value: 1n },
    { no: 2, type: 1, value: -1n },
    { no: 3, type: 2, value: bytes("6162") },
    { no: 4, type: 3, value: [{ no: 1, type: 0, value: 1 }, { no: 5, type: 3, value: [] }] },
    { no: 5, type: 5, value: 4294967295 },
    { no: LIMITS.fieldNumber, type: 0, value: 0n },
  ];
  const golden = "08ac02" + "08ffffffffffffffffff01" + "110100000000000000" + "11ffffffffffffffff" + "1a026162" + "2308012b2c24" + "2dffffffff" + "f8ffffff0f00";
  assert.is(hex(encodeFields(list)), golden);
  assert.is(hex(encodeFields(fields(bytes(golden)))), golden);
});

test("a group made by hand may hold fields that were read", () => {
  const inner = fields(bytes("8880008100"));
  assert.is(hex(encodeFields([{ no: 2, type: 3, value: inner }])), "13888000810014");
});

test("a field that cannot be is refused", () => {
  for (const no of [0, -1, 1.5, NaN, LIMITS.fieldNumber + 1]) assert.throws(() => encodeFields([{ no, type: 0, value: 1n }]), (error: unknown) => error instanceof TypeError && /is no field number/.test(error.message));
  assert.throws(() => encodeFields([{ no: 1, type: 4, value: 0n }]), /end-group tag is no field/);
  for (const type of [6, 7, 0.5, NaN]) assert.throws(() => encodeFields([{ no: 1, type: type as 0, value: 0n }]), /is no wire type/);
  assert.throws(() => encodeFields([{ no: 1, type: 2, value: "abc" as unknown as Uint8Array }]), /field 1 takes bytes/);
});

test("groups nest as deep as the limit, on both sides", () => {
  const groups = (count: number): WireField[] => Array.from({ length: count }).reduce<WireField[]>((value) => [{ no: 1, type: 3, value }], []);
  assert.is(hex(encodeFields(groups(LIMITS.depth))), "0b".repeat(LIMITS.depth) + "0c".repeat(LIMITS.depth));
  assert.throws(() => encodeFields(groups(LIMITS.depth + 1)), (error: unknown) => error instanceof RangeError);
  assert.is(fields(bytes("0b".repeat(LIMITS.depth) + "0c".repeat(LIMITS.depth))).length, 1);
});

test("views of a Buffer give plain views", () => {
  const [field] = fields(Buffer.from("0a0161", "hex"));
  assert.is((field!.value as Uint8Array).constructor, Uint8Array);
});

test.run();
