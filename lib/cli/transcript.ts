/**
 * The transcripts of `run --session`: a host keeps its own, and the command is a host. They lie beside the handles,
 * readable by their owner only, and are replaced as a whole.
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileName } from "../driver/file-name.ts";
import type { Message } from "../session/turn.ts";
import { fileFailure } from "./failure.ts";

/** The file of a session's transcript, named as its handle is. */
export function transcriptFile(folder: string, sessionId: string): string {
  return join(folder, `${fileName(sessionId)}.transcript.json`);
}

/**
 * The messages of a transcript; none where there is no such file, or where it holds something else.
 * @throws Failure `file_unreadable`
 */
export async function loadTranscript(file: string): Promise<Message[]> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw fileFailure("read", file, error);
  }
  try {
    const messages = JSON.parse(text) as unknown;
    return Array.isArray(messages) && messages.every(isMessage) ? messages : [];
  } catch {
    return [];
  }
}

/** Replaces a transcript. @throws Failure `file_unwritable` */
export async function saveTranscript(folder: string, file: string, messages: readonly Message[]): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(temporary, JSON.stringify(messages), { mode: 0o600 });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw fileFailure("write", file, error);
  }
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== "object" || value === null) return false;
  const { role, content } = value as { role?: unknown; content?: unknown };
  if (role === "user") return typeof content === "string";
  return (role === "assistant" || role === "tool") && Array.isArray(content) && content.every((part) => typeof part === "object" && part !== null);
}
