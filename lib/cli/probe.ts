import { variable } from "../driver/variables.ts";
import { startLoopback } from "../loopback/index.ts";
import { nearest } from "../loopback/nearest.ts";
import { told, UsageError } from "./failure.ts";
import { openWorkbench } from "./inproc.ts";
import type { Output } from "./output.ts";
import { printable } from "./printable.ts";
import { nativeInProcess, PROBES, type Check, type Probe } from "./probes.ts";
import { Prober, type Asked } from "./prober.ts";
import { DEFAULT_MODEL } from "./run.ts";
import { accessToken } from "./token.ts";
import type { Context } from "./verb.ts";

/** Characters of a detail that are shown. */
const SHOWN = 200;

/** Runs one probe or all (DESIGN §5). Resolves to 1 where a check fails. */
export async function probe({ arguments: args, out, env, signal }: Context): Promise<number> {
  const chosen = choose(args.positionals[0]!);
  if (args.has("loopback") && args.has("origin")) throw new UsageError("--loopback and --origin exclude each other", "probe");
  const run = async (one: Probe, environment: Context["env"]): Promise<boolean> => {
    const asked = { model: args.value("model") ?? DEFAULT_MODEL, env: environment, signal };
    const asking = args.has("loopback") ? onLoopback(one, asked) : one.ask(new Prober({ ...asked, ...service(args.value("origin"), environment) }));
    const checks = chosen.length === 1 ? await asking : await asking.catch(failed);
    for (const check of checks) tell(out, one, check);
    return checks.every(({ ok }) => ok !== false);
  };
  if (args.has("inproc")) return (await inProcess(chosen, env, run)) ? 0 : 1;
  let good = true;
  for (const one of chosen) {
    if (signal.aborted) break;
    good = (await run(one, env)) && good;
  }
  return good ? 0 : 1;
}

/** A turn that failed is a failed check, so that the other probes go on; not where it would fail them all. */
function failed(error: unknown): Check[] {
  const { kind, code, message, details } = told(error);
  if (kind === "auth" || kind === "local" || kind === "aborted") throw error;
  return [{ what: "the turn comes to its end", ok: false, detail: `${kind} ${code}: ${message}${details ? ` (${details})` : ""}` }];
}

function choose(name: string): readonly Probe[] {
  if (name === "all") return PROBES;
  const found = PROBES.filter((one) => one.name === name);
  if (found.length > 0) return found;
  const near = nearest(name, [...PROBES.map((one) => one.name), "all"]);
  throw new UsageError(`there is no probe ${name}${near === undefined ? "" : `; did you mean ${near}?`}`, "probe");
}

/**
 * The `native` probe on a workbench of its own. The variable that asks for it is honoured here and nowhere else, so the
 * provider is not shown it.
 */
async function inProcess(chosen: readonly Probe[], env: Context["env"], run: (probe: Probe, env: Context["env"]) => Promise<boolean>): Promise<boolean> {
  if (chosen.length !== 1 || chosen[0]!.name !== "native") throw new UsageError("--inproc belongs to: probe native", "probe");
  const bench = openWorkbench();
  try {
    return await run(nativeInProcess(bench), { ...env, CURSOR_PROVIDER_NATIVE_EXEC: undefined });
  } finally {
    bench.close();
  }
}

function service(origin: string | undefined, env: Context["env"]): Pick<Asked, "origin" | "accessToken"> {
  const url = variable(env, "CURSOR_PROVIDER_AGENT_ORIGIN", origin);
  return { origin: url.origin, accessToken: accessToken(env, url) };
}

/** On the embedded host the model is played; what is checked as well is that the host has nothing to object. */
async function onLoopback(one: Probe, asked: Omit<Asked, "origin" | "accessToken">): Promise<Check[]> {
  const host = await startLoopback({ script: [...one.scripts] });
  try {
    const checks = await one.ask(new Prober({ ...asked, origin: host.origin, accessToken: "loopback" }));
    const violations = host.received.flatMap((received) => received.violations);
    return [...checks, { what: "the host has nothing to object", ok: violations.length === 0, detail: violations.join("; ") || "nothing" }];
  } finally {
    await host.close();
  }
}

function tell(out: Output, { name }: Probe, { what, ok, detail }: Check): void {
  if (out.json) {
    out.object({ type: "check", probe: name, what, ...(ok !== undefined && { ok }), detail });
    return;
  }
  const { style } = out;
  const mark = ok === undefined ? style.dim("note") : ok ? style.dim("ok  ") : style.red("fail");
  out.line(`${mark} ${name.padEnd(8)} ${what}: ${printable(detail.slice(0, SHOWN)).replaceAll("\n", " ")}`);
}
