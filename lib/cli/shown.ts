import { isUtf8 } from "node:buffer";
import { SCALARS, type ScalarName } from "../../wire/kinds.ts";
import { decodeValue, LIMITS, Reader, WIRE_TYPE, WireError, type Json } from "../../wire/index.ts";
import { contentOf, type Content } from "./bytes-content.ts";
import { isMessage, Looks, walk, type AnyTable, type Met } from "./walk.ts";

/** One field as it is shown: as JSON it is a line's part, as text a line. */
export interface Shown {
  no: number;
  type: (typeof TYPES)[keyof typeof TYPES];
  name?: string;
  drift?: "unknown" | "wire type";
  /** A number, or a string of digits where a number would lose some. */
  value?: number | string | boolean;
  /** The values of a packed field. */
  values?: (number | string | boolean)[];
  text?: string;
  /** The JSON of a google.protobuf.Value. */
  json?: Json;
  hex?: string;
  /** Set where the frame's bytes had been looked at too often for these to be looked into. */
  unread?: true;
  /** Bytes of a value that `hex` shows. */
  length?: number;
  /** How many characters of `text`, or bytes of `hex`, are left out. */
  cut?: number;
  fields?: Shown[];
}

/** How much of a frame is shown. */
export interface Extent {
  /** Fields of one frame. */
  readonly fields: number;
  /** UTF-16 units of one text. */
  readonly text: number;
  /** Bytes of one hex. */
  readonly bytes: number;
  /** False where bytes that no table knows are not looked into. */
  readonly guess?: false;
}

/** What is shown of a payload. */
export interface ShownMessage {
  readonly fields: Shown[];
  /** Whether there were more fields than the extent allows. */
  readonly more: boolean;
  /** Where the bytes stopped making sense; the fields before are there. */
  readonly error?: WireError;
  /** Fields with drift among those shown. */
  readonly drifts: number;
}

const TYPES = {
  [WIRE_TYPE.varint]: "varint",
  [WIRE_TYPE.fixed64]: "fixed64",
  [WIRE_TYPE.length]: "length",
  [WIRE_TYPE.startGroup]: "group",
  [WIRE_TYPE.fixed32]: "fixed32",
} as const;

/** Thrown where the extent is used up. */
const ENOUGH = Symbol("enough");

/** Shows a payload as far as the extent goes. Never throws: what is malformed becomes the result's `error`. */
export function showMessage(payload: Uint8Array, table: AnyTable | undefined, extent: Extent): ShownMessage {
  const show = new Showing(extent, payload.length);
  const fields: Shown[] = [];
  try {
    show.message(new Reader(payload), { table, contents: (name) => contentOf(table, name) }, fields, 1);
  } catch (error) {
    if (error === ENOUGH) return { fields, more: true, drifts: show.drifts };
    if (!(error instanceof WireError)) throw error;
    return { fields, more: false, error, drifts: show.drifts };
  }
  return { fields, more: false, drifts: show.drifts };
}

/** What a message is read by. */
interface Lens {
  readonly table: AnyTable | undefined;
  readonly contents: (name: string) => Content | undefined;
  /** The tag of the group, 0 or absent for a message. */
  readonly open?: number;
}

class Showing {
  readonly #extent: Extent;
  readonly #looks: Looks;
  #left: number;
  drifts = 0;

  constructor(extent: Extent, length: number) {
    this.#extent = extent;
    this.#looks = new Looks(length);
    this.#left = extent.fields;
  }

