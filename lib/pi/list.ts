/** Pi's model list: asked of the account once an activation, and again when Pi wants it. */
import { join } from "node:path";
import { readCatalog, type Catalog } from "../account/index.ts";
import type { Environment } from "../driver/variables.ts";
import { cursorError } from "../session/errors.ts";
import { failureOf } from "./failure.ts";
import { agentFolder } from "./folders.ts";
import type { ModelTable } from "./models.ts";

/** ms that Pi waits for the list at the start, and while it refreshes a token. */
const PATIENCE_MS = 3_000;

/** Asks for the list and remembers where it came from. */
export class ModelList {
  readonly #models: ModelTable;
  readonly #env: Environment;
  #asking: Promise<boolean> | undefined;
  /** The list in use. */
  catalog: Omit<Catalog, "rows"> = { source: "built-in" };
  /** Why it is not the service's current one. */
  warning: string | undefined;

  constructor(models: ModelTable, env: Environment) {
    this.#models = models;
    this.#env = env;
  }

  /** Where the last known list is kept: with Pi's other state. */
  get file(): string {
    return join(agentFolder(this.#env), "cursor-provider", "models.json");
  }

  /**
   * Gets the list; callers at the same time share one request. Resolves to whether it changed. What goes wrong is a
   * warning, and the list stays what it was.
   */
  refresh(accessToken: string | undefined, options: { force?: boolean; signal?: AbortSignal } = {}): Promise<boolean> {
    this.#asking ??= this.#ask(accessToken, options).finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #ask(accessToken: string | undefined, options: { force?: boolean; signal?: AbortSignal }): Promise<boolean> {
    let warning: string | undefined;
    try {
      const { rows, ...rest } = await readCatalog({
        accessToken,
        env: this.#env,
        file: this.file,
        timeoutMs: PATIENCE_MS,
        onWarning: (words) => (warning = words),
        ...options,
      });
      this.catalog = rest;
      this.warning = warning;
      return this.#models.list(rows);
    } catch (error) {
      const failure = cursorError(error) ?? failureOf(error);
      this.warning = failure.message;
      if (this.#models.size > 0) return false;
      const { rows, ...rest } = await readCatalog({ env: {} });
      this.catalog = rest;
      return this.#models.list(rows);
    }
  }
}

