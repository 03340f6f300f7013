import { readFile } from "node:fs/promises";
import { FLAG, HEADER_LENGTH, WireError } from "../../wire/index.ts";
import { AgentClientMessage, AgentServerMessage } from "../agent/index.ts";
import { askOf } from "./asks.ts";
import { captureLines, type CapturedFrame } from "./capture-line.ts";
import { isHeartbeat } from "./heartbeat.ts";
import type { Run } from "./run.ts";

/** One frame of a capture: an envelope's header and payload, and when it passed. */
export type PlayedFrame = Readonly<CapturedFrame>;

/**
 * The frames of a capture file.
 * @throws ScriptError that names the line, or what reading the file throws
 */
export async function readCapture(path: string): Promise<PlayedFrame[]> {
  // The decoder leaves a byte order mark out.
  return captureFrames(new TextDecoder().decode(await readFile(path)), path);
}

/**
 * The frames of a capture's text.
 * @param file what the errors call it
 * @throws ScriptError that names the line
 */
export async function captureFrames(text: string, file: string): Promise<PlayedFrame[]> {
  const frames: PlayedFrame[] = [];
  const lines = text.split("\n").map((line, index) => ({ number: index + 1, text: line }));
  for await (const line of captureLines(lines, file)) if ("frame" in line) frames.push(line.frame);
  return frames;
}

/**
 * Plays the server's frames of a capture, each once as many frames have come from the client as the capture has before
 * it. Heartbeats do not count: when they come is chance. What the frames ask counts as asked by this host. A capture without an end-stream envelope leaves the stream open.
 * @throws Over where the response is over before that
 */
export async function playCapture(frames: readonly PlayedFrame[], run: Run): Promise<void> {
  let wanted = 0;
  for (const { from, envelope } of frames) {
    if (from === "client") {
      const message = decoded(AgentClientMessage, envelope);
      if (message === undefined || !isHeartbeat(message)) wanted++;
      continue;
    }
    const came = (): number => run.received.frames.length - run.received.messages.filter(isHeartbeat).length;
    await run.until(() => (came() < wanted ? [`${wanted - came()} of ${wanted} frames`] : []));
    if ((envelope[0]! & FLAG.endStream) !== 0) return run.response.endWith(envelope);
    const ask = askOf(decoded(AgentServerMessage, envelope) ?? {});
    if (ask !== undefined) run.asks.add(ask);
    await run.response.envelope(envelope);
  }
  await run.sleep();
}

/** The message of an envelope; undefined where it cannot be read. */
function decoded<T>(table: { decode(payload: Uint8Array): T }, envelope: Uint8Array): T | undefined {
  if (envelope[0] !== 0) return undefined;
  try {
    return table.decode(envelope.subarray(HEADER_LENGTH));
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
