/** Arguments in the chosen tool's own names, and valid by its own schema. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { NATIVE_FILES, nativeCases, rowOf } from "../fixtures/native/cases.ts";
import { cpuTime } from "./cpu-time.ts";
import { bash, codemode, read, TOOL_SETS, tool } from "../fixtures/native/tools.ts";
import { EXEC, LIMITS } from "../lib/agent/index.ts";
import { translate } from "../lib/session/native/translate.ts";
import type { Tool } from "../lib/session/turn.ts";

const test = suite("native-fill");
const text = { type: "string" };
const number = { type: "number" };

/** The arguments that a row's args become with these tools. */
function call(row: string, args: object, ...tools: Tool[]): Record<string, unknown> | undefined {
  return translate(rowOf(row), args, tools, "/w")?.arguments;
}

for (const file of NATIVE_FILES)
  for (const one of nativeCases(file))
    test(`D26 the arguments of ${one.tool} (${one.name}) pass its own schema`, () => {
      const { inputSchema } = TOOL_SETS[one.tools]!.find(({ name }) => name === one.tool)!;
      assert.equal(faults(inputSchema, call(one.row, one.args, ...TOOL_SETS[one.tools]!)), []);
    });

test("the check of the schemas sees a missing, a foreign and a wrong argument", () => {
  assert.is(faults(read.inputSchema, { limit: "x", other: 1 }).length, 3);
});

for (const spelling of ["path", "file_path", "filePath", "FILE-PATH", "filename", "file", "target_file"])
  test(`D26 a path goes into ${spelling}`, () => {
    assert.equal(call("readArgs", { path: "/a" }, tool("read", "", { [spelling]: text }, [spelling])), { [spelling]: "/a" });
  });
for (const spelling of ["command", "cmd", "script", "shell_command"])
  test(`D26 a command goes into ${spelling}`, () => {
    assert.equal(call("shellArgs", { command: "ls" }, tool("bash", "", { [spelling]: text }, [spelling])), { [spelling]: "ls" });
  });
for (const spelling of ["content", "contents", "body", "text", "fileText"])
  test(`D26 a content goes into ${spelling}`, () => {
    assert.equal(call("writeArgs", { path: "/a", fileText: "b" }, tool("write", "", { path: text, [spelling]: text })), { path: "/a", [spelling]: "b" });
  });
for (const spelling of ["pattern", "query", "regex"])
  test(`D26 a pattern goes into ${spelling}`, () => {
    assert.equal(call("grepArgs", { pattern: "b" }, tool("grep", "", { [spelling]: text })), { [spelling]: "b" });
  });

test("of two spellings the usual one is taken", () => {
  assert.equal(call("readArgs", { path: "/a" }, tool("read", "", { file: text, path: text })), { path: "/a" });
});

test("of two properties that compare equal the first is taken", () => {
  assert.equal(call("readArgs", { path: "/a" }, tool("read", "", { file_path: text, filePath: text })), { file_path: "/a" });
});

test("empty arguments are left out, not passed as empty", () => {
  assert.equal(call("lsArgs", { path: "" }, tool("ls", "", { path: text })), {});
  assert.equal(call("grepArgs", { pattern: "x", path: "", glob: "", headLimit: 0 }, tool("grep", "", { pattern: text, path: text, glob: text, limit: number })), { pattern: "x" });
});

test("a range goes only to a schema that has it", () => {
  assert.equal(call("readArgs", { path: "/a", offset: 2, limit: 3 }, tool("read", "", { path: text })), { path: "/a" });
  assert.equal(call("readArgs", { path: "/a", offset: -2 }, read), { path: "/a" }, "one counted from the end");
  assert.equal(call("readArgs", { path: "/a", limit: 500 }, tool("read", "", { path: text, limit: { type: "number", maximum: 100 } })), { path: "/a" }, "one beyond its bounds");
});

test("a tool without a place for a filter is not used: the result would be another", () => {
  const grep = tool("grep", "", { pattern: text });
  assert.is(call("grepArgs", { pattern: "x", glob: "*.ts" }, grep), undefined);
  assert.is(call("grepArgs", { pattern: "x", path: "/a" }, grep), undefined);
  assert.is(call("grepArgs", { pattern: "x", caseInsensitive: true }, grep), undefined);
  assert.is(call("grepArgs", { pattern: "x", multiline: true }, grep), undefined);
  assert.is(call("grepArgs", { pattern: "x", type: "ts" }, grep), undefined);
});

