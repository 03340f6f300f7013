import assert from "node:assert/strict";
import type { Received, Script } from "../../lib/loopback/index.ts";
import type { Pi } from "./install.ts";
import type { Line, Output } from "./process.ts";
import type { Scene, Setting } from "./scene.ts";

/** A named case: what stands, and what must come out. */
export interface Case {
  readonly name: string;
  /** Only for this line of Pi. */
  readonly line?: Pi["line"];
  readonly setting: Setting;
  check(scene: Scene): Promise<void>;
}

/** The end of an ordinary turn. */
export const END: Script = [{ checkpoint: true }, { turnEnded: true }, { end: true }];

/** An answer in words. */
export const says = (text: string): Script => [{ getBlob: "root" }, { text }, { tokens: 5 }, ...END];

/** Everything that was asked for came in the protocol's way. */
export function assertClean(received: Received): void {
  assert.deepEqual(received.violations, []);
}

/** Pi ended well and printed this, and did not hang on afterwards. */
export function assertPrinted(output: Output, text: string): void {
  assert.equal(output.code, 0, `exit code ${output.code}\n${output.stdout}\n${output.stderr}`);
  assert.equal(output.stdout.trim(), text);
}

/** The assistant messages that ended, in order. */
export function messagesOf(lines: readonly Line[]): { stopReason: string; errorMessage?: string; content: { type: string; text?: string; name?: string }[]; usage: Record<string, number> }[] {
  return lines.flatMap((line) => {
    const message = line["message"] as { role?: string } | undefined;
    return line.type === "message_end" && message?.role === "assistant" ? [message as never] : [];
  });
}

/** The text of the last assistant message. */
export function lastText(lines: readonly Line[]): string {
  return (messagesOf(lines).at(-1)?.content ?? []).flatMap((block) => block.text ?? []).join("").trim();
}

/** What the model was shown of the conversation, as JSON. */
export function promptOf(received: Received): string {
  return JSON.stringify(received.prompt.messages);
}
