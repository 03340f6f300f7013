/**
 * The transcripts of `run --session`: a host keeps its own, and the command is a host. They lie beside the handles,
 * readable by their owner only, and are replaced as a whole. Several runs of one session may end at once: each adds its
 * turn to what there is by then.
 */
import { dirname, join } from "node:path";
import { DISK, temporaryName } from "../driver/disk.ts";
import { locked } from "../driver/file-lock.ts";
import { fileName } from "../driver/file-name.ts";
import { parseJson } from "../loopback/json.ts";
import { checkRequest } from "../session/check-request.ts";
import type { Message } from "../session/turn.ts";
import { Failure, fileFailure } from "./failure.ts";

/** The file of a session's transcript, named as its handle is. */
export function transcriptFile(folder: string, sessionId: string): string {
  return join(folder, `${fileName(sessionId)}.transcript.json`);
}

/** The most bytes of a transcript that are read, and the most values in it. */
const FILE_BYTES = 64 * 1024 * 1024;
const VALUES = 1_000_000;

/**
 * The messages of a transcript; none where there is no such file, or where it holds something else.
 * @throws Failure `file_unreadable`, at once where it is a link, a pipe, a device, over 64 MiB, or of more than a
 *   million values
 */
export async function loadTranscript(file: string): Promise<Message[]> {
  const bytes = await read(file);
  if (bytes === undefined) return [];
  try {
    const messages = parseJson(new TextDecoder().decode(bytes), VALUES);
    return Array.isArray(messages) && areMessages(messages) ? messages : [];
  } catch (error) {
    if (error instanceof RangeError) throw unreadable(error.message);
    return [];
  }
}

async function read(file: string): Promise<Uint8Array | undefined> {
  try {
    return await DISK.read(file, (size) => {
      if (size > FILE_BYTES) throw new Error(`${file} is over ${FILE_BYTES} bytes`);
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== undefined) throw fileFailure("read", file, error);
    throw unreadable(message);
  }
}

function unreadable(why: string): Failure {
  return new Failure("file_unreadable", `cannot read the transcript: ${why}`, "Move it away, and the session begins anew, or name another --session.");
}

/**
 * Adds the messages of a turn to a transcript, and returns how many stood there before them.
 * @throws Failure `file_unwritable`, or as {@link loadTranscript} does
 */
export async function addTurn(file: string, turn: readonly Message[]): Promise<number> {
  try {
    return await locked(`${file}.lock`, async () => {
      const there = await loadTranscript(file);
      await replace(file, [...there, ...turn]);
      return there.length;
    });
  } catch (error) {
    throw error instanceof Failure ? error : fileFailure("write", file, error);
  }
}

async function replace(file: string, messages: readonly Message[]): Promise<void> {
  const temporary = join(dirname(file), temporaryName());
  try {
    await DISK.create(temporary, new TextEncoder().encode(JSON.stringify(messages)));
    await DISK.rename(temporary, file);
  } catch (error) {
    // What went wrong first is what is told.
    await DISK.remove(temporary).catch(() => {});
    throw error;
  }
}

/** Whether a request may hold them and a prompt: another one would be refused at every run. */
function areMessages(messages: unknown[]): messages is Message[] {
  const request = { model: { id: "any" }, messages: [...messages, { role: "user", content: "" }] as Message[], tools: [] };
  return checkRequest(request) === undefined;
}
