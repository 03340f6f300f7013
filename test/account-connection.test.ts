/** The connection for unary calls: whatever the peer does, each call ends once. */
import { getEventListeners } from "node:events";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ANSWER_BYTES, withConnection, type UnaryAnswer, type UnaryRequest } from "../lib/account/connection.ts";
import { refused } from "../lib/account/failures.ts";
import { accountOrigin } from "../lib/account/origin.ts";
import type { AccountAnswer } from "../lib/loopback/account.ts";
import type { CursorError } from "../lib/session/errors.ts";
import { startAccountHost } from "./account-host.ts";
import { rejects } from "./check.ts";
import { waiting } from "./waiting.ts";

const test = suite("account connection");
const request: UnaryRequest = { method: "GET", path: "/x", timeoutMs: 2_000 };

async function asked(answer: AccountAnswer, more: Partial<UnaryRequest> = {}, signal?: AbortSignal): Promise<UnaryAnswer> {
  const host = await startAccountHost({ answer: () => answer });
  try {
    return await withConnection(new URL(host.origin), signal, (call) => call({ ...request, ...more }));
  } finally {
    await host.close();
  }
}

/** A TCP server that speaks no HTTP/2; `onSocket` does with a connection what it likes. */
async function withRawHost<T>(onSocket: (socket: Socket) => void, work: (origin: URL) => Promise<T>): Promise<T> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await work(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}
const ask = (origin: URL, more: Partial<UnaryRequest> = {}, signal?: AbortSignal) => withConnection(origin, signal, (call) => call({ ...request, ...more }));
const code = (error: unknown) => `${(error as CursorError).kind} ${(error as CursorError).code}`;

test("an answer has its status, its content type without parameters, and its body", async () => {
  const answer = await asked({ status: 418, contentType: "Text/Plain; charset=utf-8", body: "short" });
  assert.equal([answer.status, answer.contentType, new TextDecoder().decode(answer.body)], [418, "text/plain", "short"]);
});

test("an answer without a content type has an empty one", async () => {
  assert.is((await asked({})).contentType, "");
});

test("an answer that is too large is cut off", async () => {
  assert.is(code(await rejects(asked({ body: new Uint8Array(ANSWER_BYTES + 1) }))), "remote answer_too_large");
});

test("an answer as large as allowed is read", async () => {
  assert.is((await asked({ body: new Uint8Array(ANSWER_BYTES) })).body.length, ANSWER_BYTES);
});

test("a call may allow more", async () => {
  const answerBytes = 8 * ANSWER_BYTES;
  assert.is((await asked({ body: new Uint8Array(answerBytes) }, { answerBytes })).body.length, answerBytes);
  assert.is(code(await rejects(asked({ body: new Uint8Array(answerBytes + 1) }, { answerBytes }))), "remote answer_too_large");
});

test("a page that is too large leaves its status", async () => {
  const { status, body } = await asked({ status: 503, body: new Uint8Array(2 * ANSWER_BYTES) });
  assert.is(status, 503);
  assert.ok(body.length <= ANSWER_BYTES);
});

for (const [answer, expected] of [
  ["reset", "network connection_lost"],
  ["cut", "network connection_lost"],
] as [AccountAnswer, string][])
  test(`${String(answer)} is ${expected}`, async () => {
    assert.is(code(await rejects(asked(answer))), expected);
  });

test("silence ends at the time-out of the call", async () => {
  const { result, waited } = await waiting(rejects(asked("silence", { timeoutMs: 60 })));
  assert.is(code(result), "network timeout");
  assert.ok(waited < 200, `${waited} ms`);
});

test("C15 after a time-out the connection is gone and the next call dials again", () => {
  let connections = 0;
  return withRawHost(
    () => connections++,
    async (origin) => {
      await rejects(ask(origin, { timeoutMs: 40 }));
      await rejects(ask(origin, { timeoutMs: 40 }));
      assert.is(connections, 2);
    },
  );
});

const FRAME = { data: 0, headers: 1, reset: 3, settings: 4 };
const END = { stream: 1, headers: 4 };
/** An HTTP/2 frame of the first stream; of the connection where it has settings. */
function frame(type: number, flags: number, payload: readonly number[] = []): Buffer {
  return Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, type === FRAME.settings ? 0 : 1, ...payload]);
}
const reset = (code: number) => frame(FRAME.reset, 0, [0, 0, 0, code]);
/** `:status: 200`, by the static table. */
const OK = frame(FRAME.headers, END.headers, [0x88]);
const HALF = [...new TextEncoder().encode("half")];

/** Answers a request with these frames at once, and then does more. */
function framesHost(frames: Buffer[], then: (socket: Socket) => void = () => {}): (socket: Socket) => void {
  return (socket) => {
    socket.write(frame(FRAME.settings, 0));
    socket.once("data", () => {
      socket.write(Buffer.concat([frame(FRAME.settings, 1), ...frames]));
      then(socket);
    });
  };
}

for (const body of [undefined, new Uint8Array(1)])
  for (const [what, frames] of [
    ...[0, 2, 7, 8, 11].map((code): [string, Buffer[]] => [`half an answer and RST_STREAM code ${code}`, [OK, frame(FRAME.data, 0, HALF), reset(code)]]),
    ["a head and RST_STREAM code 0", [OK, reset(0)]],
    ["RST_STREAM code 0", [reset(0)]],
  ] as [string, Buffer[]][])
    test(`${what} is no answer to a ${body ? "POST" : "GET"}`, () =>
      withRawHost(framesHost(frames), async (origin) => {
        assert.is(code(await rejects(ask(origin, body && { method: "POST", body }))), "network connection_lost");
      }));

