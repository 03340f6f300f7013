/** Scripts as JSON: what is one, and what is wrong with what is none. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { list, readJson } from "../fixtures/load.ts";
import { demoScript, ScriptError, scriptFromJson, scriptsFromJson, startLoopback, type Script } from "../lib/loopback/index.ts";
import { rejects } from "./check.ts";

const test = suite("loopback script JSON");

test("the demo is plain data", () => {
  assert.equal(scriptFromJson(JSON.parse(JSON.stringify(demoScript()))), demoScript());
});

const BAD: readonly [json: unknown, message: string][] = [
  [{}, "script: must be a list of steps, not {}"],
  [[1], "step 1: must be an object, not 1"],
  [[{ text: "a" }, { txet: "b" }], 'step 2: ["txet"] names no step; did you mean text?'],
  [[{ everyMs: 1, mpc: { tool: "a" } }], 'step 1: ["everyMs","mpc"] names no step; did you mean mcp?'],
  [[{ something: "b" }], 'step 1: ["something"] names no step: thinking, text, '],
  [[{ text: 1 }], "step 1: text: must be a text, not 1"],
  [[{ text: "a", evryMs: 3 }], "step 1: evryMs: is not known here: text, chunks, everyMs, note are"],
  [[{ text: "a", everyMs: -1 }], "step 1: everyMs: must be a whole number of milliseconds below 2^31, not -1"],
  [[{ text: "a", chunks: "letters" }], 'step 1: chunks: must be a whole number from 0 or "words", not "letters"'],
  [[{ text: "a", note: 1 }], "step 1: note: must be a text, not 1"],
  [[{ textFrom: "memory" }], 'step 1: textFrom: must be one of results, prompt, not "memory"'],
  [[{ tokens: 1.5 }], "step 1: tokens: must be a whole number from 0, not 1.5"],
  [[{ getBlob: "xyz" }], 'step 1: getBlob: must be "root", "context" or a blob id in hex, not "xyz"'],
  [[{ setBlob: { size: 1e9 } }], "step 1: setBlob.size: must be a whole number of bytes up to 64 MiB, not 1000000000"],
  [[{ setBlob: {}, expect: "eaten" }], 'step 1: expect: must be one of stored, refused, not "eaten"'],
  [[{ requestContext: false }], "step 1: requestContext: must be true, not false"],
  [[{ mcp: {} }], "step 1: mcp.tool: is missing"],
  [[{ mcp: { tool: "a", args: [] } }], "step 1: mcp.args: must be an object, not []"],
  [[{ mcp: "a" }], 'step 1: mcp: must be an object, not "a"'],
  [[{ exec: {} }], "step 1: exec: needs either a case or raw bytes"],
  [[{ exec: { case: "shellArgs", raw: "" } }], "step 1: exec: needs either a case or raw bytes"],
  [[{ exec: { case: "shelArgs" } }], "step 1: exec.case: must be one of shellArgs, writeArgs"],
  [[{ exec: { raw: "abc" } }], 'step 1: exec.raw: must be bytes in hex, not "abc"'],
  [[{ exec: { case: "shellArgs", args: { comand: "ls" } } }], "step 1: exec.args.comand: is no field here: command, workingDirectory"],
  [[{ exec: { case: "adoptArgs", args: { a: 1 } } }], "step 1: exec.args.a: is no field here: there are none"],
  [[{ exec: { case: "shellArgs", args: { timeout: "30s" } } }], 'step 1: exec.args.timeout: int32 cannot be "30s"'],
  [[{ exec: { case: "shellArgs", args: { simpleCommands: "ls" } } }], 'step 1: exec.args.simpleCommands: must be a list, not "ls"'],
  [[{ exec: { case: "shellArgs", args: { closeStdin: 1 } } }], "step 1: exec.args.closeStdin: bool cannot be 1"],
  [[{ exec: { case: "shellArgs", args: { command: 1 } } }], "step 1: exec.args.command: text cannot be 1"],
  [[{ exec: { case: "shellArgs", args: { fileOutputThresholdBytes: "many" } } }], 'step 1: exec.args.fileOutputThresholdBytes: uint64 cannot be "many"'],
  [[{ exec: { case: "piBashArgs", args: { timeout: "2" } } }], 'step 1: exec.args.timeout: double cannot be "2"'],
  [[{ exec: { case: "shellArgs", expect: { arms: "x" } } }], "step 1: exec.expect.arms: is not known here: arm, says are"],
  [[{ query: { case: "lunchQuery" } }], "step 1: query.case: must be one of webSearchRequestQuery"],
  [[{ query: { case: "exaFetchRequestQuery", args: { args: { ids: [1] } } } }], "step 1: query.args.args.ids[0]: text cannot be 1"],
  [[{ message: { textDelta: {} } }], "step 1: message.textDelta: is no field here: interactionUpdate, "],
  [[{ message: 1 }], "step 1: message: must be an object, not 1"],
  [[{ message: { execServerMessage: { mcpArgs: { args: 1 } } } }], "step 1: message.execServerMessage.mcpArgs.args: must be an object, not 1"],
  [[{ message: { execServerMessage: { mcpArgs: { args: { a: "x" } } } } }], 'step 1: message.execServerMessage.mcpArgs.args.a: must be bytes in hex, not "x"'],
  [[{ checkpoint: { sise: 1 } }], "step 1: checkpoint.sise: is not known here: bytes, size are"],
  [[{ turnEnded: { usage: { input: 1 } } }], "step 1: turnEnded.usage.input: is not known here: inputTokens"],
  [[{ end: { error: { message: "x" } } }], "step 1: end.error.code: is missing"],
  [[{ end: { error: { code: "gone" } } }], "step 1: end.error.code: must be one of canceled, unknown"],
  [[{ expect: { tools: "a" } }], 'step 1: expect.tools: must be a list, not "a"'],
  [[{ expect: { tools: [1] } }], "step 1: expect.tools[0]: must be a text, not 1"],
  [[{ fault: { type: "fire" } }], 'step 1: fault.type: must be one of cut, stall, freeze, reset, goaway, trailers, end_stream, partial_frame, oversize, slow_reader, not "fire"'],
  [[{ fault: { type: "response", status: 503 } }], "step 1: fault.type: response comes with the headers, which go out before any step: give it to startLoopback"],
  [[{ repeat: 1, steps: [{ fault: { type: "trailers_only", trailers: {} } }] }], "step 1, steps, step 1: fault.type: trailers_only comes with the headers"],
  [[{ turnEnded: true }, { fault: { type: "data_after_end" } }], 'step 2: fault.type: data_after_end comes behind the last step: write {"raw": "7b7d", "flags": 2}, '],
  [[{ fault: "cut" }], "step 1: fault.type: must be one of cut"],
  [[{ fault: { type: "cut", code: 1 } }], "step 1: fault.code: is not known here: type, reset are"],
  [[{ fault: { type: "cut", at: "end" } }], "step 1: fault.at: is not known here: type, reset are"],
  [[{ fault: { type: "trailers" } }], "step 1: fault.trailers: is missing"],
  [[{ fault: { type: "trailers", trailers: { a: 1 } } }], 'step 1: fault.trailers: must be an object of texts, not {"a":1}'],
  [[{ repeat: 2 }], "step 1: steps: is missing"],
  [[{ text: "a" }, { repeat: 2, steps: [{ text: "a" }, { text: 2 }] }], "step 2, steps, step 2: text: must be a text, not 2"],
  [[{ repeat: 2, steps: 1 }], "step 1, steps, script: must be a list of steps, not 1"],
  [[{ message: { interactionUpdate: { textDelta: { text: { deep: "a text that is far too long to be shown whole in a message" } } } } }], "step 1: message.interactionUpdate.textDelta.text: text cannot be {\"deep\":\"a text that is far too long to be shown whole in..."],
  [[{ text: undefined }], "step 1: text: must be a text, not nothing"],
];

for (const [json, message] of BAD)
  test(`${JSON.stringify(json).slice(0, 70)} is no script`, () => {
    try {
      scriptFromJson(json);
    } catch (error) {
      assert.instance(error, ScriptError);
      assert.is((error as ScriptError).message.slice(0, message.length), message);
      assert.ok((error as ScriptError).message.startsWith((error as ScriptError).place));
      return;
    }
    assert.unreachable("it was taken for one");
  });

test("64-bit integers, maps and nested lists are read from JSON", () => {
  const script: Script = [
    { exec: { case: "shellArgs", args: { fileOutputThresholdBytes: "9007199254740993", timeout: 5 } } },
    { exec: { case: "piBashArgs", args: { timeout: 0.5 } } },
    { exec: { case: "shellArgs", args: { fileOutputThresholdBytes: 5, closeStdin: true, simpleCommands: ["a"] } } },
  ];
  assert.is(scriptFromJson(script), script);
});

test("a file may hold one script or several", () => {
  assert.equal(scriptsFromJson([{ text: "a" }]), [[{ text: "a" }]]);
  assert.equal(scriptsFromJson([]), [[]]);
  assert.equal(scriptsFromJson([[{ text: "a" }], []]), [[{ text: "a" }], []]);
});

test("of several scripts the wrong one is named", async () => {
  assert.throws(() => scriptsFromJson([[{ text: "a" }], [{ text: 1 }]]), "script 2, step 1: text: must be a text, not 1");
  assert.throws(() => scriptsFromJson([[{ text: "a" }], 1]), "step 1: must be an object, not [");
});

test("a host does not start with a wrong script or fault", async () => {
  assert.match(String(await rejects(startLoopback({ script: [{ text: 1 }] as never }))), "step 1: text");
  assert.match(String(await rejects(startLoopback({ faults: [{ type: "cut", at: "lunch" }] as never }))), 'fault 1: at: must be "request", "end", {"frame": n} or {"byte": n}, not "lunch"');
  assert.match(String(await rejects(startLoopback({ faults: [{ type: "silent_connection", run: 1 }] as never }))), "fault 1: run: is not known here");
});

for (const name of list("fixtures/scripts").filter((file) => file.endsWith(".json"))) {
  test(`fixtures/scripts/${name} is a script`, () => {
    assert.ok(scriptsFromJson(readJson(`fixtures/scripts/${name}`)).every((script) => script.length > 0));
  });
}

test.run();