test("a tool that requires what nobody gave is passed over for the next", () => {
  const first = tool("bash", "", { command: text, approval: text }, ["command", "approval"]);
  const second = tool("ctx_shell", "", { command: text }, ["command"]);
  assert.is(translate(rowOf("shellArgs"), { command: "ls" }, [first, second], "/w")?.tool, "ctx_shell");
  assert.is(translate(rowOf("shellArgs"), { command: "ls" }, [first], "/w"), undefined);
});

const GIVEN: readonly [schema: unknown, value: unknown][] = [
  [{ const: 5 }, 5],
  [{ enum: ["only"] }, "only"],
  [{ type: "number", default: 7 }, 7],
];
for (const [schema, value] of GIVEN)
  test(`a required property with ${JSON.stringify(schema)} is filled by its schema`, () => {
    assert.equal(call("readArgs", { path: "/a" }, tool("read", "", { path: text, x: schema }, ["path", "x"])), { path: "/a", x: value });
  });

const TAKEN: readonly [schema: unknown, taken: boolean][] = [
  [true, true],
  [{}, true],
  ["nonsense", true],
  [false, false],
  [{ type: "string" }, true],
  [{ type: ["null", "string"] }, true],
  [{ type: "number" }, false],
  [{ type: "integer" }, false],
  [{ type: "boolean" }, false],
  [{ type: "array", items: text }, false],
  [{ type: "object" }, false],
  [{ type: ["null"] }, false],
  [{ type: "unheard-of" }, false],
  [{ const: "/a" }, true],
  [{ const: "/b" }, false],
  [{ enum: ["/a", "/b"] }, true],
  [{ enum: ["/b"] }, false],
  [{ anyOf: [number, text] }, true],
  [{ oneOf: [number, { type: "array" }] }, false],
  [{ type: "string", minLength: 3 }, false],
  [{ type: "string", maxLength: 1 }, false],
  [{ type: "string", minLength: 1, maxLength: 5 }, true],
  [nested(20), false],
];
for (const [schema, taken] of TAKEN)
  test(`a property of ${JSON.stringify(schema).slice(0, 60)} ${taken ? "takes" : "does not take"} a path`, () => {
    assert.is(call("readArgs", { path: "/a" }, tool("read", "", { path: schema })) !== undefined, taken);
  });

const DEFS = {
  path: { type: "string" },
  count: { type: "number" },
  indirect: { $ref: "#/$defs/path" },
  "a/b~c": { type: "number" },
  self: { $ref: "#/$defs/self" },
  ring: { allOf: [{ $ref: "#/$defs/gnir" }] },
  gnir: { allOf: [{ $ref: "#/$defs/ring" }, { type: "string" }] },
  nothing: false,
};
const FOLLOWED: readonly [schema: unknown, taken: boolean][] = [
  [{ $ref: "#/$defs/path" }, true],
  [{ $ref: "#/$defs/count" }, false],
  [{ $ref: "#/definitions/count" }, false],
  [{ $ref: "#/$defs/indirect" }, true],
  [{ $ref: "#/$defs/indirect", type: "number" }, false],
  [{ $ref: "#/$defs/a~1b~0c" }, false],
  [{ $ref: "#/$defs/nothing" }, false],
  [{ $ref: "#" }, false],
  [{ $ref: "#/$defs/self" }, true],
  [{ $ref: "#/$defs/ring" }, true],
  [{ $ref: "#/$defs/ring", maxLength: 1 }, false],
  [{ $ref: "#/$defs/none/deeper" }, true],
  [{ $ref: "#/toString" }, true],
  [{ $ref: "https://example.com/count" }, true],
  [{ $ref: 1 }, true],
  [{ allOf: [text, { minLength: 2 }] }, true],
  [{ allOf: [text, { minLength: 3 }] }, false],
  [{ allOf: [text, number] }, false],
  [{ allOf: [false] }, false],
  [{ allOf: "nonsense" }, true],
  [{ allOf: Array.from({ length: 100 }, (_, minLength) => ({ minLength: minLength % 2 })) }, false],
  [{ anyOf: [{ $ref: "#/$defs/count" }, { allOf: [{ $ref: "#/$defs/path" }] }] }, true],
  [{ anyOf: [{ $ref: "#/$defs/count" }, { allOf: [{ $ref: "#/$defs/count" }] }] }, false],
];
for (const [schema, taken] of FOLLOWED)
  test(`what ${JSON.stringify(schema).slice(0, 80)} names ${taken ? "takes" : "does not take"} a path`, () => {
    const inputSchema = { type: "object", properties: { path: schema }, $defs: DEFS, definitions: DEFS };
    assert.is(call("readArgs", { path: "/a" }, { name: "read", description: "", inputSchema }) !== undefined, taken);
  });

