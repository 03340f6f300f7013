import { capText, lineCount, utf8Size } from "./cap-text.ts";
import { SIZE_MARK } from "./composite.ts";
import { readExit } from "./exit.ts";
import { faultOf } from "./fault.ts";
import { given } from "./given.ts";
import { readNotice } from "./notice.ts";
import { textOf, type Answer, type Outcome, type Result } from "./outcome.ts";

/** How the host introduces an image that it read, if at all. */
const IMAGE_TEXT = /^(?:\[Image saved to [^\n]*\]\n?)?(?:Read image file \[|$)/;
const SIZE = new RegExp(`^${SIZE_MARK}\\s*(\\d{1,15})\\s*$`, "gm");

/**
 * A file as a ReadResult (PROTOCOL §5.1). An image goes up raw in `data`; several, or one beside a text of its own, do
 * not fit the result, so the text stays and each is a note. A host's notice about lines left out stays in the content.
 */
export function readResult({ operation, outcome, passed }: Answer): NonNullable<Result["readResult"]> {
  const { path = "", offset, limit } = operation.values;
  if (outcome.isError) return readFault(path, outcome);
  const ranged = (offset !== undefined || limit !== undefined) && (offset === undefined || passed("offset")) && (limit === undefined || passed("limit"));
  const [image, ...others] = outcome.images;
  if (image !== undefined && others.length === 0 && IMAGE_TEXT.test(outcome.text))
    return { success: { path, fileSize: image.data.length, data: image.data } };
  const text = textOf(outcome);
  const notice = readNotice(text);
  const { shown } = notice;
  const content = capText(text);
  const before = ranged && offset !== undefined ? offset - 1 : 0;
  const totalLines = notice.totalLines ?? before + lineCount(shown);
  const truncated = content !== text || notice.by !== undefined;
  // The content is one of two arms: left out it would be none.
  return { success: { content, ...given({ path, totalLines, fileSize: utf8Size(shown), truncated, rangeApplied: ranged }) } };
}

function readFault(path: string, outcome: Outcome): NonNullable<Result["readResult"]> {
  const error = capText(textOf(outcome));
  switch (faultOf(error)) {
    case "notFound":
      return { fileNotFound: { path } };
    case "permission":
      return { permissionDenied: { path } };
    case "notFile":
      return { invalidFile: given({ path, reason: error }) };
    default:
      return { error: given({ path, error }) };
  }
}

/** A written file as a WriteResult: its numbers are those of the text that was written. */
export function writeResult({ operation, outcome }: Answer, returnContent: boolean): NonNullable<Result["writeResult"]> {
  const { path = "", content = "" } = operation.values;
  if (!outcome.isError) {
    const after = returnContent ? capText(content) : "";
    return { success: given({ path, linesCreated: lineCount(content), fileSize: utf8Size(content), fileContentAfterWrite: after }) };
  }
  const error = capText(textOf(outcome));
  switch (faultOf(error)) {
    case "permission":
      return { permissionDenied: given({ path, error }) };
    case "noSpace":
      return { noSpace: { path } };
    default:
      return { error: given({ path, error }) };
  }
}

/** A deleted file as a DeleteResult. A success has the size that the command reported: without it the turn stalls, so a missing size is an error. */
export function deleteResult({ operation, outcome }: Answer): NonNullable<Result["deleteResult"]> {
  const { path = "" } = operation.values;
  const exit = readExit(outcome);
  const size = [...exit.output.matchAll(SIZE)].at(-1)?.[1];
  if (exit.how === "exited" && exit.code === 0 && size !== undefined) return { success: given({ path, deletedFile: path, fileSize: Number(size) }) };
  const error = capText(textOf(outcome));
  switch (faultOf(error)) {
    case "notFound":
      return { fileNotFound: { path } };
    case "permission":
      return { permissionDenied: given({ path, clientVisibleError: error }) };
    case "notFile":
      return { notFile: { path, actualType: "directory" } };
    case "busy":
      return { fileBusy: { path } };
    default:
      return { error: { path, error: error === "" ? "The command did not report the size of the file." : error } };
  }
}
