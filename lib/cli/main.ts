#!/usr/bin/env node
/** The command's process: its streams, its signals, its exit code. Everything else is in command.ts. */
import { command, EXIT, OutputLost } from "./command.ts";
import { outputFailure, tell } from "./failure.ts";
import { Output } from "./output.ts";

/** How long a verb that is stopped may take to end by itself, in milliseconds. */
const PATIENCE = 2000;

/** The signals that stop a verb, and the exit code of each: 128 and its number, as a shell has it. */
const SIGNALS = { SIGHUP: 129, SIGINT: EXIT.interrupted, SIGTERM: 143 } as const;

const { stdin, stdout, stderr, env } = process;
const stopping = new AbortController();

/** Lets the verb end in order, so that what it holds is closed. A verb that has failed has its exit code already. */
function stop(code: number, reason?: Error): void {
  process.exitCode ||= code;
  stopping.abort(reason);
  setTimeout(() => process.exit(), PATIENCE).unref();
}

for (const [name, code] of Object.entries(SIGNALS))
  process.on(name, () => {
    if (stopping.signal.aborted) process.exit(code);
    stop(code);
  });

for (const [name, stream] of Object.entries({ stdout, stderr }))
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (stopping.signal.aborted) return;
    // The reader has left, as `head` does: that is no failure, and there is nobody to tell.
    if (error.code === "EPIPE") return stop(EXIT.done, new OutputLost());
    tell(new Output(stdout, stderr, env, false), outputFailure(name, error));
    stop(EXIT.failed, new OutputLost());
  });

const code = await command(process.argv.slice(2), { stdin, stdout, stderr, env, signal: stopping.signal });
process.exitCode ??= code;
