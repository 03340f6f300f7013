/** What a capture tells about a Run beyond its frames: how it was opened, and what the host answered. */
import { decodeValue, FLAG, HEADER_LENGTH, WireError, type Decoded } from "../../wire/index.ts";
import { AgentClientMessage, arms, hex, type AgentRunRequest, type ExecClientMessage, type McpToolDefinition } from "../agent/index.ts";
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
  /** The payload of the first client frame, which opens the Run. */
  readonly opener: Uint8Array;
  readonly request: Decoded<typeof AgentRunRequest>;
  /** The host's tools, from wherever the client told them. */
  readonly tools: readonly Tool[];
  /** Hex id → content: what the client answered when it was asked. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  /** Exec id → the client's answers in order: an id may be used again once it has been answered. */
  readonly answers: ReadonlyMap<number, readonly RecordedAnswer[]>;
}

/** An answer and the index of its first frame. */
export interface RecordedAnswer {
  readonly index: number;
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
  const { blobs, answers } = repliesOf(frames);
  return { header: header!, frames, opener: payloadOf(first), request, tools: toolsOf(request, answers), blobs, answers };
}

/** A frame's payload: a view. */
export function payloadOf({ envelope }: CapturedFrame): Uint8Array {
  return envelope.subarray(HEADER_LENGTH);
}

/** What a client frame says; undefined where it can't be read. */
export function clientMessage(frame: CapturedFrame): Decoded<typeof AgentClientMessage> | undefined {
  return frame.envelope[0] === 0 ? readable(() => AgentClientMessage.decode(payloadOf(frame))) : undefined;
}

function repliesOf(frames: readonly RecordedFrame[]): Pick<Recording, "blobs" | "answers"> {
  const asked = new Map<number, Uint8Array>();
  const blobs = new Map<string, Uint8Array>();
  const answers = new Map<number, { index: number; answer: Decoded<typeof ExecClientMessage>[] }[]>();
  const open = new Map<number, Decoded<typeof ExecClientMessage>[]>();
  for (const [index, frame] of frames.entries()) {
    if (frame.from === "server") {
      for (const [id, blobId] of questions(frame)) asked.set(id, blobId);
      continue;
    }
    const { kvClientMessage, execClientMessage, execClientControlMessage } = clientMessage(frame) ?? {};
    const blobId = asked.get(kvClientMessage?.id ?? 0);
    const content = kvClientMessage?.getBlobResult?.blobData;
    if (blobId && content) blobs.set(hex(blobId), content);
    if (execClientControlMessage?.streamClose) open.delete(execClientControlMessage.streamClose.id ?? 0);
    if (execClientMessage === undefined) continue;
    const { id = 0 } = execClientMessage;
    const answer = open.get(id);
    if (answer) answer.push(execClientMessage);
    else {
      const begun = [execClientMessage];
      open.set(id, begun);
      answers.set(id, [...(answers.get(id) ?? []), { index, answer: begun }]);
    }
  }
  return { blobs, answers };
}

/** The blobs that a server frame asks for, by the id of the question. */
function questions(frame: CapturedFrame): [id: number, blobId: Uint8Array][] {
  if ((frame.envelope[0]! & FLAG.endStream) !== 0) return [];
  const messages = readable(() => arms(payloadOf(frame)).arms) ?? [];
  return messages.flatMap(({ kvServerMessage }) => {
    const blobId = kvServerMessage?.getBlobArgs?.blobId;
    return blobId ? [[kvServerMessage.id ?? 0, blobId] as [number, Uint8Array]] : [];
  });
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
