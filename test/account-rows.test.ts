/** From the service's answers to model rows (PROTOCOL §2.1). */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { levelOf } from "../lib/account/levels.ts";
import { MOST_ROWS, rowsOf as read, type Answers, type ModelRow } from "../lib/account/rows.ts";

type Available = NonNullable<Answers["available"]>[number];
type Variant = NonNullable<Available["variants"]>[number];

const rowsOf = (answers: Answers): ModelRow[] => read(answers).rows;
const usable = (...slugs: string[]) => slugs.map((modelId) => ({ modelId, displayName: modelId }));
const variant = (legacySlug: string, parameters: Record<string, string>, more: Partial<Variant> = {}): Variant => ({
  legacySlug,
  parameterValues: Object.entries(parameters).map(([id, value]) => ({ id, value })),
  ...more,
});
const ids = (rows: readonly ModelRow[]) => rows.map((row) => row.id);

const GROK: Available = {
  name: "grok-4.7",
  clientDisplayName: "Grok 4.7",
  supportsImages: true,
  contextTokenLimit: 256_000,
  variants: [
    variant("grok-4.7-low", { reasoning_effort: "low" }),
    variant("grok-4.7-medium", { reasoning_effort: "medium" }, { isDefaultNonMaxConfig: true }),
    variant("grok-4.7-high", { reasoning_effort: "high" }),
  ],
};
const GROK_SLUGS = ["grok-4.7-low", "grok-4.7-medium", "grok-4.7-high"];

const test = suite("account rows");

test("effort variants fold into one row whose levels name the published slugs", () => {
  assert.equal(rowsOf({ usable: usable(...GROK_SLUGS), available: [GROK] }), [
    {
      id: "grok-4.7",
      name: "Grok 4.7",
      slug: "grok-4.7-medium",
      maxMode: false,
      thinkingLevelMap: { off: null, minimal: null, low: "grok-4.7-low", medium: "grok-4.7-medium", high: "grok-4.7-high", xhigh: null, max: null },
      images: true,
      contextWindow: 256_000,
      maxTokens: 64_000,
    },
  ]);
});

test("a variant that is not usable is in no row", () => {
  const [row] = rowsOf({ usable: usable("grok-4.7-low", "grok-4.7-high"), available: [GROK] });
  assert.is(row?.thinkingLevelMap?.medium, null);
  assert.is(row?.slug, "grok-4.7-low");
});

test("a usable slug that is not offered is in no row", () => {
  assert.equal(ids(rowsOf({ usable: usable(...GROK_SLUGS, "retired-1"), available: [GROK] })), ["grok-4.7"]);
});

test("a model of which no slug is usable is no row", () => {
  assert.equal(ids(rowsOf({ usable: usable(...GROK_SLUGS), available: [GROK, { name: "secret-2" }] })), ["grok-4.7"]);
});

test("an alias makes a variant usable", () => {
  const rows = rowsOf({ usable: [{ modelId: "x", aliases: ["grok-4.7-low"] }], available: [GROK] });
  assert.equal(rows.map((row) => row.slug), ["grok-4.7-low"]);
});

test("without metadata every usable model is a bare row", () => {
  assert.equal(rowsOf({ usable: [{ modelId: "a", displayName: "A" }, { modelId: "b", maxMode: true }, {}] }), [
    { id: "a", name: "A", slug: "a", maxMode: false, images: true, contextWindow: 200_000, maxTokens: 64_000 },
    { id: "b", name: "b", slug: "b", maxMode: true, images: true, contextWindow: 200_000, maxTokens: 64_000 },
  ]);
});

test("metadata that has nothing in common with the usable models is left aside", () => {
  assert.equal(ids(rowsOf({ usable: usable("a", "b"), available: [GROK] })), ["a", "b"]);
});

const DEFAULTS: [what: string, variants: Variant[], slug: string][] = [
  ["the non-max default", [variant("x-low", { effort: "low" }, { isDefaultMaxConfig: true }), variant("x-high", { effort: "high" }, { isDefaultNonMaxConfig: true })], "x-high"],
  ["the max default where there is no other", [variant("x-low", { effort: "low" }), variant("x-high", { effort: "high" }, { isDefaultMaxConfig: true })], "x-high"],
  ["the first where none is marked", [variant("x-low", { effort: "low" }), variant("x-high", { effort: "high" })], "x-low"],
];
for (const [what, variants, slug] of DEFAULTS)
  test(`without a level runs ${what}`, () => {
    const [row] = rowsOf({ usable: usable("x-low", "x-high"), available: [{ name: "x", variants }] });
    assert.is(row?.slug, slug);
  });

test("a level that two variants claim belongs to the default one", () => {
  const variants = [variant("x-a", { effort: "high" }), variant("x-b", { effort: "high" }, { isDefaultNonMaxConfig: true }), variant("x-c", { effort: "low" })];
  const [row] = rowsOf({ usable: usable("x-a", "x-b", "x-c"), available: [{ name: "x", variants }] });
  assert.is(row?.thinkingLevelMap?.high, "x-b");
});

