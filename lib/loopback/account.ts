/** The calls of an account as the host answers them: login, refresh and the model list. Nothing in it is anyone's account. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Decoded } from "../../wire/index.ts";
import { jsonObject, textField } from "../account/json.ts";
import { AvailableModelsResponse, GetDefaultModelForCliResponse, GetUsableModelsResponse, type AvailableModel, type ModelDetails } from "../account/messages.ts";

/** One request as it came. */
export interface AccountRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What is sent back; or nothing at all, RST_STREAM, or the end of the connection. */
export type AccountAnswer =
  | { status?: number; contentType?: string; body?: Uint8Array | string }
  | "silence"
  | "reset"
  | "cut";

/** What the account holds, and how it answers. */
export interface AccountOptions {
  usable?: Decoded<typeof ModelDetails>[];
  available?: Decoded<typeof AvailableModel>[];
  /** The slug that the service would choose. */
  defaultSlug?: string;
  /** The access token that a login or a refresh gives, each time anew. Default: one that ends in an hour. */
  accessToken?: () => string;
  /** The only refresh token that is accepted, and what a login gives. */
  refreshToken?: string;
  /** How often a poll is pending before the login is done. */
  pendingPolls?: number;
  /** Looks at each request first; undefined: the account answers. */
  answer?: (request: AccountRequest) => AccountAnswer | undefined;
}

const variant = (slug: string, effort: string, isDefault: boolean) => ({
  parameterValues: [{ id: "reasoning_effort", value: effort }],
  displayName: slug,
  isDefaultNonMaxConfig: isDefault,
  legacySlug: slug,
});

/** A synthetic list: one model with effort variants, one without. */
const AVAILABLE: Decoded<typeof AvailableModel>[] = [
  {
    name: "grok-4.7",
    supportsAgent: true,
    supportsThinking: true,
    supportsImages: true,
    contextTokenLimit: 256_000,
    clientDisplayName: "Grok 4.7",
    supportsNonMaxMode: true,
    variants: [variant("grok-4.7-low", "low", false), variant("grok-4.7-medium", "medium", true), variant("grok-4.7-high", "high", false)],
  },
  { name: "composer-2.5", supportsAgent: true, supportsImages: true, contextTokenLimit: 200_000, clientDisplayName: "Composer 2.5", supportsNonMaxMode: true },
];

/** Reads one request and sends what `answers` says. Never throws. */
export async function answerStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, answers: (request: AccountRequest) => AccountAnswer): Promise<void> {
  stream.on("error", () => {});
  const answer = answers(await readRequest(stream, headers));
  // Not inside a callback of the session: Node 20 does not survive a session that is destroyed there.
  setImmediate(() => send(stream, answer));
}

/** How the account of `options` answers a request; 404 for what it does not know. */
export function accountAnswers(options: AccountOptions): (request: AccountRequest) => AccountAnswer {
  const { available = AVAILABLE, refreshToken = "synthetic-refresh", accessToken = () => syntheticToken(3600) } = options;
  const usable = options.usable ?? available.flatMap(({ name, variants = [] }) => (variants.length === 0 ? [name] : variants.map(({ legacySlug }) => legacySlug))).map((slug) => ({ modelId: slug!, displayName: slug! }));
  let pending = options.pendingPolls ?? 0;
  const proto = (body: Uint8Array): AccountAnswer => ({ contentType: "application/proto", body });
  const json = (value: unknown): AccountAnswer => ({ contentType: "application/json", body: JSON.stringify(value) });
  const routes: Readonly<Record<string, (request: AccountRequest) => AccountAnswer>> = {
    "/auth/poll": () => (pending-- > 0 ? { status: 404 } : json({ accessToken: accessToken(), refreshToken })),
    "/oauth/token": ({ body }) => {
      const given = textField(jsonObject(body), "refresh_token");
      return json(given === refreshToken ? { access_token: accessToken() } : { access_token: "", shouldLogout: true });
    },
    "/aiserver.v1.AiService/GetUsableModels": () => proto(GetUsableModelsResponse.encode({ models: usable })),
    "/aiserver.v1.AiService/AvailableModels": () => proto(AvailableModelsResponse.encode({ models: available })),
    "/aiserver.v1.AiService/GetDefaultModelForCli": () => proto(GetDefaultModelForCliResponse.encode(options.defaultSlug === undefined ? {} : { model: { modelId: options.defaultSlug } })),
  };
  return (request) => options.answer?.(request) ?? (Object.hasOwn(routes, request.path) ? routes[request.path]!(request) : { status: 404 });
}

/** An unsigned JWT that ends in so many seconds: it opens nothing but a loopback. */
export function syntheticToken(seconds: number, subject = "synthetic"): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part({ sub: subject, exp: Math.floor(Date.now() / 1000) + seconds, id: Math.random() })}.`;
}

const HERE = "http://127.0.0.1";

async function readRequest(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<AccountRequest> {
  const chunks: Uint8Array[] = [];
  // A stream that is reset ends without more bytes.
  await new Promise<void>((resolve) => stream.on("data", (chunk: Uint8Array) => chunks.push(chunk)).on("end", resolve).on("close", resolve));
  const path = headers[":path"] ?? "/";
  const url = new URL(URL.canParse(path, HERE) ? path : "/", HERE);
  const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return { method: headers[":method"] ?? "", path: url.pathname, query: url.searchParams, headers: plain, body: Buffer.concat(chunks) };
}

function send(stream: ServerHttp2Stream, answer: AccountAnswer): void {
  if (stream.destroyed || answer === "silence") return;
  if (answer === "reset") stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else if (answer === "cut") stream.session?.destroy();
  else {
    stream.respond({ ":status": answer.status ?? 200, ...(answer.contentType !== undefined && { "content-type": answer.contentType }) });
    stream.end(answer.body ?? "");
  }
}