for (const [what, frames, then] of [
  ["END_STREAM on its data", [OK, frame(FRAME.data, END.stream, HALF)]],
  ["END_STREAM by itself", [OK, frame(FRAME.data, 0, HALF), frame(FRAME.data, END.stream)]],
  ["trailers", [OK, frame(FRAME.data, 0, HALF), frame(FRAME.headers, END.headers | END.stream, [0, 1, 97, 1, 98])]],
  ["END_STREAM and RST_STREAM code 0", [OK, frame(FRAME.data, END.stream, HALF), reset(0)]],
  ["END_STREAM and a socket that ends", [OK, frame(FRAME.data, END.stream, HALF)], (socket) => socket.end()],
] as [string, Buffer[], ((socket: Socket) => void)?][])
  test(`an answer that ends in ${what} is whole`, () =>
    withRawHost(framesHost(frames, then), async (origin) => {
      const answer = await ask(origin);
      assert.equal([answer.status, new TextDecoder().decode(answer.body)], [200, "half"]);
    }));

test("C12 a peer that accepts and then resets fails the call at once", () =>
  withRawHost(
    (socket) => setTimeout(() => socket.resetAndDestroy(), 30),
    async (origin) => {
      assert.is(code(await rejects(ask(origin))), "network connection_lost");
    },
  ));

test("a peer that speaks no HTTP/2 fails the call", () =>
  withRawHost(
    (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    async (origin) => {
      assert.is((await rejects(ask(origin)) as CursorError).kind, "network");
    },
  ));

test("a port where nobody listens fails the call", async () => {
  const origin = await withRawHost(() => {}, (url) => Promise.resolve(url));
  const error = (await rejects(ask(origin))) as CursorError;
  assert.is(code(error), "network connection_lost");
  assert.match(error.message, /^Connection lost: ECONNREFUSED connect ECONNREFUSED 127\.0\.0\.1:\d+$/);
});

test("a signal that has already aborted opens no socket", () => {
  let connections = 0;
  return withRawHost(
    () => connections++,
    async (origin) => {
      assert.is(code(await rejects(ask(origin, {}, AbortSignal.abort()))), "aborted aborted");
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.is(connections, 0);
    },
  );
});

test("C13 an abort during the call ends it within 50 ms", async () => {
  const stop = new AbortController();
  const call = rejects(asked("silence", {}, stop.signal));
  await new Promise((resolve) => setTimeout(resolve, 30));
  stop.abort();
  const { result, waited } = await waiting(call);
  assert.is(code(result), "aborted aborted");
  assert.ok(waited < 50, `${waited} ms`);
});

test("calls that are over leave no listener on their signal, however they ended", async () => {
  const { signal } = new AbortController();
  await asked({ body: "x" }, {}, signal);
  await rejects(asked({ body: new Uint8Array(ANSWER_BYTES + 1) }, {}, signal));
  await rejects(asked("silence", { timeoutMs: 20 }, signal));
  assert.is(getEventListeners(signal, "abort").length, 0);
});

test("a call after the abort of another sends nothing", async () => {
  const host = await startAccountHost();
  const stop = new AbortController();
  const error = await rejects(
    withConnection(new URL(host.origin), stop.signal, async (call) => {
      stop.abort();
      return call(request);
    }),
  );
  await host.close();
  assert.is(code(error), "aborted aborted");
  assert.is(host.received.length, 0);
});

test("a header that cannot be sent fails the call, not the process", async () => {
  assert.is((await rejects(asked({}, { headers: { "no token": "x" } })) as CursorError).kind, "network");
});

test("work that fails closes the connection", async () => {
  const host = await startAccountHost();
  await rejects(withConnection(new URL(host.origin), undefined, () => Promise.reject(new Error("own"))));
  await host.close();
});

for (const [what, options, expected] of [
  ["the account service by default", { env: {} }, "https://api2.cursor.sh"],
  ["the account service where the agent has a region", { env: { CURSOR_PROVIDER_AGENT_ORIGIN: "https://agentn.eu.api5.cursor.sh" } }, "https://api2.cursor.sh"],
  ["the agent's loopback", { env: { CURSOR_PROVIDER_AGENT_ORIGIN: "http://127.0.0.1:8080" } }, "http://127.0.0.1:8080"],
  ["what is given", { origin: "http://localhost:1", env: { CURSOR_PROVIDER_AGENT_ORIGIN: "http://127.0.0.1:8080" } }, "http://localhost:1"],
] as const)
  test(`accounts go to ${what}`, () => {
    assert.is(accountOrigin(options).origin, expected);
  });

for (const [what, options, nextStep] of [
  ["what is given", { origin: "https://evil.example" }, "Use https://api2.cursor.sh, where accounts live"],
  ["the variable", { env: { CURSOR_PROVIDER_AGENT_ORIGIN: "https://evil.example" } }, "Unset CURSOR_PROVIDER_AGENT_ORIGIN: accounts live at https://api2.cursor.sh"],
] as const)
  test(`accounts go to no origin that is not allowed by ${what}, and the next step is about theirs`, () => {
    assert.throws(
      () => accountOrigin(options),
      (error: CursorError) => error.kind === "local" && error.code === "origin_not_allowed" && error.message.includes("https://evil.example") && error.nextStep.startsWith(nextStep),
    );
  });

test("no status has a next step about the agent's origin", () => {
  for (let status = 300; status < 600; status++) {
    const { code, nextStep } = refused({ status, contentType: "text/html", body: new Uint8Array(0) }, []);
    assert.not.match(nextStep, "CURSOR_PROVIDER_AGENT_ORIGIN", `${status} ${code}`);
    if (status === 404 || status === 302) assert.match(nextStep, "the account's origin: it is https://api2.cursor.sh");
  }
});

test.run();
