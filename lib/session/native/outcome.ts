import type { Decoded } from "../../../wire/index.ts";
import type { ExecClientMessage } from "../../agent/exec-client.ts";
import { decodeImage, imageNote, type LiveImage } from "../images.ts";
import type { ToolMessage } from "../turn.ts";
import type { Operation, Values } from "./operation.ts";

/** What the host says that a tool returned. */
export type ToolResult = Pick<ToolMessage, "content" | "isError">;

/** A result without what the host put around it. */
export interface Outcome {
  /** All texts, joined by line breaks; images that can not be sent are notes in it. */
  readonly text: string;
  readonly isError: boolean;
  readonly images: readonly LiveImage[];
}

/** The result field of an exec's answer, without its ids. */
export type Result = Decoded<typeof ExecClientMessage>;

/** What an answer is made of. */
export interface Answer {
  readonly operation: Operation;
  readonly outcome: Outcome;
  /** The folder that the Run works in. */
  readonly workspace: string;
  /** Whether a command stood in for a tool that the host does not have ({@link composite}). */
  readonly composite: boolean;
  /** Whether the host's tool was given this value. */
  readonly passed: (value: keyof Values) => boolean;
}

/** How a script's result begins (PROTOCOL §5.1). */
const HEADER = /^Script (completed|failed)\n(?:Wall time [^\n]*\n)?(?:Output:(?:\n|$))?/;
const SCRIPT_ERROR = "Script error:\n";
/** What the host adds to a script's error: what had been called before, and above it where it was thrown. */
const CALLED = /^(?:No tool calls were made|Tool calls made before the failure)/;
const THROWN = /^[ \t]+at /;
/** How the script of {@link fillScript} reports an exit code: the call itself has succeeded. */
const EXITED = /(?:^|\n\n)Command exited with code -?\d+$/;

/** Reads a result; of a script's, its output or its error. */
export function readOutcome(result: ToolResult, unwrap: "plain" | "codemode"): Outcome {
  const texts: string[] = [];
  const images: LiveImage[] = [];
  for (const part of result.content) {
    if (part.type === "text") {
      texts.push(part.text);
      continue;
    }
    const decoded = decodeImage(part);
    if (decoded.ok) images.push(decoded.image);
    else texts.push(decoded.note);
  }
  const isError = result.isError ?? false;
  const { text, failed } = unwrap === "codemode" ? unwrapScript(texts) : { text: texts.join("\n"), failed: false };
  return { text, isError: isError || failed, images };
}

/** The text of a result whose answer has no place for images: each is a note. */
export function textOf({ text, images }: Outcome): string {
  const notes = images.map(({ mimeType }) => imageNote(`this result can not hold an ${mimeType}`));
  return [...(text === "" && notes.length > 0 ? [] : [text]), ...notes].join("\n");
}

function unwrapScript(texts: readonly string[]): { text: string; failed: boolean } {
  const [first = "", ...rest] = texts;
  const header = HEADER.exec(first);
  const body = first.slice(header?.[0].length ?? 0);
  const text = [...(header !== null && body === "" ? [] : [body]), ...rest].join("\n");
  if (header?.[1] !== "failed") return { text, failed: EXITED.test(text.slice(-100)) };
  const at = text.lastIndexOf(SCRIPT_ERROR);
  const error = at < 0 ? text : withoutAppendix(text.slice(at + SCRIPT_ERROR.length));
  return { text: error.replace(/^Error: /, ""), failed: true };
}

function withoutAppendix(error: string): string {
  const called = error.lastIndexOf("\n\n");
  const lines = (called >= 0 && CALLED.test(error.slice(called + 2)) ? error.slice(0, called) : error).split("\n");
  while (lines.length > 1 && THROWN.test(lines[lines.length - 1]!)) lines.pop();
  return lines.join("\n");
}
