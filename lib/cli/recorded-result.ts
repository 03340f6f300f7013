/** The way back: from what a capture's client answered to what its host must have said. */
import { AgentClientMessage } from "../agent/index.ts";
import { SIZE_MARK } from "../session/native/composite.ts";
import { nativeResults } from "../session/native/translate.ts";
import type { PendingCall } from "../session/session.ts";
import type { ToolMessage } from "../session/turn.ts";
import type { Answer } from "./recording.ts";

/** A host's result, and whether the core makes the recorded answer of it. */
export interface RecordedResult {
  readonly result: ToolMessage;
  /**
   * False where a native exec's answer says less than the host had said (a search's matches without its lines): then
   * the answer is sent as it was recorded.
   */
  readonly exact: boolean;
}

/** The host's result behind a recorded answer. */
export function recordedResult(call: PendingCall, answer: Answer): RecordedResult {
  const { callId, tool, translation } = call;
  const said = answer[0]!.mcpResult ? saidByMcp(answer[0]!.mcpResult) : saidNatively(answer);
  const result: ToolMessage = { role: "tool", toolCallId: callId, toolName: tool, ...said };
  return { result, exact: translation === undefined || reproduces(nativeResults(translation, result), answer) };
}

type Said = Pick<ToolMessage, "content" | "isError">;
type McpResult = NonNullable<Answer[number]["mcpResult"]>;

function saidByMcp({ success, error, rejected, permissionDenied }: McpResult): Said {
  if (!success) return text(error?.error ?? rejected?.reason ?? permissionDenied?.error ?? "", true);
  const content = (success.content ?? []).map(({ text: item, image }): ToolMessage["content"][number] =>
    image
      ? { type: "image", mimeType: image.mimeType ?? "", data: Buffer.from(image.data ?? []).toString("base64") }
      : { type: "text", text: item?.text ?? "" },
  );
  return { content, isError: success.isError ?? false };
}

/** The arms of the native results, in the words from which the core reads them again. */
interface NativeArms {
  success?: { stdout?: string; content?: string; fileSize?: number; deletedFile?: string; output?: string };
  failure?: { exitCode?: number; stdout?: string; aborted?: boolean };
  fileNotFound?: object;
  permissionDenied?: { error?: string };
  noSpace?: object;
}

function saidNatively(answer: Answer): Said {
  if (answer[0]!.shellStream) return saidByStream(answer);
  const [arms = {}] = Object.entries(answer[0]!).filter(([name]) => name.endsWith("Result")).map(([, value]) => value as NativeArms);
  const { success, failure } = arms;
  if (success?.deletedFile !== undefined) return text(`${SIZE_MARK}${success.fileSize ?? 0}`, false);
  if (success) return text(success.stdout ?? success.content ?? success.output ?? "", false);
  if (failure) return text(failure.aborted ? (failure.stdout ?? "") : exited(failure.stdout ?? "", failure.exitCode ?? 0), true);
  if (arms.fileNotFound) return text("ENOENT: no such file or directory", true);
  if (arms.permissionDenied) return text(arms.permissionDenied.error ?? "EACCES: permission denied", true);
  if (arms.noSpace) return text("ENOSPC: no space left on device", true);
  const { error, reason } = Object.values(arms as Record<string, { error?: string; reason?: string }>).find((arm) => typeof arm === "object") ?? {};
  return text(error ?? reason ?? "", true);
}

function saidByStream(answer: Answer): Said {
  const events = answer.map(({ shellStream = {} }) => shellStream);
  const refused = events.find(({ rejected }) => rejected)?.rejected;
  if (refused) return text(refused.reason ?? "", true);
  const output = events.map(({ stdout, stderr }) => (stdout ?? stderr)?.data ?? "").join("");
  const exit = events.find((event) => event.exit)?.exit;
  if (exit?.aborted) return text(output, true);
  const code = (exit?.code ?? 0) | 0;
  return code === 0 ? text(output, false) : text(exited(output, code), true);
}

function exited(output: string, code: number): string {
  return `${output}${output === "" ? "" : "\n\n"}Command exited with code ${code}`;
}

function text(said: string, isError: boolean): Said {
  return { content: [{ type: "text", text: said }], isError };
}

function reproduces(bodies: Answer, answer: Answer): boolean {
  const encoded = (list: Answer): Buffer[] =>
    list.map(({ id: _id, execId: _execId, ...body }) => Buffer.from(AgentClientMessage.encode({ execClientMessage: body })));
  return Buffer.concat(encoded(bodies)).equals(Buffer.concat(encoded(answer)));
}