  message(reader: Reader, lens: Lens, into: Shown[], depth: number): void {
    if (depth > LIMITS.depth) reader.fail("depth", reader.pos);
    for (const met of walk(reader, lens.table, lens.open)) {
      if (this.#left-- <= 0) throw ENOUGH;
      const shown: Shown = { no: met.no, type: TYPES[met.type as keyof typeof TYPES] };
      if (met.row) shown.name = met.row.name;
      if (met.drift) {
        shown.drift = met.drift;
        this.drifts++;
      }
      into.push(shown);
      this.#field(reader, met, lens, shown, depth);
    }
  }

  #field(reader: Reader, met: Met, lens: Lens, shown: Shown, depth: number): void {
    const { buffer } = reader;
    const { row, type, body, end } = met;
    const value = new Reader(buffer, body, end);
    if (row?.inside) {
      const { inside, name, field } = row;
      const contents: Lens["contents"] = (inner) => (field.kind === "map" ? lens.contents(`${name}.${inner}`) : contentOf(inside, inner));
      this.message(value, { table: inside, contents }, (shown.fields = []), depth + 1);
    } else if (type === WIRE_TYPE.startGroup) {
      this.message(reader, { table: undefined, contents: () => undefined, open: met.no * 8 + type }, (shown.fields = []), depth + 1);
    } else if (type !== WIRE_TYPE.length) {
      const unknown = type === WIRE_TYPE.varint ? "uint64" : type === WIRE_TYPE.fixed64 ? "fixed64" : "fixed32";
      shown.value = plain(SCALARS[row ? (row.field.kind as ScalarName) : unknown].read(value));
    } else if (row === undefined) this.#guess(buffer.subarray(body, end), shown, depth);
    else if (row.field.kind === "bytes") this.#bytes(buffer.subarray(body, end), lens.contents(row.name), shown, depth);
    else if (row.field.kind === "text") this.#text(lenient.decode(buffer.subarray(body, end)), shown);
    else if (row.field.kind === "string") this.#string(buffer.subarray(body, end), shown);
    else {
      const { read } = SCALARS[row.field.kind as ScalarName];
      shown.values = [];
      while (value.pos < value.end) {
        if (this.#left-- <= 0) throw ENOUGH;
        shown.values.push(plain(read(value)));
      }
    }
  }

  #bytes(bytes: Uint8Array, content: Content | undefined, shown: Shown, depth: number): void {
    if (content === "value") {
      try {
        const json = decodeValue(bytes);
        const text = JSON.stringify(json);
        if (text.length <= this.#extent.text * JSON_ROOM) shown.json = json;
        else this.#text(text, shown);
        return;
      } catch {
        // No Value: guess like any other bytes.
      }
    } else if (content !== undefined && isMessage(bytes)) {
      this.message(new Reader(bytes), { table: content, contents: (name) => contentOf(content, name) }, (shown.fields = []), depth + 1);
      return;
    }
    if (bytes.length === BLOB_ID) this.#hex(bytes, shown);
    else this.#guess(bytes, shown, depth);
  }

  /** Text where it is printable, else fields where it parses as such, else hex. */
  #guess(bytes: Uint8Array, shown: Shown, depth: number): void {
    if (this.#extent.guess === false || !this.#looks.take(bytes.length)) {
      shown.unread = true;
      this.#hex(bytes, shown);
      return;
    }
    const text = printableText(bytes);
    // Only a message starts with a tab or newline and is one to its last byte.
    const fields = (text === undefined || (text !== "" && text < " ")) && depth < LIMITS.depth && isMessage(bytes);
    if (fields) this.message(new Reader(bytes), { table: undefined, contents: () => undefined }, (shown.fields = []), depth + 1);
    else if (text !== undefined) this.#text(text, shown);
    else this.#hex(bytes, shown);
  }

  #string(bytes: Uint8Array, shown: Shown): void {
    try {
      this.#text(fatal.decode(bytes), shown);
    } catch {
      this.#hex(bytes, shown);
    }
  }

  #text(text: string, shown: Shown): void {
    const limit = this.#extent.text;
    shown.text = text.slice(0, limit);
    if (text.length > limit) shown.cut = text.length - limit;
  }

  #hex(bytes: Uint8Array, shown: Shown): void {
    const limit = this.#extent.bytes;
    shown.length = bytes.length;
    shown.hex = hexOf(bytes, limit);
    if (bytes.length > limit) shown.cut = bytes.length - limit;
  }
}

/** Bytes of a blob id of ours, which is shown as hex even where it happens to parse as a message. */
export const BLOB_ID = 32;
/** The JSON of a schema may be so many times longer than a text. */
const JSON_ROOM = 10;
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const fatal = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text in bytes where it is valid UTF-8 without control characters but tab, newline and return. */
export function printableText(bytes: Uint8Array): string | undefined {
  // A decoder that throws takes far longer.
  if (!isUtf8(bytes)) return undefined;
  const text = lenient.decode(bytes);
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/.test(text) ? undefined : text;
}

/** The first bytes as hex. */
export function hexOf(bytes: Uint8Array, limit: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(limit, bytes.length)).toString("hex");
}

function plain(value: unknown): number | string | boolean {
  if (typeof value !== "bigint") return typeof value === "number" && !Number.isFinite(value) ? String(value) : (value as number | boolean);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
