/** Captures for the tests of `replay`: those of the fixtures, and those that a test makes. */
import { readText } from "../fixtures/load.ts";
import { readRecording, type Recording } from "../lib/cli/recording.ts";
import { frameLine, headerLine, RPC, type CapturedFrame, type CaptureHeader } from "../lib/loopback/capture-line.ts";

export const HEADER: CaptureHeader = { capture: 1, rpc: RPC, source: "synthetic" };

/** A capture of the fixtures. */
export function fixture(name: string): Promise<Recording> {
  return readRecording(once(readText(`fixtures/captures/${name}`)), name);
}

/** The frames of a capture of the fixtures. */
export async function framesOf(name: string): Promise<CapturedFrame[]> {
  return (await fixture(name)).frames.map(({ at, from, envelope }) => ({ at, from, envelope }));
}

/** The text of a capture. */
export function capture(frames: readonly CapturedFrame[], header = HEADER): string {
  return headerLine(header) + frames.map(frameLine).join("");
}

/** Frames as `replay` reads them. */
export function recordingOf(frames: readonly CapturedFrame[], header = HEADER): Promise<Recording> {
  return readRecording(once(capture(frames, header)), "recorded");
}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