test("properties, items and constants are found behind $ref and allOf", () => {
  const inputSchema = {
    allOf: [{ $ref: "#/$defs/file" }, { properties: { edits: { $ref: "#/$defs/edits" }, mode: { $ref: "#/$defs/mode" }, path: { minLength: 1 } }, required: ["mode"] }],
    $defs: {
      file: { properties: { path: text }, required: ["path"] },
      edits: { type: "array", items: { allOf: [{ $ref: "#/$defs/edit" }] } },
      edit: { properties: { old: text, new: text } },
      mode: { allOf: [text, { const: "exact" }] },
    },
  };
  const edits = [{ oldText: "x", newText: "y" }, { oldText: "z", newText: "" }];
  const edit: Tool = { name: "edit", description: "", inputSchema };
  assert.equal(call("piEditArgs", { path: "a", edits }, edit), { path: "a", edits: [{ old: "x", new: "y" }, { old: "z", new: "" }], mode: "exact" });
  assert.is(call("piEditArgs", { path: "", edits }, edit), undefined);
});

test("a schema that is a maze takes nothing, and soon", () => {
  const shared: Record<string, unknown> = {};
  shared["anyOf"] = Array.from({ length: 100 }, () => shared);
  const mazes = [
    { anyOf: Array.from({ length: 100 }, () => ({ $ref: "#/properties/path" })) },
    { allOf: [{ anyOf: Array.from({ length: 100 }, () => ({ $ref: "#/properties/path" })) }] },
    shared,
    { $ref: `#${"/properties".repeat(100_000)}`, type: "number" },
  ];
  const start = cpuTime();
  for (const path of mazes) assert.is(call("readArgs", { path: "/a" }, tool("read", "", { path })), undefined);
  assert.ok(cpuTime() - start < 1_000);
});

test("a property of null, list or object type is told from the others", () => {
  const edits = [{ oldText: "x", newText: "y" }, { oldText: "z", newText: "" }];
  const one = (schema: unknown): unknown => call("piEditArgs", { path: "a", edits }, tool("edit", "", { path: text, edits: schema }))?.["edits"];
  assert.equal(one({ type: "array" }), edits);
  assert.equal(one({ type: "array", items: { type: "object" } }), edits);
  assert.is(one({ type: "array", items: { type: "null" } }), undefined);
  assert.is(one({ type: "array", items: { type: "object", properties: { old: text } } }), undefined, "no place for the new text");
  assert.equal(one({ items: { properties: { old: text, new: text }, required: ["old"] } }), [{ old: "x", new: "y" }, { old: "z", new: "" }]);
});

test("several edits do not fit a tool for one", () => {
  const edits = [{ oldText: "x", newText: "y" }, { oldText: "z", newText: "" }];
  assert.is(call("piEditArgs", { path: "a", edits }, tool("edit", "", { path: text, oldText: text, newText: text })), undefined);
});

test("a working directory is entered where the tool's own property does not take it", () => {
  assert.equal(call("shellArgs", { command: "ls", workingDirectory: "/x" }, tool("bash", "", { command: text, cwd: { type: "number" } })), { command: "cd -- '/x' && ls" });
});

test("a command that is too long once the folder is in front of it is not passed", () => {
  assert.is(call("shellArgs", { command: "ls", workingDirectory: "/x" }, tool("bash", "", { command: { type: "string", maxLength: 5 } })), undefined);
});

test("no time limit is passed on, whatever the tool calls it", () => {
  const shell = tool("bash", "", { command: text, timeout: number, timeout_ms: number, timeoutSeconds: number });
  assert.equal(call("shellArgs", { command: "ls", timeout: 30_000, hardTimeout: 60_000 }, shell), { command: "ls" });
  assert.equal(call("piBashArgs", { command: "ls", timeout: 5 }, shell), { command: "ls" });
});

test("a property called __proto__ is filled as any other and reaches no prototype", () => {
  const inputSchema = JSON.parse('{"properties":{"path":{"type":"string"},"__proto__":{"const":{"polluted":1}}},"required":["path","__proto__"]}') as Record<string, unknown>;
  const args = call("readArgs", { path: "/a" }, { name: "read", description: "", inputSchema })!;
  assert.equal(Object.keys(args), ["path", "__proto__"]);
  assert.is(Object.getPrototypeOf(args), Object.prototype);
  assert.is(({} as Record<string, unknown>)["polluted"], undefined);
});

