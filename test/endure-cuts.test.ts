/** Every capture cut at every frame and at every 97th byte: one terminal event, soon, and no socket left. */
import { fileURLToPath } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { list, root } from "../fixtures/load.ts";
import { createProviderOn } from "../lib/driver/provider.ts";
import { readCapture, startLoopback, type Fault } from "../lib/loopback/index.ts";
import { each, fast, spied, TOOLS, turn } from "./endure.ts";
import { ask, until } from "./raw-host.ts";

const test = suite("endure-cuts");

async function cutAt(capture: string, fault: Fault): Promise<void> {
  const host = await startLoopback({ capture, faults: [fault] });
  const provider = createProviderOn(fast, { accessToken: "t", origin: host.origin, handles: null, env: {} });
  const { legs } = await turn(provider, ask("hi", { sessionId: "s", tools: TOOLS }));
  await provider.close();
  await until(() => host.connections.open === 0, "no socket stays");
  await host.close();
  const last = legs.at(-1)!;
  assert.ok(last.took < 3000, `took ${last.took} ms`);
}

for (const name of list("fixtures/captures").filter((file) => file.endsWith(".jsonl")))
  test(`${name} cut at every frame and at every 97th byte ends once`, () =>
    spied(async () => {
      const path = fileURLToPath(new URL(`fixtures/captures/${name}`, root));
      const server = (await readCapture(path)).filter(({ from }) => from === "server");
      const size = server.reduce((sum, { envelope }) => sum + envelope.length, 0);
      const bytes = Array.from({ length: Math.ceil(size / 97) }, (_, index) => index * 97);
      // A large frame is cut in its first and last kilobytes at every 97th byte, and in between at every 50th of those.
      const chosen = bytes.filter((at, index) => size < 20_000 || at < 2000 || at > size - 2000 || index % 50 === 0);
      await each(server.map((_, frame) => ({ frame })), (at) => cutAt(path, { type: "cut", at }));
      await each(chosen, (byte) => cutAt(path, { type: "cut", at: { byte } }));
    }));

test.run();
