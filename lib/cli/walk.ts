import type { Field } from "../../wire/kinds.ts";
import { Reader, rowOf, WIRE_TYPE, type Message, type WireType } from "../../wire/index.ts";

/** A message table of whatever value. */
export type AnyTable = Message<never>;

/** One field met in a walk; positions are indexes into the walked buffer. */
export interface Met {
  readonly no: number;
  readonly type: WireType;
  /** Where its value starts, behind tag and length; of a group: its first field. */
  readonly body: number;
  /** Where it ends; of a group, which has not been read yet: as `body`. */
  readonly end: number;
  /** Its row, where the table has one for this number and wire type. */
  readonly row: { readonly name: string; readonly field: Field<unknown>; readonly inside: AnyTable | undefined } | undefined;
  /** With a table but no row: whether the number is unknown, or known with another wire type. */
  readonly drift: "unknown" | "wire type" | undefined;
}

/**
 * The fields of a message one by one, with the rows of `table` where it has them. Nothing is collected, so a hostile
 * message costs no more than its bytes. The fields of a group are the next that `reader` holds: who wants them walks
 * on there with its tag before taking the next field, else they are passed over.
 * @param open the tag of the group being read, 0 for a message
 * @throws WireError where the bytes are malformed
 */
export function* walk(reader: Reader, table: AnyTable | undefined, open = 0): Generator<Met> {
  const opened = reader.pos;
  for (;;) {
    const start = reader.pos;
    if (start >= reader.end && open !== 0) reader.fail("truncated", opened, `group ${open >>> 3} is not closed`);
    if (start >= reader.end) return;
    const tag = reader.tag();
    if (open !== 0 && tag === open + 1) return;
    const no = tag >>> 3;
    const type = (tag & 7) as WireType;
    let body = reader.pos;
    if (type === WIRE_TYPE.length) {
      const end = reader.stop();
      body = reader.pos;
      reader.pos = end;
    } else if (type !== WIRE_TYPE.startGroup) reader.skip(tag, 0, start);
    const found = table && rowOf(table, tag);
    const row = found && { name: found.name, field: table.fields[found.name]!, inside: found.nested };
    yield { no, type, body, end: reader.pos, row, drift: table && !found ? driftOf(table, no) : undefined };
    if (type === WIRE_TYPE.startGroup && reader.pos === body) reader.skip(tag);
  }
}

const TYPES = Object.values(WIRE_TYPE);

function driftOf(table: AnyTable, no: number): Met["drift"] {
  return TYPES.some((type) => rowOf(table, no * 8 + type)) ? "wire type" : "unknown";
}

/** Whether bytes parse as the fields of a message. Reads each once and goes into none. */
export function isMessage(bytes: Uint8Array): boolean {
  try {
    const reader = new Reader(bytes);
    while (reader.pos < reader.end) reader.skip(reader.tag());
    return bytes.length > 0;
  } catch {
    return false;
  }
}

/** What a look costs, in bytes of the frame. */
const LOOK = 256;

/**
 * How much of a frame may still be guessed at. What no table knows may be text or a message, and what is in that may
 * again: each level that it nests looks at the same bytes once more.
 */
export class Looks {
  #left: number;

  /** @param length bytes of the frame: each may be looked at eight times, and those of a small one as often as it nests */
  constructor(length: number) {
    this.#left = 8 * length + 1024 * LOOK;
  }

  /** Counts a look at so many bytes, and what any look costs. False where that is too much: then they stay opaque, and all that follow. */
  take(bytes: number): boolean {
    this.#left -= bytes + LOOK;
    return this.#left >= 0;
  }
}
