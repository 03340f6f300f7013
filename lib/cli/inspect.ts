import { decodeEndStream, FLAG, LIMITS, type Message } from "../../wire/index.ts";
import * as agent from "../agent/index.ts";
import { nearest } from "../loopback/nearest.ts";
import { tell, UsageError } from "./failure.ts";
import { inputOf, type Input } from "./input.ts";
import { fieldLines } from "./inspect-text.ts";
import { flagWords, framesOf, type Found, type Frame } from "./inspect-source.ts";
import { printable } from "./printable.ts";
import { hexOf, printableText, showMessage, type Extent, type ShownMessage } from "./shown.ts";
import type { Context } from "./verb.ts";
import type { AnyTable } from "./walk.ts";

/** What is shown of a frame, and with --full: all of it, but of no more fields than a message may have elements. */
const EXTENT: Extent = { fields: 2000, text: 200, bytes: 48 };
const FULL: Extent = { fields: LIMITS.elements, text: Infinity, bytes: Infinity };

/** Prints every frame of the inputs (DESIGN §5). Resolves to 1 where a frame or an input was malformed. @throws at an abort */
export async function inspect(context: Context): Promise<number> {
  const { arguments: args, out, signal } = context;
  const table = args.has("as") ? tableOf(args.value("as")!) : undefined;
  let failed = false;
  for (const { name, chunks } of inputsOf(context)) {
    const inspection = new Inspection(context, name, table, args.has("full") ? FULL : EXTENT);
    try {
      for await (const found of framesOf(chunks, name, args.has("hex") ? "hex" : "any")) {
        signal.throwIfAborted();
        inspection.show(found);
        await out.drained();
      }
    } catch (error) {
      signal.throwIfAborted();
      failed = true;
      tell(out, error);
    }
    failed ||= inspection.failed;
  }
  return failed ? 1 : 0;
}

function inputsOf(context: Context): Input[] {
  const { positionals, has } = context.arguments;
  if (positionals.length === 0 && context.stdin.isTTY) throw new UsageError("inspect needs a FILE, --hex HEX, or bytes on stdin", "inspect");
  if (positionals.length === 0) return [inputOf("-", context)];
  return positionals.map((positional) => (has("hex") && positional !== "-" ? { name: "the hex", chunks: once(Buffer.from(positional)) } : inputOf(positional, context)));
}

async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}

const SIDES = { client: agent.AgentClientMessage as AnyTable, server: agent.AgentServerMessage as AnyTable };

/** The table that --as names. */
function tableOf(name: string): NamedTable {
  if (name === "client" || name === "server") return { name: NAMES[name], table: SIDES[name] };
  const tables = Object.entries(agent).filter(([, value]) => isTable(value));
  const found = tables.find(([key]) => key === name);
  if (found !== undefined) return { name, table: found[1] as unknown as AnyTable };
  const near = nearest(name, ["client", "server", ...tables.map(([key]) => key)]);
  const hint = near === undefined ? "they are called as cursor-wire/agent exports them, such as ShellArgs" : `did you mean ${near}?`;
  throw new UsageError(`there is no message ${name}; ${hint}`, "inspect");
}

function isTable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "fields" in value && typeof (value as Message<never>).decode === "function";
}

interface NamedTable {
  readonly name: string;
  readonly table: AnyTable;
}

const NAMES = { client: "AgentClientMessage", server: "AgentServerMessage" } as const;

/** One input being inspected. */
class Inspection {
  readonly #context: Context;
  readonly #file: string;
  readonly #extent: Extent;
  #table: NamedTable | undefined;
  #count = 0;
  failed = false;

  constructor(context: Context, file: string, table: NamedTable | undefined, extent: Extent) {
    this.#context = context;
    this.#file = file;
    this.#table = table;
    this.#extent = extent;
  }

