/** The provider: one call is one leg of a turn (DESIGN §4). Keeps the Runs by session, and nothing else. */
import { randomUUID } from "node:crypto";
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { encodeEnvelope, type Envelope } from "../../wire/index.ts";
import { aborted, CursorError, cursorError, localError, type Partial } from "../session/errors.ts";
import { defectFailure, thrownText } from "../session/failures.ts";
import { checkRequest } from "../session/check-request.ts";
import { open } from "../session/open.ts";
import type { Diagnostic, Handle, TurnEvent, TurnRequest } from "../session/turn.ts";
import { estimate } from "../session/usage.ts";
import { accessTokenOf, type AccessToken } from "./access-token.ts";
import { systemClock, type ClockFactory } from "./clock.ts";
import { readConfig, type Config } from "./config.ts";
import { DebugFile } from "./debug.ts";
import { fileHandleStore, type HandleStore } from "./handle-store.ts";
import { Handles } from "./handles.ts";
import { runHeaders } from "./headers.ts";
import { Leg } from "./leg.ts";
import { masked } from "./mask.ts";
import { Run } from "./run.ts";
import { guarded, unlessAborted, whenAborted } from "./settle.ts";
import type { Environment } from "./variables.ts";

/** One envelope of a Run, for a recording. */
export interface CapturedFrame {
  /** ms since the Run opened. */
  at: number;
  from: "client" | "server";
  /** The 5-byte header and the payload: a copy. */
  envelope: Uint8Array;
}

/** What a provider is made with. */
export interface ProviderOptions {
  accessToken: AccessToken;
  /** Beats the environment; same allowlist. */
  origin?: string;
  /** Default `process.env`. */
  env?: Environment;
  /** Where handles are kept; default {@link fileHandleStore}; null keeps none. */
  handles?: HandleStore | null;
  /** Every envelope both ways. */
  onFrame?: (frame: CapturedFrame) => void;
  /** Drift, retries, truncations; never a secret. */
  onDiagnostic?: (diagnostic: Diagnostic) => void;
}

/** A provider of Cursor's models. */
export interface Provider {
  /**
   * Starts a leg at the call; iterate to read it. It ends in `usage` and `done`, or throws a CursorError. Leaving the
   * iteration early ends the Run like an abort.
   */
  stream(request: TurnRequest, options?: { signal?: AbortSignal | null } | null): AsyncIterable<TurnEvent>;
  /** Ends a session's parked Run, if it has one: the host will not go on with it. */
  end(sessionId: string): void;
  /** Ends every Run and its socket; afterwards nothing keeps the process alive. */
  close(): Promise<void>;
}

/** Makes a provider, with the options as they are now. Nothing is opened or checked before the first leg. */
export function createProvider(options: ProviderOptions): Provider {
  return createProviderOn(systemClock, options);
}

/** {@link createProvider} on another clock: for tests that cannot wait. */
export function createProviderOn(clock: ClockFactory, options: ProviderOptions): Provider {
  return new CursorProvider(options, clock);
}

class CursorProvider implements Provider {
  readonly #options: ProviderOptions;
  readonly #clock: ClockFactory;
  /** Runs by session id; those of one-off requests by a symbol. */
  readonly #runs = new Map<string | symbol, Run>();
  /** What an unfinished opening waits on: aborted with it. */
  readonly #opening = new Map<string | symbol, AbortController>();
  readonly #closing = new Set<Promise<void>>();
  #kept: Handles | undefined;
  /** Sessions of which a Run ended with a call open, and no handle has been kept since. */
  readonly #openCalls = new Set<string>();
  #debug: DebugFile | undefined;

  constructor(options: ProviderOptions, clock: ClockFactory) {
    this.#options = { ...options };
    this.#clock = clock;
  }

