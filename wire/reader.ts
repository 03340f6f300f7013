import { WireError, type WireErrorCode } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { decodeKey, decodeUtf8 } from "./utf8.ts";

const doubles = new DataView(new ArrayBuffer(8));

/** The wire types of protobuf. 6 and 7 do not exist. */
export const WIRE_TYPE = { varint: 0, fixed64: 1, length: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;
/** One of {@link WIRE_TYPE}'s numbers. */
export type WireType = (typeof WIRE_TYPE)[keyof typeof WIRE_TYPE];

/**
 * A cursor over bytes from a peer. Each method reads one value at {@link pos}, moves behind it, and throws a
 * {@link WireError} where the value is malformed or reaches beyond {@link end}; after a throw the position is not
 * meaningful.
 */
export class Reader {
  /** The bytes being read. Never written to. */
  readonly buffer: Uint8Array;
  /** Index of the next byte. */
  pos: number;
  /** Index after the last byte that may be read: a nested message lowers it for its own length. */
  end: number;
  /** High 32 bits of the varint that {@link low} returned last, unsigned. */
  high = 0;
  /** How often {@link element} was called: set it where several buffers share one limit. */
  elements = 0;

  constructor(buffer: Uint8Array, start = 0, end = buffer.length) {
    this.buffer = buffer;
    this.pos = start;
    this.end = end;
  }

  /** Reads a varint of up to 64 bits: returns its low 32 bits, signed, and leaves the rest in {@link high}. */
  low(): number {
    const { buffer, end } = this;
    const start = this.pos;
    let low = 0;
    let high = 0;
    for (let index = 0; index < LIMITS.varint; index++) {
      const at = start + index;
      if (at >= end) this.fail("truncated", start);
      const byte = buffer[at]!;
      const bits = byte & 0x7f;
      if (index < 4) low |= bits << (7 * index);
      else if (index === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (7 * index - 32);
      if (byte < 0x80) {
        // The tenth byte has room for the 64th bit only.
        if (byte > 1 && index === LIMITS.varint - 1) break;
        this.pos = at + 1;
        this.high = high >>> 0;
        return low;
      }
    }
    return this.fail("varint", start);
  }

  /** Reads a field's tag: `number << 3 | wire type`, unsigned. */
  tag(): number {
    const start = this.pos;
    let tag: number;
    if (start < this.end && (tag = this.buffer[start]!) < 0x80) this.pos = start + 1;
    else {
      tag = this.low() >>> 0;
      if (this.high !== 0) this.fail("field_number", start);
    }
    if (tag < 8) this.fail("field_number", start);
    if ((tag & 7) > 5) this.fail("wire_type", start, `type ${tag & 7}`);
    return tag;
  }

  /** Reads a varint as uint32: higher bits are dropped, as protobuf says. */
  uint32(): number {
    const at = this.pos;
    if (at < this.end) {
      const byte = this.buffer[at]!;
      if (byte < 0x80) {
        this.pos = at + 1;
        return byte;
      }
    }
    return this.low() >>> 0;
  }

  /** Reads a varint as int32. */
  int32(): number {
    return this.low();
  }

  /** Reads a zigzag varint as sint32. */
  sint32(): number {
    const low = this.low();
    return (low >>> 1) ^ -(low & 1);
  }

  /** Reads a varint as uint64. */
  uint64(): bigint {
    const low = this.low() >>> 0;
    return (BigInt(this.high) << 32n) | BigInt(low);
  }

  /** Reads a varint as int64. */
  int64(): bigint {
    return BigInt.asIntN(64, this.uint64());
  }

  /** Reads a zigzag varint as sint64. */
  sint64(): bigint {
    const value = this.uint64();
    return (value >> 1n) ^ -(value & 1n);
  }

  /** Reads a varint as int64 in a number. Beyond ±(2^53 - 1) the nearest double: only for rows that say it is safe. */
  safe64(): number {
    const low = this.low() >>> 0;
    return (this.high | 0) * 2 ** 32 + low;
  }

  /** Reads a varint as bool: any set bit is true. */
  bool(): boolean {
    return this.low() !== 0 || this.high !== 0;
  }

  /** Reads 4 bytes as fixed32. */
  fixed32(): number {
    return this.sfixed32() >>> 0;
  }

  /** Reads 4 bytes as sfixed32. */
  sfixed32(): number {
    return int32At(this.buffer, this.advance(4));
  }

  /** Reads 8 bytes as fixed64. */
  fixed64(): bigint {
    const at = this.advance(8);
    return (BigInt(int32At(this.buffer, at + 4) >>> 0) << 32n) | BigInt(int32At(this.buffer, at) >>> 0);
  }

  /** Reads 8 bytes as sfixed64. */
  sfixed64(): bigint {
    return BigInt.asIntN(64, this.fixed64());
  }

  /** Reads 4 bytes as float. */
  float(): number {
    doubles.setInt32(0, this.sfixed32(), true);
    return doubles.getFloat32(0, true);
  }

  /** Reads 8 bytes as double. */
  double(): number {
    return doubleAt(this.buffer, this.advance(8));
  }

  /** Reads a length prefix and returns where the value that it announces ends. The value itself is not read. */
  stop(): number {
    const start = this.pos;
    const { buffer, end } = this;
    let length: number;
    if (start < end && (length = buffer[start]!) < 0x80) this.pos = start + 1;
    else if (start + 1 < end && buffer[start + 1]! < 0x80) {
      length = (buffer[start]! & 0x7f) | (buffer[start + 1]! << 7);
      this.pos = start + 2;
    } else {
      length = this.low() >>> 0;
      length += this.high * 2 ** 32;
    }
    const stop = this.pos + length;
    if (stop > this.end) this.fail("length", start, `${length} bytes declared, ${this.end - this.pos} left`);
    return stop;
  }

  /** Reads a length prefix and lowers {@link end} to where its value ends. Returns the end to restore behind it. */
  enter(): number {
    const { end } = this;
    this.end = this.stop();
    return end;
  }

  /** Reads length-prefixed bytes as a view of the input: copy what outlives it. */
  bytes(): Uint8Array {
    const stop = this.stop();
    const { buffer, pos } = this;
    this.pos = stop;
    // Not `subarray`, which looks for a species.
    return new Uint8Array(buffer.buffer, buffer.byteOffset + pos, stop - pos);
  }

  /** Reads length-prefixed UTF-8. Throws where it is invalid. */
  string(): string {
    const stop = this.stop();
    const start = this.pos;
    this.pos = stop;
    return decodeUtf8(this.buffer, start, stop, false) ?? this.fail("utf8", start);
  }

  /** Reads length-prefixed UTF-8. What is invalid becomes U+FFFD. */
  text(): string {
    const stop = this.stop();
    const start = this.pos;
    this.pos = stop;
    return decodeUtf8(this.buffer, start, stop, true)!;
  }

  /** As {@link text}, for names that come again and again: the keys of maps and objects. */
  key(): string {
    const stop = this.stop();
    const start = this.pos;
    this.pos = stop;
    return decodeKey(this.buffer, start, stop);
  }

  /**
   * Skips the value behind `tag`, groups included.
   * @param depth levels already open around this field
   * @param start where the tag starts: an end-group tag that closes nothing is reported there
   */
  skip(tag: number, depth = 0, start = this.pos): void {
    switch ((tag & 7) as WireType) {
      case WIRE_TYPE.varint:
        this.low();
        return;
      case WIRE_TYPE.fixed64:
        this.advance(8);
        return;
      case WIRE_TYPE.length:
        this.pos = this.stop();
        return;
      case WIRE_TYPE.fixed32:
        this.advance(4);
        return;
      case WIRE_TYPE.startGroup:
        this.#skipGroup(tag, depth + 1);
        return;
      case WIRE_TYPE.endGroup:
        this.fail("group", start, `field ${tag >>> 3}`);
    }
  }

  #skipGroup(open: number, depth: number): void {
    const opened = this.pos;
    if (depth > LIMITS.depth) this.fail("depth", opened);
    for (;;) {
      const start = this.pos;
      if (start >= this.end) this.fail("truncated", opened, `group ${open >>> 3} is not closed`);
      const tag = this.tag();
      if (tag === open + 1) return;
      this.skip(tag, depth, start);
    }
  }

  /** Counts what is kept as a value of its own and may come again and again; `start`: where it does. */
  element(start: number): void {
    if (++this.elements > LIMITS.elements) this.fail("elements", start);
  }

  /** Moves over `count` bytes and returns where they start. */
  advance(count: number): number {
    const at = this.pos;
    if (this.end - at < count) this.fail("truncated", at);
    this.pos = at + count;
    return at;
  }

  /** Throws a {@link WireError} at `offset`. */
  fail(code: WireErrorCode, offset: number, detail = ""): never {
    throw new WireError(code, offset, "", detail);
  }
}

/** The 4 bytes at `at`, signed. The caller has checked that they are there. */
function int32At(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** The 8 bytes at `at` as a double. The caller has checked that they are there. */
export function doubleAt(bytes: Uint8Array, at: number): number {
  doubles.setInt32(0, int32At(bytes, at), true);
  doubles.setInt32(4, int32At(bytes, at + 4), true);
  return doubles.getFloat64(0, true);
}
