/** The JSON of the end-stream envelope (DESIGN D11). */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { CONNECT_CODES, connectCode, decodeEndStream, encodeEndStream } from "../wire/index.ts";

const test = suite("wire end-stream");
const decode = (json: unknown): unknown => {
  const { error, metadata } = decodeEndStream(new TextEncoder().encode(typeof json === "string" ? json : JSON.stringify(json)));
  return { ...(error && { error }), metadata: Object.fromEntries(metadata) };
};
const metadata = {};

test("no error, or a null one, is success", () => {
  for (const json of [{}, { error: null }, " {} ", { metadata: null }, { metadata: [] }, { other: 1 }]) assert.equal(decode(json), { metadata });
});

for (const code of CONNECT_CODES) {
  test(`${code} is read and written`, () => {
    assert.equal(decode({ error: { code, message: "m" } }), { error: { code, message: "m" }, metadata });
    assert.equal(decodeEndStream(encodeEndStream({ code, message: "m" })).error, { code, message: "m" });
  });
}

test("a missing, null or unknown code is unknown", () => {
  for (const error of [{}, { code: null }, { code: 5 }, { code: "5" }, { code: "NOT_FOUND" }, { code: "" }, { code: ["internal"] }, { code: "constructor" }])
    assert.equal(decode({ error }), { error: { code: "unknown", message: "" }, metadata });
});

test("a message that is no string is empty, and details are left out", () => {
  assert.equal(decode({ error: { code: "internal", message: 5, details: [{ type: "x" }] } }), { error: { code: "internal", message: "" }, metadata });
});

test("metadata keeps what is a list of strings", () => {
  assert.equal(decode({ metadata: { a: ["1", "2"], b: [], c: "x", d: ["1", 2, null], e: null } }), { metadata: { a: ["1", "2"], b: [], d: ["1"] } });
});

test("names that are a prototype's properties stay in the map", () => {
  const { metadata } = decodeEndStream(new TextEncoder().encode('{"metadata":{"__proto__":["a"],"constructor":["b"]}}'));
  assert.equal([...metadata], [["__proto__", ["a"]], ["constructor", ["b"]]]);
});

test("a code is a word of Connect or a gRPC number as text", () => {
  CONNECT_CODES.forEach((code, index) => {
    assert.is(connectCode(code), code);
    assert.is(connectCode(String(index + 1)), code);
  });
  for (const other of ["0", "17", "01", " 1", "1 ", "", "Canceled", undefined, null, 1, {}]) assert.is(connectCode(other), "unknown");
});

test("success and a message left out are written as Connect writes them", () => {
  const written = (error?: Parameters<typeof encodeEndStream>[0]): string => new TextDecoder().decode(encodeEndStream(error));
  assert.is(written(), "{}");
  assert.is(written({ code: "aborted" }), '{"error":{"code":"aborted"}}');
});

test.run();
