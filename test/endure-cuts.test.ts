/** Every capture cut at every frame and at every 97th byte: one terminal event, soon, and no socket left. */
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { list, root } from "../fixtures/load.ts";
import { createProviderOn } from "../lib/driver/provider.ts";
import { readCapture, startLoopback, type Fault, type PlayedFrame } from "../lib/loopback/index.ts";
import { each, fast, spied, TOOLS } from "./endure.ts";
import { wholeTurn } from "./host-loop.ts";
import { ask, until } from "./raw-host.ts";

const test = suite("endure-cuts");

async function cutAt(capture: readonly PlayedFrame[], fault: Fault): Promise<void> {
  const host = await startLoopback({ capture, faults: [fault] });
  const provider = createProviderOn(fast, { accessToken: "t", origin: host.origin, handles: null, env: {} });
  const legs = await wholeTurn(provider, ask("hi", { sessionId: "s", tools: TOOLS }));
  await provider.close();
  await until(() => host.connections.open === 0, "no socket stays");
  await host.close();
  const last = legs.at(-1)!;
  assert.ok(last.waited < 1500, `waited ${last.waited} ms`);
}

for (const name of list("fixtures/captures").filter((file) => file.endsWith(".jsonl")))
  test(`${name} cut at every frame and at every 97th byte ends once`, () =>
    spied(async () => {
      const capture = await readCapture(fileURLToPath(new URL(`fixtures/captures/${name}`, root)));
      const server = capture.filter(({ from }) => from === "server");
      const size = server.reduce((sum, { envelope }) => sum + envelope.length, 0);
      await each(server.map((_, frame) => ({ frame })), (at) => cutAt(capture, { type: "cut", at }));
      await each(Array.from({ length: Math.ceil(size / 97) }, (_, index) => index * 97), (byte) => cutAt(capture, { type: "cut", at: { byte } }));
    }));

test.run();
