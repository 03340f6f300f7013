/**
 * Messages shaped and sized like the service's, made by chance from one seed. Frames lie at odd offsets inside one slab,
 * as they lie inside a network's chunk.
 */
import { AgentServerMessage, type AgentClientMessage } from "../lib/agent/index.ts";
import { random } from "../test/random.ts";
import { encodeEnvelope, encodeValue, type Decoded, type Json } from "../wire/index.ts";

const chance = random(987_654_321);
const WORDS = "the quick brown fox jumps over lazy dog function return const import export from await async value result error path file line code test".split(" ");
const HAN = Array.from("模型思考输出结果分析问题需要先读取然后修改测试确认正确工具列表文件内容");

type ServerMessage = Decoded<typeof AgentServerMessage>;
type Run = NonNullable<Decoded<typeof AgentClientMessage>["runRequest"]>;

const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => chance.below(256));
const ascii = (length: number): string => {
  let text = "";
  while (text.length < length) text += `${text && " "}${chance.pick(WORDS)}`;
  return text.slice(0, length);
};
/** Four fifths Han, the rest words. */
const mixed = (length: number): string => {
  let text = "";
  while (text.length < length) text += chance.below(5) ? chance.pick(HAN) : ` ${chance.pick(WORDS)} `;
  return text.slice(0, length);
};
const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index));

/** Text deltas of 14 to 26 ASCII characters. */
export const TEXT = list(256, () => ascii(14 + chance.below(13)));
/** Thinking deltas of 200 characters, mostly Han. */
export const THINKING = list(64, () => mixed(200));
/** The arguments of calls of an editing tool. */
export const ARGUMENTS: { [name: string]: Json }[] = list(32, (index) => ({
  path: `/home/user/src/${chance.pick(WORDS)}/${chance.pick(WORDS)}.ts`,
  offset: chance.below(5000),
  recursive: index % 2 === 0,
  pattern: mixed(8),
  edits: [
    { old: ascii(40), new: ascii(60) },
    { old: ascii(20), new: null },
  ],
}));

/** Frames of server messages by case. */
export const FRAMES = {
  text: frames(TEXT.map((text) => ({ interactionUpdate: { textDelta: { text } } }))),
  thinking: frames(THINKING.map((text) => ({ interactionUpdate: { thinkingDelta: { text } } }))),
  mcp: frames(
    ARGUMENTS.map((json, index) => ({
      execServerMessage: {
        id: 1 + chance.below(500),
        execId: `exec-${index}-${ascii(20)}`,
        mcpArgs: {
          name: "mcp_pi_edit",
          args: new Map(Object.entries(json).map(([key, value]) => [key, encodeValue(value)])),
          toolCallId: `toolu_${ascii(24)}`,
          providerIdentifier: "pi",
          toolName: "mcp_pi_edit",
        },
      },
    })),
  ),
  checkpoint: frames(list(4, () => ({ conversationCheckpointUpdate: bytes(206_000 + chance.below(2000)) }))),
  blob: frames(list(8, () => ({ kvServerMessage: { id: 1 + chance.below(300), setBlobArgs: { blobId: bytes(32), blobData: bytes(65_536) } } }))),
};

/** A run request with 60 root prompts and 40 tools; the tools' schemas are still JSON. */
export const RUN: { readonly request: Omit<Run, "mcpTools">; readonly tools: readonly { name: string; description: string; schema: Json }[] } = {
  request: {
    conversationState: { rootPromptMessagesJson: list(60, () => bytes(32)), previousWorkspaceUris: ["file:///home/user/project"], mode: 1, clientName: "pi" },
    action: { userMessageAction: { userMessage: { text: ascii(300) + mixed(50), messageId: "7d4f0a52-3c7e-4b52-9a57-0b9d3f1d2a12", mode: 1, selectedContextBlob: bytes(32), correlationId: "7d4f0a52-3c7e-4b52-9a57-0b9d3f1d2a12" } } },
    conversationId: "6f1f0a52-3c7e-4b52-9a57-0b9d3f1d2a11",
    requestedModel: { modelId: "grok-4.7-high", maxMode: false },
    clientSupportsInlineImages: true,
  },
  tools: list(40, (index) => ({ name: `${WORDS[index % WORDS.length]}_${index}`, description: ascii(120 + chance.below(120)), schema: schema(index) })),
};

/** A stream in chunks of `size` bytes. */
export function chunked(stream: Uint8Array, size: number): Uint8Array[] {
  return list(Math.ceil(stream.length / size), (index) => stream.subarray(index * size, (index + 1) * size));
}

/** The stream of the text frames in envelopes, `count` of them. */
export function textStream(count: number): Uint8Array {
  return new Uint8Array(Buffer.concat(list(count, (index) => encodeEnvelope(0, FRAMES.text[index % FRAMES.text.length]!))));
}

function schema(index: number): Json {
  const property = (place: number): Json =>
    place % 3 === 0
      ? { type: "string", description: ascii(80) }
      : place % 3 === 1
        ? { type: "number", description: ascii(50), minimum: 0, default: 10 }
        : { type: "array", items: { type: "object", properties: { old: { type: "string" }, new: { type: "string", enum: ["a", "b"] } }, required: ["old"] } };
  const properties = Object.fromEntries(list(3 + (index % 5), (place) => [`${WORDS[place]}_${index}`, property(place)]));
  return { type: "object", description: ascii(60), properties, required: [`${WORDS[0]}_${index}`] };
}

function frames(messages: readonly ServerMessage[]): Uint8Array[] {
  const encoded = messages.map((message) => AgentServerMessage.encode(message));
  const slab = new Uint8Array(encoded.reduce((sum, { length }) => sum + length + 7, 3));
  let at = 3;
  return encoded.map((frame) => {
    slab.set(frame, at);
    const view = slab.subarray(at, at + frame.length);
    at += frame.length + 7;
    return view;
  });
}
