import {
  bytes,
  encodeFields,
  fields,
  int32,
  map,
  message,
  nested,
  optional,
  repeated,
  string,
  text,
  uint32,
  WIRE_TYPE,
  type WireField,
} from "../../wire/index.ts";

/** §3: the size of the conversation as the service counts it. */
export const ConversationTokenDetails = message({ usedTokens: uint32(1), maxTokens: uint32(2) });

/** §3: the prompt of a new conversation. A checkpoint is one too, but is never read: see {@link overlayCheckpoint}. */
export const ConversationStateStructure = message({
  rootPromptMessagesJson: repeated(bytes(1)),
  turnsOld: repeated(bytes(2)),
  todos: repeated(bytes(3)),
  pendingToolCalls: repeated(string(4)),
  tokenDetails: nested(5, ConversationTokenDetails),
  summary: optional(bytes(6)),
  plan: optional(bytes(7)),
  turns: repeated(bytes(8)),
  previousWorkspaceUris: repeated(string(9)),
  mode: optional(int32(10)),
  summaryArchive: optional(bytes(11)),
  fileStates: map(12, text(1), bytes(2)),
  summaryArchives: repeated(bytes(13)),
  selfSummaryCount: uint32(17),
  readPaths: repeated(text(18)),
  clientName: string(22),
});

/** What {@link overlayCheckpoint} changes. */
export interface CheckpointChange {
  /** Blob ids of the current rules, appended to field 1. */
  readonly rules: readonly Uint8Array[];
  /** Replaces field 9. */
  readonly workspaceUris: readonly string[];
  /** Replaces field 22. */
  readonly clientName: string;
}

/**
 * A checkpoint with the current rules, workspace and client name (§3). The rules follow the last blob id of field 1;
 * fields 9 and 22 change where they stand, or follow everything else where there were none; all other bytes stay as
 * they are, for a checkpoint is never interpreted.
 * @throws WireError where the checkpoint is malformed
 */
export function overlayCheckpoint(checkpoint: Uint8Array, change: CheckpointChange): Uint8Array<ArrayBuffer> {
  const rules = change.rules.map((id) => lengthField(1, id));
  const uris = change.workspaceUris.map((uri) => lengthField(9, encoder.encode(uri)));
  const name = [lengthField(22, encoder.encode(change.clientName))];
  const overlaid: WireField[] = [];
  let afterPrompt = 0;
  for (const field of fields(checkpoint)) {
    const no = field.type === WIRE_TYPE.length ? field.no : 0;
    if (no === 9) overlaid.push(...uris.splice(0));
    else if (no === 22) overlaid.push(...name.splice(0));
    else overlaid.push(field);
    if (no === 1) afterPrompt = overlaid.length;
  }
  overlaid.splice(afterPrompt, 0, ...rules);
  return encodeFields([...overlaid, ...uris, ...name]);
}

const encoder = new TextEncoder();

function lengthField(no: number, value: Uint8Array): WireField {
  return { no, type: WIRE_TYPE.length, value };
}
