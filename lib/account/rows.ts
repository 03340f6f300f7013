/** From what the account may use and what the service offers to the rows of a model list. */
import type { Decoded } from "../../wire/index.ts";
import { EFFORT_PARAMETERS, levelOf, THINKING_LEVELS, type ThinkingLevel } from "./levels.ts";
import type { AvailableModel, ModelDetails, ModelVariantConfig } from "./messages.ts";

/** One model that a host can choose. */
export interface ModelRow {
  /** For display and choice only: a leading `cursor-` is dropped unless that collides. */
  id: string;
  name: string;
  /** What a Run names where no thinking level is chosen (PROTOCOL §2.1). */
  slug: string;
  maxMode: boolean;
  /** Thinking level → the slug of its variant; null where there is none. Absent where the model has no levels. */
  thinkingLevelMap?: Record<ThinkingLevel, string | null>;
  /** Whether it takes images. */
  images: boolean;
  /** Tokens. */
  contextWindow: number;
  /** Tokens. */
  maxTokens: number;
}

type Available = Decoded<typeof AvailableModel>;
type Usable = Decoded<typeof ModelDetails>;
type Named = Usable & { modelId: string };

/** Tokens, where the service says nothing. */
const CONTEXT_WINDOW = 200_000;
const MAX_TOKENS = 64_000;
const PREFIX = "cursor-";

/** The most rows of a list. */
export const MOST_ROWS = 1_000;
/** The most variants of a model that are looked at. */
const MOST_VARIANTS = 250;
/** The most tokens that a window may have: a host compacts by it. */
const MOST_TOKENS = 10_000_000;
/** Printable ASCII without blanks: what goes into requests, settings and command lines as it is. */
const SLUG = /^[!-~]{1,200}$/;
const NAME = /^.{0,200}/su;
/** What would move a terminal's cursor or break a line. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

/** The three answers; only the first is a must. */
export interface Answers {
  usable: readonly Usable[];
  available?: readonly Available[] | undefined;
  /** The slug that the service would choose. */
  defaultSlug?: string | undefined;
}

/**
 * The rows, at most {@link MOST_ROWS}, in the service's order but with the default first, and how many models were left
 * out because their slug is none or the list full. Where usable and offered have nothing in common: the usable, bare.
 */
export function rowsOf({ usable, available = [], defaultSlug }: Answers): { rows: ModelRow[]; leftOut: number } {
  const named = usable.filter((model): model is Named => isSlug(model.modelId));
  const bySlug = new Map<string, Usable>();
  for (const model of usable) for (const slug of [model.modelId, ...(model.aliases ?? [])]) if (isSlug(slug) && !bySlug.has(slug)) bySlug.set(slug, model);
  const agents = available.some((model) => model.supportsAgent) ? available.filter((model) => model.supportsAgent) : available;
  const taken = new Set<string>();
  const offered = firstRows(agents.filter((model) => !model.isHidden), (model) => rowsOfModel(model, bySlug, taken));
  const { rows, rest } = offered.rows.length > 0 ? offered : firstRows(named, (model) => [bareRow(model, taken)]);
  return {
    rows: withDefaultFirst(withShortIds(rows), defaultSlug).flatMap((row) => fitRow(row) ?? []),
    leftOut: usable.length - named.length + rest,
  };
}

/** Rows until the list is full, and how many models are left then. */
function firstRows<Of>(models: readonly Of[], read: (model: Of) => ModelRow[]): { rows: ModelRow[]; rest: number } {
  const rows: ModelRow[] = [];
  let used = 0;
  while (used < models.length && rows.length < MOST_ROWS) rows.push(...read(models[used++]!));
  return { rows: rows.slice(0, MOST_ROWS), rest: models.length - used };
}

/**
 * A row as it may be shown and kept, whoever made it: the name without control characters and cut, the window bounded.
 * Undefined for what is no row or has a slug that is none.
 */
