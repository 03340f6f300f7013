import type { Received } from "../loopback/index.ts";
import { UsageError } from "./failure.ts";
import { startHost } from "./host.ts";
import type { Output } from "./output.ts";
import { printable } from "./printable.ts";
import type { Context } from "./verb.ts";

/** Runs the embedded host until it is interrupted, which is its only end: exit 130 (DESIGN §5). */
export async function serve(context: Context): Promise<number> {
  const { arguments: args, out, signal } = context;
  const port = args.has("port") ? portOf(args.value("port")!) : 0;
  const host = await startHost(args.positionals[0], context, port);
  try {
    if (out.json) out.object({ type: "listening", origin: host.origin });
    else {
      out.line(`listening on ${out.style.bold(host.origin)} until it is interrupted`);
      out.line(`try it: cursor-wire run --origin ${host.origin} "Hello"`);
      out.line(`or for any program that uses cursor-wire: CURSOR_PROVIDER_AGENT_ORIGIN=${host.origin} PI_CURSOR_TOKEN=any`);
    }
    const over = new Promise<undefined>((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener("abort", () => resolve(undefined), { once: true });
    });
    for (let index = 0; ; index++) {
      const received = await Promise.race([host.run(index), over]);
      if (received === undefined) return 0;
      void received.closed.then(() => report(index, received, out));
    }
  } finally {
    await host.close();
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new UsageError(`--port needs a number from 0 to 65535, not ${text}`, "serve");
  return port;
}

function report(index: number, { request, frames, state, violations }: Received, out: Output): void {
  const model = request?.requestedModel?.modelId ?? "";
  if (out.json) out.object({ type: "run", run: index + 1, model, frames: frames.length, state, violations });
  else {
    out.line(`run ${index + 1}: ${printable(model)}, ${frames.length} frames from the client, ${state}`);
    for (const violation of violations) out.line(out.style.yellow(`  ! ${printable(violation)}`));
  }
}
