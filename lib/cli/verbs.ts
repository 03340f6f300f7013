import type { Verb } from "./verb.ts";

/** The verbs of the command, in the order of the help (DESIGN §5). */
export const VERBS: readonly Verb[] = [
  {
    name: "inspect",
    operands: "[FILE…]",
    summary: "every frame by wire type, named by the tables where known, drift marked",
    details: [
      "Reads captures (.jsonl), streams of envelopes, single messages, and the hex text of either; which of them is seen from the first bytes. Without FILE, or for -, it reads stdin.",
      "! marks drift: a field that no table knows, or one that came with another wire type than its row.",
    ],
    options: [
      { name: "hex", meaning: "the arguments are hex, not files; without any, stdin is" },
      { name: "as", value: "NAME", meaning: "the table of bytes without a direction: client, server or a message's name" },
      { name: "full", meaning: "cut nothing: all fields, texts and bytes" },
    ],
    examples: ["cursor-wire inspect fixtures/captures/text.jsonl", "cursor-wire inspect --hex 0a060a040a026869", "cursor-wire inspect --as ShellArgs --hex 0a026c73"],
    count: { least: 0, most: Infinity },
    load: async () => (await import("./inspect.ts")).inspect,
  },
];
