import { WIRE_TYPE, type Reader, type WireType } from "./reader.ts";
import type { Message } from "./message.ts";
import type { Writer } from "./writer.ts";

/** How one value of a kind lies on the wire. `text` is a string whose invalid UTF-8 is replaced, not refused. */
interface ScalarKind {
  readonly type: WireType;
  /** What proto3 means by leaving it out. */
  readonly zero: unknown;
  /** Whether a value is of the kind and in its range: a wrong one is refused where it is given, not on the other side. */
  readonly is: (value: unknown) => boolean;
  readonly read: (reader: Reader) => unknown;
  readonly write: (writer: Writer, value: never) => void;
}

const { varint, length } = WIRE_TYPE;
const signed32 = { zero: 0, is: (v: unknown) => typeof v === "number" && v === (v | 0) };
const unsigned32 = { zero: 0, is: (v: unknown) => typeof v === "number" && v === v >>> 0 };
const signed64 = { zero: 0n, is: (v: unknown) => typeof v === "bigint" && v === BigInt.asIntN(64, v) };
const unsigned64 = { zero: 0n, is: (v: unknown) => typeof v === "bigint" && v === BigInt.asUintN(64, v) };
const real = { zero: 0, is: (v: unknown) => typeof v === "number" };
const characters = { zero: "", is: (v: unknown) => typeof v === "string" };

/** The scalar kinds of protobuf by name, with the JavaScript value each becomes (DESIGN §3). */
export const SCALARS = {
  int32: { type: varint, ...signed32, read: (r) => r.int32(), write: (w, v: number) => w.int32(v) },
  uint32: { type: varint, ...unsigned32, read: (r) => r.uint32(), write: (w, v: number) => w.uint32(v) },
  sint32: { type: varint, ...signed32, read: (r) => r.sint32(), write: (w, v: number) => w.sint32(v) },
  int64: { type: varint, ...signed64, read: (r) => r.int64(), write: (w, v: bigint) => w.uint64(v) },
  uint64: { type: varint, ...unsigned64, read: (r) => r.uint64(), write: (w, v: bigint) => w.uint64(v) },
  sint64: { type: varint, ...signed64, read: (r) => r.sint64(), write: (w, v: bigint) => w.sint64(v) },
  safe64: { type: varint, zero: 0, is: (v) => Number.isInteger(v) && Math.abs(v as number) <= 2 ** 63, read: (r) => r.safe64(), write: (w, v: number) => w.uint64(v < 2 ** 63 ? BigInt(v) : 2n ** 63n - 1n) },
  bool: { type: varint, zero: false, is: (v) => typeof v === "boolean", read: (r) => r.bool(), write: (w, v: boolean) => w.bool(v) },
  fixed32: { type: WIRE_TYPE.fixed32, ...unsigned32, read: (r) => r.fixed32(), write: (w, v: number) => w.fixed32(v) },
  sfixed32: { type: WIRE_TYPE.fixed32, ...signed32, read: (r) => r.sfixed32(), write: (w, v: number) => w.fixed32(v) },
  float: { type: WIRE_TYPE.fixed32, ...real, read: (r) => r.float(), write: (w, v: number) => w.float(v) },
  fixed64: { type: WIRE_TYPE.fixed64, ...unsigned64, read: (r) => r.fixed64(), write: (w, v: bigint) => w.fixed64(v) },
  sfixed64: { type: WIRE_TYPE.fixed64, ...signed64, read: (r) => r.sfixed64(), write: (w, v: bigint) => w.fixed64(v) },
  double: { type: WIRE_TYPE.fixed64, ...real, read: (r) => r.double(), write: (w, v: number) => w.double(v) },
  string: { type: length, ...characters, read: (r) => r.string(), write: (w, v: string) => w.string(v) },
  text: { type: length, ...characters, read: (r) => r.text(), write: (w, v: string) => w.string(v) },
  bytes: { type: length, zero: new Uint8Array(0), is: (v) => v instanceof Uint8Array, read: (r) => r.bytes(), write: (w, v: Uint8Array) => w.bytes(v) },
} as const satisfies Record<string, ScalarKind>;

