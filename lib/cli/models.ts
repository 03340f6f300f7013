import { accountOrigin, readCatalog, type ModelRow } from "../account/index.ts";
import { isLoopback } from "../driver/origin.ts";
import { printable } from "./printable.ts";
import type { Context } from "./verb.ts";

/**
 * Lists the models of the account in PI_CURSOR_TOKEN, which a host of this machine does without; elsewhere, without one,
 * the small built-in list.
 * @throws CursorError
 */
export async function models({ arguments: args, out, env, signal }: Context): Promise<number> {
  const origin = args.value("origin");
  const place = accountOrigin({ env, ...(origin !== undefined && { origin }) });
  const { rows, source } = await readCatalog({
    accessToken: env["PI_CURSOR_TOKEN"] || (isLoopback(place) ? "loopback" : undefined),
    env,
    signal,
    ...(origin !== undefined && { origin }),
    onWarning: (warning) => out.note(out.noteStyle.yellow(printable(warning))),
  });
  if (out.json) for (const row of rows) out.object({ type: "model", source, ...row });
  else {
    const width = Math.max(...rows.map(({ slug }) => slug.length));
    for (const row of rows) out.line(printable(`${row.slug.padEnd(width)}  ${described(row)}`));
  }
  return 0;
}

function described({ name, contextWindow, images, maxMode, thinkingLevelMap }: ModelRow): string {
  const slugs = Object.entries(thinkingLevelMap ?? {}).flatMap(([level, slug]) => (slug === null ? [] : [`${level}: ${slug}`]));
  const facts = [`${Math.round(contextWindow / 1000)}k`, images && "images", maxMode && "Max", slugs.join(", ")].filter(Boolean);
  return `${name} (${facts.join("; ")})`;
}
