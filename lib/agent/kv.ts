import { bytes, message, nested, oneof, optional, text, uint32 } from "../../wire/index.ts";
import { SpanContext } from "./span-context.ts";

/** §6: asks for a blob by its id, {@link blobId}. */
export const GetBlobArgs = message({ blobId: bytes(1) });

/** §6: gives a blob to keep; without `blobData` it only names one. */
export const SetBlobArgs = message({ blobId: bytes(1), blobData: bytes(2) });

/** §6: a question about a blob. */
export const KvServerMessage = message({
  id: uint32(1),
  ...oneof("message", {
    getBlobArgs: nested(2, GetBlobArgs),
    setBlobArgs: nested(3, SetBlobArgs),
  }),
  spanContext: nested(4, SpanContext),
});

/** §6: an error in words. */
export const Error = message({ message: text(1) });

/** §6: the blob, or why there is none; never empty data for a miss. */
export const GetBlobResult = message({ blobData: optional(bytes(1)), error: nested(2, Error) });

/** §6: empty where the blob is kept. */
export const SetBlobResult = message({ error: nested(1, Error) });

/** §6: the answer, with the `id` of its question. */
export const KvClientMessage = message({
  id: uint32(1),
  ...oneof("message", {
    getBlobResult: nested(2, GetBlobResult),
    setBlobResult: nested(3, SetBlobResult),
  }),
});
