import { bool, bytes, int32, message, nested, repeated, string, text } from "../../wire/index.ts";

/** One knob of a variant, such as `effort` = `high`. */
export const ModelParameterValue = message({ id: string(1), value: string(2) });

/** One published way to run a model; `legacySlug` is what a Run names (PROTOCOL §2.1). */
export const ModelVariantConfig = message({
  parameterValues: repeated(nested(1, ModelParameterValue)),
  displayName: text(2),
  isMaxMode: bool(3),
  isDefaultMaxConfig: bool(4),
  isDefaultNonMaxConfig: bool(5),
  variantStringRepresentation: text(9),
  legacySlug: string(11),
});

/** What the service offers of a model; limits in tokens. */
export const AvailableModel = message({
  name: string(1),
  defaultOn: bool(2),
  supportsAgent: bool(5),
  supportsThinking: bool(9),
  supportsImages: bool(10),
  supportsMaxMode: bool(14),
  contextTokenLimit: int32(15),
  contextTokenLimitForMaxMode: int32(16),
  clientDisplayName: text(17),
  serverModelName: string(18),
  supportsNonMaxMode: bool(19),
  variants: repeated(nested(30, ModelVariantConfig)),
  isHidden: bool(35),
});

/** Asks what the service offers. */
export const AvailableModelsRequest = message({ useModelParameters: bool(5), doNotUseMarkdown: bool(7) });

/** What the service offers. */
export const AvailableModelsResponse = message({ modelNames: repeated(string(1)), models: repeated(nested(2, AvailableModel)) });

/** A slug that the account may use. */
export const ModelDetails = message({
  modelId: string(1),
  /** Present where the model thinks; its inside is not read. */
  thinkingDetails: bytes(2),
  displayModelId: string(3),
  displayName: text(4),
  displayNameShort: text(5),
  aliases: repeated(string(6)),
  maxMode: bool(7),
});

/** Asks what the account may use. */
export const GetUsableModelsRequest = message({ customModelIds: repeated(string(1)) });

/** What the account may use. */
export const GetUsableModelsResponse = message({ models: repeated(nested(1, ModelDetails)) });

/** The model that the service would choose. */
export const GetDefaultModelForCliResponse = message({ model: nested(1, ModelDetails) });
