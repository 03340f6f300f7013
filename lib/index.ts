/** The provider and what it says (DESIGN §4). */
export { createProvider, type CapturedFrame, type Provider, type ProviderOptions } from "./driver/provider.ts";
export { fileHandleStore, memoryHandleStore, type HandleStore } from "./driver/handle-store.ts";
export { CursorError, type ErrorKind } from "./session/errors.ts";
export type {
  AssistantMessage,
  Diagnostic,
  Handle,
  ImagePart,
  Message,
  TextPart,
  ThinkingPart,
  Tool,
  ToolCallPart,
  ToolMessage,
  TurnEvent,
  TurnRequest,
  UserMessage,
} from "./session/turn.ts";
