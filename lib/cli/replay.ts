import { AgentClientMessage } from "../agent/index.ts";
import { Display } from "./display.ts";
import { tell } from "./failure.ts";
import { inputOf } from "./input.ts";
import { fieldLines } from "./inspect-text.ts";
import type { Output } from "./output.ts";
import { printable } from "./printable.ts";
import { readRecording, type Recording } from "./recording.ts";
import { check, type Difference } from "./replay-check.ts";
import { replayRun, type Replayed } from "./replay-run.ts";
import { showMessage, type Extent } from "./shown.ts";
import type { Context } from "./verb.ts";
import type { AnyTable } from "./walk.ts";

/** How much of a frame a difference shows. */
const EXTENT: Extent = { fields: 200, text: 2000, bytes: 64 };

/**
 * Replays captures (DESIGN §5). With --check it resolves to 1 at a difference; without, where a turn failed, as `run`
 * would have.
 * @throws at an abort
 */
export async function replay(context: Context): Promise<number> {
  const { arguments: args, out, signal } = context;
  let code = 0;
  for (const file of args.positionals) {
    const { name, chunks } = inputOf(file, context);
    try {
      const recording = await readRecording(chunks, name);
      if (!replayFile(name, recording, args.has("check"), out)) code = 1;
    } catch (error) {
      signal.throwIfAborted();
      code = 1;
      tell(out, error);
    }
    await out.drained();
  }
  return code;
}

function replayFile(file: string, recording: Recording, checking: boolean, out: Output): boolean {
  const { source, client, note } = recording.header;
  if (out.json) out.object({ type: "capture", file, ...recording.header });
  else out.line(`${out.style.bold(file)} ${out.style.dim(printable([source, client, note].filter(Boolean).join(" · ")))}`);
  const display = new Display(out);
  const replayed = replayRun(recording, {
    onEvent: (event) => display.event(event),
    onResult: (result) => display.result(result),
    onDiagnostic: (diagnostic) => display.diagnostic(diagnostic),
  });
  display.end();
  const { end } = replayed;
  if (end.type === "failed") tell(out, end.error);
  else if (end.type !== "done") unfinished(out, end);
  return checking ? checked(file, recording, replayed, out) : end.type !== "failed";
}

type Unfinished = Exclude<Replayed["end"], { type: "done" | "failed" }>;

function unfinished(out: Output, end: Unfinished): void {
  if (out.json) out.object(end);
  else out.line(out.style.yellow(`— ${stop(end)}`));
}

function stop(end: Unfinished): string {
  if (end.type === "restarted") return "the client started over on another stream";
  return end.parked ? "the capture ends while the host has the calls" : "the capture ends in the middle of the turn";
}

function checked(file: string, recording: Recording, replayed: Replayed, out: Output): boolean {
  const { difference, equal, blobs, answers } = check(recording, replayed);
  const { checkpoint, promptIds } = replayed.taken;
  if (out.json) out.object({ type: "check", file, equal, taken: { blobs, answers, promptIds, checkpoint }, ...(difference && { difference: shown(difference) }) });
  else {
    if (difference === undefined) out.line(out.style.dim(`— check: ${equal} client ${equal === 1 ? "frame is" : "frames are"} what the core sends`));
    else differs(file, difference, equal, out);
    const taken = [count(blobs, "blob"), count(answers, "answer"), count(promptIds, "prompt id"), checkpoint ? "the checkpoint" : ""].filter(Boolean);
    if (taken.length > 0) out.line(out.style.dim(`— taken from the capture, not compared: ${taken.join(", ")}`));
    if (recording.header.redacted) out.line(out.style.dim("— redacted: of texts only the length is compared"));
  }
  return difference === undefined;
}

function count(number: number, name: string): string {
  return number === 0 ? "" : `${number} ${name}${number === 1 ? "" : "s"}`;
}

function differs(file: string, { index, line, field, blobId, recorded, sent }: Difference, equal: number, out: Output): void {
  const place = `${line === undefined ? "" : ` (${file}:${line})`}${field === undefined ? "" : `, ${field}`}`;
  out.line(out.style.red(`— check: difference at client frame ${index}${place}, after ${equal} equal ones`));
  side(out, "recorded", recorded);
  if (blobId === undefined) side(out, "the core", sent);
  else out.line(`  ${out.style.bold("the id")}, the SHA-256 of another blob: ${blobId}`);
}

function side(out: Output, who: string, payload: Uint8Array | undefined): void {
  out.line(`  ${out.style.bold(who)}${payload === undefined ? ": nothing" : `, ${payload.length} bytes`}`);
  if (payload) for (const line of fieldLines(fieldsOf(payload), out.style, "    ")) out.line(line);
}

function shown({ index, line, field, blobId, recorded, sent }: Difference): object {
  return { index, line, field, blobId, recorded: recorded ? fieldsOf(recorded) : null, sent: sent ? fieldsOf(sent) : null };
}

function fieldsOf(payload: Uint8Array): ReturnType<typeof showMessage>["fields"] {
  return showMessage(payload, AgentClientMessage as AnyTable, EXTENT).fields;
}
