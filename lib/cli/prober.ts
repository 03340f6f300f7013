import type { Decoded } from "../../wire/index.ts";
import { HEADER_LENGTH } from "../../wire/index.ts";
import { AgentClientMessage, type AgentRunRequest } from "../agent/index.ts";
import { createProvider, memoryHandleStore, type Message, type Tool, type ToolCallPart, type TurnEvent } from "../index.ts";
import type { Environment } from "../driver/variables.ts";
import { runTurn } from "./turn.ts";
import { workingFolder } from "./working-folder.ts";

/** What a tool of a probe says. */
export interface Answer {
  readonly text: string;
  readonly isError: boolean;
}

/** What a probe asks of the model. */
export interface Question {
  readonly prompt: string;
  readonly systemPrompt?: string;
  readonly tools?: readonly Tool[];
  /** What a tool says when it is called. */
  readonly answer?: (call: ToolCallPart) => Answer;
  /** An absolute path; default the working directory. */
  readonly workspace?: string;
  /** Goes on with the conversation of the questions before. */
  readonly remember?: true;
}

/** What came of it. */
export interface Reply {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly ToolCallPart[];
  readonly events: readonly TurnEvent[];
  /** The run requests that were sent. */
  readonly requests: readonly Decoded<typeof AgentRunRequest>[];
}

/** Whom a prober asks. */
export interface Asked {
  readonly origin: string;
  readonly accessToken: string;
  readonly model: string;
  readonly env: Environment;
  readonly signal: AbortSignal;
}

/** Asks a model one question after the other. Each is asked by a provider of its own, as after a restart of the host. */
export class Prober {
  readonly #asked: Asked;
  readonly #handles = memoryHandleStore();
  #history: Message[] = [];

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  /** @throws CursorError as the provider does */
  async ask({ prompt, systemPrompt = "", tools = [], answer = () => ({ text: "", isError: false }), remember, workspace = workingFolder() }: Question): Promise<Reply> {
    const { origin, accessToken, model, env, signal } = this.#asked;
    const events: TurnEvent[] = [];
    const calls: ToolCallPart[] = [];
    const requests: Decoded<typeof AgentRunRequest>[] = [];
    const provider = createProvider({
      accessToken,
      origin,
      env,
      handles: this.#handles,
      onFrame({ from, envelope }) {
        const opened = from === "client" && AgentClientMessage.decode(envelope.subarray(HEADER_LENGTH)).runRequest;
        if (opened) requests.push(opened);
      },
    });
    try {
      const request = {
        ...(remember && { sessionId: "probe" }),
        workspace,
        model: { id: model },
        systemPrompt,
        messages: [...(remember ? this.#history : []), { role: "user", content: prompt } as const],
        tools: [...tools],
      };
      const messages = await runTurn(
        provider,
        request,
        {
          onEvent: (event) => void events.push(event),
          onCall(call) {
            calls.push(call);
            const { text, isError } = answer(call);
            return { role: "tool", toolCallId: call.id, toolName: call.name, content: [{ type: "text", text }], isError };
          },
        },
        signal,
      );
      if (remember) this.#history = messages;
    } finally {
      await provider.close();
    }
    const said = (type: "text" | "thinking"): string => events.map((event) => (event.type === type ? event.delta : "")).join("");
    return { text: said("text"), thinking: said("thinking"), calls, events, requests };
  }
}
