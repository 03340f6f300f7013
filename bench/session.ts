/** The core's cases: what a native exec costs from the frame to the answer's bytes. */
import { AgentServerMessage } from "../lib/agent/index.ts";
import { open } from "../lib/session/open.ts";
import type { Action } from "../lib/session/events.ts";
import type { Session } from "../lib/session/session.ts";
import { step, take } from "../lib/session/step.ts";
import type { Tool, TurnRequest } from "../lib/session/turn.ts";
import type { Case } from "./case.ts";

const REQUEST: TurnRequest = { model: { id: "m" }, messages: [{ role: "user", content: "hi" }], tools: [] };

function tool(name: string, description: string, properties: Record<string, unknown>): Tool {
  return { name, description, inputSchema: { type: "object", properties, required: Object.keys(properties) } };
}

/** Forty tools of a host, of which one reads files. */
const TOOLS: Tool[] = [
  tool("open_file", "Opens a file.", { file_path: { type: "string" } }),
  ...Array.from({ length: 39 }, (_, index) => tool(`tool_${index}`, `Does thing ${index} to a thing.`, { thing: { type: "string", description: "which" }, times: { type: "integer" } })),
];

function running(tools: Tool[]): Session {
  const session = open({
    request: { ...REQUEST, tools },
    workspaceUri: "file:///home/user/project",
    handle: undefined,
    settings: { clocks: {}, mcpMeta: true, resendTools: false, uuid: () => "6f1f0a52-3c7e-4b52-9a57-0b9d3f1d2a11", estimate: () => 1 },
  });
  take(session);
  step(session, { type: "opened" });
  return session;
}

const sent = (actions: readonly Action[]): number => actions.reduce((sum, action) => (action.type === "send" ? sum + action.payload.length : sum), 0);

function refuse(): Case {
  const frame = AgentServerMessage.encode({ execServerMessage: { id: 3, execId: "exec-3", fetchArgs: { url: "https://example.com/page", toolCallId: "t" } } });
  const session = running(TOOLS);
  return {
    name: "exec-refuse",
    unit: "exec",
    bytes: frame.length,
    run() {
      // The miss budget is a turn's; here every request is a first one.
      session.misses = 0;
      return sent(step(session, { type: "frame", payload: frame }));
    },
    baselines: { "decode alone": () => AgentServerMessage.decode(frame).execServerMessage!.id! },
  };
}

function translate(): Case {
  const frame = AgentServerMessage.encode({ execServerMessage: { id: 3, execId: "exec-3", readArgs: { path: "/home/user/project/src/index.ts", toolCallId: "toolu_0123456789" } } });
  const session = running(TOOLS);
  const text = "export const answer = 42;\n".repeat(40);
  return {
    name: "exec-translate",
    unit: "exec",
    bytes: frame.length,
    run() {
      session.callIds.clear();
      const call = step(session, { type: "frame", payload: frame }).find((action) => action.type === "emit");
      const id = call?.type === "emit" && call.event.type === "tool_call" ? call.event.id : "";
      step(session, { type: "timer", timer: "burst" });
      const request: TurnRequest = { ...REQUEST, tools: TOOLS, messages: [...REQUEST.messages, { role: "tool", toolCallId: id, toolName: "open_file", content: [{ type: "text", text }] }] };
      return sent(step(session, { type: "continue", request }));
    },
    baselines: { "decode alone": () => AgentServerMessage.decode(frame).execServerMessage!.id! },
  };
}

/** From an exec's frame to the bytes that refuse it, and to those of a read that the host's own tool did. */
export const SESSION: readonly Case[] = [refuse(), translate()];
