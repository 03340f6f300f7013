/**
 * The extension: registers the provider with Pi, and keeps what belongs to one activation of it. The factory starts
 * nothing but one request for the model list, which it waits for; sockets and timers come with a call and go with it.
 */
import { join } from "node:path";
import type { Environment } from "../driver/variables.ts";
import { readAuthFile, type StoredCredentials } from "./auth-file.ts";
import { statusText } from "./command.ts";
import { loginInPi, refreshInPi, TOKEN_VARIABLE } from "./credentials.ts";
import { agentFolder } from "./folders.ts";
import { streamSimple, type LegWorld } from "./leg.ts";
import { ModelList } from "./list.ts";
import { ModelTable } from "./models.ts";
import type { PiExtensionApi, PiProviderConfig, PiSessionContext } from "./pi.ts";
import { Sessions } from "./sessions.ts";

/** The provider's name in Pi: no other provider's calls may end up here. */
export const PROVIDER = "cursor";
/** The name of its API. */
export const API = "cursor-agent";

/** What an extension is made with; the defaults are the process's. */
export interface ExtensionOptions {
  env?: Environment;
  sessions?: Sessions;
}

/** Pi may call a factory again for each session of a process: they share what belongs to sessions. */
const shared = new Sessions();

/** Makes the factory that Pi calls. It never throws. */
export function createExtension({ env = process.env, sessions = shared }: ExtensionOptions = {}): (pi: PiExtensionApi) => Promise<void> {
  return (pi) => new Extension(pi, env, sessions).activate();
}

class Extension {
  readonly #pi: PiExtensionApi;
  readonly #env: Environment;
  readonly #sessions: Sessions;
  readonly #models = new ModelTable();
  readonly #list: ModelList;
  /** The sessions that have started here and not yet shut down. */
  readonly #started = new Set<string>();

  constructor(pi: PiExtensionApi, env: Environment, sessions: Sessions) {
    this.#pi = pi;
    this.#env = env;
    this.#sessions = sessions;
    this.#list = new ModelList(this.#models, env);
  }

  async activate(): Promise<void> {
    const stored = await this.#stored();
    const good = stored !== undefined && stored.expires > Date.now() ? stored.access : undefined;
    await this.#list.refresh(good ?? (this.#env[TOKEN_VARIABLE] || undefined));
    this.#register();
    this.#pi.on?.("session_start", (_, context) => this.#onStart(context));
    this.#pi.on?.("session_tree", (_, context) => this.#onTree(context));
    this.#pi.on?.("session_shutdown", (_, context) => this.#onShutdown(context));
    this.#pi.registerCommand?.(PROVIDER, {
      description: "Cursor: origin, login, model list, this session's handle and parked Run",
      handler: (_, context) => this.#showStatus(context),
    });
  }

  #register(): void {
    this.#pi.registerProvider(PROVIDER, this.#config());
  }

  /** The new list for a Pi that is told only by registering. A Pi that has replaced this extension refuses; its new one has the list. */
  #registerAgain(): void {
    try {
      this.#register();
    } catch {
      // Stale: nothing here is shown to anybody any more.
    }
  }

  #config(): PiProviderConfig {
    const world: LegWorld = { models: this.#models, sessions: this.#sessions, env: this.#env, hasTools: () => this.#hasTools() };
    return {
      name: "Cursor",
      baseUrl: "https://api2.cursor.sh",
      // 1.x reads `$NAME` as a variable, 0.73 the bare name; each takes the other's for a literal, which is read as meant.
      apiKey: this.#pi.registerVirtualModel === undefined ? TOKEN_VARIABLE : `$${TOKEN_VARIABLE}`,
      api: API,
      models: this.#models.configs(),
      streamSimple: (model, context, options) => streamSimple(world, model, context, options),
      refreshModels: async ({ allowNetwork, credential, force, signal }) => {
        const token = credential?.access ?? credential?.key;
        if (allowNetwork && typeof token === "string") await this.#list.refresh(token, { ...(force && { force }), ...(signal && { signal }) });
        return this.#models.configs();
      },
      oauth: {
        name: "Cursor",
        isSubscription: true,
        login: async (callbacks) => {
          const credentials = await loginInPi(callbacks, this.#env);
          await this.#list.refresh(credentials.access, { ...(callbacks.signal && { signal: callbacks.signal }) });
          this.#registerAgain();
          return credentials;
        },
        refreshToken: async (credentials, signal) => {
          const fresh = await refreshInPi(credentials, signal, this.#env, () => this.#stored());
          // An activation with an expired token has had no list to ask for; now it has.
          if (await this.#list.refresh(fresh.access, { ...(signal && { signal }) })) this.#registerAgain();
          return fresh;
        },
        getApiKey: ({ access }) => access,
      },
    };
  }

  #stored(): Promise<StoredCredentials | undefined> {
    return readAuthFile(join(agentFolder(this.#env), "auth.json"), PROVIDER);
  }

  #hasTools(): boolean {
    try {
      return (this.#pi.getActiveTools?.() ?? []).length > 0;
    } catch {
      return false;
    }
  }

  #onStart(context: PiSessionContext): void {
    const manager = context.sessionManager;
    if (manager === undefined) return;
    const sessionId = manager.getSessionId();
    this.#started.add(sessionId);
    this.#sessions.started(sessionId, context.cwd, manager.getSessionFile === undefined || manager.getSessionFile() !== undefined);
  }

  /** The person has gone to another place of the session's tree. */
  async #onTree(context: PiSessionContext): Promise<void> {
    const sessionId = context.sessionManager?.getSessionId();
    if (sessionId !== undefined) await this.#sessions.rewound(sessionId, this.#env);
  }

  /** Ends this session's Runs; the last session of all takes everything with it. May be called again. */
  async #onShutdown(context: PiSessionContext): Promise<void> {
    const sessionId = context.sessionManager?.getSessionId();
    const ended = sessionId === undefined ? [...this.#started] : [sessionId];
    for (const id of ended) this.#started.delete(id);
    await Promise.all(ended.map((id) => this.#sessions.stopped(id)));
    if (!this.#sessions.any) await this.#sessions.close();
  }

  async #showStatus(context: PiSessionContext): Promise<void> {
    const text = await statusText(context, { env: this.#env, sessions: this.#sessions, list: this.#list, models: this.#models });
    context.ui?.notify(text, "info");
  }
}