export function fitRow(value: unknown): ModelRow | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { id, name, slug, maxMode, thinkingLevelMap, images, contextWindow, maxTokens } = value as Partial<Record<keyof ModelRow, unknown>>;
  if (!isSlug(id) || typeof name !== "string" || !isSlug(slug) || typeof maxMode !== "boolean" || typeof images !== "boolean" || !isCount(contextWindow) || !isCount(maxTokens)) return undefined;
  const levels = readLevels(thinkingLevelMap);
  if (levels === "wrong") return undefined;
  const shown = NAME.exec(name)![0].replaceAll(UNPRINTABLE, " ").trim() || id;
  return { id, name: shown, slug, maxMode, ...(levels && { thinkingLevelMap: levels }), images, contextWindow: Math.min(contextWindow, MOST_TOKENS), maxTokens };
}

function readLevels(map: unknown): Record<ThinkingLevel, string | null> | undefined | "wrong" {
  if (map === undefined) return undefined;
  if (typeof map !== "object" || map === null) return "wrong";
  const slugs = THINKING_LEVELS.map((level) => [level, Object.hasOwn(map, level) ? (map as Record<string, unknown>)[level] : null] as const);
  return slugs.every(([, slug]) => slug === null || isSlug(slug)) ? (Object.fromEntries(slugs) as Record<ThinkingLevel, string | null>) : "wrong";
}

function isSlug(value: unknown): value is string {
  return typeof value === "string" && SLUG.test(value);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}

/** One published way to run a model, read. */
interface Variant {
  readonly slug: string;
  readonly level: ThinkingLevel | undefined;
  /** What sets its row apart from the model's others: Max mode and every parameter that is no effort. */
  readonly group: string;
  readonly maxMode: boolean;
  readonly isDefault: "non-max" | "max" | undefined;
  readonly context: number | undefined;
}

function rowsOfModel(model: Available, usable: ReadonlyMap<string, Usable>, taken: Set<string>): ModelRow[] {
  const variants = (model.variants ?? []).slice(0, MOST_VARIANTS).flatMap((variant) => (variant.legacySlug && usable.has(variant.legacySlug) ? [readVariant(variant)] : []));
  if (variants.length === 0) return plainRows(model, usable, taken);
  // The group of the default is the model itself: it takes the model's own name before the others.
  const main = defaultOf(variants).group;
  const groups = [...new Set([main, ...variants.map((variant) => variant.group)])];
  return groups.map((group) => {
    const members = variants.filter((variant) => variant.group === group);
    const chosen = defaultOf(members);
    const { slug, maxMode } = chosen;
    const id = freeId([model.name, maxMode ? `${model.name}-max` : slug, slug], taken);
    const map = levelMap(members);
    const known = usable.get(slug)!;
    const tail = group === main ? "" : maxMode ? " Max" : ` ${slug}`;
    return {
      id,
      name: `${model.clientDisplayName || known.displayName || id}${tail}`,
      slug,
      maxMode,
      ...(map && { thinkingLevelMap: map }),
      images: model.supportsImages === true,
      contextWindow: chosen.context ?? limitOf(model, maxMode),
      maxTokens: MAX_TOKENS,
    };
  });
}

/** A model without variants: itself, and its Max mode where that has a window of its own. */
function plainRows(model: Available, usable: ReadonlyMap<string, Usable>, taken: Set<string>): ModelRow[] {
  const slug = [model.name, model.serverModelName].find((name) => name && usable.has(name));
  if (slug === undefined) return [];
  const name = model.clientDisplayName || usable.get(slug)!.displayName || slug;
  const row = { slug, images: model.supportsImages === true, maxTokens: MAX_TOKENS };
  const plain: ModelRow = { ...row, id: freeId([slug], taken), name, maxMode: false, contextWindow: limitOf(model, false) };
  const distinct = model.supportsMaxMode === true && limitOf(model, true) > plain.contextWindow;
  return distinct ? [plain, { ...row, id: freeId([`${slug}-max`], taken), name: `${name} Max`, maxMode: true, contextWindow: limitOf(model, true) }] : [plain];
}

