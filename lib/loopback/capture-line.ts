/**
 * The lines of a capture (DESIGN §8): one Run a file, one JSON object a line. The first says what it is, each other
 * holds one envelope with its header, and when it passed. What an envelope holds is not looked at, its flags neither: a
 * capture shows what a bad peer sent.
 */
import { HEADER_LENGTH } from "../../wire/index.ts";
import type { CapturedFrame } from "../driver/provider.ts";
import { parseJson } from "./json.ts";
import { isRecord, ScriptError, shown } from "./shape.ts";

export type { CapturedFrame };

/** The RPC that a capture is of. */
export const RPC = "agent.v1.AgentService/Run";

/** The first line of a capture. */
export interface CaptureHeader {
  readonly capture: 1;
  readonly rpc: typeof RPC;
  /** Where the frames come from: a real service, or a host made here. */
  readonly source: "live" | "synthetic";
  /** What wrote it. */
  readonly client?: string;
  readonly note?: string;
  /** Whether texts were replaced by filler. */
  readonly redacted?: boolean;
}

/** One line of a text, without its end. */
export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** A line of a capture, checked. */
export type CaptureLine = { readonly number: number } & ({ readonly header: CaptureHeader } | { readonly frame: CapturedFrame });

/** The first line of a capture, with its end. */
export function headerLine(header: CaptureHeader): string {
  return `${JSON.stringify(header)}\n`;
}

/** The line of a frame, with its end. */
export function frameLine({ at, from, envelope }: CapturedFrame): string {
  const base64 = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length).toString("base64");
  return `${JSON.stringify({ at: Math.round(at), from, envelope: base64 })}\n`;
}

/**
 * The header and then the frames of a capture; blank lines are passed over. Each line is checked when it is reached.
 * @param file what the errors call it
 * @throws ScriptError that says where, as `file:line`, and what is wrong
 */
export async function* captureLines(lines: Iterable<Line> | AsyncIterable<Line>, file: string): AsyncGenerator<CaptureLine> {
  let first = true;
  for await (const { number, text } of lines) {
    if (text.trim() === "") continue;
    const refuse: Refuse = (why) => new ScriptError(`${file}:${number}`, why);
    const json = objectOf(text, refuse);
    yield first ? { number, header: headerOf(json, refuse) } : { number, frame: frameOf(json, refuse) };
    first = false;
  }
  if (first) throw new ScriptError(file, "it is empty");
}

/** The most values of one line: those that are read are eight at most. */
const VALUES = 1000;

type Refuse = (why: string) => ScriptError;

function objectOf(text: string, refuse: Refuse): Record<string, unknown> {
  let json: unknown;
  try {
    json = parseJson(text, VALUES);
  } catch (error) {
    throw refuse(error instanceof RangeError ? error.message : "the line is no JSON; each line of a capture is an object");
  }
  if (!isRecord(json)) throw refuse("the line is no JSON object");
  return json;
}

function headerOf(json: Record<string, unknown>, refuse: Refuse): CaptureHeader {
  const { capture, rpc, source, client, note, redacted } = json;
  if (capture === undefined) throw refuse('the first line has no "capture": 1');
  if (capture !== 1) throw refuse(`"capture" is ${shown(capture)}; this version reads 1`);
  if (rpc !== RPC) throw refuse(`"rpc" is ${said(rpc)}; expected "${RPC}"`);
  if (source !== "live" && source !== "synthetic") throw refuse(`"source" is ${said(source)}; expected "live" or "synthetic"`);
  for (const [name, value, type] of [["client", client, "string"], ["note", note, "string"], ["redacted", redacted, "boolean"]] as const)
    if (value !== undefined && typeof value !== type) throw refuse(`"${name}" is ${said(value)}; expected a ${type}`);
  return {
    capture,
    rpc,
    source,
    ...(client !== undefined && { client: client as string }),
    ...(note !== undefined && { note: note as string }),
    ...(redacted !== undefined && { redacted: redacted as boolean }),
  };
}

function frameOf(json: Record<string, unknown>, refuse: Refuse): CapturedFrame {
  const { at, from, envelope } = json;
  if (typeof at !== "number" || !(at >= 0 && at < Infinity)) throw refuse(`"at" is ${said(at)}; expected milliseconds since the Run opened`);
  if (from !== "client" && from !== "server") throw refuse(`"from" is ${said(from)}; expected "client" or "server"`);
  if (typeof envelope !== "string") throw refuse(`"envelope" is ${said(envelope)}; expected the base64 of an envelope`);
  const decoded = Buffer.from(envelope, "base64");
  // Buffer passes over what is no base64. Every content has one canonical text, so only that comes back as it was.
  if (decoded.toString("base64") !== envelope) throw refuse('"envelope" is no canonical base64; expected the base64 of an envelope');
  const bytes = new Uint8Array(decoded);
  if (bytes.length < HEADER_LENGTH) throw refuse(`the envelope has ${bytes.length} bytes; its header alone takes ${HEADER_LENGTH}`);
  const declared = new DataView(bytes.buffer).getUint32(1);
  if (declared !== bytes.length - HEADER_LENGTH)
    throw refuse(`the envelope declares ${declared} bytes and holds ${bytes.length - HEADER_LENGTH}`);
  return { at, from, envelope: bytes };
}

function said(value: unknown): string {
  return value === undefined ? "missing" : shown(value);
}