test("one level alone is no choice", () => {
  const [row] = rowsOf({ usable: usable("x-high"), available: [{ name: "x", variants: [variant("x-high", { effort: "high" })] }] });
  assert.is(row?.thinkingLevelMap, undefined);
});

test("thinking that can be switched off is the level off", () => {
  const variants = [variant("x", { thinking: "false" }, { isDefaultNonMaxConfig: true }), variant("x-thinking", { thinking: "true" })];
  const [row] = rowsOf({ usable: usable("x", "x-thinking"), available: [{ name: "x", variants }] });
  assert.is(row?.thinkingLevelMap?.off, "x");
  assert.is(row?.thinkingLevelMap?.medium, "x-thinking");
});

test("a distinct Max mode is a row of its own", () => {
  const variants = [
    variant("x", { context: "200k" }, { isDefaultNonMaxConfig: true }),
    variant("x-1m", { context: "1m" }, { isMaxMode: true, isDefaultMaxConfig: true }),
  ];
  const rows = rowsOf({ usable: usable("x", "x-1m"), available: [{ name: "x", clientDisplayName: "X", variants }] });
  assert.equal(
    rows.map(({ id, name, slug, maxMode, contextWindow }) => [id, name, slug, maxMode, contextWindow]),
    [
      ["x", "X", "x", false, 200_000],
      ["x-max", "X Max", "x-1m", true, 1_000_000],
    ],
  );
});

test("a Max mode with effort variants has levels of its own", () => {
  const variants = [
    variant("x-low", { effort: "low" }),
    variant("x-high", { effort: "high" }),
    variant("x-low-max", { effort: "low" }, { isMaxMode: true }),
    variant("x-high-max", { effort: "high" }, { isMaxMode: true }),
  ];
  const rows = rowsOf({ usable: usable("x-low", "x-high", "x-low-max", "x-high-max"), available: [{ name: "x", variants, contextTokenLimitForMaxMode: 500_000 }] });
  assert.equal(rows.map((row) => [row.id, row.thinkingLevelMap?.high, row.contextWindow]), [
    ["x", "x-high", 200_000],
    ["x-max", "x-high-max", 500_000],
  ]);
});

test("variants that differ in another parameter are rows of their own", () => {
  const variants = [variant("x", { fast: "false" }, { isDefaultNonMaxConfig: true }), variant("x-fast", { fast: "true" })];
  assert.equal(ids(rowsOf({ usable: usable("x", "x-fast"), available: [{ name: "x", variants }] })), ["x", "x-fast"]);
});

test("a model without variants is found by its name or its server's", () => {
  const rows = rowsOf({ usable: usable("plain", "theirs"), available: [{ name: "plain" }, { name: "ours", serverModelName: "theirs" }] });
  assert.equal(rows.map((row) => row.slug), ["plain", "theirs"]);
});

test("a model without variants has a Max row where Max mode has a larger window", () => {
  const rows = rowsOf({ usable: usable("x"), available: [{ name: "x", supportsMaxMode: true, contextTokenLimit: 100, contextTokenLimitForMaxMode: 500 }] });
  assert.equal(rows.map((row) => [row.id, row.slug, row.maxMode, row.contextWindow]), [
    ["x", "x", false, 100],
    ["x-max", "x", true, 500],
  ]);
});

test("a model without variants has no Max row where Max mode changes nothing", () => {
  assert.equal(ids(rowsOf({ usable: usable("x"), available: [{ name: "x", supportsMaxMode: true, contextTokenLimit: 100 }] })), ["x"]);
});

const WINDOWS: [context: string | undefined, tokens: number][] = [
  ["128k", 128_000],
  ["1m", 1_000_000],
  ["1.5M", 1_500_000],
  ["32000", 32_000],
  ["huge", 77],
  ["0k", 77],
  [undefined, 77],
];
for (const [context, tokens] of WINDOWS)
  test(`a context of ${context ?? "nothing"} is a window of ${tokens} tokens`, () => {
    const one = variant("x", context === undefined ? {} : { context });
    assert.is(rowsOf({ usable: usable("x"), available: [{ name: "x", contextTokenLimit: 77, variants: [one] }] })[0]?.contextWindow, tokens);
  });

test("hidden models and models that are no agents are left out", () => {
  const available = [{ name: "a", supportsAgent: true }, { name: "b" }, { name: "c", supportsAgent: true, isHidden: true }];
  assert.equal(ids(rowsOf({ usable: usable("a", "b", "c"), available })), ["a"]);
});

test("where no model says that it is an agent, all may be", () => {
  assert.equal(ids(rowsOf({ usable: usable("a", "b"), available: [{ name: "a" }, { name: "b" }] })), ["a", "b"]);
});

