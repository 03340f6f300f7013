import type { Script } from "./script.ts";

/**
 * The story of the demo: the model asks for its prompt, thinks, calls two tools at once, asks for a command, and answers
 * with what the tools said. It takes about a second and a half, so that a person can watch.
 */
export function demoScript(): Script {
  return [
    { getBlob: "root" },
    { requestContext: true },
    { thinking: "The user wants a product and the time. I have a calculator and a clock, so I need not guess.", chunks: "words", everyMs: 22 },
    { tokens: 24 },
    { text: "Let me work that out with your tools.", chunks: "words", everyMs: 22 },
    { tokens: 9 },
    { setBlob: { text: '{"role":"assistant","content":"Let me work that out with your tools."}' } },
    { announce: 2 },
    { mcp: { tool: "calculator", args: { expression: "6 * 7" } } },
    { mcp: { tool: "clock" } },
    { awaitResults: true },
    { thinking: "Now I try a command of my own, which the host will not run unasked.", chunks: "words", everyMs: 22 },
    { tokens: 16 },
    { exec: { case: "shellStreamArgs", args: { command: "date", description: "Print the date" } } },
    { textFrom: "results", template: "\n\nSix times seven is {calculator}, and your clock says {clock}.", chunks: "words", everyMs: 28 },
    { tokens: 18 },
    { checkpoint: true },
    { turnEnded: { usage: { inputTokens: 1200, outputTokens: 67 } } },
    { end: true },
  ];
}
