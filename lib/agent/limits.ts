import { LIMITS as WIRE } from "../../wire/index.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** One number of the protocol. */
interface LimitRow {
  readonly name: string;
  readonly value: number;
  readonly unit: "ms" | "bytes" | "chars" | "tokens" | "entries" | "times";
  /** The section of PROTOCOL.md that states it. */
  readonly section: string;
  readonly meaning: string;
}

/** Every number of the protocol, in the order of PROTOCOL.md. */
export const LIMIT_ROWS = [
  { name: "heartbeat", value: 15_000, unit: "ms", section: "§1", meaning: "between two client heartbeats" },
  { name: "ping", value: 20_000, unit: "ms", section: "§1", meaning: "between two HTTP/2 PINGs while a Run is open" },
  { name: "pingAnswer", value: 20_000, unit: "ms", section: "§1", meaning: "without an answer or a byte after a PING: the connection is lost" },
  { name: "first", value: 30_000, unit: "ms", section: "§1", meaning: "to the first work frame of a Run or after a result" },
  { name: "idle", value: 120_000, unit: "ms", section: "§1", meaning: "between two work frames" },
  { name: "toolUse", value: 1_800_000, unit: "ms", section: "§1", meaning: "that a call may stay with the host" },
  { name: "drain", value: 500, unit: "ms", section: "§1", meaning: "of reading on after the end of a turn" },
  { name: "envelope", value: WIRE.envelope, unit: "bytes", section: "§1", meaning: "of one envelope's payload" },
  { name: "window", value: MIB, unit: "bytes", section: "§1", meaning: "of the HTTP/2 windows" },
  { name: "undelivered", value: 4 * MIB, unit: "bytes", section: "§1", meaning: "held for a reader that has stopped reading" },
  { name: "toolName", value: 64, unit: "chars", section: "§2.2", meaning: "of a tool's name" },
  { name: "checkpoint", value: 8 * MIB, unit: "bytes", section: "§3", meaning: "of a checkpoint that is kept" },
  { name: "replayText", value: 20_000, unit: "chars", section: "§3.1", meaning: "of one tool result's text in a replayed history" },
  { name: "arms", value: 8, unit: "times", section: "§4", meaning: "that one message may carry an arm" },
  { name: "driftKinds", value: 64, unit: "entries", section: "§4", meaning: "of unknown fields, by number and wire type, that a Run tells of" },
  { name: "contextWindow", value: 200_000, unit: "tokens", section: "§4.1", meaning: "of a model that names none" },
  { name: "charsPerToken", value: 4, unit: "chars", section: "§4.1", meaning: "a token in the estimate of the input" },
  { name: "imageTokens", value: 1_200, unit: "tokens", section: "§4.1", meaning: "an image in the estimate of the input" },
  { name: "missBudget", value: 8, unit: "times", section: "§5", meaning: "a turn may ask for what is no call of a host's tool" },
  { name: "escalate", value: 3, unit: "times", section: "§5", meaning: "until the redirect hardens" },
  { name: "execHeartbeat", value: 3_000, unit: "ms", section: "§5.1", meaning: "between two heartbeats of a parked exec" },
  { name: "nativeText", value: 128 * KIB, unit: "bytes", section: "§5.1", meaning: "of a native exec's command, folder, path, pattern or glob" },
  { name: "blob", value: 16 * MIB, unit: "bytes", section: "§6", meaning: "of one blob" },
  { name: "blobStore", value: 64 * MIB, unit: "bytes", section: "§6", meaning: "of all blobs of a Run" },
  { name: "blobs", value: 65_536, unit: "entries", section: "§6", meaning: "in the blob store" },
  { name: "blobId", value: 128, unit: "bytes", section: "§6", meaning: "of a blob's id" },
  { name: "burst", value: 150, unit: "ms", section: "§8", meaning: "after the last call of a burst" },
  { name: "calls", value: 128, unit: "entries", section: "§8", meaning: "of calls in one leg; further ones wait for the next" },
  { name: "toolResult", value: 512 * KIB, unit: "bytes", section: "§8", meaning: "of one tool result's text, in UTF-8" },
  { name: "toolCallId", value: 64, unit: "chars", section: "§8", meaning: "of a tool-call id given to the host" },
  { name: "partial", value: 16 * MIB, unit: "chars", section: "§9", meaning: "of text and thinking that an error gives back" },
  { name: "peerText", value: 500, unit: "chars", section: "§9", meaning: "of the peer's words in an error" },
] as const satisfies readonly LimitRow[];

/** The numbers of {@link LIMIT_ROWS} by name. */
export const LIMITS = Object.fromEntries(LIMIT_ROWS.map(({ name, value }) => [name, value])) as {
  readonly [Row in (typeof LIMIT_ROWS)[number] as Row["name"]]: number;
};
