/**
 * The state of one Run, and how it begins. A Run is one HTTP/2 stream: it serves the legs of one turn, from the user's
 * message to `turn_ended`. Nothing here touches the world.
 */
import type { Blobs } from "./blobs.ts";
import type { Action } from "./events.ts";
import type { Translation } from "./native/translate.ts";
import { duration, TIMERS, type Clocks, type Timer } from "./timers.ts";
import type { Diagnostic, Tool, TurnEvent, TurnRequest } from "./turn.ts";

/** Where a Run is. TRANSITIONS in step.ts says what may happen in each, and what follows. */
export type Phase = "connecting" | "running" | "parked" | "draining" | "over";

/** What stays the same for a whole Run. */
export interface Settings {
  readonly clocks: Clocks;
  /** Whether `mcp_meta_tool_options` and the action's request context are sent (DESIGN D13). */
  readonly mcpMeta: boolean;
  /** Whether tools are sent again on a resume although the service has them (PROTOCOL §2.1). */
  readonly resendTools: boolean;
  /** A fresh UUID. */
  readonly uuid: () => string;
  /** The estimate of a request's tokens (DESIGN D15). */
  readonly estimate: (request: TurnRequest) => number;
}

/** A request for local work that the host has, or will have with the next leg. */
export interface PendingCall {
  /** The exec's numbers, echoed as they came (DESIGN D17). */
  readonly id: number;
  readonly execId: string | undefined;
  /** The clean id that the host knows the call by. */
  readonly callId: string;
  /** The id that the wire gave the call; may be empty. */
  readonly rawCallId: string;
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
  /** Set where a native exec was translated; else the call came as `mcp_args`. */
  readonly translation: Translation | undefined;
  /** Whether a leg has delivered it. */
  delivered: boolean;
}

/** An event that waits for the next leg. */
export interface Held {
  readonly event: TurnEvent;
  readonly size: number;
}

/** The state of a Run. */
export interface Session {
  readonly settings: Settings;
  readonly workspaceUri: string;
  phase: Phase;
  /** The current leg's request. */
  request: TurnRequest;
  /** The tools that the run request advertised. */
  catalog: readonly Tool[];
  /** Whether it goes on with a conversation of the service, until that turns out to be stale (PROTOCOL §10). */
  resumed: boolean;
  conversationId: string;
  /** The bytes that open the Run, kept for a second connection (DESIGN D10). */
  opener: Uint8Array;
  blobs: Blobs;
  checkpoint: Uint8Array | undefined;
  /** Calls by exec id, in order of arrival. */
  readonly pending: Map<number, PendingCall>;
  /** The ids of calls that the host has seen, in its transcript or from this Run: none is given twice (DESIGN D17). */
  readonly callIds: Set<string>;
  readonly cleanCallId: (raw: string) => string;
  /** Requests in a row that did not become a call of a host's tool (PROTOCOL §5). */
  misses: number;
  /** Bytes of the requests of calls that no leg has delivered. */
  liftedSize: number;
  /** How many calls the generation will make; 0 where it has not said (DESIGN D14). */
  announced: number;
  /** What arrived while parked, for the next leg (DESIGN D5), with its size and the sum of sizes in bytes. */
  held: Held[];
  heldSize: number;
  /** Output tokens counted while parked. */
  heldOutput: number;
  /** What this leg has said. */
  text: string[];
  thinking: string[];
  /** Characters of both, with those beyond the limit, which are not in them. */
  kept: number;
  output: number;
  input: number;
  /** Whether the turn has said or done anything at all (DESIGN D7). */
  productive: boolean;
  /** Whether this leg has delivered a text or a call, after which a stale conversation is an error (DESIGN D9). */
  spoke: boolean;
  /** Whether a server frame came on this connection, and whether one has been tried again (DESIGN D10). */
  heard: boolean;
  reconnected: boolean;
  /** Bytes of blobs given in answer to the current frame. */
  answered: number;
  /** Fields that no table names, by number and wire type, with how often they came. */
  readonly drift: Map<string, number>;
  /** The clocks that run. */
  readonly armed: Set<Timer>;
  /** What the current step asks for. */
  out: Action[];
}

/** Begins a phase: the clocks that do not run in it stop. */
export function enter(session: Session, phase: Phase): void {
  session.phase = phase;
  for (const timer of Object.keys(TIMERS) as Timer[]) if (!(TIMERS[timer].phases as readonly Phase[]).includes(phase)) disarm(session, timer);
}

/** Starts a clock, anew where it runs. */
export function arm(session: Session, timer: Timer): void {
  session.armed.add(timer);
  session.out.push({ type: "arm", timer, ms: duration(timer, session.settings.clocks) });
}

/** Stops a clock, if it runs. */
export function disarm(session: Session, timer: Timer): void {
  if (session.armed.delete(timer)) session.out.push({ type: "disarm", timer });
}

/** Tells the embedder something that costs the turn nothing. */
export function note(session: Session, type: string, message: string, detail: Omit<Diagnostic, "type" | "message"> = {}): void {
  session.out.push({ type: "diagnostic", diagnostic: { type, message, ...detail } });
}

/** The tools that may be called now: the advertised ones and the latest leg's (PROTOCOL §5). */
export function liveTools(session: Session): readonly Tool[] {
  const { catalog, request } = session;
  if (request.tools === catalog) return catalog;
  const names = new Set(request.tools.map((tool) => tool.name));
  return [...request.tools, ...catalog.filter((tool) => !names.has(tool.name))];
}