  stream(given: TurnRequest, options?: { signal?: AbortSignal | null } | null): AsyncIterable<TurnEvent> {
    const leg = new Leg();
    try {
      this.#begin(leg, snapshot(given), signalOf(options));
    } catch (error) {
      leg.fail(cursorError(error) ?? new CursorError(defectFailure(error)));
    }
    return leg;
  }

  #begin(leg: Leg, request: TurnRequest, signal: AbortSignal | undefined): void {
    const key = this.#keyOf(request);
    const run = this.#runs.get(key);
    if (signal?.aborted) {
      this.#end(key);
      leg.fail(aborted(nothingSaid(request)));
    } else if (run?.isAnsweredBy(request)) run.continue(request, leg, signal);
    else {
      this.#end(key);
      void this.#open(key, request, leg, signal);
    }
  }

  end(sessionId: string): void {
    if (this.#runs.get(sessionId)?.parked) this.#end(sessionId);
  }

  async close(): Promise<void> {
    for (const key of [...this.#opening.keys(), ...this.#runs.keys()]) this.#end(key);
    await Promise.all([...this.#closing, this.#kept?.settled()]);
    await this.#debug?.close();
    this.#debug = undefined;
  }

  /**
   * A request without a session goes on with the one-off Run whose calls it answers and whose transcript it continues;
   * else, and where that may be several, it is a Run of its own.
   */
  #keyOf(request: TurnRequest): string | symbol {
    if (request.sessionId !== undefined) return request.sessionId;
    const [found, ...others] = [...this.#runs].filter(([key, run]) => typeof key === "symbol" && run.isAnsweredBy(request) && run.isFollowedBy(request));
    return found === undefined || others.length > 0 ? Symbol("one-off") : found[0];
  }

  #end(key: string | symbol): void {
    this.#opening.get(key)?.abort();
    this.#opening.delete(key);
    const run = this.#runs.get(key);
    this.#runs.delete(key);
    if (run) this.#settle(run.abort());
  }

  #settle(closing: Promise<void>): void {
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }

  async #open(key: string | symbol, request: TurnRequest, leg: Leg, signal: AbortSignal | undefined): Promise<void> {
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    this.#opening.set(key, controller);
    leg.owner = { onAbandoned: abort, onPressure: () => {} };
    let token = "";
    let unsaid: Partial | undefined;
    let drop: (() => void) | undefined;
    try {
      drop = whenAborted(signal, abort);
      // Now: a host that changes the request meanwhile must not make the telling of an error fail.
      unsaid = nothingSaid(request);
      const config = readConfig(this.#options.env ?? process.env, this.#options.origin);
      const workspaceUri = workspaceOf(request);
      token = await unlessAborted(accessTokenOf(this.#options.accessToken, config.clocks.first, controller.signal), controller.signal);
      const handle = await unlessAborted(this.#handles.load(request.sessionId, controller.signal), controller.signal);
      if (controller.signal.aborted) throw aborted();
      const run = this.#run(key, request, workspaceUri, config, token, handle);
      this.#runs.set(key, run);
      run.start(leg, signal);
    } catch (error) {
      leg.fail(masked(new CursorError(cursorError(error) ?? defectFailure(error), unsaid), token));
    } finally {
      drop?.();
      if (this.#opening.get(key) === controller) this.#opening.delete(key);
    }
  }

  #run(key: string | symbol, request: TurnRequest, workspaceUri: string, config: Config, token: string, handle: Handle | undefined): Run {
    const opened = performance.now();
    const debug = this.#debugFile(config);
    const { sessionId } = request;
    const session = open({
      request,
      workspaceUri,
      handle,
      openCall: sessionId !== undefined && this.#openCalls.has(sessionId),
      settings: {
        clocks: config.clocks,
        mcpMeta: config.mcpMeta,
        resendTools: config.resendTools,
        uuid: randomUUID,
        estimate,
      },
    });
    const run: Run = new Run(session, {
      origin: config.origin,
      headers: runHeaders(token, config.cliVersion),
      clock: this.#clock,
      keep: (kept) => {
        if (kept !== undefined && sessionId !== undefined) this.#openCalls.delete(sessionId);
        return this.#handles.keep(sessionId, kept);
      },
      onEnvelope: (from, envelope) => {
        debug?.envelope(from, envelope);
        this.#captured(from, envelope, performance.now() - opened);
      },
      onDiagnostic: (diagnostic) => this.#diagnostic(diagnostic),
      onFailure: (error) => {
        debug?.write({ error: error.kind, code: error.code });
        return masked(error, token);
      },
      onOver: () => {
        if (sessionId !== undefined && run.hasOpenCall) this.#openCalls.add(sessionId);
        if (this.#runs.get(key) === run) this.#runs.delete(key);
        this.#settle(run.abort());
      },
    });
    return run;
  }

  #debugFile({ debug }: Config): DebugFile | undefined {
    if (debug === undefined) return undefined;
    return (this.#debug ??= new DebugFile(debug, (message) => this.#diagnostic({ type: "debug_file", message })));
  }

  /** Made when it is first needed. */
  get #handles(): Handles {
    if (this.#kept === undefined) {
      const { handles, env } = this.#options;
      this.#kept = new Handles(handles === undefined ? fileHandleStore(undefined, env) : handles, (diagnostic) => this.#diagnostic(diagnostic));
    }
    return this.#kept;
  }

  #captured(from: "client" | "server", { flags, payload }: Envelope, at: number): void {
    const { onFrame } = this.#options;
    if (onFrame === undefined) return;
    guarded(
      () => onFrame({ at: Math.round(at), from, envelope: encodeEnvelope(flags, payload) }),
      () => this.#diagnostic({ type: "callback_failed", message: "onFrame threw; the turn goes on." }),
    );
  }

  #diagnostic(diagnostic: Diagnostic): void {
    this.#debug?.write({ diagnostic: diagnostic.type });
    // Where this throws there is nobody left to tell.
    guarded(() => this.#options.onDiagnostic?.(diagnostic), () => {});
  }
}

/**
 * The request as it is at the call: what the host adds to its lists afterwards belongs to the next leg.
 * @throws CursorError where it is none that can be answered: before anything is touched, so that it costs the session no Run
 */
function snapshot(given: TurnRequest): TurnRequest {
  try {
    const wrong = checkRequest(given);
    if (wrong !== undefined) throw wrong;
    return { ...given, messages: [...given.messages], tools: [...given.tools] };
  } catch (error) {
    throw cursorError(error) ?? invalid(`The request cannot be read: ${thrownText(error)}`);
  }
}

/** What a leg has said before its Run is open. */
function nothingSaid(request: TurnRequest): Partial {
  return { text: "", thinking: "", usage: { input: estimate(request), output: 0 } };
}

/** The signal of a call's options, for which a host of JavaScript may give null, as fetch takes it. */
function signalOf(options: { signal?: AbortSignal | null } | null | undefined): AbortSignal | undefined {
  try {
    const signal = options?.signal ?? undefined;
    if (signal === undefined || (typeof signal.aborted === "boolean" && ["addEventListener", "removeEventListener"].every((name) => typeof signal[name as "addEventListener"] === "function"))) return signal;
  } catch {
    // A getter of it threw: it is none.
  }
  throw invalid("The signal is no AbortSignal.");
}

function invalid(message: string): CursorError {
  return localError("invalid_request", message, "Correct the request.");
}

function workspaceOf({ workspace }: TurnRequest): string {
  if (workspace !== undefined && (typeof workspace !== "string" || !isAbsolute(workspace)))
    throw invalid("The workspace is no absolute path.");
  try {
    return pathToFileURL(workspace ?? process.cwd()).href;
  } catch (error) {
    throw localError("invalid_request", `There is no working directory: ${thrownText(error)}`, "Give the request a workspace, or change to a folder that exists.");
  }
}
