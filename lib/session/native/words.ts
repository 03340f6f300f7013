/** A name or a text as its words: lower-case, split at case changes and at all that is no letter or digit, without a plural s. */
export function wordsOf(text: string): Set<string> {
  const split = text.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z0-9]+/);
  return new Set(split.filter((word) => word !== "").map(stem));
}

/** A name that compares equal however it is written: `file_path`, `filePath` and `File-Path` are all `filepath`. */
export function compact(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** `files` and `file`, `executes` and `execute` are one word; short words such as `ls` stay as they are. */
function stem(word: string): string {
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}
