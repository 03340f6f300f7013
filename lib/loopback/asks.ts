import type { Decoded } from "../../wire/index.ts";
import { camel, execByName, queryByName, type AgentClientMessage, type AgentServerMessage, type ExecClientControlMessage } from "../agent/index.ts";
import { answerName, armOf, at, resultOf, unexpected, type Properties } from "./answer.ts";
import type { ToolResult } from "./received.ts";
import type { Expected } from "./script.ts";

/** Who asked: an exec is also closed, the others are over once answered. */
export type Channel = "exec" | "kv" | "query";

/** What the host asked the client. */
export interface Ask {
  readonly channel: Channel;
  readonly id: number;
  /** The value name of its case, or `raw`. */
  readonly case: string;
  readonly execId?: string;
  /** The tool that is called. */
  readonly tool?: string;
  /** The field that answers it; absent where any may. An exec may always be thrown. */
  readonly answeredBy?: string;
  readonly expect?: Expected;
  /** Told of each answer. */
  readonly onAnswer?: (answer: Properties) => void;
}

interface Open {
  readonly ask: Ask;
  readonly answers: Properties[];
  closed: boolean;
}

/** Who is told what a client does wrong. */
export interface Listener {
  violation(what: string): void;
  /** The turn stalls for good. */
  park(why: string): void;
}

/** What stalls the turn (§5.1): names inwards, and whether what stands there does it. */
const STALLS: readonly { readonly path: string; readonly stalls: (value: unknown) => boolean; readonly why: string }[] = [
  { path: "shellStream.start", stalls: (value) => value !== undefined, why: "a shell_stream reply has a start event (§5.1)" },
  { path: "deleteResult.success", stalls: (value) => value !== undefined && !at(value, "fileSize"), why: "a DeleteResult.success has no file_size (§5.1)" },
];

/** The events that end a shell stream. */
const LAST_EVENTS = ["exit", "rejected", "permissionDenied"];

/** The questions of one Run and what came back: each is answered once, and an exec's answer is closed once (§5.1). */
export class Asks {
  readonly #listener: Listener;
  readonly #open: Readonly<Record<Channel, Map<number, Open>>> = { exec: new Map(), kv: new Map(), query: new Map() };

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  /** Counts a question as asked. One that is still open under the same id is asked again. */
  add(ask: Ask): void {
    const open = this.#open[ask.channel].get(ask.id);
    if (open === undefined || this.#missing(open) === undefined) this.#open[ask.channel].set(ask.id, { ask, answers: [], closed: false });
  }

  /** What has not come yet for these questions, in words. */
  missing(asks: readonly Ask[]): string[] {
    return asks.flatMap((ask) => this.#missing(this.#open[ask.channel].get(ask.id)!) ?? []);
  }

  /** The results of the execs among these questions; the request context is none. */
  results(asks: readonly Ask[]): ToolResult[] {
    const execs = asks.filter((ask) => ask.channel === "exec" && ask.case !== "requestContextArgs");
    return execs.map((ask) => resultOf(ask.tool ?? ask.case, this.#open.exec.get(ask.id)!.answers));
  }

  /** Takes an answer: the value of `exec_client_message`, `kv_client_message` or `interaction_response`. */
  answer(channel: Channel, answer: Properties): void {
    const id = (answer["id"] as number | undefined) ?? 0;
    const open = this.#open[channel].get(id);
    if (open === undefined) return this.#listener.violation(`${armOf(answer)} answers ${channel} ${id}, which was never asked`);
    const { ask } = open;
    const name = answerName(answer);
    this.#refuse(open, this.#wrong(open, answer, name));
    open.answers.push(answer);
    for (const { path, stalls, why } of STALLS) if (stalls(at(answer, path))) this.#listener.park(why);
    ask.onAnswer?.(answer);
  }

  /** Takes an `exec_client_control_message`. */
  control(control: Decoded<typeof ExecClientControlMessage>): void {
    if (control.throw !== undefined) this.answer("exec", { id: control.throw.id ?? 0, throw: control.throw });
    else if (control.streamClose !== undefined) this.#close(control.streamClose.id ?? 0);
    else if (control.heartbeat !== undefined) this.#heartbeat(control.heartbeat.id ?? 0);
    else this.#listener.violation("an exec_client_control_message says nothing that is known");
  }

  #close(id: number): void {
    const open = this.#open.exec.get(id);
    if (open === undefined) return this.#listener.violation(`stream_close of exec ${id}, which was never asked`);
    const wrong = open.closed ? "is closed twice" : open.answers.length === 0 ? "is closed without an answer" : unfinished(open) ? "is closed before its shell stream ended" : undefined;
    this.#refuse(open, wrong);
    open.closed = true;
  }

  #heartbeat(id: number): void {
    const open = this.#open.exec.get(id);
    if (open === undefined) this.#listener.violation(`heartbeat of exec ${id}, which was never asked`);
    else this.#refuse(open, open.answers.length > 0 || open.closed ? "has a heartbeat behind its answer" : undefined);
  }

  /** What is wrong with an answer, in words. */
  #wrong({ ask, answers, closed }: Open, answer: Properties, name: string | undefined): string | undefined {
    if (closed) return "is answered after its stream_close";
    if (answers.length > 0 && !(name === "shellStream" && answers.every((one) => !endsStream(one)))) return "is answered twice";
    if (ask.answeredBy !== undefined && name !== ask.answeredBy && name !== "throw") return `is answered by ${armOf(answer)}, not by ${ask.answeredBy}`;
    if (ask.channel === "exec" && name !== "throw" && (answer["execId"] ?? "") !== (ask.execId ?? ""))
      return `came with exec_id ${JSON.stringify(ask.execId ?? "")}, its answer has ${JSON.stringify(answer["execId"] ?? "")}`;
    // What a stream says is judged when it ends.
    return ask.expect && (name !== "shellStream" || endsStream(answer)) ? unexpected(answer, ask.expect) : undefined;
  }

  #refuse({ ask }: Open, wrong: string | undefined): void {
    if (wrong !== undefined) this.#listener.violation(`${label(ask)} ${wrong}`);
  }

