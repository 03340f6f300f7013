import { encodeUtf8 } from "./utf8.ts";

const FIRST_SIZE = 1024;
/** A kept buffer above this many bytes is let go after use, so that one large request does not stay in memory. */
const KEEP = 1024 * 1024;
/** Below this many bytes a loop copies faster than a native call (measured on Node 20). */
const LOOP = 40;

/**
 * One growing buffer that a message is written into from front to back. A nested message's length is written in
 * place: {@link open} leaves one byte for it, {@link close} fills it in and moves the body only where the length
 * needs more. Most nested messages are shorter than 128 bytes.
 */
export class Writer {
  #buffer = new Uint8Array(FIRST_SIZE);
  #view = new DataView(this.#buffer.buffer);
  /** Bytes written so far. */
  pos = 0;

  /** Makes room for `count` more bytes and returns the buffer that holds it. */
  #room(count: number): Uint8Array {
    const need = this.pos + count;
    if (need > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(need, this.#buffer.length * 2));
      grown.set(this.#buffer.subarray(0, this.pos));
      this.#buffer = grown;
      this.#view = new DataView(grown.buffer);
    }
    return this.#buffer;
  }

  /** Writes a field's tag: `number << 3 | wire type`. */
  tag(tag: number): void {
    this.uint32(tag);
  }

  /** Writes the low 32 bits of `value` as an unsigned varint. */
  uint32(value: number): void {
    const buffer = this.#room(5);
    let { pos } = this;
    value >>>= 0;
    while (value > 127) {
      buffer[pos++] = (value & 127) | 128;
      value >>>= 7;
    }
    buffer[pos++] = value;
    this.pos = pos;
  }

  /** Writes the low 32 bits of `value` as an int32: a negative one takes 10 bytes, as protobuf says. */
  int32(value: number): void {
    value |= 0;
    if (value >= 0) this.uint32(value);
    else this.uint64(BigInt(value));
  }

  /** Writes a sint32 in zigzag. */
  sint32(value: number): void {
    this.uint32((value << 1) ^ (value >> 31));
  }

  /** Writes the low 64 bits of `value` as an unsigned varint: int64 and uint64 alike. */
  uint64(value: bigint): void {
    const buffer = this.#room(10);
    let rest = BigInt.asUintN(64, value);
    while (rest > 127n) {
      buffer[this.pos++] = Number(rest & 127n) | 128;
      rest >>= 7n;
    }
    buffer[this.pos++] = Number(rest);
  }

  /** Writes the low 64 bits of `value` as a sint64 in zigzag. */
  sint64(value: bigint): void {
    value = BigInt.asIntN(64, value);
    this.uint64((value << 1n) ^ (value >> 63n));
  }

  /** Writes a bool. */
  bool(value: boolean): void {
    this.#room(1)[this.pos++] = value ? 1 : 0;
  }

  /** Writes 4 bytes: fixed32 and sfixed32 alike. */
  fixed32(value: number): void {
    this.#room(4);
    this.#view.setInt32(this.pos, value, true);
    this.pos += 4;
  }

  /** Writes 8 bytes: fixed64 and sfixed64 alike. */
  fixed64(value: bigint): void {
    this.#room(8);
    this.#view.setBigInt64(this.pos, value, true);
    this.pos += 8;
  }

  /** Writes a float. */
  float(value: number): void {
    this.#room(4);
    this.#view.setFloat32(this.pos, value, true);
    this.pos += 4;
  }

  /** Writes a double. */
  double(value: number): void {
    this.#room(8);
    this.#view.setFloat64(this.pos, value, true);
    this.pos += 8;
  }

  /** Writes a length and the bytes. */
  bytes(value: Uint8Array): void {
    this.uint32(value.length);
    this.raw(value);
  }

  /** Writes the bytes as they are. */
  raw(value: Uint8Array): void {
    const { length } = value;
    const buffer = this.#room(length);
    const { pos } = this;
    if (length < LOOP) for (let index = 0; index < length; index++) buffer[pos + index] = value[index]!;
    else buffer.set(value, pos);
    this.pos = pos + length;
  }

  /** Writes a length and the UTF-8 of `value`; a lone surrogate becomes U+FFFD. */
  string(value: string): void {
    const buffer = this.#room(value.length * 3 + 5);
    const start = this.pos;
    // Betting on ASCII: then the length takes as many bytes as the count of units would.
    const body = start + varintSize(value.length);
    const end = encodeUtf8(value, buffer, body);
    this.#settle(start, body, end);
  }

  /** Starts a length-prefixed value. Pass what it returns to {@link close}. */
  open(): number {
    this.#room(1);
    return this.pos++;
  }

  /** Ends the value that {@link open} started: writes its length in front of it. */
  close(start: number): void {
    this.#room(4);
    this.#settle(start, start + 1, this.pos);
  }

  /** Writes the length of `[body, end)` at `start`, moving the body where the gap before it has another size. */
  #settle(start: number, body: number, end: number): void {
    const length = end - body;
    if (length < 0x80 && body === start + 1) {
      this.#buffer[start] = length;
      this.pos = end;
      return;
    }
    const size = varintSize(length);
    if (body !== start + size) this.#buffer.copyWithin(start + size, body, end);
    this.pos = start;
    this.uint32(length);
    this.pos = start + size + length;
  }

  /** A copy of what has been written since `start`. The writer starts anew from there. */
  finish(start = 0): Uint8Array<ArrayBuffer> {
    const { pos } = this;
    const result = copy(this.#buffer, start, pos);
    this.pos = start;
    if (this.#buffer.length > KEEP) {
      this.#buffer = new Uint8Array(FIRST_SIZE);
      this.#view = new DataView(this.#buffer.buffer);
    }
    return result;
  }
}

function copy(buffer: Uint8Array<ArrayBuffer>, start: number, end: number): Uint8Array<ArrayBuffer> {
  const length = end - start;
  if (length >= LOOP) return buffer.slice(start, end);
  const result = new Uint8Array(length);
  for (let index = 0; index < length; index++) result[index] = buffer[start + index]!;
  return result;
}

/** Bytes of `value`, which is below 2^32, as an unsigned varint: one for every seven bits. */
function varintSize(value: number): number {
  return ((38 - Math.clz32(value | 1)) / 7) | 0;
}

let idle: Writer | undefined;

/**
 * Runs `write` on a writer and returns what it wrote. The writer is reused from call to call; a call inside `write`
 * gets its own, and one that a throw left half written is not used again.
 */
export function written<T>(write: (writer: Writer, value: T) => void, value: T): Uint8Array<ArrayBuffer> {
  const writer = idle ?? new Writer();
  idle = undefined;
  write(writer, value);
  const result = writer.finish();
  idle = writer;
  return result;
}
