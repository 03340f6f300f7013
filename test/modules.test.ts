/** Every module can be loaded: also those that only hold types, which a coverage report would else count as missed. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { filesBelow } from "../fixtures/load.ts";

const test = suite("modules");

/** The command itself runs when it is loaded: the command's own tests start it. */
const MAIN = "lib/cli/main.ts";

for (const file of [...filesBelow("wire"), ...filesBelow("lib")].filter((name) => name.endsWith(".ts") && name !== MAIN))
  test(`${file} loads`, async () => {
    const loaded = (await import(new URL(`../${file.replace(/ts$/, import.meta.url.endsWith(".ts") ? "ts" : "js")}`, import.meta.url).href)) as object;
    assert.type(loaded, "object");
  });

test.run();
