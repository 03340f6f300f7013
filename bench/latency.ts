/** How long a delta takes from the host's write to Pi's event, over HTTP/2 on 127.0.0.1 through the extension. */
import { createServer } from "node:http2";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentServerMessage } from "../lib/agent/index.ts";
import { createExtension } from "../lib/pi/extension.ts";
import { Sessions } from "../lib/pi/sessions.ts";
import { FakePi } from "../test/pi-fake.ts";
import { encodeEndStream, encodeEnvelope, FLAG } from "../wire/index.ts";

/** Deltas that are timed, and ms between two. */
const DELTAS = 400;
const PAUSE = 2;

/** What was measured: ms, of which `median` is the middle and `p99` the slowest of a hundred. */
export interface Latency {
  readonly case: "latency";
  readonly deltas: number;
  readonly median: number;
  readonly p99: number;
}

/** Times each delta from just before the host writes it until Pi's iteration has it; both ends live in this process. */
export async function latency(): Promise<Latency> {
  const server = createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.resume();
    stream.respond({ ":status": 200, "content-type": "application/connect+proto" });
    void (async () => {
      for (let index = 0; index < DELTAS; index++) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        const text = `${performance.now()} `;
        stream.write(encodeEnvelope(0, AgentServerMessage.encode({ interactionUpdate: { textDelta: { text } } })));
      }
      stream.write(encodeEnvelope(0, AgentServerMessage.encode({ interactionUpdate: { turnEnded: {} } })));
      stream.end(encodeEnvelope(FLAG.endStream, encodeEndStream()));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const folder = mkdtempSync(join(tmpdir(), "cursor-wire-bench-"));
  const sessions = new Sessions();
  const pi = new FakePi("1.6");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await createExtension({ env: { HOME: folder, CURSOR_PROVIDER_AGENT_ORIGIN: origin, CURSOR_PROVIDER_HANDLE_DIR: join(folder, "handles") }, sessions })(pi);
  const model = { id: "composer-2.5", api: "cursor-agent", provider: "cursor", input: ["text" as const], contextWindow: 200_000 };
  const context = { messages: [{ role: "user" as const, content: "hi", timestamp: 0 }] };
  const times: number[] = [];
  try {
    for await (const event of pi.config.streamSimple(model, context, { apiKey: "bench" })) if (event.type === "text_delta") times.push(performance.now() - Number(event.delta));
  } finally {
    await sessions.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
  times.sort((a, b) => a - b);
  return { case: "latency", deltas: times.length, median: times[times.length >> 1] ?? NaN, p99: times[Math.floor(times.length * 0.99)] ?? NaN };
}
