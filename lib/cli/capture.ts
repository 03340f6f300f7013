/**
 * Captures (DESIGN §8): one Run a file, one JSON object a line. The first line says what it is, each other holds one
 * envelope with its header, and when it passed.
 */
import { HEADER_LENGTH } from "../../wire/index.ts";
import { Failure } from "./failure.ts";
import type { Line } from "./lines.ts";
import { jsonLine } from "./printable.ts";

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

/** One envelope that passed: `at` milliseconds after the Run opened, header included. */
export interface CapturedFrame {
  readonly at: number;
  readonly from: "client" | "server";
  readonly envelope: Uint8Array;
}

/** A line of a capture, checked. */
export type CaptureLine = { readonly number: number } & ({ readonly header: CaptureHeader } | { readonly frame: CapturedFrame });

/**
 * The header and the frames of a capture. Each line is checked when it is reached.
 * @param file what the errors call it
 * @throws Failure `capture_invalid`, with file, line and what is wrong
 */
export async function* readCapture(lines: AsyncIterable<Line>, file: string): AsyncGenerator<CaptureLine> {
  let first = true;
  for await (const { number, text } of lines) {
    if (text.trim() === "") continue;
    const refuse = (why: string) => new Failure("capture_invalid", `${file}:${number}: ${why}`, NEXT);
    const json = objectOf(text, refuse);
    yield first ? { number, header: headerOf(json, refuse) } : { number, frame: frameOf(json, refuse) };
    first = false;
  }
  if (first) throw new Failure("capture_invalid", `${file}: it is empty`, NEXT);
}

const NEXT = "A capture is written by: cursor-wire run --record FILE";

/** The first line of a capture, with its end. */
export function headerLine(header: CaptureHeader): string {
  return `${jsonLine(header)}\n`;
}

/** The line of a frame, with its end. */
export function frameLine({ at, from, envelope }: CapturedFrame): string {
  const base64 = Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length).toString("base64");
  return `${jsonLine({ at: Math.round(at), from, envelope: base64 })}\n`;
}

type Refuse = (why: string) => Failure;

function objectOf(text: string, refuse: Refuse): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw refuse("the line is no JSON");
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw refuse("the line is no JSON object");
  return json as Record<string, unknown>;
}

function headerOf(json: Record<string, unknown>, refuse: Refuse): CaptureHeader {
  const { capture, rpc, source, client, note, redacted } = json;
  if (capture === undefined) throw refuse('the first line has no "capture": 1');
  if (capture !== 1) throw refuse(`"capture" is ${jsonLine(capture)}; this version reads 1`);
  if (rpc !== RPC) throw refuse(`"rpc" is ${said(rpc)}; expected "${RPC}"`);
  if (source !== "live" && source !== "synthetic") throw refuse(`"source" is ${said(source)}; expected "live" or "synthetic"`);
  for (const [name, value] of Object.entries({ client, note }))
    if (value !== undefined && typeof value !== "string") throw refuse(`"${name}" is ${said(value)}; expected a string`);
  return {
    capture,
    rpc,
    source,
    ...(client !== undefined && { client: client as string }),
    ...(note !== undefined && { note: note as string }),
    ...(redacted === true && { redacted }),
  };
}

function frameOf(json: Record<string, unknown>, refuse: Refuse): CapturedFrame {
  const { at, from, envelope } = json;
  if (typeof at !== "number" || at < 0) throw refuse(`"at" is ${said(at)}; expected milliseconds since the Run opened`);
  if (from !== "client" && from !== "server") throw refuse(`"from" is ${said(from)}; expected "client" or "server"`);
  if (typeof envelope !== "string" || !isBase64(envelope))
    throw refuse(`"envelope" is ${typeof envelope === "string" ? "no base64" : said(envelope)}; expected the base64 of an envelope`);
  const bytes = new Uint8Array(Buffer.from(envelope, "base64"));
  if (bytes.length < HEADER_LENGTH) throw refuse(`the envelope has ${bytes.length} bytes; its header alone takes ${HEADER_LENGTH}`);
  const declared = new DataView(bytes.buffer).getUint32(1);
  if (declared !== bytes.length - HEADER_LENGTH)
    throw refuse(`the envelope declares ${declared} bytes and holds ${bytes.length - HEADER_LENGTH}`);
  return { at, from, envelope: bytes };
}

/** In pieces of one kind: a pattern for the whole would overflow on 20 MB. */
function isBase64(text: string): boolean {
  const end = text.endsWith("==") ? -2 : text.endsWith("=") ? -1 : text.length;
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.slice(0, end));
}

function said(value: unknown): string {
  return value === undefined ? "missing" : jsonLine(value).slice(0, 80);
}
