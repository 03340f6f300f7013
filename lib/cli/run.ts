import { existsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { createProvider, memoryHandleStore, type Message, type TurnRequest } from "../index.ts";
import { handleFolder } from "../driver/handle-folder.ts";
import { isLoopback } from "../driver/origin.ts";
import { variable } from "../driver/variables.ts";
import type { Loopback } from "../loopback/index.ts";
import { callDemoTool, DEMO_TOOLS } from "./demo-tools.ts";
import { Display } from "./display.ts";
import { UsageError } from "./failure.ts";
import { printable } from "./printable.ts";
import { Recorder, type RecordHeader } from "./record.ts";
import { accessToken } from "./token.ts";
import { addTurn, loadTranscript, transcriptFile } from "./transcript.ts";
import { runTurn } from "./turn.ts";
import type { Context } from "./verb.ts";
import { version } from "./version.ts";
import { workingFolder } from "./working-folder.ts";

/** The model of a run that names none. */
export const DEFAULT_MODEL = "composer-2.5";

const RULES = "You are being tried out from a command line. Answer briefly. Use your tools where they help.";

/** Runs one turn (DESIGN §5). Resolves to 1 where the embedded host objects to what it was sent. @throws CursorError or Failure where it fails */
export async function run(context: Context): Promise<number> {
  const { arguments: args, env } = context;
  if (args.has("loopback") && args.has("origin")) throw new UsageError("--loopback and --origin exclude each other", "run");
  if (args.has("redact") && !args.has("record")) throw new UsageError("--redact needs --record FILE", "run");
  const file = args.has("loopback") && args.value("loopback") === undefined ? args.positionals.find((word) => existsSync(word) && statSync(word).isFile()) : undefined;
  if (file !== undefined) throw new UsageError(`${file} is a file: write --loopback=${file} to play it, or the prompt in quotes`, "run");
  const prompt = args.positionals.join(" ");
  if (prompt.trim() === "") throw new UsageError("the PROMPT is empty", "run");
  if (!args.has("loopback")) {
    const origin = variable(env, "CURSOR_PROVIDER_AGENT_ORIGIN", args.value("origin"));
    const record = isLoopback(origin) ? HERE : THERE;
    return turn(context, prompt, { origin: origin.origin, accessToken: accessToken(env, origin), record, embedded: false });
  }
  // Only here: a run against the service needs no host.
  const { startHost } = await import("./host.ts");
  const host: Loopback = await startHost(args.value("loopback"), context);
  try {
    const file = args.value("loopback");
    const note = `the embedded host, ${file === undefined ? "its demo" : printable(basename(file))}`;
    const status = await turn(context, prompt, { origin: host.origin, accessToken: "loopback", record: { source: "synthetic", note }, embedded: true });
    return violationsOf(host).length > 0 ? 1 : status;
  } finally {
    for (const violation of violationsOf(host)) context.out.note(`the host objects: ${printable(violation)}`);
    await host.close();
  }
}

function violationsOf({ received }: Loopback): string[] {
  return received.flatMap(({ violations }) => violations);
}

const HERE = { source: "synthetic", note: "a host of this machine" } as const;
const THERE = { source: "live", note: "the agent service" } as const;

interface Target {
  readonly origin: string;
  readonly accessToken: string;
  /** What a recording says about where its frames come from. */
  readonly record: Pick<RecordHeader, "source" | "note">;
  /** Whether the host ends with this process, and its conversations with it. */
  readonly embedded: boolean;
}

async function turn({ arguments: args, out, env, signal }: Context, prompt: string, target: Target): Promise<number> {
  const sessionId = args.value("session");
  if (sessionId !== undefined && target.embedded) out.note("--session keeps nothing here: the conversations of the embedded host end with it.");
  const transcript = sessionId === undefined || target.embedded ? undefined : transcriptFile(handleFolder(env), sessionId);
  const history = transcript === undefined ? [] : await loadTranscript(transcript);
  const recorder = recorderOf(args.value("record"), args.has("redact"), target);
  const display = new Display(out);
  const provider = createProvider({
    accessToken: target.accessToken,
    origin: target.origin,
    env,
    ...(target.embedded && { handles: memoryHandleStore() }),
    ...(recorder && { onFrame: (frame) => recorder.frame(frame) }),
    onDiagnostic: (diagnostic) => display.diagnostic(diagnostic),
  });
  const request: TurnRequest = {
    ...(sessionId !== undefined && { sessionId }),
    workspace: workingFolder(),
    model: { id: args.value("model") ?? DEFAULT_MODEL },
    systemPrompt: RULES,
    messages: [...history, { role: "user", content: prompt }],
    tools: [...DEMO_TOOLS],
  };
  let messages: Message[];
  try {
    messages = await runTurn(
      provider,
      request,
      {
        async onEvent(event) {
          display.event(event);
          await out.drained();
        },
        onCall(call) {
          const result = callDemoTool(call, new Date());
          display.result(result);
          return result;
        },
      },
      signal,
    );
    display.end();
  } finally {
    display.break();
    await provider.close();
    for (const file of recorder?.close() ?? []) out.note(`recorded: ${file}`);
  }
  recorder?.check();
  if (transcript !== undefined && (await addTurn(transcript, messages.slice(history.length))) !== history.length)
    out.note("Another run of this session ended meanwhile: the transcript holds both turns, in the order of their ends.");
  return 0;
}

function recorderOf(file: string | undefined, redacted: boolean, { record }: Target): Recorder | undefined {
  if (file === undefined) return undefined;
  return new Recorder(file, { ...record, client: `cursor-wire ${version()}`, ...(redacted && { redacted }) });
}
