/**
 * Connect envelopes: one byte of flags, four of length (big-endian), the payload. A stream ends with an envelope that
 * carries {@link FLAG}.endStream.
 */
import { WireError, type WireErrorCode } from "./errors.ts";
import { LIMITS } from "./limits.ts";

/** The flag bits that Connect defines. The other six are reserved. */
export const FLAG = { compressed: 1, endStream: 2 } as const;

/** Bytes in front of every payload. */
export const HEADER_LENGTH = 5;

/** One envelope; the payload may be a view of the chunk that brought it. */
export interface Envelope {
  flags: number;
  payload: Uint8Array;
}

/** What an {@link EnvelopeReader} accepts. */
export interface EnvelopeLimits {
  /** Bytes of the largest payload; default 16 MiB. */
  limit?: number;
  /** Whether compressed envelopes are passed on instead of refused; default false. */
  compressed?: boolean;
}

/** The bytes of one envelope. */
export function encodeEnvelope(flags: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const { length } = payload;
  const bytes = new Uint8Array(HEADER_LENGTH + length);
  bytes[0] = flags;
  bytes[1] = length >>> 24;
  bytes[2] = length >>> 16;
  bytes[3] = length >>> 8;
  bytes[4] = length;
  bytes.set(payload, HEADER_LENGTH);
  return bytes;
}

/**
 * Cuts a byte stream into envelopes, however it was chunked. A payload inside one chunk is a view of it; one that
 * spans chunks is copied once, into memory of its exact size. The declared length is checked before that memory is
 * taken.
 */
export class EnvelopeReader {
  readonly #limit: number;
  readonly #compressed: boolean;
  readonly #header = new Uint8Array(HEADER_LENGTH);
  #headerLength = 0;
  #payload: Uint8Array | undefined;
  #filled = 0;
  #ended = false;
  #offset = 0;
  #failure: WireError | undefined;

  constructor(limits: EnvelopeLimits = {}) {
    this.#limit = limits.limit ?? LIMITS.envelope;
    this.#compressed = limits.compressed ?? false;
  }

  /** What is wrong with the stream, once something is. Nothing is read after it. */
  get failure(): WireError | undefined {
    return this.#failure;
  }

  /** Bytes of an envelope that has not arrived whole. */
  get pending(): number {
    return this.#headerLength + this.#filled;
  }

  /**
   * Takes the next bytes and returns the envelopes that they complete. Where the bytes go wrong behind complete
   * envelopes, those are returned first and {@link failure} holds what the next call will throw: so what a reader
   * sees does not depend on how the stream was cut.
   * @throws WireError `envelope_length`, `envelope_flags`, `envelope_compressed` or `envelope_after_end`
   */
  push(chunk: Uint8Array): Envelope[] {
    if (this.#failure) throw this.#failure;
    const envelopes: Envelope[] = [];
    // Views of a subclass such as Buffer cost half as much again.
    if (chunk.constructor !== Uint8Array) chunk = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
    let at = 0;
    while (at < chunk.length) {
      if (this.#ended) return this.#fail("envelope_after_end", at, envelopes);
      if (this.#payload === undefined) {
        let header = chunk;
        let start = at;
        if (this.#headerLength > 0 || chunk.length - at < HEADER_LENGTH) {
          while (this.#headerLength < HEADER_LENGTH && at < chunk.length) this.#header[this.#headerLength++] = chunk[at++]!;
          const code = this.#refusal(this.#header[0]!);
          if (code) return this.#fail(code, at - this.#headerLength, envelopes);
          if (this.#headerLength < HEADER_LENGTH) break;
          header = this.#header;
          start = 0;
        } else at += HEADER_LENGTH;
        const flags = header[start]!;
        if (flags !== 0) {
          const code = this.#refusal(flags);
          if (code) return this.#fail(code, at - HEADER_LENGTH, envelopes);
        }
        const length = ((header[start + 1]! << 24) | (header[start + 2]! << 16) | (header[start + 3]! << 8) | header[start + 4]!) >>> 0;
        if (length > this.#limit) return this.#fail("envelope_length", at - HEADER_LENGTH, envelopes, `${length} bytes declared, ${this.#limit} allowed`);
        if (chunk.length - at >= length) {
          envelopes.push({ flags, payload: chunk.subarray(at, at + length) });
          at += length;
          if (header === this.#header) this.#headerLength = 0;
          if (flags !== 0) this.#ended = (flags & FLAG.endStream) !== 0;
          continue;
        }
        this.#header[0] = flags;
        this.#headerLength = HEADER_LENGTH;
        this.#payload = new Uint8Array(length);
        this.#filled = 0;
      }
      const payload = this.#payload;
      const count = Math.min(payload.length - this.#filled, chunk.length - at);
      if (count < 16) for (let index = 0; index < count; index++) payload[this.#filled + index] = chunk[at + index]!;
      else payload.set(count === chunk.length ? chunk : chunk.subarray(at, at + count), this.#filled);
      at += count;
      this.#filled += count;
      if (this.#filled === payload.length) {
        const flags = this.#header[0]!;
        envelopes.push({ flags, payload });
        this.#payload = undefined;
        this.#headerLength = this.#filled = 0;
        this.#ended = (flags & FLAG.endStream) !== 0;
      }
    }
    this.#offset += chunk.length;
    return envelopes;
  }

  /**
   * Says that no more bytes will come.
   * @throws WireError `envelope_truncated` inside an envelope
   */
  end(): void {
    if (this.#failure) throw this.#failure;
    if (this.pending > 0) this.#fail("envelope_truncated", 0, [], `${this.pending} bytes of it arrived`);
  }

  #refusal(flags: number): WireErrorCode | undefined {
    if ((flags & ~(FLAG.compressed | FLAG.endStream)) !== 0) return "envelope_flags";
    if ((flags & FLAG.compressed) !== 0 && !this.#compressed) return "envelope_compressed";
    return undefined;
  }

  #fail(code: WireErrorCode, at: number, envelopes: Envelope[], detail = ""): Envelope[] {
    this.#failure = new WireError(code, this.#offset + at, "", detail);
    this.#payload = undefined;
    if (envelopes.length === 0) throw this.#failure;
    return envelopes;
  }
}
