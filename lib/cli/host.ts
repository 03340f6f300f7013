import { text } from "node:stream/consumers";
import { captureFrames } from "../loopback/capture.ts";
import { demoScript, scriptsFromJson, ScriptError, startLoopback, type Loopback, type LoopbackOptions } from "../loopback/index.ts";
import { Failure } from "./failure.ts";
import { inputOf, type Input } from "./input.ts";
import type { Context } from "./verb.ts";

/**
 * Starts the embedded host on 127.0.0.1, which answers the calls of an account, too.
 * @param file a script or scripts as JSON, or a capture to play; `-` for stdin; without one, the demo
 * @throws Failure `script_invalid`, `file_unreadable`, or `port_taken`
 */
export async function startHost(file: string | undefined, context: Pick<Context, "stdin" | "signal">, port = 0): Promise<Loopback> {
  const options = file === undefined ? { script: demoScript() } : await readScript(inputOf(file, context));
  try {
    return await startLoopback({ ...options, port, account: {} });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof ScriptError) throw invalid(file!, message);
    if (code === "EADDRINUSE") throw new Failure("port_taken", `port ${port} is taken`, "Choose another --port, or leave it out for any free one.");
    if (code === "EACCES") throw new Failure("port_refused", `port ${port} may not be used`, "Choose a --port above 1023.");
    throw error;
  }
}

/** A capture's first line is an object; a script is a list. */
async function readScript({ name, chunks }: Input): Promise<LoopbackOptions> {
  const content = await text(chunks);
  try {
    if (content.startsWith("{")) return { capture: await captureFrames(content, name) };
    return { script: scriptsFromJson(JSON.parse(content)) };
  } catch (error) {
    throw invalid(name, (error as Error).message);
  }
}

function invalid(file: string, why: string): Failure {
  const nextStep = 'A script is a JSON list of steps such as [{"text":"Hello"},{"turnEnded":true}]; a capture is what run --record writes.';
  return new Failure("script_invalid", `${file}: ${why}`, nextStep);
}
