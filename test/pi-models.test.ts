/** What Pi is told of the models, and what a Run then names (PROTOCOL §2.1). */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { ModelRow } from "../lib/account/index.ts";
import { ModelTable } from "../lib/pi/models.ts";
import type { PiModel } from "../lib/pi/pi.ts";

const NONE = { off: null, minimal: null, low: null, medium: null, high: null, xhigh: null, max: null };
const GROK: ModelRow = { id: "grok-4.7", name: "Grok 4.7", slug: "grok-4.7-medium", maxMode: false, thinkingLevelMap: { ...NONE, low: "grok-4.7-low", high: "grok-4.7-high" }, images: true, contextWindow: 256_000, maxTokens: 64_000 };
const MAX: ModelRow = { id: "x-max", name: "X Max", slug: "x", maxMode: true, images: false, contextWindow: 1_000_000, maxTokens: 64_000 };
const model = (id: string, more: Partial<PiModel> = {}): PiModel => ({ id, api: "cursor-agent", provider: "cursor", ...more });

const table = new ModelTable();
table.list([GROK, MAX]);
const test = suite("pi models");

test("a row with levels reasons, and its levels name the slugs", () => {
  assert.equal(table.configs()[0], {
    id: "grok-4.7",
    name: "Grok 4.7",
    reasoning: true,
    thinkingLevelMap: { ...NONE, low: "grok-4.7-low", high: "grok-4.7-high" },
    input: ["text", "image"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 256_000,
    maxTokens: 64_000,
    samplingParams: { cursorDefaultModelId: "grok-4.7-medium" },
  });
});

test("a row without levels does not, and one without eyes takes text only", () => {
  const { reasoning, thinkingLevelMap, input } = table.configs()[1]!;
  assert.equal([reasoning, thinkingLevelMap, input], [false, undefined, ["text"]]);
});

for (const [level, slug] of [
  ["low", "grok-4.7-low"],
  ["high", "grok-4.7-high"],
  ["medium", "grok-4.7-medium"],
  ["off", "grok-4.7-medium"],
  [undefined, "grok-4.7-medium"],
  ["constructor", "grok-4.7-medium"],
] as const)
  test(`F7 at the level ${level ?? "of none"} a Run names ${slug} and no parameters`, () => {
    assert.equal(table.requested(model("grok-4.7"), level), { id: slug, contextWindow: 256_000 });
  });

test("the side table counts, not the model that Pi hands back: 0.73 drops what it does not know", () => {
  assert.is(table.requested(model("grok-4.7", { thinkingLevelMap: { high: "other" } }), "high").id, "grok-4.7-high");
});

test("Pi's own context window goes before the row's", () => {
  assert.is(table.requested(model("grok-4.7", { contextWindow: 5 })).contextWindow, 5);
});

test("a Max row runs in Max mode", () => {
  assert.equal(table.requested(model("x-max")), { id: "x", maxMode: true, contextWindow: 1_000_000 });
});

test("an id that was never listed is a slug, whatever row Pi made its model of", () => {
  const cloned = model("my-slug", { thinkingLevelMap: GROK.thinkingLevelMap!, samplingParams: { cursorDefaultModelId: "grok-4.7-medium" } });
  assert.equal(table.requested(cloned, "high"), { id: "my-slug" });
});

test("a model of one's own may name its slugs itself", () => {
  const own = model("mine", { thinkingLevelMap: { high: "mine-high", off: null }, samplingParams: { cursorDefaultModelId: "mine-default" } });
  assert.is(table.requested(own, "high").id, "mine-high");
  assert.is(table.requested(own).id, "mine-default");
  assert.is(table.requested(model("mine", { samplingParams: { cursorDefaultModelId: 7 } })).id, "mine");
});

test("a row that is no longer listed still names its slug", () => {
  const changing = new ModelTable();
  assert.ok(changing.list([GROK]));
  assert.not.ok(changing.list([GROK]));
  assert.ok(changing.list([MAX]));
  assert.is(changing.size, 1);
  assert.is(changing.requested(model("grok-4.7"), "low").id, "grok-4.7-low");
});

test.run();
