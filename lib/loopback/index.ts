/** The other side: an agent host on 127.0.0.1 that does what a script says, for demos and tests. */
export { readCapture, type PlayedFrame } from "./capture.ts";
export { demoScript } from "./demo.ts";
export type { Fault, FaultAction, FaultStep, Place } from "./fault.ts";
export type { Prompt, Received, ReceivedFrame, RunState, ToolResult } from "./received.ts";
export { scriptFromJson, scriptsFromJson } from "./script-json.ts";
export type { Expectation, Expected, Pace, Script, Step, StepName, Steps } from "./script.ts";
export { startLoopback, type Loopback, type LoopbackOptions } from "./server.ts";
export { ScriptError } from "./shape.ts";
