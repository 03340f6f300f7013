/** The JSON of a handle: written, read, and refused where it is anything else. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { decodeHandleFile, encodeHandleFile, type HandleFile } from "../lib/session/handle-file.ts";

const test = suite("handle-file");

const ONE = "1".repeat(64);
const TWO = "2".repeat(64);
const FILE: HandleFile = {
  conversationId: "5bd3ba6e-3c0e-4a3b-9a52-5d4c0f3e0d11",
  fingerprint: "f".repeat(64),
  toolsetKey: "e".repeat(64),
  checkpoint: ONE,
  blobs: [{ id: ONE, content: ONE }, { id: "chosen by the service", content: TWO }],
};
/** FILE as it is stored. */
const STORED = { version: 1, ...FILE, blobs: [ONE, ["chosen by the service", TWO]] };

function decode(text: string | object): ReturnType<typeof decodeHandleFile> {
  return decodeHandleFile(Buffer.from(typeof text === "string" ? text : JSON.stringify(text)));
}

test("a handle is one line of JSON with six properties", () => {
  const text = Buffer.from(encodeHandleFile(FILE)).toString();
  assert.equal(JSON.parse(text), STORED);
  assert.is(text.indexOf("\n"), text.length - 1);
});

test("what is written is read", () => {
  assert.equal(decodeHandleFile(encodeHandleFile(FILE)), { ok: true, file: FILE });
});

test("unknown properties are passed over", () => {
  assert.equal(decode({ ...STORED, later: true }), { ok: true, file: FILE });
});

test("a handle without blobs, and with empty keys, is one", () => {
  const file = { ...FILE, fingerprint: "", toolsetKey: "", blobs: [] };
  assert.equal(decodeHandleFile(encodeHandleFile(file)), { ok: true, file });
});

const whole = JSON.stringify(STORED);
const refused: [name: string, text: string | object, reason: string | RegExp][] = [
  ["G1 nothing", "", "it is no JSON"],
  ["G1 blanks", "  \n", "it is no JSON"],
  ["G1 a truncated file", whole.slice(0, -1), "it is no JSON"],
  ["G1 trailing garbage", `${whole}x`, "it is no JSON"],
  ["G1 two handles", `${whole}\n${whole}`, "it is no JSON"],
  ["G1 a BOM", `\ufeff${whole}`, "it is no JSON"],
  ["G1 NULs", "\0".repeat(100), "it is no JSON"],
  ["null", "null", "it is no object"],
  ["a number", "1", "it is no object"],
  ["a text", '"handle"', "it is no object"],
  ["a list", [STORED], "it is no object"],
  ["an empty object", {}, "its version is not 1"],
  ["no version", { ...STORED, version: undefined }, "its version is not 1"],
  ["a later version", { ...STORED, version: 2 }, "its version is not 1"],
  ["a version in words", { ...STORED, version: "1" }, "its version is not 1"],
  ["a prototype that would be one", `{"__proto__":${whole}}`, "its version is not 1"],
  ["no conversation id", { ...STORED, conversationId: undefined }, "its conversationId is no short text"],
  ["an empty conversation id", { ...STORED, conversationId: "" }, "its conversationId is empty"],
  ["a long conversation id", { ...STORED, conversationId: "x".repeat(257) }, "its conversationId is no short text"],
  ["a fingerprint that is a number", { ...STORED, fingerprint: 1 }, "its fingerprint is no short text"],
  ["a toolset key that is null", { ...STORED, toolsetKey: null }, "its toolsetKey is no short text"],
  ["no checkpoint", { ...STORED, checkpoint: undefined }, "its checkpoint is no SHA-256"],
  ["a checkpoint in capitals", { ...STORED, checkpoint: "A".repeat(64) }, "its checkpoint is no SHA-256"],
  ["a checkpoint that leaves the folder", { ...STORED, checkpoint: "../../../../etc/passwd" }, "its checkpoint is no SHA-256"],
  ["a checkpoint with a line break", { ...STORED, checkpoint: `${ONE}\n` }, "its checkpoint is no SHA-256"],
  ["blobs that are an object", { ...STORED, blobs: {} }, "its blobs are no list"],
  ["a blob that leaves the folder", { ...STORED, blobs: [ONE, "../x"] }, "one of its blobs is no id"],
  ["a content that leaves the folder", { ...STORED, blobs: [["id", "../x"]] }, "one of its blobs is no id"],
  ["a blob of null", { ...STORED, blobs: [null] }, "one of its blobs is no id"],
  ["a blob of one", { ...STORED, blobs: [[ONE]] }, "one of its blobs is no id"],
  ["a blob of three", { ...STORED, blobs: [["id", ONE, ONE]] }, "one of its blobs is no id"],
  ["a blob whose id is a number", { ...STORED, blobs: [[1, ONE]] }, "one of its blobs is no id"],
  ["a blob named twice", { ...STORED, blobs: [ONE, [ONE, TWO]] }, "it names a blob twice"],
  ["depth beyond the stack", "[".repeat(100_000), "it is no JSON"],
  ["a list of more lists than blobs", "[".repeat(1_000_000), "it is no handle: it has too many lists"],
  ["a list of more objects than blobs", "{".repeat(1_000_000), "it is no handle: it has too many lists"],
];
for (const [name, text, reason] of refused) {
  test(`${name} is refused`, () => {
    assert.equal(decode(text), { ok: false, reason });
  });
}

test("G1 bytes that are no UTF-8 are refused", () => {
  assert.equal(decodeHandleFile(new Uint8Array(64).fill(0xff)), { ok: false, reason: "it is no JSON" });
});

test("a handle that could not be read back is not written", () => {
  assert.throws(
    () => encodeHandleFile({ ...FILE, conversationId: "" }),
    (error: unknown) => error instanceof RangeError && error.message === "The handle can not be kept: its conversationId is empty.",
  );
  assert.throws(() => encodeHandleFile({ ...FILE, blobs: [{ id: "x".repeat(257), content: ONE }] }), /one of its blobs is no id/);
});

test.run();
