import type { Diagnostic, ToolMessage, TurnEvent } from "../session/turn.ts";
import type { Output } from "./output.ts";
import { jsonLine, printable } from "./printable.ts";

/** Characters of a tool's arguments or result that are shown. */
const SHOWN = 200;

/** Diagnostics that every turn has. */
const UNREMARKABLE: ReadonlySet<string> = new Set(["billing"]);

/** Prints the events of a turn: as JSON lines, or for people, with thinking dimmed and a line of usage at the end. */
export class Display {
  readonly #out: Output;
  /** What the current line of stdout holds. */
  #line: "text" | "thinking" | "nothing" = "nothing";
  #input = 0;
  #output = 0;

  constructor(out: Output) {
    this.#out = out;
  }

  event(event: TurnEvent): void {
    if (this.#out.json) this.#out.object(event);
    else this.#show(event);
  }

  /** A tool's result, which goes back with the next leg. */
  result(message: ToolMessage): void {
    const { toolCallId, toolName, content, isError = false } = message;
    const text = content.map((part) => (part.type === "text" ? part.text : `(${part.mimeType})`)).join("\n");
    if (this.#out.json) this.#out.object({ type: "tool_result", id: toolCallId, name: toolName, text, isError });
    else this.#out.line(`  ${isError ? this.#out.style.red("failed:") : this.#out.style.dim("=")} ${short(text)}`);
  }

  /** A diagnostic, with its details, on stderr: on a line of its own where stdout is seen beside it. Not where every turn has it. */
  diagnostic({ type, message, ...detail }: Diagnostic): void {
    if (UNREMARKABLE.has(type)) return;
    if (this.#out.together) this.break();
    const details = Object.entries(detail).map(([name, value]) => `${name} ${String(value)}`);
    const text = details.length === 0 ? message : `${message} (${details.join(", ")})`;
    this.#out.note(this.#out.noteStyle.dim(`${type}: ${printable(text)}`));
  }

  /** The end of the turn, when its last event has been shown. */
  end(): void {
    this.break();
    if (!this.#out.json) this.#out.line(this.#out.style.dim(`— ${this.#input} tokens in (estimated), ${this.#output} out`));
  }

  #show(event: TurnEvent): void {
    const { style } = this.#out;
    switch (event.type) {
      case "text":
      case "thinking":
        this.#delta(event.type, event.delta);
        return;
      case "tool_call":
        this.break();
        this.#out.line(`${style.cyan(printable(event.name))} ${short(jsonLine(event.arguments))}`);
        return;
      case "reset":
        this.break();
        this.#out.line(style.yellow("(the remote conversation was stale: starting again)"));
        return;
      case "usage":
        this.#input = event.input;
        this.#output += event.output;
        return;
      case "done":
        this.break();
        return;
      default:
        event satisfies never;
    }
  }

  /** A block of thinking or text begins on a line of its own; blank lines in front of it are left out. */
  #delta(kind: "text" | "thinking", delta: string): void {
    const begins = this.#line !== kind;
    const text = printable(begins ? delta.replace(/^\n+/, "") : delta);
    if (text === "") return;
    if (begins) this.break();
    this.#line = kind;
    const { dim } = this.#out.style;
    this.#out.write(kind === "text" ? text : dim(`${begins ? "thinking: " : ""}${text}`));
  }

  /** Ends a line that text has begun. */
  break(): void {
    if (this.#line !== "nothing") this.#out.write("\n");
    this.#line = "nothing";
  }
}

function short(text: string): string {
  return printable(text.length > SHOWN ? `${text.slice(0, SHOWN)} … ${text.length - SHOWN} more characters` : text);
}
