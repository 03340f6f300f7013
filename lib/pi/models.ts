import type { ModelRow } from "../account/index.ts";
import type { TurnRequest } from "../session/turn.ts";
import type { PiModel, PiModelConfig } from "./pi.ts";

/** Dollars: a subscription is paid elsewhere. */
const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } as const;

/** The rows of the model list by id: Pi 0.73 forgets what it does not know of a model, so they are kept here. */
export class ModelTable {
  #listed: readonly ModelRow[] = [];
  /** Rows that were ever listed: a session may still use one that is gone. */
  readonly #rows = new Map<string, ModelRow>();

  /** Replaces the list. Returns whether Pi has to be told. */
  list(rows: readonly ModelRow[]): boolean {
    const before = JSON.stringify(this.configs());
    this.#listed = rows;
    for (const row of rows) this.#rows.set(row.id, row);
    return JSON.stringify(this.configs()) !== before;
  }

  /** How many are listed. */
  get size(): number {
    return this.#listed.length;
  }

  /** The list as Pi is given it. */
  configs(): PiModelConfig[] {
    return this.#listed.map(({ id, name, slug, thinkingLevelMap, images, contextWindow, maxTokens }) => ({
      id,
      name,
      reasoning: thinkingLevelMap !== undefined,
      ...(thinkingLevelMap && { thinkingLevelMap: { ...thinkingLevelMap } }),
      input: images ? ["text", "image"] : ["text"],
      cost: { ...FREE },
      contextWindow,
      maxTokens,
      // The name of PROTOCOL §2.1 for it.
      samplingParams: { cursorDefaultModelId: slug },
    }));
  }

  /**
   * What a Run names for a model at a thinking level: the level's published slug, else the default variant's (PROTOCOL
   * §2.1). An id that was never listed is a slug that somebody typed; Pi makes its model out of a listed one, whose
   * slugs are not its own.
   */
  requested(model: PiModel, level: string = "off"): TurnRequest["model"] {
    const row = this.#rows.get(model.id);
    const contextWindow = model.contextWindow ?? row?.contextWindow;
    const window = contextWindow !== undefined && contextWindow > 0 ? { contextWindow } : {};
    if (row !== undefined) return { id: slugAt(row.thinkingLevelMap, level) ?? row.slug, ...(row.maxMode && { maxMode: true }), ...window };
    const own = [slugAt(model.thinkingLevelMap, level), model.samplingParams?.["cursorDefaultModelId"]].find((slug) => typeof slug === "string" && !this.#owns(slug));
    return { id: typeof own === "string" ? own : model.id, ...window };
  }

  /** Whether a slug belongs to a row. */
  #owns(slug: string): boolean {
    for (const row of this.#rows.values()) if (row.slug === slug || Object.values(row.thinkingLevelMap ?? {}).includes(slug)) return true;
    return false;
  }
}

function slugAt(map: PiModel["thinkingLevelMap"], level: string): string | undefined {
  const slug = map !== undefined && Object.hasOwn(map, level) ? map[level] : undefined;
  return typeof slug === "string" ? slug : undefined;
}
