/** The provider's clock in real time, beside real sockets. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { systemClock } from "../lib/driver/clock.ts";
import type { Timer } from "../lib/session/timers.ts";

const test = suite("clock");
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Nothing of the process runs for so many ms, as when it is stopped. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

async function connected(work: (near: Socket, far: Socket) => Promise<void>): Promise<void> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [[far]] = (await Promise.all([once(server, "connection"), once(near, "connect")])) as [[Socket], unknown];
  try {
    await work(near, far);
  } finally {
    near.destroy();
    far.destroy();
    server.close();
  }
}

test("a clock that runs out while the process stands still hears first of what came in time", () =>
  connected(async (near, far) => {
    const told: Timer[] = [];
    const clock = systemClock((timer) => told.push(timer));
    near.on("data", () => (clock.arm("idle", 60), clock.disarm("first")));
    for (const timer of ["idle", "first", "drain"] as const) clock.arm(timer, 60);
    far.write("a");
    standStill(100);
    await pause(200);
    assert.equal(told, ["drain", "idle"]);
  }));

test("a clock that has run out can be stopped, or armed for another time, before it is told of", async () => {
  const told: Timer[] = [];
  const clock = systemClock((timer) => told.push(timer));
  for (const timer of ["idle", "first", "drain", "pong"] as const) clock.arm(timer, 5);
  // Made behind theirs, so that it fires behind them in one go, and in front of what they put off.
  setTimeout(() => {
    clock.disarm("idle");
    clock.arm("first", 40);
    clock.arm("drain", 5);
  }, 5);
  standStill(20);
  await pause(1);
  await new Promise(setImmediate);
  assert.equal(told, ["pong"]);
  await pause(100);
  assert.equal(told, ["pong", "drain", "first"]);
  clock.arm("idle", 5);
  setTimeout(() => clock.clear(), 5);
  standStill(20);
  await pause(20);
  assert.is(told.length, 3);
});

test.run();
