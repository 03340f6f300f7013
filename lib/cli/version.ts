import { readFileSync } from "node:fs";

/** The version of the package that holds this file; "unknown" where its package.json was left behind. */
export function version(): string {
  for (let folder = new URL("./", import.meta.url); ; folder = new URL("../", folder)) {
    try {
      const found = JSON.parse(readFileSync(new URL("package.json", folder), "utf8")) as { name?: unknown; version?: unknown };
      if (found.name === "cursor-wire") return String(found.version);
    } catch {
      // Not here: look one folder up.
    }
    if (folder.pathname === "/" || folder.href === new URL("../", folder).href) return "unknown";
  }
}
