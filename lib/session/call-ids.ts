import { LIMITS } from "../agent/limits.ts";

/**
 * A tool-call id that the service takes: what is outside `[A-Za-z0-9_-]` becomes `_`, and what is beyond 64 characters
 * goes (DESIGN D17). Different ids may come out the same: see {@link idCleaner}.
 */
export function cleanId(id: string): string {
  return id.slice(0, LIMITS.toolCallId).replaceAll(/[^A-Za-z0-9_-]/g, "_") || "call";
}

/** A {@link cleanId} that never gives two raw ids the same clean one, and gives the same raw id the same one again. */
export function idCleaner(): (raw: string) => string {
  const known = new Map<string, string>();
  const unique = distinct(LIMITS.toolCallId);
  return (raw) => {
    const clean = known.get(raw) ?? unique(cleanId(raw));
    known.set(raw, clean);
    return clean;
  };
}

/** Gives each name once: where it is taken, with the first free number behind it, within `limit` characters. */
export function distinct(limit: number): (wanted: string) => string {
  const taken = new Set<string>();
  const next = new Map<string, number>();
  return (wanted) => {
    let name = wanted;
    let number = next.get(wanted) ?? 2;
    for (; taken.has(name); number++) name = `${wanted.slice(0, limit - `_${number}`.length)}_${number}`;
    next.set(wanted, number);
    taken.add(name);
    return name;
  };
}