test("properties called type and description mean nothing special", () => {
  assert.equal(call("shellArgs", { command: "ls", description: "List" }, tool("bash", "", { command: text, type: text, description: text })), { command: "ls", description: "List" });
});

for (const inputSchema of [null, undefined, 5, "x", [], {}, { properties: 5 }, { required: ["path"] }, { properties: { path: text }, required: [5, null, "path"] }])
  test(`the schema ${JSON.stringify(inputSchema)} does no harm`, () => {
    const args = call("readArgs", { path: "/a" }, { name: "read", description: "", inputSchema: inputSchema as unknown as Record<string, unknown> });
    assert.equal(args, JSON.stringify(inputSchema ?? 0).includes('"properties":{"path"') ? { path: "/a" } : undefined);
  });

test("a tool is not used for what another intent claims by a stronger sign", () => {
  const byDescription = tool("grep", "Find files by a glob of their content.", { pattern: text });
  assert.is(call("piFindArgs", { pattern: "*.ts" }, byDescription), undefined);
  const alias = tool("file_search", "", { query: text, pattern: text });
  assert.is(call("grepArgs", { pattern: "x" }, alias), undefined);
  assert.is(translate(rowOf("piFindArgs"), { pattern: "*.ts" }, [alias], "/w")?.tool, "file_search");
});

/** One byte more than may stand in a command, and as much as may. */
const TOO_LONG = "x".repeat(LIMITS.nativeText + 1);
const LONG = TOO_LONG.slice(1);

const NOTHING: readonly [row: string, args: object, why: string][] = [
  ["shellArgs", {}, "no command"],
  ["shellArgs", { command: " \n" }, "a blank command"],
  ["shellArgs", { command: "a\0b" }, "a NUL in the command"],
  ["shellArgs", { command: "a", workingDirectory: "/a\0b" }, "a NUL in the folder"],
  ["readArgs", {}, "no path to read"],
  ["readArgs", { path: "a\0b" }, "a NUL in the path"],
  ["writeArgs", { fileText: "x" }, "no path to write"],
  ["writeArgs", { path: "a", fileBytes: Uint8Array.of(0xff, 0xfe) }, "bytes that are no text"],
  ["deleteArgs", {}, "no path to delete"],
  ["grepArgs", {}, "D24 neither pattern nor glob"],
  ["grepArgs", { pattern: " ", glob: "" }, "D24 a blank pattern and an empty glob"],
  ["grepArgs", { pattern: "", glob: "  " }, "D24 an empty pattern and a blank glob"],
  ["grepArgs", { pattern: "x", glob: "a\0" }, "a NUL in the glob"],
  ["grepArgs", { pattern: "x", type: "a\0" }, "a NUL in the file type"],
  ["piFindArgs", {}, "no pattern to find"],
  ["piEditArgs", { path: "a" }, "no edits"],
  ["piEditArgs", { edits: [{}] }, "no path to edit"],
  ["fetchArgs", { url: "http://x" }, "no operation of ours"],
  ["backgroundShellSpawnArgs", { command: "ls" }, "a command to leave running"],
  ["redactedReadArgs", { path: "a" }, "a read that is not translated"],
  ["shellArgs", { command: TOO_LONG }, "too long a command"],
  ["shellStreamArgs", { command: "ls", workingDirectory: TOO_LONG }, "too long a folder"],
  ["readArgs", { path: TOO_LONG }, "too long a path to read"],
  ["writeArgs", { path: TOO_LONG, fileText: "x" }, "too long a path to write"],
  ["deleteArgs", { path: `${"é".repeat(LIMITS.nativeText / 2)}x` }, "a path that is too long as UTF-8"],
  ["grepArgs", { pattern: TOO_LONG }, "too long a pattern"],
  ["grepArgs", { pattern: "x", glob: TOO_LONG }, "too long a glob"],
  ["grepArgs", { pattern: "x", type: TOO_LONG }, "too long a file type"],
  ["piFindArgs", { pattern: "**/".repeat(5_000_000) }, "a glob of folders alone, as long as a message"],
];
for (const [row, args, why] of NOTHING)
  test(`${why} is no call (${row})`, () => {
    assert.is(translate(rowOf(row), args, [...TOOL_SETS["all"]!, codemode], "/w"), undefined);
  });

