/** The codec's own bounds (DESIGN §3). */
export const LIMITS = {
  /** Levels that messages, groups and values may nest. */
  depth: 100,
  /** Elements, map entries and unknown fields in one message with all that is in it: each takes many times its bytes. */
  elements: 131_072,
  /** Bytes of the longest varint. */
  varint: 10,
  /** The highest field number. */
  fieldNumber: 2 ** 29 - 1,
  /** Bytes of the JSON in an end-stream envelope: reading a megabyte of brackets takes half a second. */
  endStream: 256 * 1024,
  /** Bytes of the largest envelope payload. */
  envelope: 16 * 1024 * 1024,
} as const;
