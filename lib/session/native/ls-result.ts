import { LIMITS } from "../../agent/limits.ts";
import { capText, utf8Size } from "./cap-text.ts";
import { given } from "./given.ts";
import type { Answer, Result } from "./outcome.ts";
import { below } from "./paths.ts";
import { readSearch } from "./search-result.ts";

/** What a listing says of a folder without entries. */
export const EMPTY_FOLDER = "(empty directory)";

/**
 * A folder as an LsResult (PROTOCOL §5.1): names that end in a slash are folders, whose contents stay unread. Where
 * names are left out, `children_were_processed` is false: the tree has no other place to say so.
 */
export function lsResult(answer: Answer): NonNullable<Result["lsResult"]> {
  const { path } = answer.operation.values;
  const found = readSearch(answer);
  if ("error" in found) return { error: given({ path, error: capText(found.error) }) };
  const absPath = path === undefined ? answer.workspace : below(answer.workspace, path);
  const { by, entries } = found.notice;
  const names = found.lines.filter((line) => line !== EMPTY_FOLDER && line !== "./" && line !== "../");
  let room: number = LIMITS.toolResult;
  const end = names.findIndex((name) => (room -= utf8Size(name)) < 0);
  const shown = end < 0 ? names : names.slice(0, end);
  const folders = shown.filter((name) => name.endsWith("/")).map((name) => ({ absPath: `${absPath === "/" ? "" : absPath}/${name.slice(0, -1)}` }));
  const files = shown.filter((name) => !name.endsWith("/")).map((name) => ({ name }));
  const whole = end < 0 && by === undefined && entries === undefined;
  return {
    success: {
      directoryTreeRoot: given({ absPath, childrenDirs: folders, childrenFiles: files, childrenWereProcessed: whole, numFiles: files.length }),
    },
  };
}
