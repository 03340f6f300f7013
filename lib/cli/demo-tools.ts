import type { Tool, ToolMessage } from "../session/turn.ts";
import { calculate } from "./calculator.ts";

/** The tools of `run`: pure, so that trying a model out can't change anything. */
export const DEMO_TOOLS: readonly Tool[] = [
  {
    name: "calculator",
    description: "Computes an arithmetic expression: + - * / % ^, parentheses, sqrt, abs, min, max, round, pi, e.",
    inputSchema: {
      type: "object",
      properties: { expression: { type: "string", description: "for example (2 + 3) * 4" } },
      required: ["expression"],
      additionalProperties: false,
    },
  },
  {
    name: "clock",
    description: "Tells the current date and time.",
    inputSchema: {
      type: "object",
      properties: { timeZone: { type: "string", description: "an IANA time zone such as Europe/Berlin; default UTC" } },
      additionalProperties: false,
    },
  },
];

/** A call of a demo tool. */
export interface DemoCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/**
 * The result of a call. Never throws: what goes wrong is the result's text.
 * @param now what the clock shows
 */
export function callDemoTool(call: DemoCall, now: Date): ToolMessage {
  try {
    return resultOf(call, answer(call, now), false);
  } catch (error) {
    return resultOf(call, error instanceof Error ? error.message : String(error), true);
  }
}

function answer({ name, arguments: args }: DemoCall, now: Date): string {
  switch (name) {
    case "calculator":
      if (typeof args["expression"] !== "string") throw new TypeError("expression must be a string");
      return String(calculate(args["expression"]));
    case "clock":
      return timeIn(args["timeZone"] ?? "UTC", now);
    default:
      throw new TypeError(`there is no tool ${name}`);
  }
}

function timeIn(timeZone: unknown, now: Date): string {
  if (typeof timeZone !== "string") throw new TypeError("timeZone must be a string");
  // The Swedish form of a date is the ISO one.
  return `${now.toLocaleString("sv-SE", { timeZone })} ${timeZone}`;
}

function resultOf({ id, name }: DemoCall, text: string, isError: boolean): ToolMessage {
  return { role: "tool", toolCallId: id, toolName: name, content: [{ type: "text", text }], isError };
}
