import {
  bool,
  bytes,
  int32,
  map,
  message,
  nested,
  oneof,
  optional,
  repeated,
  safe64,
  string,
  text,
  uint32,
  type Decoded,
  type Message,
  type UnknownField,
} from "../../wire/index.ts";

/** §5, exec 7: a file to read; `offset` and `limit` in lines, where they occur (§5.1). */
export const ReadArgs = message({
  path: text(1),
  toolCallId: string(2),
  offset: optional(int32(4)),
  limit: optional(uint32(5)),
  encodingHint: optional(text(6)),
});

/** §5.1: the file. `rangeApplied` says that `offset` and `limit` were followed. */
export const ReadSuccess = message({
  path: text(1),
  ...oneof("output", {
    content: text(2),
    data: bytes(5),
  }),
  totalLines: int32(3),
  fileSize: safe64(4),
  truncated: bool(6),
  outputBlobId: optional(bytes(7)),
  rangeApplied: bool(8),
});

/** §5.1: why it could not be read. */
export const ReadError = message({ path: text(1), error: text(2) });

/** §5: the read is refused. */
export const ReadRejected = message({ path: text(1), reason: text(2) });

/** §5.1: no such file. */
export const ReadFileNotFound = message({ path: text(1) });

/** §5.1: the file may not be read. */
export const ReadPermissionDenied = message({ path: text(1) });

/** §5.1: nothing that can be read as a file. */
export const ReadInvalidFile = message({ path: text(1), reason: text(2) });

/** §5, exec 7: the file or why not. */
export const ReadResult = message({
  ...oneof("result", {
    success: nested(1, ReadSuccess),
    error: nested(2, ReadError),
    rejected: nested(3, ReadRejected),
    fileNotFound: nested(4, ReadFileNotFound),
    permissionDenied: nested(5, ReadPermissionDenied),
    invalidFile: nested(6, ReadInvalidFile),
  }),
});

/** §5, exec 3: a file to write; `fileBytes`, where not empty, wins over `fileText`. */
export const WriteArgs = message({
  path: text(1),
  fileText: text(2),
  toolCallId: string(3),
  returnFileContentAfterWrite: bool(4),
  fileBytes: bytes(5),
  encodingHint: optional(text(6)),
});

/** §5.1: the file is written; `fileSize` in bytes. */
export const WriteSuccess = message({
  path: text(1),
  linesCreated: int32(2),
  fileSize: int32(3),
  fileContentAfterWrite: optional(text(4)),
});

/** §5.1: the file may not be written. */
export const WritePermissionDenied = message({
  path: text(1),
  directory: text(2),
  operation: text(3),
  error: text(4),
  isReadonly: bool(5),
});

/** §5.1: the disk is full. */
export const WriteNoSpace = message({ path: text(1) });

/** §5.1: why it could not be written. */
export const WriteError = message({ path: text(1), error: text(2) });

/** §5: the write is refused. */
export const WriteRejected = message({ path: text(1), reason: text(2) });

/** §5, exec 3: whether the file is written. */
export const WriteResult = message({
  ...oneof("result", {
    success: nested(1, WriteSuccess),
    permissionDenied: nested(3, WritePermissionDenied),
    noSpace: nested(4, WriteNoSpace),
    error: nested(5, WriteError),
    rejected: nested(6, WriteRejected),
  }),
});

/** §5, exec 4: a file to delete. */
export const DeleteArgs = message({ path: text(1), toolCallId: string(2) });

/** §5.1: the file is gone. `deletedFile` is the path again; without the real `fileSize` in bytes the turn stalls. */
export const DeleteSuccess = message({
  path: text(1),
  deletedFile: text(2),
  fileSize: safe64(3),
  prevContent: text(4),
});

/** §5.1: no such file. */
export const DeleteFileNotFound = message({ path: text(1) });

/** §5.1: something else than a file. */
export const DeleteNotFile = message({ path: text(1), actualType: text(2) });

/** §5.1: the file may not be deleted. */
export const DeletePermissionDenied = message({ path: text(1), clientVisibleError: text(2), isReadonly: bool(3) });

/** §5.1: the file is in use. */
export const DeleteFileBusy = message({ path: text(1) });

/** §5: the delete is refused. */
export const DeleteRejected = message({ path: text(1), reason: text(2) });

/** §5.1: why it could not be deleted. */
export const DeleteError = message({ path: text(1), error: text(2) });

/** §5, exec 4: whether the file is gone. */
export const DeleteResult = message({
  ...oneof("result", {
    success: nested(1, DeleteSuccess),
    fileNotFound: nested(2, DeleteFileNotFound),
    notFile: nested(3, DeleteNotFile),
    permissionDenied: nested(4, DeletePermissionDenied),
    fileBusy: nested(5, DeleteFileBusy),
    rejected: nested(6, DeleteRejected),
    error: nested(7, DeleteError),
  }),
});

/** §5, exec 8: a folder to list. */
export const LsArgs = message({
  path: text(1),
  ignore: repeated(text(2)),
  toolCallId: string(3),
  timeoutMs: optional(uint32(5)),
});

/** §5.1: a file in a folder. */
export const LsDirectoryTreeNode_File = message({ name: text(1) });

/** §5.1: a folder and what is in it. */
export interface DirectoryTree {
  absPath?: string;
  childrenDirs?: DirectoryTree[];
  childrenFiles?: Decoded<typeof LsDirectoryTreeNode_File>[];
  childrenWereProcessed?: boolean;
  fullSubtreeExtensionCounts?: Map<string, number>;
  numFiles?: number;
  unknown?: UnknownField[];
}

/** §5.1: a folder. The type is written out because a table cannot infer one that holds itself. */
export const LsDirectoryTreeNode: Message<DirectoryTree> = message({
  absPath: text(1),
  childrenDirs: repeated(nested(2, () => LsDirectoryTreeNode)),
  childrenFiles: repeated(nested(3, LsDirectoryTreeNode_File)),
  childrenWereProcessed: bool(4),
  fullSubtreeExtensionCounts: map(5, text(1), int32(2)),
  numFiles: int32(6),
});

/** §5.1: the folder. */
export const LsSuccess = message({ directoryTreeRoot: nested(1, LsDirectoryTreeNode) });

/** §5.1: why it could not be listed. */
export const LsError = message({ path: text(1), error: text(2) });

/** §5: the listing is refused. */
export const LsRejected = message({ path: text(1), reason: text(2) });

/** §5.1: the listing took too long. */
export const LsTimeout = message({ directoryTreeRoot: nested(1, LsDirectoryTreeNode) });

/** §5, exec 8: the folder or why not. */
export const LsResult = message({
  ...oneof("result", {
    success: nested(1, LsSuccess),
    error: nested(2, LsError),
    rejected: nested(3, LsRejected),
    timeout: nested(4, LsTimeout),
  }),
});
