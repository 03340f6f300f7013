/** Questions about blobs (PROTOCOL §6). */
import type { Decoded } from "../../wire/index.ts";
import type { KvServerMessage } from "../agent/index.ts";
import { hex } from "../agent/index.ts";
import { driftFailure } from "./failures.ts";
import { fail, recover } from "./finish.ts";
import { work } from "./on-update.ts";
import { send } from "./reply.ts";
import { note, type Session } from "./session.ts";

export function onKv(session: Session, { id = 0, getBlobArgs, setBlobArgs }: Decoded<typeof KvServerMessage>): void {
  work(session);
  if (getBlobArgs) onGet(session, id, getBlobArgs.blobId ?? new Uint8Array(0));
  else if (setBlobArgs) onSet(session, id, setBlobArgs.blobId ?? new Uint8Array(0), setBlobArgs.blobData);
  else fail(session, driftFailure("a blob message that neither gets nor sets"));
}

/** A miss is never answered: empty data would blank a part of the conversation without a word. */
function onGet(session: Session, id: number, blobId: Uint8Array): void {
  const blobData = session.blobs.get(blobId);
  if (blobData !== undefined) send(session, { kvClientMessage: { id, getBlobResult: { blobData } } });
  else if (!recover(session, "a blob is missing"))
    fail(session, { kind: "remote", code: "blob_not_found", message: `The service asks for the blob ${hex(blobId.subarray(0, 32))}, which this conversation never held.`, nextStep: "Start a new conversation." });
}

/** Without data it names a blob that the service has already: acknowledged, nothing to keep. */
function onSet(session: Session, id: number, blobId: Uint8Array, blobData: Uint8Array | undefined): void {
  const kept = blobData === undefined || session.blobs.set(blobId, blobData);
  if (!kept) note(session, "blob_refused", `A blob of ${blobData.length} bytes does not fit the store and was refused.`);
  send(session, { kvClientMessage: { id, setBlobResult: kept ? {} : { error: { message: "The client's blob store is full." } } } });
}
