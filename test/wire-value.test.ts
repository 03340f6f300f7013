/** google.protobuf.Value ⇄ JSON. Golden bytes are of an independent encoder (protobufjs) or written by hand from the rules. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { decodeValue, encodeValue, LIMITS, WireError, type Json } from "../wire/index.ts";
import { bytes, hex } from "./check.ts";

const test = suite("wire value");

/** JSON and its bytes. */
const GOLDEN: readonly (readonly [json: Json, hex: string])[] = [
  [null, "0800"],
  [true, "2001"],
  [false, "2000"],
  [0, "110000000000000000"],
  [-0.5, "11000000000000e0bf"],
  [1e+300, "119c7500883ce4377e"],
  ["", "1a00"],
  ["a", "1a0161"],
  ["模型 😀", "1a0be6a8a1e59e8b20f09f9880"],
  ["x".repeat(130), "1a8201" + "78".repeat(130)],
  [[], "3200"],
  [{}, "2a00"],
  [[null,[],{}], "320c0a0208000a0232000a022a00"],
  [{"a":1}, "2a100a0e0a0161120911000000000000f03f"],
  [{"":null}, "2a080a060a0012020800"],
  [{"type":"object","properties":{"path":{"type":"string","default":null,"enum":[null,"a"]}},"required":["path"]}, "2a7e0a100a047479706512081a066f626a6563740a520a0a70726f7065727469657312442a420a400a047061746812382a360a100a047479706512081a06737472696e670a0d0a0764656661756c74120208000a130a04656e756d120b32090a0208000a031a01610a160a087265717569726564120a32080a061a0470617468"],
  [{ a: "y".repeat(130), b: [["z".repeat(200)]] }, "2aee020a8b010a01611285011a8201" + "79".repeat(130) + "0add010a016212d70132d4010ad10132ce010acb011ac801" + "7a".repeat(200)],
];

for (const [json, golden] of GOLDEN) {
  test(`${JSON.stringify(json).slice(0, 60)} both ways`, () => {
    assert.is(hex(encodeValue(json)), golden);
    assert.equal(decodeValue(bytes(golden)), json);
  });
}

test("no bytes, no kind and a null of another number are null", () => {
  assert.is(decodeValue(bytes("")), null);
  assert.is(decodeValue(bytes("4801")), null);
  assert.is(decodeValue(bytes("0805")), null);
});

test("the last kind wins", () => {
  assert.is(decodeValue(bytes("2001 1a0161")), "a");
  assert.is(decodeValue(bytes("1a0161 0800")), null);
  assert.equal(decodeValue(bytes("2a070a050a016b1200 3200")), []);
});

test("objects and arrays given twice merge, unless another kind came between", () => {
  const a = "2a090a070a016112022001";
  const b = "2a090a070a016212022000";
  assert.equal(decodeValue(bytes(a + b)), { a: true, b: false });
  assert.equal(decodeValue(bytes(a + "0800" + b)), { b: false });
  assert.equal(decodeValue(bytes(a + "3200" + b)), { b: false });
  assert.equal(decodeValue(bytes("32040a022001 32040a022000")), [true, false]);
  // The value of one entry given twice.
  assert.equal(decodeValue(bytes(`2a1f 0a1d 0a016b 120b${a} 120b${b}`)), { k: { a: true, b: false } });
});

test("-0 and numbers that no integer holds stay", () => {
  assert.ok(Object.is(decodeValue(encodeValue(-0)), -0));
  for (const number of [0.1, 1e21, 5e-324, 2 ** 53 + 2, -1e300]) assert.is(decodeValue(encodeValue(number)), number);
});

test("what JSON cannot say is left out or null, as JSON.stringify does", () => {
  const odd = { a: undefined, b: () => 1, c: [undefined, () => 1, NaN], d: Infinity, e: Object.create({ inherited: 1 }) as object };
  assert.equal(decodeValue(encodeValue(odd)), JSON.parse(JSON.stringify(odd)));
  assert.is(decodeValue(encodeValue(undefined)), null);
  assert.equal(decodeValue(encodeValue([, 1])), [null, 1]);
  assert.throws(() => encodeValue(1n), TypeError);
  assert.throws(() => encodeValue({ a: Symbol("a") }), TypeError);
});

