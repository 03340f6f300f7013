import { DISK } from "../driver/disk.ts";

/** A login as Pi keeps it. */
export interface StoredCredentials {
  access: string;
  refresh: string;
  /** ms since 1970. */
  expires: number;
}

/** The most bytes of the file that are read. */
const FILE_BYTES = 1024 * 1024;

/** A provider's login in Pi's auth.json; undefined where there is none that can be read. Never throws, never writes. */
export async function readAuthFile(file: string, provider: string): Promise<StoredCredentials | undefined> {
  try {
    const bytes = await DISK.read(file, (size) => {
      if (size > FILE_BYTES) throw new RangeError(`${file} is too large`);
    });
    const all: unknown = JSON.parse(new TextDecoder().decode(bytes));
    const one: unknown = Object.hasOwn(all as object, provider) ? (all as Record<string, unknown>)[provider] : undefined;
    const { type, access, refresh, expires } = (one ?? {}) as Record<string, unknown>;
    const whole = type === "oauth" && typeof access === "string" && typeof refresh === "string" && typeof expires === "number";
    return whole ? { access, refresh, expires } : undefined;
  } catch {
    return undefined;
  }
}