/** The name of a scalar kind. */
export type ScalarName = keyof typeof SCALARS;

/** One row of a message table: its number, its kind, and (in types only) the value it holds. */
export interface Field<T> {
  readonly no: number;
  readonly kind: ScalarName | "message" | "map";
  readonly repeated: boolean;
  /** Whether a value that is its kind's default is written all the same: proto3's `optional`. Arms of a oneof always are. */
  readonly explicit?: boolean;
  /** The group of rows of which at most one is set. */
  readonly oneof?: string;
  /** The nested table of kind `message`; a function where tables refer to each other. */
  readonly table?: Message<never> | (() => Message<never>);
  /** The rows of a map entry: key 1, value 2, both always written. */
  readonly entry?: readonly [key: Field<unknown>, value: Field<unknown>];
  /** Never set: carries the value's type. */
  readonly value?: T;
}

const scalar = <T>(kind: ScalarName) => (no: number): Field<T> => ({ no, kind, repeated: false });

/** A 32-bit signed integer; a negative one takes 10 bytes. */
export const int32 = scalar<number>("int32");
/** A 32-bit unsigned integer; also enums. */
export const uint32 = scalar<number>("uint32");
/** A 32-bit signed integer in zigzag. */
export const sint32 = scalar<number>("sint32");
/** A 64-bit signed integer as bigint. */
export const int64 = scalar<bigint>("int64");
/** A 64-bit unsigned integer as bigint. */
export const uint64 = scalar<bigint>("uint64");
/** A 64-bit signed integer in zigzag, as bigint. */
export const sint64 = scalar<bigint>("sint64");
/** A 64-bit signed integer as number: for what never passes 2^53, such as sizes in bytes. Beyond it the nearest double, both ways. */
export const safe64 = scalar<number>("safe64");
/** A boolean. */
export const bool = scalar<boolean>("bool");
/** 4 bytes, unsigned. */
export const fixed32 = scalar<number>("fixed32");
/** 4 bytes, signed. */
export const sfixed32 = scalar<number>("sfixed32");
/** 4 bytes, IEEE 754. */
export const float = scalar<number>("float");
/** 8 bytes, unsigned, as bigint. */
export const fixed64 = scalar<bigint>("fixed64");
/** 8 bytes, signed, as bigint. */
export const sfixed64 = scalar<bigint>("sfixed64");
/** 8 bytes, IEEE 754. */
export const double = scalar<number>("double");
/** UTF-8 that is refused where it is invalid: names, ids, paths of the protocol. */
export const string = scalar<string>("string");
/** UTF-8 whose invalid parts become U+FFFD: model output, tool arguments, file contents. */
export const text = scalar<string>("text");
/** Bytes; decoded as a view of the input. */
export const bytes = scalar<Uint8Array>("bytes");

/** A scalar whose default value means something else than its absence: it is written wherever it is given. */
export function optional<T>(field: Field<T>): Field<T> {
  return { ...field, explicit: true };
}

/** A nested message. Give a function where the two tables refer to each other. */
export function nested<T>(no: number, table: Message<T> | (() => Message<T>)): Field<T> {
  return { no, kind: "message", repeated: false, table: table as unknown as Message<never> };
}

/** A repeated field; scalars are written packed and read both ways. */
export function repeated<T>(field: Field<T>): Field<T[]> {
  return { ...field, repeated: true } as unknown as Field<T[]>;
}

/** A map field, decoded as a `Map`: give the kinds of key and value with any number, such as `map(2, string(1), bytes(2))`. */
export function map<K, V>(no: number, key: Field<K>, value: Field<V>): Field<Map<K, V>> {
  return { no, kind: "map", repeated: false, entry: [{ ...key, no: 1, explicit: true }, { ...value, no: 2, explicit: true }] as [Field<unknown>, Field<unknown>] };
}

/** Marks rows as the arms of one oneof: at most one is set, the last on the wire. Spread it into a table. */
export function oneof<F extends Record<string, Field<unknown>>>(name: string, arms: F): F {
  return Object.fromEntries(Object.entries(arms).map(([key, field]) => [key, { ...field, oneof: name }])) as F;
}
