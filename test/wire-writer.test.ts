/** The growing buffer: lengths written in place, wrapping as documented, and reuse that never leaks. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { encodeValue, fields, Writer } from "../wire/index.ts";
import { written } from "../wire/writer.ts";
import { hex } from "./check.ts";

const test = suite("wire writer");

/** What `write` writes, as hex. */
const out = (write: (writer: Writer) => void): string => {
  const writer = new Writer();
  write(writer);
  return hex(writer.finish());
};

test("a varint takes as few bytes as it can, at every size", () => {
  for (const [value, golden] of [
    [0, "00"],
    [127, "7f"],
    [128, "8001"],
    [16383, "ff7f"],
    [16384, "808001"],
    [2097151, "ffff7f"],
    [2097152, "80808001"],
    [268435455, "ffffff7f"],
    [268435456, "8080808001"],
    [4294967295, "ffffffff0f"],
  ] as const)
    assert.is(out((w) => w.uint32(value)), golden);
});

test("numbers beyond the kind give their low bits", () => {
  assert.is(out((w) => w.uint32(-1)), "ffffffff0f");
  assert.is(out((w) => w.uint32(2 ** 32 + 1)), "01");
  assert.is(out((w) => w.int32(2 ** 31)), "80808080f8ffffffff01");
  assert.is(out((w) => w.int32(2 ** 32 + 5)), "05");
  assert.is(out((w) => w.uint64(2n ** 64n + 1n)), "01");
  assert.is(out((w) => w.uint64(-1n)), "ffffffffffffffffff01");
  assert.is(out((w) => w.sint64(2n ** 63n)), "ffffffffffffffffff01");
  assert.is(out((w) => w.fixed32(2 ** 32 + 1)), "01000000");
  assert.is(out((w) => w.fixed64(2n ** 64n + 1n)), "0100000000000000");
});

test("a nested value of every length size moves behind its length", () => {
  for (const length of [0, 1, 126, 127, 128, 129, 16383, 16384, 2097151, 2097152]) {
    const writer = new Writer();
    writer.tag(10);
    const start = writer.open();
    for (let rest = length; rest > 0; rest -= Math.min(rest, 65536)) writer.raw(new Uint8Array(Math.min(rest, 65536)).fill(rest & 255));
    writer.close(start);
    writer.tag(16);
    writer.uint32(7);
    const [nested, behind] = fields(writer.finish());
    assert.is((nested!.value as Uint8Array).length, length);
    assert.is(behind!.value, 7n);
  }
});

test("nested values nest", () => {
  assert.is(
    out((w) => {
      const outer = w.open();
      const inner = w.open();
      w.raw(new Uint8Array(130).fill(1));
      w.close(inner);
      w.close(outer);
    }),
    "8401" + "8201" + "01".repeat(130),
  );
});

test("a string's length counts its bytes, not its units", () => {
  for (const text of ["", "a", "é", "模", "😀", "a".repeat(127), "a".repeat(128), "é".repeat(63), "é".repeat(64), "模".repeat(42), "模".repeat(43), "模".repeat(5461), "模".repeat(5462), "x".repeat(20) + "é"]) {
    const body = Buffer.from(text);
    const [field] = fields(Buffer.from(out((w) => (w.tag(10), w.string(text))), "hex"));
    assert.is(hex(field!.value as Uint8Array), hex(body));
  }
});

test("a lone surrogate becomes U+FFFD, a pair stays", () => {
  assert.is(out((w) => w.string("\ud83d")), "03efbfbd");
  assert.is(out((w) => w.string("a\ude00b")), "0561efbfbd62");
  assert.is(out((w) => w.string("\ude00\ud83d")), "06efbfbdefbfbd");
  assert.is(out((w) => w.string("\ud83d\ude00")), "04f09f9880");
  assert.is(out((w) => w.string("\ud83d".repeat(30))), "5a" + "efbfbd".repeat(30));
});

test("a writer grows while it writes", () => {
  const writer = new Writer();
  for (let index = 0; index < 3000; index++) writer.fixed64(BigInt(index));
  const result = writer.finish();
  assert.is(result.length, 24000);
  assert.is(new DataView(result.buffer).getBigInt64(23992, true), 2999n);
});

test("float and double are written behind a growth too", () => {
  const writer = new Writer();
  writer.raw(new Uint8Array(1023));
  writer.double(0.1);
  writer.float(1.5);
  writer.bool(true);
  assert.is(hex(writer.finish(1023)), "9a9999999999b93f" + "0000c03f" + "01");
});

test("finish copies what was written since a place and starts anew from there", () => {
  const writer = new Writer();
  writer.uint32(1);
  const start = writer.pos;
  writer.uint32(2);
  const second = writer.finish(start);
  writer.uint32(3);
  assert.is(hex(second), "02");
  assert.is(hex(writer.finish()), "0103");
  assert.is(writer.pos, 0);
  assert.is(second.buffer.byteLength, 1);
});

test("a large buffer is let go after use and the writer stays usable", () => {
  const writer = new Writer();
  writer.bytes(new Uint8Array(3 * 1024 * 1024).fill(5));
  assert.is(writer.finish().length, 3 * 1024 * 1024 + 4);
  writer.uint32(1);
  writer.double(1.5);
  assert.is(hex(writer.finish()), "01000000000000f83f");
});

test("a call inside a call has its own buffer", () => {
  const outer = written((writer, depth: number) => {
    writer.uint32(depth);
    writer.bytes(written((inner, value: number) => inner.uint32(value), depth + 1));
    writer.uint32(depth);
  }, 5);
  assert.is(hex(outer), "05010605");
});

test("a getter that encodes while it is read does no harm", () => {
  const inner = { inner: "value of the inner call" };
  const tricky = {
    a: "first",
    get b() {
      return encodeValue(inner).length;
    },
    c: "last",
  };
  assert.is(hex(encodeValue(tricky)), hex(encodeValue({ a: "first", b: encodeValue(inner).length, c: "last" })));
});

test("nothing of a call that threw is seen by the next", () => {
  assert.throws(() => encodeValue({ a: "some text", b: 1n }), TypeError);
  assert.is(hex(encodeValue("x")), "1a0178");
  assert.throws(() => written(() => { throw new Error("no"); }, 0), /no/);
  assert.is(hex(encodeValue(true)), "2001");
});

test("two results share no memory", () => {
  const first = encodeValue("a");
  const second = encodeValue("b");
  first.fill(0);
  assert.is(hex(second), "1a0162");
  assert.is.not(first.buffer, second.buffer);
});

test.run();