test("keys come back in order; the last of a repeated one wins", () => {
  const json = { "": 1, b: 2, a: 3, 模型: 4 };
  assert.equal(Object.keys(decodeValue(encodeValue(json)) as object), Object.keys(json));
  assert.equal(decodeValue(bytes("2a12 0a07 0a0161 12022001 0a07 0a0161 12022000")), { a: false });
  assert.equal(decodeValue(bytes("2a020a00")), { "": null });
});

test("a key that names a prototype's property is an own property", () => {
  const keys = ["__proto__", "constructor", "toString", "valueOf", "hasOwnProperty", "__defineGetter__"];
  const json = JSON.parse(`{${keys.map((key) => `${JSON.stringify(key)}:{"polluted":true}`).join()}}`) as Json;
  const back = decodeValue(encodeValue(json)) as Record<string, Json>;
  assert.equal(Object.keys(back), keys);
  for (const key of keys) assert.equal(Object.getOwnPropertyDescriptor(back, key), { value: { polluted: true }, writable: true, enumerable: true, configurable: true });
  assert.is(Object.getPrototypeOf(back), Object.prototype);
  assert.is(({} as { polluted?: true }).polluted, undefined);
  assert.is(JSON.stringify(back), JSON.stringify(json));
});

test("arrays and objects nest as deep as the limit, on both sides", () => {
  const lists = (depth: number, core: Json): Json => Array.from({ length: depth }).reduce<Json>((inner) => [inner], core);
  const objects = (depth: number): Json => Array.from({ length: depth }).reduce<Json>((inner) => ({ k: inner }), "leaf");
  for (const json of [lists(LIMITS.depth, "leaf"), objects(LIMITS.depth), lists(LIMITS.depth - 1, {})]) assert.equal(decodeValue(encodeValue(json)), json);
  for (const json of [lists(LIMITS.depth, []), lists(LIMITS.depth, {}), objects(LIMITS.depth + 1)])
    assert.throws(() => encodeValue(json), (error: unknown) => error instanceof RangeError);
  const cycle: unknown[] = [];
  cycle.push({ cycle });
  assert.throws(() => encodeValue(cycle), (error: unknown) => error instanceof RangeError && /holds itself/.test(error.message));
});

test("text that is no UTF-8 is replaced, in keys too", () => {
  assert.is(decodeValue(bytes("1a0361ff62")), "a\ufffdb");
  assert.equal(decodeValue(bytes("2a0a 0a08 0a02 6bff 1202 2001")), { "k\ufffd": true });
  assert.is(decodeValue(encodeValue("a\ud800")), "a\ufffd");
});

test("a string is read alike on the short way and on the long one", () => {
  for (const length of [0, 1, 8, 9, 20, 21, 126, 127, 128, 129, 2046, 2047, 4096, 5000])
    for (const text of ["a".repeat(length), "é".repeat(length), "a".repeat(length) + "模"]) {
      assert.is(decodeValue(encodeValue(text)), text);
      assert.equal(decodeValue(encodeValue([text, text])), [text, text]);
      assert.is(decodeValue(new Uint8Array([...encodeValue(text), 0x48, 1])), text);
    }
});

test("views of a Buffer are read too", () => {
  assert.equal(decodeValue(Buffer.from(encodeValue({ a: [1] }))), { a: [1] });
});

test("truncation anywhere is an error or an earlier state, never anything else", () => {
  const whole = encodeValue({ a: [1, "two", null, { b: true }], c: "模型" });
  for (let length = 1; length < whole.length; length++) {
    try {
      decodeValue(whole.subarray(0, length));
      assert.unreachable(String(length));
    } catch (error) {
      assert.instance(error, WireError);
    }
  }
});

test.run();
