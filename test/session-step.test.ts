/** The core's corners: events out of place, defects, drift, call ids, requests that are none. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AgentClientMessage, AgentServerMessage, arms, type RequestContext } from "../lib/agent/index.ts";
import { checkRequest } from "../lib/session/check-request.ts";
import type { CursorError } from "../lib/session/errors.ts";
import type { Event } from "../lib/session/events.ts";
import { open } from "../lib/session/open.ts";
import { step, TRANSITIONS } from "../lib/session/step.ts";
import { TIMERS, type Timer } from "../lib/session/timers.ts";
import type { ImagePart, TextPart, TurnRequest } from "../lib/session/turn.ts";
import { encodeValue, WireError, type Decoded } from "../wire/index.ts";
import { bytes, hex } from "./check.ts";
import { endings, join as joined, kinds, request, results, resumed, Rig, running, settings, TOOLS } from "./session-rig.ts";

const test = suite("session step");
const tools = [TOOLS["add"]!, TOOLS["write"]!];
const asked = { request: request("hi", { tools }) };
const PNG = "iVBORw0KGgo=";

/** A Run that waits for the result of one call. */
function parked(): Rig {
  const rig = running(asked);
  rig.call(1, "add");
  rig.fire("burst");
  return rig;
}
const text = (value: string): TextPart => ({ type: "text", text: value });
const image = (mimeType = "image/png", data = PNG): ImagePart => ({ type: "image", mimeType, data });
function failureOf(opener: TurnRequest): Pick<CursorError, "kind" | "code"> {
  try {
    open({ request: opener, workspaceUri: "file:///work", handle: undefined, settings: settings() });
  } catch (error) {
    return { kind: (error as CursorError).kind, code: (error as CursorError).code };
  }
  throw new Error("it opened");
}

const EVENTS: readonly Event[] = [
  { type: "opened" },
  { type: "alive" },
  { type: "frame", payload: bytes("0a060a040a026869") },
  { type: "endStream", payload: bytes("7b7d") },
  { type: "malformed", error: new WireError("varint", 0) },
  { type: "closed", end: { type: "end" } },
  { type: "timer", timer: "idle" },
  { type: "continue", request: request() },
  { type: "abort" },
];
const PHASES: Readonly<Record<string, () => Rig>> = {
  connecting: () => new Rig(asked),
  running: () => running(asked),
  parked,
  draining: () => {
    const rig = running(asked);
    rig.text("a");
    rig.turnEnded();
    return rig;
  },
  over: () => {
    const rig = running(asked);
    rig.step({ type: "abort" });
    return rig;
  },
};
test("each phase is in the table", () => {
  assert.equal(Object.keys(TRANSITIONS).sort(), Object.keys(PHASES).sort());
});
for (const [phase, reach] of Object.entries(PHASES))
  for (const event of EVENTS) {
    const known = TRANSITIONS[phase as keyof typeof TRANSITIONS][event.type] !== undefined;
    test(`${event.type} while ${phase} ${known ? "is handled" : "changes nothing"}`, () => {
      const rig = reach();
      assert.is(rig.session.phase, phase);
      const before = rig.all.length;
      rig.step(event);
      if (!known) assert.equal([rig.session.phase, rig.all.length], [phase, before]);
      assert.ok(endings(rig).length <= 2);
    });
  }

const encode = (...messages: Decoded<typeof AgentServerMessage>[]): Event => ({ type: "frame", payload: joined(messages.map((message) => AgentServerMessage.encode(message))) });
const burst = encode({ interactionUpdate: { toolRequestsListed: { callCount: 1 } } }, { execServerMessage: { id: 5, mcpArgs: { toolName: "add" } } });
const turnEnded = encode({ interactionUpdate: { turnEnded: {} } });
const stale = encode({ kvServerMessage: { getBlobArgs: {} } });
const drift = encode({});
const CIRCUMSTANCES: readonly (() => Rig)[] = [
  ...Object.values(PHASES),
  () => resumed({ request: { tools } }),
  () => {
    const rig = running(asked);
    rig.call(1, "add");
    return rig;
  },
  () => {
    const rig = parked();
    rig.step(burst);
    return rig;
  },
];
test("the transitions of the table are those that happen", () => {
  const seen = new Set<string>();
  for (const reach of CIRCUMSTANCES) {
    const timers = Object.keys(TIMERS).map((timer): Event => ({ type: "timer", timer: timer as Timer }));
    const notFound: Event = { type: "endStream", payload: new TextEncoder().encode('{"error":{"code":"not_found"}}') };
    for (const event of [...EVENTS, burst, turnEnded, stale, drift, ...timers, notFound, { type: "continue", request: request("hi", { messages: [] }) }, { type: "closed", end: { type: "reset", code: 0 } }, "results"] as const) {
      const rig = reach();
      const { phase } = rig.session;
      const happens: Event = event === "results" ? { type: "continue", request: results(rig) } : event;
      if (TRANSITIONS[phase][happens.type] === undefined) continue;
      if (happens.type === "timer") rig.fire(happens.timer);
      else rig.step(happens);
      seen.add(`${phase}, ${happens.type}: ${rig.session.phase}`);
    }
  }
  const table = Object.entries(TRANSITIONS).flatMap(([phase, events]) => Object.entries(events).flatMap(([type, follow]) => follow.map((next) => `${phase}, ${type}: ${next}`)));
  assert.equal([...seen].sort(), table.sort());
});

