import type { Decoded } from "../../wire/index.ts";
import type { McpResult } from "../agent/index.ts";
import { isRecord } from "./shape.ts";
import type { Expected } from "./script.ts";
import type { ToolResult } from "./received.ts";

/** A decoded message as its properties. */
export type Properties = Readonly<Record<string, unknown>>;

/** What stands beside the case in a question or an answer. */
const BESIDE = new Set(["id", "execId", "spanContext", "localExecutionTimeMs", "unknown"]);

/** The name of the field that an exec, kv or query, or an answer to one, carries; undefined where it carries none that is known. */
export function answerName(answer: Properties): string | undefined {
  return Object.keys(answer).find((name) => !BESIDE.has(name));
}

/** What is at names joined by dots, own properties only. */
export function at(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((inner, name) => (isRecord(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined), value);
}

/** Names from the answer's field inwards to the arm that says what happened: `shellResult.rejected`. */
export function armOf(answer: Properties): string {
  const name = answerName(answer);
  if (name === undefined) return "nothing known";
  const names = [name];
  for (let inner = answer[name]; isRecord(inner) && names.length < 3; ) {
    const arm: string | undefined = Object.keys(inner).find((key) => key !== "unknown" && isRecord((inner as Properties)[key]));
    if (arm === undefined || !ARMS.has(arm)) break;
    names.push(arm);
    inner = inner[arm];
  }
  return names.join(".");
}

/** The names that arms of answers have: what is said under them is content. */
const ARMS = new Set([
  ..."success failure error rejected approved result timeout spawnError permissionDenied fileNotFound invalidFile notFile".split(" "),
  ..."noSpace fileBusy toolNotFound serverNotFound notFound stdout stderr exit start".split(" "),
]);

/** Where an answer does not look as expected: in words. */
export function unexpected(answer: Properties, expected: Expected): string | undefined {
  if (expected.arm !== undefined && at(answer, expected.arm) === undefined) return `${expected.arm} was expected, ${armOf(answer)} came`;
  if (expected.says !== undefined && !textsOf(answer).some((text) => text.includes(expected.says!))) return `nothing in ${armOf(answer)} says ${JSON.stringify(expected.says)}`;
  return undefined;
}

/** Every text in a value. */
function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return isRecord(value) ? Object.values(value).flatMap(textsOf) : [];
}

/** The properties that say what happened, the most telling first. */
const TELLING = ["content", "stdout", "output", "data", "error", "reason", "stderr", "clientVisibleError"];

/** The result that answers to an exec come to: a shell stream has several. */
export function resultOf(name: string, answers: readonly Properties[]): ToolResult {
  const last = answers.at(-1) ?? {};
  const arm = armOf(last);
  const success = (last["mcpResult"] as Decoded<typeof McpResult> | undefined)?.success;
  if (success !== undefined) {
    const content = success.content ?? [];
    return {
      name,
      arm,
      text: content.flatMap((item) => item.text?.text ?? []).join("\n"),
      isError: success.isError ?? false,
      images: content.flatMap((item) => item.image?.data?.length ?? []),
    };
  }
  const isError = !/\.(success|exit|approved)$/.test(arm);
  return { name, arm, text: answers.map(telling).join(""), isError, images: [] };
}

function telling(answer: Properties): string {
  const said = at(answer, armOf(answer));
  const words = TELLING.map((name) => at(said, name)).find((item) => typeof item === "string" && item !== "");
  return typeof words === "string" ? words : textsOf(said).join("\n");
}
