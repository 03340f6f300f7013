/** Two thousand random scripts of a peer, from a printed seed: each leg ends once, soon, and no socket is left. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { createProviderOn } from "../lib/driver/provider.ts";
import { startLoopback, type Script } from "../lib/loopback/index.ts";
import { each, fast, spied, TOOLS } from "./endure.ts";
import { wholeTurn } from "./host-loop.ts";
import { random, type Random } from "./random.ts";
import { ask, until } from "./raw-host.ts";

const test = suite("endure-peers");

const STEPS: readonly ((chance: Random) => Script[number])[] = [
  () => ({ text: "some words" }),
  () => ({ thinking: "hm" }),
  (chance) => ({ tokens: chance.below(50) }),
  (chance) => ({ mcp: { tool: chance.below(3) === 0 ? "nobody" : "look", args: { n: chance.below(9) } } }),
  (chance) => ({ exec: { case: ["shellArgs", "readArgs", "grepArgs", "diagnosticsArgs", "setupVmEnvironmentArgs"][chance.below(5)]!, args: {}, wait: false } }),
  (chance) => ({ query: { case: ["webSearchRequestQuery", "switchModeRequestQuery"][chance.below(2)]!, wait: false } }),
  () => ({ getBlob: "root", wait: false }),
  (chance) => ({ setBlob: { size: chance.below(3000) }, wait: false }),
  () => ({ requestContext: true, wait: false }),
  (chance) => ({ checkpoint: { size: 10 + chance.below(500) } }),
  (chance) => ({ heartbeats: chance.below(3) }),
  (chance) => ({ raw: Array.from({ length: chance.below(12) }, () => chance.below(256).toString(16).padStart(2, "0")).join("") }),
  (chance) => ({ bytes: Array.from({ length: chance.below(7) }, () => chance.below(256).toString(16).padStart(2, "0")).join("") }),
  () => ({ turnEnded: true }),
  () => ({ awaitResults: true }),
  (chance) => ({ fault: { type: "reset", code: chance.below(14) } }),
  () => ({ fault: { type: "cut" } }),
  () => ({ fault: { type: "stall" } }),
  (chance) => ({ fault: { type: "goaway", code: chance.below(3), cut: chance.below(2) === 0 } }),
];

test("random scripts of a peer each end every leg once", () =>
  spied(async () => {
    const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
    console.log(`  seed ${seed}`);
    const chance = random(seed);
    const scripts = Array.from({ length: 2000 }, (): Script => Array.from({ length: 1 + chance.below(8) }, () => STEPS[chance.below(STEPS.length)]!(chance)));
    await each(
      Array.from({ length: 20 }, (_, index) => scripts.slice(index * 100, index * 100 + 100)),
      async (hundred) => {
        const host = await startLoopback({ script: hundred });
        const provider = createProviderOn(fast, { accessToken: "t", origin: host.origin, handles: null, env: { CURSOR_PROVIDER_FIRST_TOKEN_MS: "5000", CURSOR_PROVIDER_IDLE_MS: "5000" } });
        for (let index = 0; index < hundred.length; index++) {
          const legs = await wholeTurn(provider, ask("hi", { sessionId: `s${index}`, tools: TOOLS }));
          assert.ok(legs.at(-1)!.waited < 1500, `seed ${seed}: waited ${legs.at(-1)!.waited} ms over ${JSON.stringify(hundred[index])}`);
        }
        await provider.close();
        await until(() => host.connections.open === 0, "no socket stays");
        await host.close();
      },
    );
  }));

test.run();
