/** The codec's cases: what a Run reads and writes most. */
import { AgentClientMessage, AgentServerMessage } from "../lib/agent/index.ts";
import { decodeValue, encodeEnvelope, encodeValue, EnvelopeReader, fields, type Json } from "../wire/index.ts";
import type { Case } from "./case.ts";
import { ARGUMENTS, chunked, FRAMES, RUN, TEXT, textStream, THINKING } from "./corpus.ts";

/** Calls `work` with the items in turn. */
function each<T>(items: readonly T[], work: (item: T) => number): () => number {
  let next = 0;
  return () => work(items[next++ % items.length]!);
}

const mean = (items: readonly Uint8Array[]): number => items.reduce((sum, { length }) => sum + length, 0) / items.length;
const last = (bytes: Uint8Array): number => bytes[bytes.length - 1]!;
const inside = (bytes: Uint8Array, at = 0): Uint8Array => fields(bytes)[at]!.value as Uint8Array;
const utf8 = new TextDecoder();
const json = (values: readonly unknown[]): string[] => values.map((value) => JSON.stringify(value));

/** A delta, walked without tables and decoded from JSON. */
function delta(name: "text" | "thinking", texts: readonly string[], read: (frame: Uint8Array) => string): Case {
  const frames = FRAMES[name];
  const lines = json(texts.map((text) => ({ interactionUpdate: { [`${name}Delta`]: { text } } })));
  return {
    name,
    unit: "frame",
    bytes: mean(frames),
    run: each(frames, (frame) => read(frame).length),
    baselines: {
      "fields()": each(frames, (frame) => utf8.decode(inside(inside(inside(frame)))).length),
      "JSON.parse": each(lines, (line) => (JSON.parse(line) as { interactionUpdate: Record<string, { text: string }> }).interactionUpdate[`${name}Delta`]!.text.length),
    },
  };
}

function mcp(): Case {
  const frames = FRAMES.mcp;
  const lines = json(ARGUMENTS.map((args, id) => ({ id, execId: `exec-${id}-the quick brown fox j`, mcpArgs: { name: "mcp_pi_edit", args, toolCallId: "toolu_the quick brown fox jump", providerIdentifier: "pi", toolName: "mcp_pi_edit" } })));
  return {
    name: "mcp",
    unit: "frame",
    bytes: mean(frames),
    run: each(frames, (frame) => {
      const { id, mcpArgs } = AgentServerMessage.decode(frame).execServerMessage!;
      const args: Record<string, Json> = {};
      for (const [key, value] of mcpArgs!.args!) args[key] = decodeValue(value);
      return id! + mcpArgs!.toolName!.length + (args["edits"] as Json[]).length;
    }),
    baselines: {
      // The frame's own levels only: the values stay bytes.
      "fields()": each(frames, (frame) => {
        let sum = 0;
        for (const { no, value } of fields(inside(inside(frame), 1))) sum += no === 2 ? fields(value as Uint8Array).length : (value as Uint8Array).length;
        return sum;
      }),
      "JSON.parse": each(lines, (line) => (JSON.parse(line) as { mcpArgs: { args: { edits: Json[] } } }).mcpArgs.args.edits.length),
    },
  };
}

function request(): Case {
  const { request, tools } = RUN;
  const write = (): Uint8Array =>
    AgentClientMessage.encode({
      runRequest: {
        ...request,
        mcpTools: { mcpTools: tools.map(({ name, description, schema }) => ({ name, description, inputSchema: encodeValue(schema), providerIdentifier: "pi", toolName: name })) },
      },
    });
  const plain = { ...request, conversationState: { ...request.conversationState, rootPromptMessagesJson: request.conversationState!.rootPromptMessagesJson!.map((id) => Buffer.from(id).toString("hex")) }, tools };
  return { name: "request", unit: "message", bytes: write().length, run: () => write().length, baselines: { "JSON.stringify": () => JSON.stringify(plain).length } };
}

/** A stream of envelopes; `slow` leaves out the way that takes the square of the chunks. */
function envelopes(name: string, stream: Uint8Array, size: number, slow = false): Case {
  const chunks = chunked(stream, size);
  return {
    name: `envelopes-${name}`,
    unit: "stream",
    bytes: stream.length,
    run: () => {
      const reader = new EnvelopeReader();
      let sum = 0;
      for (const chunk of chunks) for (const { payload } of reader.push(chunk)) sum += last(payload);
      reader.end();
      return sum;
    },
    baselines: {
      ...(!slow && { "Buffer.concat": () => concatenated(chunks) }),
      "one memcpy": () => {
        const whole = Buffer.allocUnsafe(stream.length);
        let at = 0;
        for (const chunk of chunks) {
          whole.set(chunk, at);
          at += chunk.length;
        }
        return last(whole);
      },
    },
  };
}

/** The reader that most write first: joins what is left with what comes. */
function concatenated(chunks: readonly Uint8Array[]): number {
  let rest = Buffer.alloc(0);
  let sum = 0;
  for (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5) {
      const end = 5 + rest.readUInt32BE(1);
      if (rest.length < end) break;
      sum += rest[end - 1]!;
      rest = rest.subarray(end);
    }
  }
  return sum;
}

/** A frame that carries bytes, walked without tables. JSON would need base64, and its garbage would be collected in our rounds. */
function carried(name: "checkpoint" | "blob", read: (frame: Uint8Array) => Uint8Array, walk: (frame: Uint8Array) => Uint8Array): Case {
  const frames = FRAMES[name];
  return { name, unit: "frame", bytes: mean(frames), run: each(frames, (frame) => last(read(frame))), baselines: { "fields()": each(frames, (frame) => last(walk(frame))) } };
}

const heartbeat = AgentClientMessage.encode({ clientHeartbeat: {} });

/** Every case of the codec. */
export const CODEC: readonly Case[] = [
  delta("text", TEXT, (frame) => AgentServerMessage.decode(frame).interactionUpdate!.textDelta!.text!),
  delta("thinking", THINKING, (frame) => AgentServerMessage.decode(frame).interactionUpdate!.thinkingDelta!.text!),
  mcp(),
  carried("checkpoint", (frame) => AgentServerMessage.decode(frame).conversationCheckpointUpdate!, inside),
  carried("blob", (frame) => AgentServerMessage.decode(frame).kvServerMessage!.setBlobArgs!.blobData!, (frame) => inside(inside(inside(frame), 1), 1)),
  request(),
  {
    name: "heartbeat",
    unit: "message",
    bytes: heartbeat.length,
    run: () => last(AgentClientMessage.encode({ clientHeartbeat: {} })),
    baselines: { "JSON.stringify": () => JSON.stringify({ clientHeartbeat: {} }).length },
  },
  envelopes("tiny", textStream(20_000), 16_384),
  envelopes("1-byte", textStream(1100), 1),
  envelopes("16MiB", encodeEnvelope(0, new Uint8Array(16 * 1024 * 1024 - 5).fill(7)), 16_384, true),
];
