/**
 * Connect envelopes: one byte of flags, four of length (big-endian), the payload. A stream ends with an envelope that
 * carries {@link FLAG}.endStream.
 */
import { WireError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { plain, uninitialized } from "./native.ts";

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

/**
 * The bytes of one envelope.
 * @throws RangeError where the payload is longer than four bytes can say
 */
export function encodeEnvelope(flags: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const { length } = payload;
  if (length > 0xffff_ffff) throw new RangeError(`an envelope holds no ${length} bytes`);
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
  /** The payload behind a whole {@link #header}, while it has not arrived whole. */
  #payload: Uint8Array | undefined;
  #filled = 0;
  #ended = false;
  /** Bytes of the stream before the current chunk. */
  #offset = 0;
  #failure: WireError | undefined;

  /** @throws RangeError where the limit is no number of bytes */
  constructor(limits: EnvelopeLimits = {}) {
    const { limit = LIMITS.envelope } = limits;
    if (!(limit >= 0)) throw new RangeError(`an envelope is not limited to ${limit} bytes`);
    this.#limit = limit;
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
   * sees does not depend on how the stream was cut; nor is there a bound on their number, of which each takes about a
   * microsecond and 160 bytes. Empty ones take five bytes of a chunk: hand over no more at once than a socket does.
   * @throws WireError `envelope_length`, `envelope_flags`, `envelope_compressed` or `envelope_after_end`
   */
  push(chunk: Uint8Array): Envelope[] {
    if (this.#failure) throw this.#failure;
    chunk = plain(chunk);
    const envelopes: Envelope[] = [];
    try {
      let at = 0;
      while (at < chunk.length) {
        if (this.#headerLength === 0) at = this.#whole(chunk, at, envelopes);
        if (at < chunk.length) at = this.#part(chunk, at, envelopes);
      }
    } catch (error) {
      this.#failure = error as WireError;
      this.#payload = undefined;
      if (envelopes.length === 0) throw error;
    }
    this.#offset += chunk.length;
    return envelopes;
  }

  /**
   * Says that no more bytes will come.
   * @throws WireError `envelope_truncated` inside an envelope
   */
  end(): void {
    const { pending } = this;
    if (pending > 0) this.#failure ??= new WireError("envelope_truncated", this.#offset - pending, "", `${pending} bytes of it arrived`);
    if (this.#failure) throw this.#failure;
  }

  /** Takes the envelopes that lie whole in the chunk. Returns where the first one starts that does not. */
  #whole(chunk: Uint8Array, at: number, envelopes: Envelope[]): number {
    // `new Uint8Array` takes half the time of `subarray`, which looks for a species.
    const { buffer, byteOffset } = chunk;
    while (at + HEADER_LENGTH <= chunk.length) {
      const flags = chunk[at]!;
      if (flags !== 0 || this.#ended) this.#checkFlags(flags, at);
      const length = this.#lengthAt(chunk, at + 1, at);
      const start = at + HEADER_LENGTH;
      const end = start + length;
      if (end > chunk.length) break;
      envelopes.push({ flags, payload: new Uint8Array(buffer, byteOffset + start, length) });
      if (flags !== 0) this.#ended = (flags & FLAG.endStream) !== 0;
      at = end;
    }
    return at;
  }

  /** Takes bytes of one envelope that spans chunks. Returns where they end. */
  #part(chunk: Uint8Array, at: number, envelopes: Envelope[]): number {
    const header = this.#header;
    if (this.#payload === undefined) {
      const start = at - this.#headerLength;
      while (this.#headerLength < HEADER_LENGTH && at < chunk.length) header[this.#headerLength++] = chunk[at++]!;
      this.#checkFlags(header[0]!, start);
      if (this.#headerLength < HEADER_LENGTH) return at;
      this.#payload = uninitialized(this.#lengthAt(header, 1, start));
    }
    const payload = this.#payload;
    const count = Math.min(payload.length - this.#filled, chunk.length - at);
    if (count < 16) for (let index = 0; index < count; index++) payload[this.#filled + index] = chunk[at + index]!;
    else payload.set(count === chunk.length ? chunk : chunk.subarray(at, at + count), this.#filled);
    this.#filled += count;
    if (this.#filled === payload.length) {
      envelopes.push({ flags: header[0]!, payload });
      this.#ended = (header[0]! & FLAG.endStream) !== 0;
      this.#payload = undefined;
      this.#headerLength = this.#filled = 0;
    }
    return at + count;
  }

  #checkFlags(flags: number, at: number): void {
    const code =
      this.#ended ? "envelope_after_end"
      : (flags & ~(FLAG.compressed | FLAG.endStream)) !== 0 ? "envelope_flags"
      : (flags & FLAG.compressed) !== 0 && !this.#compressed ? "envelope_compressed"
      : undefined;
    if (code) throw new WireError(code, this.#offset + at);
  }

  /** The length of the envelope that starts at `at`, read at `index` of `header`. */
  #lengthAt(header: Uint8Array, index: number, at: number): number {
    const length = ((header[index]! << 24) | (header[index + 1]! << 16) | (header[index + 2]! << 8) | header[index + 3]!) >>> 0;
    if (length > this.#limit) throw new WireError("envelope_length", this.#offset + at, "", `${length} bytes declared, ${this.#limit} allowed`);
    return length;
  }
}
