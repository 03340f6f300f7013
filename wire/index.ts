/** Protobuf and Connect: bytes ⇄ fields ⇄ messages ⇄ envelopes. Knows nothing of Cursor, imports nothing. */
export { CONNECT_CODES, connectCode, decodeEndStream, encodeEndStream, type ConnectCode, type EndStream } from "./end-stream.ts";
export { encodeEnvelope, EnvelopeReader, FLAG, HEADER_LENGTH, type Envelope, type EnvelopeLimits } from "./envelope.ts";
export { WIRE_ERRORS, WireError, type WireErrorCode } from "./errors.ts";
export { encodeFields, fields, type WireField } from "./fields.ts";
export { type Json } from "./json.ts";
export {
  bool,
  bytes,
  double,
  fixed32,
  fixed64,
  float,
  int32,
  int64,
  map,
  nested,
  oneof,
  optional,
  repeated,
  safe64,
  sfixed32,
  sfixed64,
  sint32,
  sint64,
  string,
  text,
  uint32,
  uint64,
  type Field,
  type ScalarName,
} from "./kinds.ts";
export { LIMITS } from "./limits.ts";
export { message, rowOf, type Decoded, type Message, type OnUnknown, type UnknownField, type ValueOf } from "./message.ts";
export { Reader, WIRE_TYPE, type WireType } from "./reader.ts";
export { decodeValue, encodeValue } from "./value.ts";
export { Writer } from "./writer.ts";