test("a fault of our own is one local error, not an exception", () => {
  const rig = running({ ...asked, settings: settings({ estimate: () => 1 }) });
  const broken = parked();
  Object.defineProperty(broken.session.settings, "estimate", { value: () => assert.unreachable("503") });
  broken.step({ type: "continue", request: results(broken) });
  assert.equal(endings(broken), ["tool_use", "local defect"]);
  assert.not.match(broken.error!.message, /503/);
  assert.equal(step(rig.session, { type: "nothing" } as never), []);
});

test("a request that is wrong is a local error: at the opening it throws, on a continuation it ends the Run", () => {
  const user = request().messages;
  const cases: [Partial<Record<keyof TurnRequest, unknown>>, string][] = [
    [{ model: {} }, "invalid_request"],
    [{ model: undefined }, "invalid_request"],
    [{ model: { id: "" } }, "invalid_request"],
    [{ messages: [] }, "invalid_request"],
    [{ messages: "hi" }, "invalid_request"],
    [{ messages: [null] }, "invalid_request"],
    [{ messages: [{ role: "system", content: "a" }, ...user] }, "invalid_request"],
    [{ messages: [...user, { role: "assistant", content: [] }] }, "invalid_request"],
    [{ tools: undefined }, "invalid_request"],
    [{ tools: [TOOLS["add"], TOOLS["add"]] }, "invalid_tool"],
    [{ tools: [{ ...TOOLS["add"], name: "a b" }] }, "invalid_tool"],
    [{ tools: [{ ...TOOLS["add"], inputSchema: { a: 1n } }] }, "invalid_tool"],
  ];
  for (const [part, code] of cases) {
    const wrong = { ...request(), ...part } as TurnRequest;
    assert.equal(failureOf(wrong), { kind: "local", code }, JSON.stringify(part, (_, value) => String(value)));
    if (code === "invalid_tool" && part.tools instanceof Array && part.tools.some((tool) => typeof tool?.inputSchema?.a === "bigint")) continue;
    const rig = parked();
    rig.step({ type: "continue", request: { ...results(rig), ...part } as TurnRequest });
    assert.equal(endings(rig), ["tool_use", `local ${code}`]);
  }
});

test("a later leg's check reads only the parts of new messages", () => {
  let reads = 0;
  const part = () => Object.defineProperty(text("a"), "text", { get: () => (reads++, "a") });
  const messages: TurnRequest["messages"] = Array.from({ length: 100 }, () => ({ role: "user", content: [part()] }));
  assert.is(checkRequest({ ...request(), messages }), undefined);
  reads = 0;
  assert.is(checkRequest({ ...request(), messages: [...messages, { role: "user", content: [part()] }] }), undefined);
  assert.is(reads, 1);
});

test("messages that were right are checked again where they no longer are what they were", () => {
  const content: unknown[] = [text("a")];
  const messages: unknown[] = [{ role: "user", content }, { role: "user", content: "b" }];
  const check = (): string | undefined => checkRequest({ ...request(), messages } as TurnRequest)?.message;
  const right = [...messages];
  for (const change of [() => content.push({ type: "audio" }), () => (messages[1] = { role: "user" }), () => ((messages[0] as { role: string }).role = "weird"), () => (messages[1] = undefined), () => delete messages[1]]) {
    assert.is(check(), undefined);
    change();
    assert.match(check()!, /^Message [12] /);
    assert.match(check()!, /^Message [12] /, "it is not taken for right the second time");
    content.length = 1;
    messages.splice(0, 2, ...right);
    (messages[0] as { role: string }).role = "user";
  }
});

test("a message that was wrong is right once it has been mended in place", () => {
  const part = { type: "text", text: 1 };
  const leg = { ...request(), messages: [{ role: "user", content: [part] }] } as unknown as TurnRequest;
  assert.match(checkRequest(leg)!.message, /^Message 1 has a part 1 that is incomplete/);
  Object.assign(part, text("a"));
  assert.is(checkRequest(leg), undefined);
});

