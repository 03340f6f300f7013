/** One origin for both: accounts are answered here, Runs are handed on to an agent host. */
import { connect, createServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { accountAnswers, type AccountOptions, type AccountRequest } from "../../lib/loopback/account.ts";

/** A running front. */
export interface Front {
  readonly origin: string;
  /** The account requests so far. */
  readonly received: AccountRequest[];
  close(): Promise<void>;
}

/** Starts a front before the agent host at `agent`. */
export async function startFront(agent: string, account: AccountOptions): Promise<Front> {
  const received: AccountRequest[] = [];
  const answers = accountAnswers(account);
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on("session", (session) => {
    sessions.add(session.on("error", () => {}));
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    if (headers[":path"]?.startsWith("/agent.v1.")) handOn(stream, headers, agent);
    else void answer(stream, headers, received, answers);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

function handOn(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, agent: string): void {
  const session = connect(agent).on("error", () => stream.destroy());
  const upstream = session.request({ ...headers, ":authority": new URL(agent).host });
  upstream.on("error", () => stream.destroy());
  upstream.on("response", ({ ":status": status, "content-type": type }) => stream.respond({ ":status": status, "content-type": type }));
  stream.pipe(upstream).pipe(stream);
  stream.on("close", () => setImmediate(() => session.destroy()));
}

async function answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, received: AccountRequest[], answers: ReturnType<typeof accountAnswers>): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk as Uint8Array);
  const url = new URL(headers[":path"]!, "http://127.0.0.1");
  const request = { method: headers[":method"]!, path: url.pathname, query: url.searchParams, headers: headers as Record<string, string>, body: Buffer.concat(chunks) };
  received.push(request);
  const given = answers(request);
  if (typeof given === "string") return stream.close();
  stream.respond({ ":status": given.status ?? 200, "content-type": given.contentType ?? "text/plain" });
  stream.end(given.body ?? "");
}