  #missing(open: Open): string | undefined {
    const { ask, answers, closed } = open;
    if (answers.length === 0 || unfinished(open)) return `the answer to ${label(ask)}`;
    return ask.channel === "exec" && !closed ? `the stream_close of ${label(ask)}` : undefined;
  }
}

function label({ channel, id, case: name }: Ask): string {
  return `${channel} ${id} (${name})`;
}

function unfinished({ answers }: Open): boolean {
  return answers.length > 0 && answerName(answers.at(-1)!) === "shellStream" && !answers.some(endsStream);
}

function endsStream(answer: Properties): boolean {
  return LAST_EVENTS.some((event) => at(answer, `shellStream.${event}`) !== undefined);
}

/** The channel of each answer that an AgentClientMessage may carry. */
export const ANSWERS: Partial<Record<keyof Decoded<typeof AgentClientMessage>, Channel>> = {
  execClientMessage: "exec",
  kvClientMessage: "kv",
  interactionResponse: "query",
};

/** The answer to each case of a kv_server_message. */
const KV_ANSWERS: Readonly<Record<string, string>> = { getBlobArgs: "getBlobResult", setBlobArgs: "setBlobResult" };

/** What a message asks the client, if anything. */
export function askOf({ execServerMessage: exec, kvServerMessage: kv, interactionQuery: query }: Decoded<typeof AgentServerMessage>): Ask | undefined {
  if (exec !== undefined) return { ...asked("exec", exec, (name) => execByName.get(name)?.result?.name), ...(exec.execId !== undefined && { execId: exec.execId }) };
  if (kv !== undefined) return asked("kv", kv, (name) => KV_ANSWERS[name]);
  return query && asked("query", query, (name) => queryByName.get(name)?.response);
}

function asked(channel: Channel, question: Properties, answer: (name: string) => string | undefined): Ask {
  const name = answerName(question) ?? "raw";
  const answeredBy = answer(name);
  return { channel, id: (question["id"] as number | undefined) ?? 0, case: name, ...(answeredBy !== undefined && { answeredBy: camel(answeredBy) }) };
}
