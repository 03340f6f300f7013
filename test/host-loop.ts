/** What a host does between legs: it answers the calls, and asks again with the longer transcript. */
import * as assert from "uvu/assert";
import type { Provider, ToolCallPart, ToolMessage, TurnRequest } from "../lib/index.ts";
import { outcome, type Outcome } from "./raw-host.ts";

/** What a tool of the host gives for a call. */
export type Result = Pick<ToolMessage, "content" | "isError">;

/** A result of one text. */
export function said(text: string, isError = false): Result {
  return { content: [{ type: "text", text }], isError };
}

/** What a leg called. */
export function callsOf({ events }: Outcome): ToolCallPart[] {
  return events.filter((event) => event.type === "tool_call");
}

/** The request after a leg: what it called, and a result for each call. */
export function after(request: TurnRequest, leg: Outcome, answer: (call: ToolCallPart) => Result = () => said("found")): TurnRequest {
  const calls = callsOf(leg);
  const results = calls.map((call): ToolMessage => ({ role: "tool", toolCallId: call.id, toolName: call.name, ...answer(call) }));
  return { ...request, messages: [...request.messages, { role: "assistant", content: calls }, ...results] };
}

/** Runs a turn to its very end, leg by leg. Only the last may have failed. */
export async function wholeTurn(provider: Provider, request: TurnRequest, answer?: (call: ToolCallPart) => Result): Promise<Outcome[]> {
  const legs: Outcome[] = [];
  for (let next = request; legs.length < 30; next = after(next, legs.at(-1)!, answer)) {
    const leg = await outcome(provider.stream(next));
    legs.push(leg);
    assert.is(leg.events.filter(({ type }) => type === "done").length + (leg.error ? 1 : 0), 1, "one terminal event a leg");
    if (leg.error || callsOf(leg).length === 0) return legs;
  }
  throw new Error("the turn does not come to an end");
}
