import type { Verb } from "./verb.ts";

/** The verbs of the command, in the order of the help (DESIGN §5). */
export const VERBS: readonly Verb[] = [
  {
    name: "run",
    operands: "PROMPT…",
    summary: "one turn, streamed",
    details: [
      "Its only tools are pure ones: a calculator and a clock. Needs an access token in PI_CURSOR_TOKEN, or --loopback, " +
        "which starts the embedded host on 127.0.0.1 and needs no account.",
    ],
    options: [
      { name: "loopback", value: "FILE", optional: true, meaning: "talk to the embedded host, which plays FILE, a script or a capture, or its demo" },
      { name: "origin", value: "URL", meaning: "the agent host; beats CURSOR_PROVIDER_AGENT_ORIGIN" },
      { name: "model", value: "SLUG", meaning: "the model's published slug" },
      { name: "session", value: "ID", meaning: "continue or start this session; without it, and with --loopback, nothing is kept" },
      { name: "record", value: "FILE", meaning: "write the frames of the Run, as replay and inspect read them, to FILE, whose content is replaced" },
      { name: "redact", meaning: "with --record: replace texts by filler of the same length" },
    ],
    examples: ['cursor-wire run --loopback "What is six times seven?"', "cursor-wire run --loopback=script.json hello", "cursor-wire run --model composer-2.5 --record run.jsonl hello"],
    count: { least: 1, most: Infinity },
    load: async () => (await import("./run.ts")).run,
  },
  {
    name: "replay",
    operands: "FILE…",
    summary: "a capture's server frames through the session core",
    details: ["Prints the events that a host would have heard. No socket is opened and no time passes: the clock is that of the capture."],
    options: [{ name: "check", meaning: "compare what the core sends with what the capture's client sent; exit 1 at a difference" }],
    examples: ["cursor-wire replay --check fixtures/captures/*.jsonl"],
    count: { least: 1, most: Infinity },
    load: async () => (await import("./replay.ts")).replay,
  },
  {
    name: "inspect",
    operands: "[FILE…]",
    summary: "every frame by wire type, named by the tables where known, drift marked",
    details: [
      "Reads captures (.jsonl), streams of envelopes, single messages, and the hex text of either; which of them is seen from the first bytes. " +
        "Without FILE, or for -, it reads stdin.",
      "! marks drift: a field that no table knows, or one that came with another wire type than its row.",
    ],
    options: [
      { name: "hex", meaning: "the arguments are hex, not files; without any, stdin is" },
      { name: "as", value: "NAME", meaning: "the table of bytes without a direction: client, server or a message's name" },
      { name: "full", meaning: "cut no text and no bytes, and show up to 131,072 fields of a frame" },
    ],
    examples: [
      "cursor-wire inspect fixtures/captures/text.jsonl",
      "cursor-wire inspect --hex 0a060a040a026869",
      "cursor-wire inspect --as ShellArgs --hex 0a026c73",
    ],
    count: { least: 0, most: Infinity },
    load: async () => (await import("./inspect.ts")).inspect,
  },
  {
    name: "serve",
    operands: "[FILE]",
    summary: "the embedded host alone",
    details: ["Listens on 127.0.0.1 until it is interrupted, and answers every Run as FILE says, a script or a capture (- is stdin), or with the built-in script, and login and models with a synthetic account."],
    options: [{ name: "port", value: "N", meaning: "the port to listen on; default: any free one" }],
    examples: ["cursor-wire serve --port 4610"],
    count: { least: 0, most: 1 },
    load: async () => (await import("./serve.ts")).serve,
  },
  {
    name: "probe",
    operands: "NAME",
    summary: "a check of PROTOCOL.md: agent, native, resume, fidelity, contract or all",
    details: [
      "Runs against the configured origin with the token in PI_CURSOR_TOKEN, which costs a few turns of the plan, " +
        "or with --loopback against the embedded host.",
    ],
    options: [
      { name: "loopback", meaning: "check against the embedded host" },
      { name: "origin", value: "URL", meaning: "the agent host; beats CURSOR_PROVIDER_AGENT_ORIGIN" },
      { name: "model", value: "SLUG", meaning: "the model's published slug" },
      { name: "inproc", meaning: "native: really run what the execs ask for, from a temporary folder; nothing else confines it" },
    ],
    examples: ["cursor-wire probe all --loopback"],
    count: { least: 1, most: 1 },
    load: async () => (await import("./probe.ts")).probe,
  },
  {
    name: "doctor",
    operands: "",
    summary: "environment, origin, handle folder, Node version, Pi found or not; no secrets",
    details: ["Opens no connection. Exits 1 where something would keep a Run from starting, a missing token included."],
    options: [],
    examples: ["cursor-wire doctor"],
    count: { least: 0, most: 0 },
    load: async () => (await import("./doctor.ts")).doctor,
  },
  {
    name: "login",
    operands: "",
    summary: "log in through the browser and print the access token, for PI_CURSOR_TOKEN",
    details: ["Nothing is stored, and the token is never printed on a terminal. Pi logs in by itself."],
    options: [{ name: "origin", value: "URL", meaning: "the account host; default https://api2.cursor.sh, or the loopback in CURSOR_PROVIDER_AGENT_ORIGIN" }],
    examples: ["export PI_CURSOR_TOKEN=$(cursor-wire login)"],
    count: { least: 0, most: 0 },
    load: async () => (await import("./login.ts")).login,
  },
  {
    name: "models",
    operands: "",
    summary: "the models of the account, with their slugs",
    details: ["Asks with the token in PI_CURSOR_TOKEN. Without one, or offline, it lists a few built-in ones and says so."],
    options: [{ name: "origin", value: "URL", meaning: "the account host; default https://api2.cursor.sh, or the loopback in CURSOR_PROVIDER_AGENT_ORIGIN" }],
    examples: ["cursor-wire models"],
    count: { least: 0, most: 0 },
    load: async () => (await import("./models.ts")).models,
  },
];
