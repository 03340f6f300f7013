/** Questions about blobs (PROTOCOL §6). */
import type { Decoded } from "../../wire/index.ts";
import type { KvServerMessage } from "../agent/index.ts";
import { blobId, hex, LIMITS } from "../agent/index.ts";
import { blobNotFound, driftFailure } from "./failures.ts";
import { fail, recover } from "./finish.ts";
import { work } from "./on-update.ts";
import { send } from "./reply.ts";
import { note, type Session } from "./session.ts";

const SHA256 = 32;
const NOTHING = new Uint8Array(0);
const EMPTY = hex(blobId(NOTHING));

/** A blob is asked for or set (PROTOCOL §6). */
export function onKv(session: Session, { id = 0, getBlobArgs, setBlobArgs, unknown }: Decoded<typeof KvServerMessage>): void {
  work(session);
  if (getBlobArgs) onGet(session, id, getBlobArgs.blobId ?? NOTHING);
  else if (setBlobArgs) onSet(session, id, setBlobArgs.blobId ?? NOTHING, setBlobArgs.blobData);
  else fail(session, driftFailure("a blob message", unknown));
}

/** A miss is never answered: empty data would blank a part of the conversation without a word. */
function onGet(session: Session, id: number, blob: Uint8Array): void {
  const blobData = session.blobs.get(blob);
  if (blobData !== undefined && (session.answered += blobData.length) > LIMITS.blob) {
    fail(session, driftFailure("a message that asks for more than one blob can hold,"));
    return;
  }
  if (blobData !== undefined) {
    send(session, { kvClientMessage: { id, getBlobResult: { blobData } } });
    return;
  }
  note(session, "blob_missing", "The service asks for a blob that this conversation never held.", { blob: hex(blob.subarray(0, SHA256)) });
  // The turn is complete, but a checkpoint that names what is not here would not resume.
  if (session.phase === "draining") session.checkpoint = undefined;
  else if (!recover(session, "a blob is missing")) fail(session, blobNotFound());
}

/** Without data it names a blob that the service has already: acknowledged, nothing to keep. Only the empty blob is one all the same. */
function onSet(session: Session, id: number, blob: Uint8Array, data: Uint8Array | undefined): void {
  const blobData = data ?? (hex(blob.subarray(0, SHA256)) === EMPTY ? NOTHING : undefined);
  const kept = blobData === undefined || session.blobs.set(blob, blobData);
  if (!kept) note(session, "blob_refused", `A blob of ${blobData.length} bytes does not fit the store and was refused.`);
  send(session, { kvClientMessage: { id, setBlobResult: kept ? {} : { error: { message: "The client's blob store is full." } } } });
}