test("a command, a path or a glob may be long, and what is written has no such bound", () => {
  for (const [row, args] of [["shellArgs", { command: LONG }], ["deleteArgs", { path: "é".repeat(LIMITS.nativeText / 2) }], ["writeArgs", { path: LONG, fileText: TOO_LONG }]] as const)
    assert.ok(translate(rowOf(row), args, TOOL_SETS["all"]!, "/w"), row);
});

for (const row of EXEC.filter((one) => "translated" in one))
  test(`without tools ${row.name} is no call`, () => {
    assert.is(translate(row, { command: "a", path: "a", pattern: "a", content: "a", edits: [{ oldText: "a", newText: "b" }] }, [], "/w"), undefined);
  });

test("the bytes to write win over the text where there are any", () => {
  const write = TOOL_SETS["pi"]!.find(({ name }) => name === "write")!;
  const bytes = new TextEncoder().encode("\ufeffbytes é");
  assert.equal(call("writeArgs", { path: "a", fileText: "text", fileBytes: bytes }, write), { path: "a", content: "\ufeffbytes é" });
  assert.equal(call("writeArgs", { path: "a", fileText: "text", fileBytes: new Uint8Array(0) }, write), { path: "a", content: "text" });
});

test("an older layout of a search is read by its wire types", () => {
  const { grep } = Object.fromEntries(TOOL_SETS["all"]!.map((one) => [one.name, one]));
  assert.equal(call("grepArgs", { pattern: "x", caseInsensitive2: true, path6: "/p", outputMode11: "content" }, grep!), { pattern: "x", path: "/p", ignoreCase: true });
});

test("lines around a match go to the properties that there are", () => {
  const args = { pattern: "x", contextBefore: 1, contextAfter: 2 };
  assert.equal(call("grepArgs", args, tool("grep", "", { pattern: text, before_context: number, lines_after: number })), { pattern: "x", before_context: 1, lines_after: 2 });
});

test("a limit on matches is not passed to a search for files or counts", () => {
  const { grep } = Object.fromEntries(TOOL_SETS["all"]!.map((one) => [one.name, one]));
  assert.equal(call("grepArgs", { pattern: "x", outputMode: "count", headLimit: 3 }, grep!), { pattern: "x" });
  assert.equal(call("grepArgs", { pattern: "x", outputMode11: "unheard-of", headLimit: 3, offset: 2 }, grep!), { pattern: "x", limit: 5 });
});

test("the tools of a host are asked once each, a thousand of them in well under a second", () => {
  const tools = Array.from({ length: 1_000 }, (_, index) => tool(`shell_${index}`, "Runs shell commands.", { command: text, needed: text }, ["needed"]));
  const start = cpuTime();
  assert.is(translate(rowOf("shellArgs"), { command: "ls" }, [...tools, bash], "/w")?.tool, "bash");
  assert.is(translate(rowOf("shellArgs"), { command: "ls" }, tools, "/w"), undefined);
  assert.ok(cpuTime() - start < 2_000);
});

test.run();

/** Alternatives in alternatives. */
function nested(depth: number): object {
  return depth === 0 ? text : { anyOf: [nested(depth - 1)] };
}

/** What a strict reader of the schema has against the arguments: written here, apart from what is tested. */
function faults(schema: unknown, value: unknown): string[] {
  const { type, properties = {}, required = [], items, const: constant, enum: choices, maximum, additionalProperties } = schema as Record<string, any>;
  const found: string[] = [];
  if (type === "object") {
    for (const name of required) if (!Object.hasOwn(value as object, name)) found.push(`${name} is missing`);
    for (const [name, one] of Object.entries(value as object)) {
      if (Object.hasOwn(properties, name)) found.push(...faults(properties[name], one));
      else if (additionalProperties === false) found.push(`${name} is not declared`);
    }
  } else if (type === "array") for (const one of value as unknown[]) found.push(...faults(items, one));
  else if (type !== undefined && typeof value !== (type === "integer" ? "number" : type)) found.push(`${String(value)} is no ${type}`);
  if (constant !== undefined && value !== constant) found.push(`${String(value)} is not ${constant}`);
  if (choices !== undefined && !choices.includes(value)) found.push(`${String(value)} is no choice`);
  if (maximum !== undefined && (value as number) > maximum) found.push(`${String(value)} is too much`);
  return found;
}
