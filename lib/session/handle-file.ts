/** A handle as a file: JSON that names the checkpoint and the blobs by the SHA-256 of their content (PROTOCOL §10). */
import { LIMITS } from "../agent/limits.ts";
import type { Handle } from "./turn.ts";

/** The version that is written, and the only one that is read. */
const VERSION = 1;
/** Characters of an id or a key in the file. */
const NAME = 256;
/** Lists and objects in the file: a blob takes one at most, and JSON of nothing else takes many times as long to read. */
const BRACKETS = 2 * LIMITS.blobs;
const SHA256 = /^[0-9a-f]{64}$/;

/** A blob: what the service asks for it by, and the hex SHA-256 of its content. The two differ where the service chose the id. */
export interface HandleBlob {
  id: string;
  content: string;
}

/** What a handle file says. */
export interface HandleFile extends Pick<Handle, "conversationId" | "fingerprint" | "toolsetKey"> {
  /** Hex SHA-256 of the checkpoint. */
  checkpoint: string;
  blobs: HandleBlob[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The bytes of a handle file.
 * @throws RangeError where {@link decodeHandleFile} would not take them back
 */
export function encodeHandleFile({ conversationId, fingerprint, toolsetKey, checkpoint, blobs }: HandleFile): Uint8Array<ArrayBuffer> {
  const entries = blobs.map(({ id, content }) => (id === content ? id : [id, content]));
  const json = { version: VERSION, conversationId, fingerprint, toolsetKey, checkpoint, blobs: entries };
  const wrong = wrongIn(json);
  if (wrong !== undefined) throw new RangeError(`The handle can not be kept: ${wrong}.`);
  return encoder.encode(`${JSON.stringify(json)}\n`);
}

/** Reads a handle file, whoever wrote it: what it says, or the reason why it is no such file. */
export function decodeHandleFile(bytes: Uint8Array): { ok: true; file: HandleFile } | { ok: false; reason: string } {
  if (brackets(bytes) > BRACKETS) return { ok: false, reason: "it is no handle: it has too many lists" };
  let json: unknown;
  try {
    json = JSON.parse(decoder.decode(bytes));
  } catch {
    return { ok: false, reason: "it is no JSON" };
  }
  const reason = wrongIn(json);
  if (reason !== undefined) return { ok: false, reason };
  const { conversationId, fingerprint, toolsetKey, checkpoint, blobs } = json as StoredHandle;
  return { ok: true, file: { conversationId, fingerprint, toolsetKey, checkpoint, blobs: blobs.map(blobOf) } };
}

/** How many lists and objects open, at most. */
function brackets(bytes: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < bytes.length; index++) if (bytes[index] === 0x5b || bytes[index] === 0x7b) count++;
  return count;
}

type StoredBlob = string | [id: string, content: string];
type StoredHandle = Omit<HandleFile, "blobs"> & { blobs: StoredBlob[] };

/** What keeps `json` from being a handle, if anything does. */
function wrongIn(json: unknown): string | undefined {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return "it is no object";
  const own = (name: string): unknown => (Object.hasOwn(json, name) ? (json as Record<string, unknown>)[name] : undefined);
  if (own("version") !== VERSION) return `its version is not ${VERSION}`;
  for (const name of ["conversationId", "fingerprint", "toolsetKey"]) if (!isName(own(name))) return `its ${name} is no short text`;
  if (own("conversationId") === "") return "its conversationId is empty";
  if (!isSha256(own("checkpoint"))) return "its checkpoint is no SHA-256";
  const blobs = own("blobs");
  if (!Array.isArray(blobs)) return "its blobs are no list";
  if (!blobs.every(isStoredBlob)) return "one of its blobs is no id";
  if (new Set(blobs.map((blob) => blobOf(blob).id)).size !== blobs.length) return "it names a blob twice";
  return undefined;
}

function blobOf(stored: StoredBlob): HandleBlob {
  const [id, content] = typeof stored === "string" ? [stored, stored] : stored;
  return { id, content };
}

function isStoredBlob(value: unknown): value is StoredBlob {
  if (Array.isArray(value)) return value.length === 2 && isName(value[0]) && isSha256(value[1]);
  return isSha256(value);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length <= NAME;
}

function isSha256(value: unknown): value is string {
  return typeof value === "string" && SHA256.test(value);
}
