/** The account messages against bytes of another encoder (protobufjs, over the rows of the account document). */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { Message } from "../wire/index.ts";
import {
  AvailableModelsRequest,
  AvailableModelsResponse,
  GetDefaultModelForCliResponse,
  GetUsableModelsRequest,
  GetUsableModelsResponse,
} from "../lib/account/messages.ts";
import { bytes, hex } from "./check.ts";

interface Vector<T> {
  name: string;
  table: Message<T>;
  value: T;
  hex: string;
}
const vector = <T>(name: string, table: Message<T>, value: T, text: string) => ({ name, table, value, hex: text }) as unknown as Vector<object>;

const VECTORS = [
  vector("AvailableModelsRequest", AvailableModelsRequest, { useModelParameters: true, doNotUseMarkdown: true }, "28013801"),
  vector("GetUsableModelsRequest", GetUsableModelsRequest, { customModelIds: ["my-model", "ü"] }, "0a086d792d6d6f64656c0a02c3bc"),
  vector(
    "AvailableModelsResponse",
    AvailableModelsResponse,
    {
      modelNames: ["grok-4.7"],
      models: [
        {
          name: "grok-4.7",
          defaultOn: true,
          supportsAgent: true,
          supportsThinking: true,
          supportsImages: true,
          supportsMaxMode: true,
          contextTokenLimit: 256000,
          contextTokenLimitForMaxMode: 1000000,
          clientDisplayName: "Grok 4.7",
          serverModelName: "xai/grok-4.7",
          supportsNonMaxMode: true,
          variants: [
            {
              parameterValues: [
                { id: "reasoning_effort", value: "high" },
                { id: "context", value: "256k" },
              ],
              displayName: "Grok 4.7 High",
              isMaxMode: true,
              isDefaultMaxConfig: true,
              isDefaultNonMaxConfig: true,
              variantStringRepresentation: "grok-4.7[high]",
              legacySlug: "grok-4.7-high",
            },
          ],
          isHidden: true,
        },
      ],
    },
    "0a0867726f6b2d342e37129f010a0867726f6b2d342e37100128014801500170017880d00f8001c0843d8a010847726f6b20342e3792010c7861692f67726f6b2d342e37980101f2015f0a180a10726561736f6e696e675f6566666f72741204686967680a0f0a07636f6e7465787412043235366b120d47726f6b20342e3720486967681801200128014a0e67726f6b2d342e375b686967685d5a0d67726f6b2d342e372d68696768980201",
  ),
  vector(
    "GetUsableModelsResponse",
    GetUsableModelsResponse,
    {
      models: [
        {
          modelId: "grok-4.7-high",
          thinkingDetails: bytes("0801"),
          displayModelId: "grok-4.7",
          displayName: "Grok 4.7 High",
          displayNameShort: "Grok",
          aliases: ["grok", "xai-grok"],
          maxMode: true,
        },
        { modelId: "composer-2.5" },
      ],
    },
    "0a440a0d67726f6b2d342e372d68696768120208011a0867726f6b2d342e37220d47726f6b20342e3720486967682a0447726f6b320467726f6b32087861692d67726f6b38010a0e0a0c636f6d706f7365722d322e35",
  ),
  vector("GetDefaultModelForCliResponse", GetDefaultModelForCliResponse, { model: { modelId: "composer-2.5" } }, "0a0e0a0c636f6d706f7365722d322e35"),
];

const test = suite("account messages");

for (const { name, table, value, hex: text } of VECTORS) {
  test(`${name} encodes to the bytes of another encoder`, () => {
    assert.is(hex(table.encode(value)), text);
  });
  test(`${name} decodes the bytes of another encoder`, () => {
    assert.equal(JSON.parse(JSON.stringify(table.decode(bytes(text)), plain)), JSON.parse(JSON.stringify(value, plain)));
  });
}

test.run();

/** Bytes as hex, so that views compare by content. */
function plain(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? hex(value) : value;
}