test("a tool whose schema is absent is declared with an empty one", () => {
  const { inputSchema: _, ...bare } = TOOLS["add"]!;
  const rig = running({ request: request("hi", { tools: [bare as (typeof tools)[number]] }) });
  const [{ runRequest } = {}] = rig.sent();
  assert.is(hex(runRequest!.mcpTools!.mcpTools![0]!.inputSchema!), hex(encodeValue({})));
});

for (const mcpMeta of [true, false])
  test(`the request context goes ${mcpMeta ? "with the action and lists the tools for the catalogue" : "only where it is asked for"}`, () => {
    const rig = running({ ...asked, settings: settings({ mcpMeta }) });
    const { requestContext } = rig.sent()[0]!.runRequest!.action!.userMessageAction!;
    rig.server({ execServerMessage: { id: 1, requestContextArgs: {} } });
    const answer: Decoded<typeof RequestContext> = rig.sent()[0]!.execClientMessage!.requestContextResult!.success!.requestContext!;
    assert.equal(requestContext, mcpMeta ? answer : undefined);
    assert.equal(answer.env, { workspacePaths: ["file:///work"] });
    assert.equal(answer.tools!.map(({ name }) => name), ["add", "write"]);
    assert.equal(answer.mcpMetaToolOptions?.mcpDescriptors?.[0]?.tools?.map(({ toolName }) => toolName), mcpMeta ? ["add", "write"] : undefined);
  });

test("a tool that the host registers in the middle of a Run may be called, one that it drops still", () => {
  const rig = parked();
  rig.step({ type: "continue", request: results(rig, { tools: [TOOLS["bash"]!] }) });
  rig.call(2, "mcp_pi_bash");
  rig.call(3, "add");
  assert.equal(rig.emitted().flatMap((event) => (event.type === "tool_call" ? [event.name] : [])), ["add", "bash", "add"]);
  rig.server({ execServerMessage: { id: 4, requestContextArgs: {} } });
  assert.equal(rig.sent()[0]!.execClientMessage!.requestContextResult!.success!.requestContext!.tools!.map(({ name }) => name), ["bash", "add", "write"]);
});

test("the model, its mode and its parameters are sent, but never a context", () => {
  const model = { id: "m", maxMode: true, parameters: [{ id: "context", value: "1m" }, { id: "effort", value: "high" }] };
  const [{ runRequest } = {}] = running({ request: request("hi", { model }) }).sent();
  assert.equal(runRequest!.requestedModel, { modelId: "m", maxMode: true, parameters: [{ id: "effort", value: "high" }] });
  const [plain] = running({ request: request("hi", { model: { ...model, maxMode: false, parameters: model.parameters.slice(0, 1) } }) }).sent();
  assert.equal(plain!.runRequest!.requestedModel, { modelId: "m" });
});

test("images of the user go with the action, each under an id", () => {
  const content = [text("see"), image(), image("image/jpeg")];
  const [{ runRequest } = {}] = running({ request: request("", { messages: [{ role: "user", content }] }) }).sent();
  const { selectedContext, text: said } = runRequest!.action!.userMessageAction!.userMessage!;
  assert.is(said, "see");
  assert.equal(selectedContext!.selectedImages!.map(({ path, mimeType, data }) => [path!.slice(-5), mimeType, data!.length]), [["3.png", "image/png", 8], [".jpeg", "image/jpeg", 8]]);
});

test("D17 the ids of calls are clean, unique in the transcript and the Run, and made up where there is none", () => {
  const used = { type: "tool_call", id: "call_1", name: "add", arguments: {} } as const;
  const history: TurnRequest["messages"] = [{ role: "user", content: "a" }, { role: "assistant", content: [used] }, { role: "tool", toolCallId: "call_1", toolName: "add", content: [] }];
  const rig = running({ request: request("", { tools, messages: [...history, ...request().messages] }) });
  for (const [id, raw] of ["call_1", "", "a\nb", "a b", "a\nb", "x".repeat(100)].entries()) rig.call(id, "add", raw);
  const ids = rig.emitted().flatMap((event) => (event.type === "tool_call" ? [event.id] : []));
  assert.equal(ids.slice(0, 5), ["call_1exec-0", "exec-1", "a_b", "a_b_2", "a_bexec-4"]);
  for (const id of ids) assert.match(id, /^[A-Za-z0-9_-]{1,64}$/);
  rig.fire("burst");
  rig.step({ type: "continue", request: results(rig) });
  rig.call(1, "add", "");
  assert.equal(rig.emitted().flatMap((event) => (event.type === "tool_call" ? [event.id] : [])).at(-1), "exec-1-");
});

