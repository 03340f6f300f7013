/** The cursor: each value where it lies, nothing beyond the end, and errors where they start. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { LIMITS, Reader, WireError } from "../wire/index.ts";
import { bytes, hex } from "./check.ts";

const test = suite("wire reader");
const at = (text: string): Reader => new Reader(bytes(text));

test("a varint leaves its high bits and stops behind itself", () => {
  const reader = at("ff01 8080808010 05");
  assert.is(reader.low(), 255);
  assert.is(reader.high, 0);
  assert.is(reader.low(), 0);
  assert.is(reader.high, 1);
  assert.is(reader.pos, 7);
  assert.is(reader.low(), 5);
  assert.is(reader.high, 0);
});

test("a varint may be longer than it needs to be, up to ten bytes", () => {
  for (let length = 2; length <= LIMITS.varint; length++) {
    const reader = at(`${"81" + "80".repeat(length - 2)}00 7f`);
    assert.is(reader.uint64(), 1n);
    assert.is(reader.pos, length);
    assert.is(reader.uint32(), 127);
  }
});

test("the tenth byte holds the 64th bit and no other", () => {
  assert.is(at("ffffffffffffffffff01").uint64(), 2n ** 64n - 1n);
  assert.is(at("80808080808080808001").uint64(), 2n ** 63n);
  assert.is(at("80808080808080808000").uint64(), 0n);
  for (const last of ["02", "03", "40", "7f", "80"]) fails(() => at(`808080808080808080${last}`).uint64(), last === "80" ? "varint" : "varint", 0);
});

test("a tag is read whole or refused where it starts", () => {
  assert.is(at("08").tag(), 8);
  assert.is(at("8800").tag(), 8);
  assert.is(at("f8ffffff0f").tag(), 0xffff_fff8);
  assert.is(at("fdffffff0f").tag(), 0xffff_fffd);
  fails(() => at("").tag(), "truncated", 0);
  fails(() => at("07").tag(), "field_number", 0);
  fails(() => at("8080808010").tag(), "field_number", 0);
  fails(() => at("0e").tag(), "wire_type", 0);
});

test("a fixed value is read little-endian from odd places", () => {
  const reader = at("ff 01020384 0807060504030281 0000c03f 9a9999999999b93f");
  reader.pos = 1;
  assert.is(reader.fixed32(), 0x84030201);
  assert.is(reader.fixed64(), 0x8102030405060708n);
  assert.is(reader.float(), 1.5);
  assert.is(reader.double(), 0.1);
  assert.is(reader.pos, reader.end);
  assert.is(at("01020384").sfixed32(), 0x84030201 | 0);
  assert.is(at("0807060504030281").sfixed64(), BigInt.asIntN(64, 0x8102030405060708n));
});

test("a fixed value cut in its second half is refused where it starts", () => {
  for (const read of [(r: Reader) => r.fixed64(), (r: Reader) => r.sfixed64(), (r: Reader) => r.double()]) fails(() => read(at("00000000000000")), "truncated", 0);
  for (const read of [(r: Reader) => r.fixed32(), (r: Reader) => r.sfixed32(), (r: Reader) => r.float()]) fails(() => read(at("000000")), "truncated", 0);
});

test("nothing is read beyond the end, though the buffer goes on", () => {
  const buffer = bytes("01 81 01 8181 01 0a 6161");
  const upTo = (start: number, end: number): Reader => new Reader(buffer, start, end);
  assert.is(upTo(0, 1).uint32(), 1);
  fails(() => upTo(1, 1).uint32(), "truncated", 1);
  fails(() => upTo(1, 2).uint32(), "truncated", 1);
  fails(() => upTo(1, 2).tag(), "truncated", 1);
  fails(() => upTo(1, 2).stop(), "truncated", 1);
  fails(() => upTo(1, 1).stop(), "truncated", 1);
  fails(() => upTo(3, 5).stop(), "truncated", 3);
  fails(() => upTo(5, 6).bytes(), "length", 5);
  fails(() => upTo(6, 8).text(), "length", 6);
  fails(() => upTo(0, 3).fixed32(), "truncated", 0);
});

test("a length of one, two or more bytes, minimal or not", () => {
  assert.is(at("02 6161").stop(), 3);
  assert.is(at("8200 6161").stop(), 4);
  assert.is(at("828000 6161").stop(), 5);
  const long = new Uint8Array(202);
  long.set([0xc8, 0x01]);
  assert.is(new Reader(long).stop(), 202);
  fails(() => new Reader(long.subarray(0, 201)).stop(), "length", 0);
});

test("a length above 2^32 does not wrap", () => {
  fails(() => at("8280808010 6161").bytes(), "length", 0);
  const error = fails(() => at("8280808010 6161").bytes(), "length", 0);
  assert.is(error.detail, "4294967298 bytes declared, 2 left");
});

test("enter lowers the end and gives the old one back", () => {
  const reader = at("02 0506 07");
  const end = reader.enter();
  assert.is(end, 4);
  assert.is(reader.end, 3);
  reader.uint32();
  reader.uint32();
  fails(() => reader.uint32(), "truncated", 3);
  reader.end = end;
  assert.is(reader.uint32(), 7);
});

test("a string refuses invalid UTF-8 where it starts, a text replaces it", () => {
  fails(() => at("03 61ff62").string(), "utf8", 1);
  assert.is(at("03 61ff62").text(), "a\ufffdb");
  assert.is(at("03 61ff62").key(), "a\ufffdb");
  assert.is(at("00").string(), "");
});

test("strings of a small buffer do not change when the buffer does", () => {
  const buffer = bytes("0a 6162636465666768696a 0a 6b6c6d6e6f7071727374");
  const reader = new Reader(buffer);
  const first = reader.string();
  buffer.fill(0x7a);
  assert.is(first, "abcdefghij");
  assert.is(new Reader(bytes("0a 6162636465666768696a")).text(), "abcdefghij");
});

test("skip moves behind each kind of value and says where it fails", () => {
  for (const [tag, value] of [[8, "ff01"], [9, "0102030405060708"], [10, "020102"], [13, "01020304"], [11, "0801 13 14 0c"]] as const) {
    const reader = at(value);
    reader.skip(tag);
    assert.is(reader.pos, reader.end, value);
  }
  fails(() => at("").skip(12), "group", 0);
  fails(() => at("00").skip(12, 0, 7), "group", 7);
  fails(() => at("0801").skip(11), "truncated", 0);
  fails(() => at("0801 14").skip(11), "group", 2);
});

test("groups nest as deep as the limit, counting what is open around them", () => {
  const groups = (count: number): string => "0b".repeat(count - 1) + "0c".repeat(count);
  at(groups(LIMITS.depth)).skip(11);
  fails(() => at(groups(LIMITS.depth + 1)).skip(11), "depth", LIMITS.depth);
  at(groups(1)).skip(11, LIMITS.depth - 1);
  fails(() => at(groups(1)).skip(11, LIMITS.depth), "depth", 0);
});

test("advance says where it was and refuses to leave the end", () => {
  const reader = at("010203");
  assert.is(reader.advance(2), 0);
  fails(() => reader.advance(2), "truncated", 2);
});

test("an error says what, where and in which field", () => {
  const error = new WireError("utf8", 3, "a.b", "why");
  assert.is(error.message, "a string field is not valid UTF-8 (why), at byte 3 in a.b");
  assert.is(error.name, "WireError");
  assert.is(error.within("x").path, "x.a.b");
  assert.is(error.within("x").offset, 3);
  assert.is(new WireError("utf8", 3).within("x").message, "a string field is not valid UTF-8, at byte 3 in x");
});

test("bytes are a view, whatever the buffer is", () => {
  const view = new Reader(Buffer.from("0201020304", "hex")).bytes();
  assert.is(hex(view), "0102");
});

test.run();

/** The WireError that `work` throws. */
function fails(work: () => unknown, code: string, offset: number): WireError {
  let found: unknown;
  try {
    work();
  } catch (error) {
    found = error;
  }
  assert.instance(found, WireError);
  assert.is((found as WireError).code, code);
  assert.is((found as WireError).offset, offset);
  return found as WireError;
}
