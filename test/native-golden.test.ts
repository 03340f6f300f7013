/** Every native result as bytes, against an independent encoder; and the call that each exec becomes. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { NATIVE_FILES, nativeCases, rowOf } from "../fixtures/native/cases.ts";
import { TOOL_SETS } from "../fixtures/native/tools.ts";
import { EXEC, ExecClientMessage, camel } from "../lib/agent/index.ts";
import { nativeResults, translate } from "../lib/session/native/translate.ts";
import { hex } from "./check.ts";

const test = suite("native-golden");

for (const file of NATIVE_FILES)
  for (const one of nativeCases(file)) {
    test(`${one.name} (${one.row}: the call)`, () => {
      const translation = translate(rowOf(one.row), one.args, TOOL_SETS[one.tools]!, "/w");
      assert.is(translation?.tool, one.tool);
      assert.equal(translation?.arguments, one.arguments);
      assert.is(translation?.unwrap, one.unwrap);
      assert.is(translation?.composite, one.composite);
    });
    test(`${one.name} (${one.row}: the answer)`, () => {
      const translation = translate(rowOf(one.row), one.args, TOOL_SETS[one.tools]!, "/w")!;
      const results = nativeResults(translation, { content: one.content, isError: one.isError });
      assert.equal(
        results.map((result) => hex(ExecClientMessage.encode(result))),
        one.messages.map((message) => message.hex),
      );
    });
  }

test("every case that is translated has a success and an error among the goldens", () => {
  const all = NATIVE_FILES.flatMap(nativeCases);
  for (const row of EXEC) {
    if (!("translated" in row)) continue;
    for (const isError of [false, true])
      assert.ok(
        all.some((one) => one.row === camel(row.name) && one.isError === isError),
        `${row.name}, ${isError ? "error" : "success"}`,
      );
  }
});

test.run();