/** A usable slug of which nothing else is known. */
function bareRow({ modelId: slug, displayName, maxMode = false }: Named, taken: Set<string>): ModelRow {
  return { id: freeId([slug], taken), name: displayName || slug, slug, maxMode, images: true, contextWindow: CONTEXT_WINDOW, maxTokens: MAX_TOKENS };
}

function readVariant(variant: Decoded<typeof ModelVariantConfig>): Variant {
  const parameters = new Map((variant.parameterValues ?? []).map(({ id = "", value = "" }) => [id, value]));
  const others = Array.from(parameters).filter(([id]) => !(EFFORT_PARAMETERS as readonly string[]).includes(id));
  const maxMode = variant.isMaxMode === true;
  return {
    slug: variant.legacySlug!,
    level: levelOf(parameters),
    group: JSON.stringify([maxMode, others.sort()]),
    maxMode,
    isDefault: variant.isDefaultNonMaxConfig ? "non-max" : variant.isDefaultMaxConfig ? "max" : undefined,
    context: tokens(parameters.get("context")),
  };
}

/** The variant that runs where no level is chosen (PROTOCOL §2.1). */
function defaultOf(variants: readonly Variant[]): Variant {
  return variants.find((one) => one.isDefault === "non-max") ?? variants.find((one) => one.isDefault === "max") ?? variants[0]!;
}

/** Level → slug; a default variant goes before others of its level. Undefined where there is nothing to choose between. */
function levelMap(variants: readonly Variant[]): Record<ThinkingLevel, string | null> | undefined {
  const ranked = [...variants].sort((a, b) => Number(b.isDefault !== undefined) - Number(a.isDefault !== undefined));
  const slugs = THINKING_LEVELS.map((level) => [level, ranked.find((one) => one.level === level)?.slug ?? null] as const);
  return slugs.filter(([, slug]) => slug !== null).length < 2 ? undefined : (Object.fromEntries(slugs) as Record<ThinkingLevel, string | null>);
}

function limitOf(model: Available, maxMode: boolean): number {
  const limits = maxMode ? [model.contextTokenLimitForMaxMode, model.contextTokenLimit] : [model.contextTokenLimit];
  return limits.find((limit) => limit !== undefined && limit > 0) ?? CONTEXT_WINDOW;
}

/** `128k` and `1m` as tokens. */
function tokens(text: string | undefined): number | undefined {
  const [, digits, unit] = /^(\d{1,7}(?:\.\d{1,3})?)([km])?$/i.exec(text ?? "") ?? [];
  const count = Math.round(Number(digits) * { k: 1_000, m: 1_000_000, "": 1 }[(unit ?? "").toLowerCase() as "k" | "m" | ""]);
  return count > 0 ? count : undefined;
}

function freeId(wanted: readonly (string | undefined)[], taken: Set<string>): string {
  const names = wanted.filter(isSlug);
  let id = names.find((name) => !taken.has(name));
  for (let count = 2; id === undefined; count++) id = taken.has(`${names[0]}-${count}`) ? undefined : `${names[0]}-${count}`;
  taken.add(id);
  return id;
}

function withShortIds(rows: readonly ModelRow[]): ModelRow[] {
  const short = (id: string) => (id.startsWith(PREFIX) && id.length > PREFIX.length ? id.slice(PREFIX.length) : id);
  const ids = new Set(rows.map((row) => row.id));
  return rows.map((row) => (ids.has(short(row.id)) ? row : { ...row, id: short(row.id) }));
}

function withDefaultFirst(rows: ModelRow[], slug: string | undefined): ModelRow[] {
  const isDefault = (row: ModelRow) => slug !== undefined && (row.slug === slug || Object.values(row.thinkingLevelMap ?? {}).includes(slug));
  const first = rows.find((row) => row.slug === slug) ?? rows.find(isDefault);
  return first === undefined ? rows : [first, ...rows.filter((row) => row !== first)];
}
