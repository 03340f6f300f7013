/** UTF-8 both ways, against TextDecoder and TextEncoder on the same bytes; and the codec on a host without `Buffer`. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { decodeValue, encodeValue } from "../wire/index.ts";
import { decodeKey, decodePortable, decodeUtf8, encodePortable, encodeUtf8, isAscii } from "../wire/utf8.ts";
import { bytes, hex } from "./check.ts";
import { covered } from "./covered.ts";
import { BROKEN, STRINGS, utf8Cases } from "./utf8-cases.ts";
import type { Observed } from "./without-buffer.ts";

const test = suite("wire utf8");
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const fatal = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
const strict = (input: Uint8Array): string | undefined => {
  try {
    return fatal.decode(input);
  } catch {
    return undefined;
  }
};
/** The bytes in the middle of others that would be part of a sequence. */
const placed = (input: Uint8Array): Uint8Array => {
  const whole = new Uint8Array(input.length + 2).fill(0x80);
  whole.set(input, 1);
  return whole;
};

test("valid strings come back, with their byte order mark", () => {
  for (const text of STRINGS) {
    const whole = placed(new TextEncoder().encode(text));
    for (const replace of [false, true]) {
      assert.is(decodeUtf8(whole, 1, whole.length - 1, replace), text);
      assert.is(decodePortable(whole, 1, whole.length - 1, replace), text);
    }
    assert.is(decodeKey(whole, 1, whole.length - 1), text);
  }
});

for (const sequence of BROKEN) {
  test(`${sequence} is no UTF-8`, () => {
    assert.is(strict(bytes(sequence)), undefined);
    assert.is(decodeUtf8(bytes(sequence), 0, sequence.length / 2, false), undefined);
  });
}

test("broken strings are refused, or replaced as TextDecoder replaces them", () => {
  for (const input of utf8Cases()) {
    const whole = placed(input);
    for (const decode of [decodeUtf8, decodePortable]) {
      assert.is(decode(whole, 1, whole.length - 1, false), strict(input), hex(input));
      assert.is(decode(whole, 1, whole.length - 1, true), lenient.decode(input), hex(input));
    }
    assert.is(decodeKey(whole, 1, whole.length - 1), lenient.decode(input), hex(input));
  }
});

test("bytes on both sides of every bound decode as TextDecoder decodes them", () => {
  const leads = [0x7f, 0x80, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf4, 0xf5];
  for (const a of leads)
    for (const b of leads)
      for (const c of leads)
        for (const d of [undefined, 0x80]) {
          const input = Uint8Array.from(d === undefined ? [a, b, c] : [a, b, c, d]);
          assert.is(decodeUtf8(input, 0, input.length, false), strict(input), hex(input));
        }
});

test("every code point comes back", () => {
  for (let from = 0; from < 0x110000; from += 512) {
    if (from >= 0xd800 && from < 0xe000) continue;
    const text = String.fromCodePoint(...Array.from({ length: 512 }, (_, index) => from + index));
    const input = new TextEncoder().encode(text);
    assert.is(decodeUtf8(input, 0, input.length, false), text);
    const room = new Uint8Array(text.length * 3);
    assert.is(encodeUtf8(text, room, 0), input.length);
  }
});

test("encoding equals TextEncoder, lone surrogates included", () => {
  const cases = [...STRINGS, "\ud800", "\udfff", "a\ud800", "\ud800a", "\udc00\ud800", "\ud800\ud800\udc00", "\ud83d".repeat(25), "x".repeat(30) + "\udc00" + "模".repeat(30)];
  for (const text of cases) {
    const golden = hex(new TextEncoder().encode(text));
    for (const encode of [encodeUtf8, encodePortable]) {
      const room = new Uint8Array(text.length * 3 + 3);
      const end = encode(text, room, 2);
      assert.is(hex(room.subarray(2, end)), golden);
    }
  }
});

test("only ASCII is ASCII, at every place", () => {
  for (let length = 0; length < 20; length++) {
    const input = new Uint8Array(length).fill(0x7f);
    assert.ok(isAscii(input, 0, length));
    for (let at = 0; at < length; at++) {
      input[at] = 0x80;
      assert.not.ok(isAscii(input, 0, length));
      assert.ok(isAscii(input, at + 1, length));
      input[at] = 0x7f;
    }
  }
});

test("keys that share a slot do not stand for each other", () => {
  const names = Array.from({ length: 4000 }, (_, index) => (index % 2 ? `k${index}k` : `模${index % 300}`));
  for (const round of [0, 1]) for (const name of names) {
    const input = new TextEncoder().encode(name);
    assert.is(decodeKey(input, 0, input.length), name, `round ${round}`);
  }
  assert.is(decodeKey(bytes("61ff61"), 0, 3), "a\ufffda");
  assert.is(decodeKey(bytes("61fe61"), 0, 3), "a\ufffda");
  assert.is(decodeKey(new Uint8Array(25).fill(0x61), 0, 25), "a".repeat(25));
});

test("a key whose reading threw is not kept", () => {
  const [first, second] = [bytes("6b71317132"), bytes("6b71337132")];
  const { fromCharCode } = String;
  assert.is(decodeKey(first, 0, 5), "kq1q2");
  // As at the end of the stack.
  String.fromCharCode = () => {
    throw new RangeError("full");
  };
  try {
    assert.throws(() => decodeKey(second, 0, 5), RangeError);
  } finally {
    String.fromCharCode = fromCharCode;
  }
  assert.is(decodeKey(second, 0, 5), "kq3q2");
  assert.is(decodeKey(first, 0, 5), "kq1q2");
});

test("a host without Buffer reads and writes the same", () => {
  const file = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./without-buffer.ts" : "./without-buffer.js", import.meta.url));
  const there = JSON.parse(execFileSync(process.execPath, [file], { env: { ...process.env, ...covered() }, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })) as Observed;
  const cases = utf8Cases();
  assert.is(there.buffer, "undefined");
  assert.equal(there.decoded, cases.map((input) => strict(input) ?? null));
  assert.equal(there.replaced, cases.map((input) => lenient.decode(input)));
  assert.equal(there.keys, there.replaced);
  assert.equal(there.encoded, STRINGS.map((text) => hex(new TextEncoder().encode(text))));
  assert.equal(there.strings, STRINGS);
  assert.equal(there.value, decodeValue(bytes(there.valueBytes)));
  assert.is(there.valueBytes, hex(encodeValue(there.value)));
  assert.equal(there.smallValue, { path: "/home/user/project/file.ts", edits: [{ old: "a line of some length" }] });
  assert.equal(there.envelope, [1_000_000, 7, 7]);
});

test.run();
