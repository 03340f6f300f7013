/**
 * Everything that can be wrong with bytes, one row a code. DESIGN §3: never a wrong value, never an endless loop.
 */
export const WIRE_ERRORS = {
  truncated: "the bytes end inside a tag, varint, fixed-width value or group",
  varint: "a varint runs over 10 bytes or 64 bits",
  field_number: "a field number is 0 or above 2^29 - 1",
  wire_type: "a tag carries wire type 6 or 7",
  group: "an end-group tag matches no open group",
  depth: "messages, groups or values nest deeper than 100",
  elements: "a message has more than 131,072 elements, map entries and unknown fields",
  length: "a declared length runs beyond the bytes that hold it",
  utf8: "a string field is not valid UTF-8",
  envelope_length: "an envelope declares more bytes than the limit",
  envelope_flags: "an envelope sets a reserved flag bit",
  envelope_compressed: "an envelope is compressed although no compression was negotiated",
  envelope_truncated: "the stream ends inside an envelope",
  envelope_after_end: "bytes follow the end-stream envelope",
  end_stream: "the end-stream envelope is not the JSON object that Connect describes",
} as const;

/** A code of {@link WIRE_ERRORS}. */
export type WireErrorCode = keyof typeof WIRE_ERRORS;

/** Bytes that break the rules of protobuf or Connect. The peer is at fault, never the caller (DESIGN §3). */
export class WireError extends Error {
  override readonly name = "WireError";
  /** Which rule was broken: a row of {@link WIRE_ERRORS}. */
  readonly code: WireErrorCode;
  /** Bytes from the start of the decoded input (of the stream, for envelopes) to the value that is wrong. */
  readonly offset: number;
  /** Field names from the outermost message to the wrong field, joined by dots; empty where no table is involved. */
  readonly path: string;
  /** What was found, for people; may be empty. */
  readonly detail: string;

  constructor(code: WireErrorCode, offset: number, path = "", detail = "") {
    super(`${WIRE_ERRORS[code]}${detail && ` (${detail})`}, at byte ${offset}${path && ` in ${path}`}`);
    this.code = code;
    this.offset = offset;
    this.path = path;
    this.detail = detail;
  }

  /** The same error as seen from the message whose field `name` holds it. */
  within(name: string): WireError {
    return new WireError(this.code, this.offset, this.path === "" ? name : `${name}.${this.path}`, this.detail);
  }
}
