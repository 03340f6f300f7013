/** What a capture tells about a Run beyond its frames: how it was opened, and what the host answered. */
import { decodeValue, FLAG, HEADER_LENGTH, WireError, type Decoded } from "../../wire/index.ts";
import { AgentClientMessage, arms, blobId, hex, type AgentRunRequest, type ExecClientMessage, type McpToolDefinition } from "../agent/index.ts";
import type { CapturedFrame, CaptureHeader } from "../loopback/capture-line.ts";
import type { Tool } from "../session/turn.ts";
import { linesOfCapture } from "./capture.ts";
import { Failure } from "./failure.ts";

/** The answer of a host to an exec, as the capture's client wrote it: one message, or more where it streams. */
export type Answer = readonly Decoded<typeof ExecClientMessage>[];

/** One frame of a recording. */
export interface RecordedFrame extends CapturedFrame {
  /** The line of the file that holds it. */
  readonly line: number;
}

/** A whole capture of one Run. */
export interface Recording {
  readonly header: CaptureHeader;
  readonly frames: readonly RecordedFrame[];
  readonly request: Decoded<typeof AgentRunRequest>;
  /** The host's tools, from wherever the client told them. */
  readonly tools: readonly Tool[];
  /** Hex id → content: what the client answered where the service had not set the blob in this Run. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  /** Line of such an answer → the hex id that was asked for. */
  readonly blobAnswers: ReadonlyMap<number, string>;
  /** Exec id → the client's answers in order: an id may be used again once it has been answered. */
  readonly answers: ReadonlyMap<number, readonly RecordedAnswer[]>;
}

/** An answer, the index of its first frame, and the lines of all. */
export interface RecordedAnswer {
  readonly index: number;
  readonly lines: readonly number[];
  readonly answer: Answer;
}

/** Bytes of the largest capture that is held in memory. */
const LIMIT = 512 * 1024 * 1024;

/**
 * Reads a whole capture.
 * @param limit bytes that its frames may take
 * @throws Failure `capture_invalid`, or `capture_too_large` over 512 MiB
 */
export async function readRecording(chunks: AsyncIterable<Uint8Array>, file: string, limit = LIMIT): Promise<Recording> {
  let header: CaptureHeader | undefined;
  const frames: RecordedFrame[] = [];
  let size = 0;
  for await (const line of linesOfCapture(chunks, file)) {
    if ("header" in line) {
      header = line.header;
      continue;
    }
    size += line.frame.envelope.length;
    if (size > limit) throw new Failure("capture_too_large", `${file}: its frames take over ${limit} bytes`, "Look at it with: cursor-wire inspect FILE");
    frames.push({ ...line.frame, line: line.number });
  }
  const first = frames.find(({ from }) => from === "client");
  const request = first && clientMessage(first)?.runRequest;
  if (first === undefined || request === undefined) {
    const place = first ? `${file}:${first.line}` : file;
    throw new Failure("capture_invalid", `${place}: the first client frame is no run_request`, "A capture holds one Run from its first frame on.");
  }
  const { answers, ...blobs } = repliesOf(frames);
  return { header: header!, frames, request, tools: toolsOf(request, answers), answers, ...blobs };
}

/** A frame's payload: a view. */
export function payloadOf({ envelope }: CapturedFrame): Uint8Array {
  return envelope.subarray(HEADER_LENGTH);
}

/** What a client frame says; undefined where it can't be read. */
export function clientMessage(frame: CapturedFrame): Decoded<typeof AgentClientMessage> | undefined {
  return frame.envelope[0] === 0 ? readable(() => AgentClientMessage.decode(payloadOf(frame))) : undefined;
}

/** Whether a blob is what its id says, which is its SHA-256; one of the service may be another, of another length (PROTOCOL §6). */
export function isTrueTo(id: string, content: Uint8Array): boolean {
  return id.length !== SHA256_HEX || hex(blobId(content)) === id;
}

const SHA256_HEX = 64;

function repliesOf(frames: readonly RecordedFrame[]): Pick<Recording, "blobs" | "blobAnswers" | "answers"> {
  const asked = new Map<number, string>();
  const set = new Set<string>();
  const blobs = new Map<string, Uint8Array>();
  const blobAnswers = new Map<number, string>();
  const answers = new Map<number, Writable<RecordedAnswer>[]>();
  const open = new Map<number, Writable<RecordedAnswer>>();
  for (const [index, frame] of frames.entries()) {
    if (frame.from === "server") {
      readQuestions(frame, asked, set);
      continue;
    }
    const { kvClientMessage, execClientMessage, execClientControlMessage } = clientMessage(frame) ?? {};
    const blob = asked.get(kvClientMessage?.id ?? 0);
    const content = kvClientMessage?.getBlobResult?.blobData;
    if (blob !== undefined && content) {
      blobs.set(blob, content);
      blobAnswers.set(frame.line, blob);
    }
    if (execClientControlMessage?.streamClose) open.delete(execClientControlMessage.streamClose.id ?? 0);
    if (execClientMessage === undefined) continue;
    const { id = 0 } = execClientMessage;
    let begun = open.get(id);
    if (begun === undefined) {
      begun = { index, lines: [], answer: [] };
      open.set(id, begun);
      const known = answers.get(id);
      if (known) known.push(begun);
      else answers.set(id, [begun]);
    }
    begun.answer.push(execClientMessage);
    begun.lines.push(frame.line);
  }
  return { blobs, blobAnswers, answers };
}

type Writable<Of> = { -readonly [Key in keyof Of]: Of[Key] extends readonly (infer Item)[] ? Item[] : Of[Key] };

/** Notes which blobs a server frame asks for, by the id of the question, where it or one before has not `set` them. */
function readQuestions(frame: RecordedFrame, asked: Map<number, string>, set: Set<string>): void {
  if ((frame.envelope[0]! & FLAG.endStream) !== 0) return;
  for (const { kvServerMessage } of readable(() => arms(payloadOf(frame)).arms) ?? []) {
    const { id = 0, getBlobArgs, setBlobArgs } = kvServerMessage ?? {};
    if (setBlobArgs?.blobId && setBlobArgs.blobData) set.add(hex(setBlobArgs.blobId));
    if (getBlobArgs?.blobId === undefined) continue;
    const blob = hex(getBlobArgs.blobId);
    if (set.has(blob)) asked.delete(id);
    else asked.set(id, blob);
  }
}

/** A resume may leave the tools out of the request (PROTOCOL §5.1): then they stand in a request context. */
function toolsOf({ mcpTools, action }: Decoded<typeof AgentRunRequest>, answers: Recording["answers"]): Tool[] {
  const answered = [...answers.values()].flat().map(({ answer }) => answer[0]!.requestContextResult?.success?.requestContext);
  const contexts = [action?.userMessageAction?.requestContext, ...answered];
  const definitions = mcpTools?.mcpTools ?? contexts.find((context) => context?.tools)?.tools ?? [];
  return definitions.map(toolOf);
}

function toolOf({ name = "", description = "", inputSchema }: Decoded<typeof McpToolDefinition>): Tool {
  const schema = inputSchema && readable(() => decodeValue(inputSchema));
  return { name, description, inputSchema: typeof schema === "object" && schema !== null && !Array.isArray(schema) ? schema : {} };
}

/** What `read` gives; undefined where the bytes are malformed. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
