#!/usr/bin/env node
/** The command's process: its streams, its signals, its exit code. Everything else is in command.ts. */
import { command, EXIT } from "./command.ts";

/** How long an interrupted verb may take to end by itself, in milliseconds. */
const PATIENCE = 2000;

const interruption = new AbortController();
process.on("SIGINT", () => {
  if (interruption.signal.aborted) process.exit(EXIT.interrupted);
  interruption.abort();
  setTimeout(() => process.exit(EXIT.interrupted), PATIENCE).unref();
});

for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // The reader has left, as `head` does: there is nobody to tell.
    process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.failed);
  });

const { stdin, stdout, stderr, env } = process;
process.exitCode = await command(process.argv.slice(2), { stdin, stdout, stderr, env, signal: interruption.signal });
