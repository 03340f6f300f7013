import { readFile } from "node:fs/promises";
import { captureFrames } from "../loopback/capture.ts";
import { demoScript, scriptsFromJson, ScriptError, startLoopback, type Loopback, type LoopbackOptions } from "../loopback/index.ts";
import { Failure, fileFailure } from "./failure.ts";

/**
 * Starts the embedded host on 127.0.0.1.
 * @param file a script or scripts as JSON, or a capture to play; without one, the demo
 * @throws Failure `script_invalid`, `file_unreadable`, or `port_taken`
 */
export async function startHost(file: string | undefined, port = 0): Promise<Loopback> {
  const options = file === undefined ? { script: demoScript() } : await readScript(file);
  try {
    return await startLoopback({ ...options, port });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof ScriptError) throw invalid(file!, message);
    if (code === "EADDRINUSE") throw new Failure("port_taken", `port ${port} is taken`, "Choose another --port, or leave it out for any free one.");
    if (code === "EACCES") throw new Failure("port_refused", `port ${port} may not be used`, "Choose a --port above 1023.");
    throw error;
  }
}

/** A capture's first line is an object; a script is a list. */
async function readScript(file: string): Promise<LoopbackOptions> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw fileFailure("read", file, error);
  }
  try {
    if (text.startsWith("{")) return { capture: await captureFrames(text, file) };
    return { script: scriptsFromJson(JSON.parse(text)) };
  } catch (error) {
    throw invalid(file, (error as Error).message);
  }
}

function invalid(file: string, why: string): Failure {
  const nextStep = 'A script is a JSON list of steps such as [{"text":"Hello"},{"turnEnded":true}]; a capture is what run --record writes.';
  return new Failure("script_invalid", `${file}: ${why}`, nextStep);
}
