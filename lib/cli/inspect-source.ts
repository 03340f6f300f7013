/** The forms in which frames reach `inspect`, told apart by their first bytes. */
import { EnvelopeReader, HEADER_LENGTH, LIMITS, WireError, type Envelope } from "../../wire/index.ts";
import type { CapturedFrame, CaptureHeader } from "../loopback/capture-line.ts";
import { linesOfCapture } from "./capture.ts";
import { Failure } from "./failure.ts";
import { printableText } from "./shown.ts";
import { isMessage } from "./walk.ts";

/** One frame, or a message without an envelope. */
export interface Frame {
  /** Absent for a message without an envelope. */
  readonly flags?: number;
  readonly payload: Uint8Array;
  /** Known in captures only. */
  readonly from?: "client" | "server";
  /** Milliseconds since the Run opened; known in captures only. */
  readonly at?: number;
  /** Bytes from the start of the input to the envelope's header; unknown in captures. */
  readonly offset?: number;
}

/** What an input yields: a capture's header first, then frames. */
export type Found = { readonly header: CaptureHeader } | { readonly frame: Frame };

/**
 * The frames of an input: a capture, a stream of envelopes, one message, or the hex text of the last two.
 * @param form "hex" where the input can be nothing else
 * @throws Failure at an input that is none of these; what came before it has been yielded
 */
export async function* framesOf(chunks: AsyncIterable<Uint8Array>, file: string, form: "any" | "hex" = "any"): AsyncGenerator<Found> {
  const [first, all] = await peek(chunks);
  if (first === undefined) throw empty(file);
  if (form === "any" && startsJson(first)) {
    for await (const line of linesOfCapture(all, file)) {
      if ("header" in line) yield line;
      else yield { frame: captured(line.frame) };
    }
  } else if (form === "hex" || looksLikeHex(first)) yield* binary(unhexed(all, file), file);
  else
    for await (const found of binary(all, file)) {
      if ("frame" in found && isText(found.frame)) throw new Failure("capture_invalid", `${file} is text, but neither a capture nor hex`, FORMS);
      yield found;
    }
}

const FORMS = "Give a capture, a stream of envelopes, a message, or the hex text of one.";

function empty(file: string): Failure {
  return new Failure("input_empty", `${file} holds nothing`, FORMS);
}

/** Whether what should be a message is none, but words. */
function isText({ flags, payload }: Frame): boolean {
  return flags === undefined && !isMessage(payload) && printableText(payload) !== undefined;
}

function captured({ at, from, envelope }: CapturedFrame): Frame {
  return { at, from, flags: envelope[0]!, payload: envelope.subarray(HEADER_LENGTH) };
}

/** The first chunk that is not empty, and all chunks from it on. */
async function peek(chunks: AsyncIterable<Uint8Array>): Promise<[Uint8Array | undefined, AsyncIterable<Uint8Array>]> {
  const iterator = chunks[Symbol.asyncIterator]();
  let next = await iterator.next();
  while (!next.done && next.value.length === 0) next = await iterator.next();
  const first = next.done ? undefined : next.value;
  return [first, rest(first, iterator)];
}

async function* rest(first: Uint8Array | undefined, iterator: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (first !== undefined) yield first;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}

const BRACE = 0x7b;
const MARK = [0xef, 0xbb, 0xbf];
const BLANK = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** A message may begin with what is a blank in text, so a capture may not. */
function startsJson(chunk: Uint8Array): boolean {
  return chunk[MARK.every((byte, index) => chunk[index] === byte) ? MARK.length : 0] === BRACE;
}

function looksLikeHex(chunk: Uint8Array): boolean {
  return chunk.subarray(0, 512).every((byte) => BLANK.has(byte) || digitOf(byte) >= 0);
}

function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** The bytes of hex text; blanks are passed over. */
async function* unhexed(chunks: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<Uint8Array> {
  let high = -1;
  let offset = 0;
  for await (const chunk of chunks) {
    const bytes = new Uint8Array((chunk.length >> 1) + 1);
    let length = 0;
    for (const byte of chunk) {
      const digit = digitOf(byte);
      if (digit >= 0 && high < 0) high = digit;
      else if (digit >= 0) {
        bytes[length++] = high * 16 + digit;
        high = -1;
      } else if (!BLANK.has(byte)) {
        if (length > 0) yield bytes.subarray(0, length);
        const found = `${JSON.stringify(String.fromCharCode(byte))} at character ${offset}`;
        throw new Failure("hex_invalid", `${file}: ${found} is no hex digit`, "Hex is digits, a to f, and blanks.");
      }
      offset++;
    }
    if (length > 0) yield bytes.subarray(0, length);
  }
  if (high >= 0) throw new Failure("hex_invalid", `${file}: a digit is missing at the end`, "Each byte takes two hex digits.");
}

/** Envelopes, or one message: a message can't begin with a byte below 8, and an envelope's flags always are. */
async function* binary(chunks: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<Found> {
  const reader = new EnvelopeReader({ compressed: true });
  let message: Uint8Array[] | undefined;
  let length = 0;
  let offset = 0;
  try {
    for await (const chunk of chunks) {
      if (message === undefined && length === 0 && chunk[0]! >= 8) message = [];
      length += chunk.length;
      if (message === undefined) {
        for (const envelope of reader.push(chunk)) {
          yield { frame: { ...envelope, offset } };
          offset += HEADER_LENGTH + envelope.payload.length;
        }
        continue;
      }
      message.push(chunk);
      if (length > LIMITS.envelope) {
        const message = `${file}: the message is over ${LIMITS.envelope} bytes`;
        throw new Failure("message_too_long", message, "Give a capture or a stream of envelopes.");
      }
    }
    if (length === 0) throw empty(file);
    if (message === undefined) reader.end();
    else yield { frame: { payload: Buffer.concat(message), offset: 0 } };
  } catch (error) {
    throw error instanceof WireError ? new Failure(error.code, `${file}: ${error.message}`, "The frames before that byte are shown.") : error;
  }
}

/** The flags of an envelope in words, where it has any. */
export function flagWords({ flags }: Pick<Envelope, "flags">): string[] {
  return [(flags & 1) !== 0 && "compressed", (flags & 2) !== 0 && "end-stream", flags > 3 && `reserved flags 0x${flags.toString(16)}`].filter(
    (word) => word !== false,
  );
}