test("arguments that outlive their frame are copies", () => {
  const rig = running(asked);
  const payload = Uint8Array.from(bytes("120f 0801 1a0b 0a0161 2a03780a7a b80c01"));
  rig.payload(payload);
  assert.equal(rig.emitted(), [{ type: "tool_call", id: "exec-1", name: "write", arguments: { path: "a", content: "x\nz" } }]);
  payload.fill(0);
  rig.fire("burst");
  rig.step({ type: "continue", request: results(rig) });
  const { linesCreated, fileSize } = rig.sent()[0]!.execClientMessage!.writeResult!.success!;
  assert.equal([linesCreated, fileSize], [2, 3]);
});

test("arguments may have any name: nothing reaches a prototype", () => {
  const rig = running(asked);
  const args = new Map([["__proto__", encodeValue({ polluted: true })], ["constructor", encodeValue(1)], ["empty", new Uint8Array(0)]]);
  rig.server({ execServerMessage: { id: 1, mcpArgs: { name: "add", args } } });
  const [event] = rig.emitted();
  assert.equal(JSON.stringify(event), '{"type":"tool_call","id":"exec-1","name":"add","arguments":{"__proto__":{"polluted":true},"constructor":1,"empty":null}}');
  assert.is(({} as { polluted?: boolean }).polluted, undefined);
});

test("kinds of unknown fields are told once each, and counted up to a number", () => {
  const rig = running(asked);
  for (let round = 0; round < 2; round++) for (let no = 100; no < 200; no++) rig.payload(join("0a020a00", no));
  assert.is(rig.notes().length, 64);
  assert.is(rig.session.drift.size, 64);
  assert.is(rig.session.drift.get("100:0"), 2);
});
function join(arm: string, no: number): Uint8Array {
  const tag = no * 8;
  return bytes(`${arm}${hex(Uint8Array.of((tag & 0x7f) | 0x80, tag >>> 7, 1))}`);
}

test("a message of many unknown fields names some", () => {
  const rig = running();
  rig.payload(bytes("4800".repeat(1000)));
  assert.equal(endings(rig), ["protocol-drift unknown_message"]);
  assert.is(rig.error!.message.match(/field 9/g)!.length, 8);
  assert.is(arms(bytes("4800".repeat(1000))).unknown.length, 1000);
});

test("what the service says of an exec that it gave up is a diagnostic", () => {
  const rig = running();
  rig.server({ execServerControlMessage: { abort: { id: 3 } } }, { execServerControlMessage: {} });
  assert.equal(rig.last.map((action) => action.type === "diagnostic" && action.diagnostic["id"]), [3, 0]);
});

test("an empty question about a blob is drift; one without an id is a miss", () => {
  const rig = running();
  rig.server({ kvServerMessage: { getBlobArgs: {} } });
  assert.equal(endings(rig), ["remote blob_not_found"]);
});

test("a call that names no tool finds none", () => {
  const rig = running(asked);
  rig.server({ execServerMessage: { id: 1, mcpArgs: {} } });
  assert.equal(rig.sent()[0]!.execClientMessage!.mcpResult!.toolNotFound, { availableTools: ["mcp_pi_add", "mcp_pi_write"] });
});

test("an update without a case, or with one that nobody knows, is read past", () => {
  const rig = running();
  rig.payload(bytes("0a00"));
  assert.equal(rig.last, []);
  rig.payload(bytes("0a04 fa010161"));
  assert.equal(rig.last.map(({ type }) => type), ["diagnostic"]);
});

test("what is left out of a prompt is told, with what it was", () => {
  const rig = new Rig({ request: request("", { messages: [{ role: "user", content: [text("see"), image("image/tiff")] }] }) });
  assert.equal(rig.last.flatMap((action) => (action.type === "diagnostic" ? [[action.diagnostic.type, action.diagnostic["reason"]]] : [])), [["image", "unsupported"]]);
});

test("what waits for the next leg is measured", () => {
  const rig = parked();
  rig.text("abc");
  rig.server({ interactionUpdate: { thinkingDelta: { text: "de" } } });
  // Five letters, and what two events take whatever they say.
  assert.is(rig.session.heldSize, 10 + 2 * 96, "bytes");
  rig.server({ execServerMessage: { id: 2, mcpArgs: { toolName: "add", args: new Map([["a", encodeValue("x".repeat(1000))]]) } } });
  assert.ok(rig.session.heldSize > 1000);
  assert.equal(kinds(rig), []);
});

test("a run request is what its table reads, and the same for the same ids", () => {
  const opener = (): string => {
    const rig = running({ request: request("hi", { systemPrompt: "rules", tools: [TOOLS["add"]!] }) });
    return rig.all.flatMap((action) => (action.type === "send" ? [hex(action.payload)] : []))[0]!;
  };
  assert.is(opener(), opener());
  assert.equal(AgentClientMessage.decode(bytes(opener())).unknown, undefined);
});

test.run();