  show(found: Found): void {
    const { out } = this.#context;
    if ("frame" in found) this.#frame(found.frame);
    else if (out.json) out.object({ type: "capture", file: this.#file, ...found.header });
    else {
      const { source, client, note, redacted } = found.header;
      out.line(out.style.bold(this.#file));
      out.line(printable([source, redacted && "redacted", client, note].filter(Boolean).join(" · ")));
    }
  }

  #frame(frame: Frame): void {
    const { out } = this.#context;
    const index = ++this.#count;
    const { flags, payload, from, at, offset } = frame;
    const facts = { frame: index, file: this.#file, from, at, offset, flags, length: payload.length };
    const words = flags === undefined ? [] : flagWords({ flags });
    if (!out.json) out.line(this.#title(index, frame, words));
    if (flags !== undefined && (flags & FLAG.endStream) !== 0) this.#endStream(facts, payload);
    else if (flags !== undefined && flags !== 0) this.#opaque(facts, payload);
    else this.#message(facts, payload, from);
  }

  #title(index: number, { payload, from, at, offset }: Frame, words: readonly string[]): string {
    const where = at === undefined ? `at byte ${offset}` : `${from} +${at} ms`;
    return this.#context.out.style.bold(`#${index} ${[where, `${payload.length} bytes`, ...words].join(", ")}`);
  }

  #message(facts: object, payload: Uint8Array, from: Frame["from"]): void {
    const { out } = this.#context;
    const { name, table } = this.#tableFor(payload, from);
    const { fields, more, error, drifts } = showMessage(payload, table, this.#extent);
    if (error) this.failed = true;
    if (out.json) {
      const wrong = error && { code: error.code, offset: error.offset, message: error.message };
      out.object({ ...facts, message: name, fields, drifts, ...(more && { more }), ...(wrong && { error: wrong }) });
      return;
    }
    out.line(`  ${out.style.dim(name)}${payload.length === 0 ? " {}" : ""}`);
    for (const line of fieldLines(fields, out.style)) out.line(line);
    if (more) out.line(out.style.yellow(`  … more fields than ${this.#extent.fields}${this.#extent === FULL ? "" : ": --full shows them"}`));
    if (error) out.line(out.style.red(`  ! malformed: ${printable(error.message)}`));
  }

  #endStream(facts: object, payload: Uint8Array): void {
    const { out } = this.#context;
    const text = printableText(payload);
    let error: string | undefined;
    try {
      decodeEndStream(payload);
    } catch (cause) {
      this.failed = true;
      error = (cause as Error).message;
    }
    if (out.json) out.object({ ...facts, endStream: error === undefined ? JSON.parse(text!) : null, ...(error !== undefined && { text, error }) });
    else {
      out.line(`  ${text === undefined ? out.style.dim(`${payload.length} bytes`) : printable(text.slice(0, this.#extent.text * 10))}`);
      if (error !== undefined) out.line(out.style.red(`  ! malformed: ${error}`));
    }
  }

  /** A payload that can't be read: compressed, or under flags that mean nothing. */
  #opaque(facts: object, payload: Uint8Array): void {
    const { out } = this.#context;
    const shown = hexOf(payload, this.#extent.bytes);
    if (out.json) out.object({ ...facts, hex: shown });
    else out.line(`  ${out.style.dim("not decoded")} ${shown}${payload.length > this.#extent.bytes ? out.style.dim(" …") : ""}`);
  }

  /** The direction's table, or the one of --as; else the side that fits the first frame better, kept for the rest. */
  #tableFor(payload: Uint8Array, from: Frame["from"]): NamedTable {
    if (this.#table) return this.#table;
    if (from) return { name: NAMES[from], table: SIDES[from] };
    const side = worth(payload, SIDES.client) > worth(payload, SIDES.server) ? "client" : "server";
    return (this.#table = { name: NAMES[side], table: SIDES[side] });
  }
}

/** How well a table fits: the fewer fields with drift the better, and an error is worst. */
function worth(payload: Uint8Array, table: AnyTable): number {
  const { drifts, error }: ShownMessage = showMessage(payload, table, { ...EXTENT, text: 0, bytes: 0, guess: false });
  return error ? -Infinity : -drifts;
}
