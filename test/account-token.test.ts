/** What is read of a token: its end and whom it is for, never verified. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { tokenEnd, tokenExpiry, tokenSubject } from "../lib/account/token.ts";

const jwt = (payload: unknown) => `h.${Buffer.from(typeof payload === "string" ? payload : JSON.stringify(payload)).toString("base64url")}.s`;

const test = suite("account token");

test("the end of a token is its exp in ms", () => {
  assert.is(tokenEnd(jwt({ exp: 1_800_000_000 })), 1_800_000_000_000);
});

test("a token is refreshed five minutes before its end", () => {
  assert.is(tokenExpiry(jwt({ exp: 1_800_000_000 }), 0), 1_799_999_700_000);
});

test("the subject is read", () => {
  assert.is(tokenSubject(jwt({ sub: "someone" })), "someone");
});

for (const [what, token] of [
  ["no JWT", "opaque"],
  ["an empty token", ""],
  ["a payload that is no JSON", jwt("{")],
  ["a payload that is no object", jwt("7")],
  ["a payload of null", jwt("null")],
  ["an exp that is no number", jwt({ exp: "soon", sub: 7 })],
  ["an exp that is not finite", jwt('{"exp":1e999}')],
  ["an exp that is not finite in ms", jwt('{"exp":1e308}')],
  ["an exp that no Date can show", jwt({ exp: 8.64e12 + 1 })],
  ["an exp before 1970", jwt({ exp: -8.64e12 })],
  ["a token too long for a header", jwt({ exp: 1_800_000_000, sub: "x".repeat(16_384) })],
] as const)
  test(`${what} has no end and no subject, and counts for an hour`, () => {
    assert.is(tokenEnd(token), undefined);
    assert.is(tokenSubject(token), undefined);
    assert.is(tokenExpiry(token, 1000), 3_601_000);
  });

test.run();
