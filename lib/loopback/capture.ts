import { readFile } from "node:fs/promises";
import { FLAG, HEADER_LENGTH } from "../../wire/index.ts";
import { AgentClientMessage } from "../agent/index.ts";
import type { Run } from "./run.ts";
import { isRecord, ScriptError, shown } from "./shape.ts";

/** One frame of a capture (DESIGN §8): an envelope's header and payload. */
export interface PlayedFrame {
  /** Milliseconds since the Run opened. */
  readonly at: number;
  readonly from: "client" | "server";
  readonly envelope: Uint8Array;
}

/**
 * The frames of a capture file: a line about the capture, then one JSON line a frame.
 * @throws ScriptError that names the line, or what reading the file throws
 */
export async function readCapture(path: string): Promise<PlayedFrame[]> {
  const lines = (await readFile(path, "utf8")).split("\n");
  return lines.flatMap((line, index) => (line.trim() === "" ? [] : frameOf(line, `${path} line ${index + 1}`)));
}

function frameOf(line: string, place: string): PlayedFrame[] {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    throw new ScriptError(place, "is no JSON");
  }
  if (!isRecord(json)) throw new ScriptError(place, `must be an object, not ${shown(json)}`);
  if (Object.hasOwn(json, "capture")) return [];
  const { at, from, envelope } = json;
  if (typeof at !== "number" || (from !== "client" && from !== "server") || typeof envelope !== "string") throw new ScriptError(place, "needs at, from and envelope");
  return [{ at, from, envelope: fromBase64(envelope, place) }];
}

function fromBase64(text: string, place: string): Uint8Array {
  const bytes = new Uint8Array(Buffer.from(text, "base64"));
  const declared = bytes.length < HEADER_LENGTH ? -1 : new DataView(bytes.buffer).getUint32(1);
  // Buffer skips what is no base64: then the length that the header declares, or that of the text, does not fit.
  if (declared !== bytes.length - HEADER_LENGTH || text.length !== 4 * Math.ceil(bytes.length / 3)) throw new ScriptError(place, "holds no envelope in base64");
  return bytes;
}

/**
 * Plays the server's frames of a capture, each once as many frames have come from the client as the capture has before
 * it. Heartbeats do not count: when they come is chance. A capture without an end-stream envelope leaves the stream open.
 * @throws Over where the response is over before that
 */
export async function playCapture(frames: readonly PlayedFrame[], run: Run): Promise<void> {
  let wanted = 0;
  for (const { from, envelope } of frames) {
    if (from === "client") {
      if (!beats(envelope)) wanted++;
      continue;
    }
    const came = (): number => run.received.frames.length - run.received.messages.filter(isHeartbeat).length;
    await run.until(() => (came() < wanted ? [`${wanted - came()} of ${wanted} frames`] : []));
    if ((envelope[0]! & FLAG.endStream) !== 0) return run.response.endWith(envelope);
    await run.response.envelope(envelope);
  }
  await run.sleep();
}

function beats(envelope: Uint8Array): boolean {
  return envelope[0] === 0 && isHeartbeat(AgentClientMessage.decode(envelope.subarray(HEADER_LENGTH)));
}

function isHeartbeat({ clientHeartbeat, execClientControlMessage }: ReturnType<typeof AgentClientMessage.decode>): boolean {
  return clientHeartbeat !== undefined || execClientControlMessage?.heartbeat !== undefined;
}
