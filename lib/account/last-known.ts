/** The last list that the service gave, in a file. Its content is as hostile as any file's. */
import { dirname, join } from "node:path";
import { DISK, temporaryName } from "../driver/disk.ts";
import { jsonObject } from "./json.ts";
import { THINKING_LEVELS, type ThinkingLevel } from "./levels.ts";
import type { ModelRow } from "./rows.ts";

/** The most bytes of the file that are read. */
const FILE_BYTES = 4 * 1024 * 1024;

/** A list and when the service gave it, in ms since 1970. `account` tells whose it is without naming anyone. */
export interface LastKnown {
  checkedAt: number;
  account: string;
  rows: ModelRow[];
}

/** What the file holds; undefined where it is absent, too large or not ours. Never throws. */
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
  if (typeof checkedAt !== "number" || !Number.isFinite(checkedAt) || typeof account !== "string" || !Array.isArray(rows)) return undefined;
  const read = rows.map(readRow);
  return read.length > 0 && read.every((row) => row !== undefined) ? { checkedAt, account, rows: read } : undefined;
}

function readRow(value: unknown): ModelRow | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { id, name, slug, maxMode, thinkingLevelMap, images, contextWindow, maxTokens } = value as Partial<Record<keyof ModelRow, unknown>>;
  if (!isName(id) || !isName(name) || !isName(slug) || typeof maxMode !== "boolean" || typeof images !== "boolean" || !isCount(contextWindow) || !isCount(maxTokens)) return undefined;
  const levels = readLevels(thinkingLevelMap);
  if (levels === "wrong") return undefined;
  return { id, name, slug, maxMode, ...(levels && { thinkingLevelMap: levels }), images, contextWindow, maxTokens };
}

function readLevels(map: unknown): Record<ThinkingLevel, string | null> | undefined | "wrong" {
  if (map === undefined) return undefined;
  if (typeof map !== "object" || map === null) return "wrong";
  const slugs = THINKING_LEVELS.map((level) => [level, Object.hasOwn(map, level) ? (map as Record<string, unknown>)[level] : null] as const);
  return slugs.every(([, slug]) => slug === null || isName(slug)) ? (Object.fromEntries(slugs) as Record<ThinkingLevel, string | null>) : "wrong";
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 500;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0;
}
