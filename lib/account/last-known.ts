/** The last list that the service gave, in a file. Its content is as hostile as any file's. */
import { dirname, join } from "node:path";
import { DISK, temporaryName } from "../driver/disk.ts";
import { jsonObject } from "./json.ts";
import { fitRow, MOST_ROWS, type ModelRow } from "./rows.ts";
import { LAST_MS } from "./token.ts";

/** The most bytes of the file that are read. */
const FILE_BYTES = 4 * 1024 * 1024;

/** A list and when the service gave it, in ms since 1970. `account` tells whose it is without naming anyone. */
export interface LastKnown {
  checkedAt: number;
  account: string;
  rows: ModelRow[];
}

/** What the file holds; undefined where it is absent, too large or not ours. Rows that are none are left out. Never throws. */
export async function readLastKnown(file: string): Promise<LastKnown | undefined> {
  try {
    const bytes = await DISK.read(file, (size) => {
      if (size > FILE_BYTES) throw new RangeError(`${file} is too large`);
    });
    return bytes && parsed(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Replaces the file at once and whole; readable by its owner only.
 * @throws Error where the folder or the file cannot be written
 */
export async function writeLastKnown(file: string, known: LastKnown): Promise<void> {
  const folder = dirname(file);
  const temporary = join(folder, temporaryName());
  await DISK.makeFolder(folder);
  try {
    await DISK.create(temporary, new TextEncoder().encode(`${JSON.stringify(known)}\n`));
    await DISK.rename(temporary, file);
  } catch (error) {
    await DISK.remove(temporary);
    throw error;
  }
}

function parsed(bytes: Uint8Array): LastKnown | undefined {
  const object = jsonObject(bytes);
  const { checkedAt, account, rows } = object ?? {};
  if (typeof checkedAt !== "number" || !(Math.abs(checkedAt) <= LAST_MS) || typeof account !== "string" || !Array.isArray(rows)) return undefined;
  const read = rows.flatMap((row) => fitRow(row) ?? []).slice(0, MOST_ROWS);
  return read.length > 0 ? { checkedAt, account, rows: read } : undefined;
}
