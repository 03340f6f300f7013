import type { ModelRow } from "./rows.ts";

const row = (id: string, name: string, slug: string = id): ModelRow => ({ id, name, slug, maxMode: false, images: true, contextWindow: 200_000, maxTokens: 64_000 });

/** The last resort where the service cannot be asked and never was: a few slugs that may have been retired since. */
export const BUILT_IN_ROWS: readonly ModelRow[] = [
  row("composer-2.5", "Composer 2.5"),
  row("claude-4.5-sonnet", "Claude 4.5 Sonnet"),
  row("grok-4.7", "Grok 4.7", "grok-4.7-high"),
];