test("an id drops a leading cursor-, the slug keeps it", () => {
  const [row] = rowsOf({ usable: usable("cursor-grok-4.6") });
  assert.equal([row?.id, row?.slug], ["grok-4.6", "cursor-grok-4.6"]);
});

test("an id keeps its cursor- where it collides", () => {
  assert.equal(ids(rowsOf({ usable: usable("cursor-small", "small", "cursor-") })), ["cursor-small", "small", "cursor-"]);
});

test("ids are never given twice", () => {
  assert.equal(ids(rowsOf({ usable: usable("a", "a", "a") })), ["a", "a-2", "a-3"]);
});

test("the service's default comes first", () => {
  assert.equal(ids(rowsOf({ usable: usable("a", "b"), defaultSlug: "b" })), ["b", "a"]);
});

test("the default is found among a row's levels too", () => {
  const rows = rowsOf({ usable: usable("plain", ...GROK_SLUGS), available: [{ name: "plain" }, GROK], defaultSlug: "grok-4.7-high" });
  assert.equal(ids(rows), ["grok-4.7", "plain"]);
});

test("a default that is no row changes nothing", () => {
  assert.equal(ids(rowsOf({ usable: usable("a", "b"), defaultSlug: "c" })), ["a", "b"]);
});

for (const [what, slug] of [["blanks", "  "], ["a blank in it", "a b"], ["a control character", "a\u001b[2J"], ["a line break", "a\n"], ["another script", "модель"], ["201 characters", "x".repeat(201)]] as const)
  test(`a slug of ${what} is in no row, by no way`, () => {
    const { rows, leftOut } = read({ usable: usable("ok", slug) });
    assert.equal([ids(rows), leftOut], [["ok"], 1]);
    const variants = [variant("ok", { effort: "low" }), variant(slug, { effort: "high" })];
    assert.equal(rowsOf({ usable: usable("ok", slug), available: [{ name: slug, serverModelName: slug, variants }, { name: slug }] }), [{ ...rows[0], images: false }]);
    assert.equal(ids(rowsOf({ usable: [{ modelId: "x", aliases: [slug] }], available: [{ name: slug }] })), ["x"]);
  });

for (const [what, displayName, name] of [
  ["control characters", "\u001b]0;x\u0007A\u009b31m\r\nB\u2028", "]0;x A 31m B"],
  ["nothing but control characters", "\u0000\u001b", "a"],
  ["300 characters", "😀".repeat(300), "😀".repeat(200)],
] as const)
  test(`a name of ${what} is shown without what a terminal would obey, and cut`, () => {
    assert.is(rowsOf({ usable: [{ modelId: "a", displayName }] })[0]!.name, name);
    assert.is(rowsOf({ usable: usable("a"), available: [{ name: "a", clientDisplayName: displayName }] })[0]!.name, name);
  });

test("a window has at most ten million tokens", () => {
  const [row] = rowsOf({ usable: usable("x"), available: [{ name: "x", variants: [variant("x", { context: "9999999m" })] }] });
  assert.is(row!.contextWindow, 10_000_000);
  assert.is(rowsOf({ usable: usable("x"), available: [{ name: "x", contextTokenLimit: 2 ** 31 - 1 }] })[0]!.contextWindow, 10_000_000);
});

test("a list is full at its most rows, whatever it is made of, and soon", () => {
  const start = performance.now();
  const many = Array.from({ length: 60_000 }, (_, index) => `m-${index}`);
  const bare = read({ usable: usable(...many) });
  assert.equal([bare.rows.length, bare.leftOut], [MOST_ROWS, 60_000 - MOST_ROWS]);
  const same = read({ usable: usable(...many.map(() => "same")) });
  assert.equal([same.rows.length, same.leftOut], [MOST_ROWS, 60_000 - MOST_ROWS]);
  const variants = many.map((slug) => variant(slug, { knob: slug }));
  const offered = read({ usable: usable(...many), available: Array.from({ length: 9 }, () => ({ name: "x", variants })) });
  assert.equal([offered.rows.length, offered.leftOut], [MOST_ROWS, 5]);
  assert.ok(performance.now() - start < 10_000);
});

const LEVELS: [parameters: Record<string, string>, level: string | undefined][] = [
  [{ reasoning_effort: "high" }, "high"],
  [{ reasoning: "minimal" }, "minimal"],
  [{ effort: "XHigh" }, "xhigh"],
  [{ effort: "max" }, "max"],
  [{ effort: "low", thinking: "true" }, "low"],
  [{ effort: "low", thinking: "false" }, "off"],
  [{ thinking: "true" }, "medium"],
  [{ reasoning: "none" }, "off"],
  [{ effort: "constructor" }, undefined],
  [{}, undefined],
];
for (const [parameters, level] of LEVELS)
  test(`${JSON.stringify(parameters)} is the level ${level ?? "of none"}`, () => {
    assert.is(levelOf(new Map(Object.entries(parameters))), level);
  });

test.run();
