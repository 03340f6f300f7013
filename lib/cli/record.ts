import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { HEADER_LENGTH } from "../../wire/index.ts";
import { frameLine, headerLine, RPC, type CapturedFrame, type CaptureHeader } from "../loopback/capture-line.ts";
import { Failure, fileFailure } from "./failure.ts";
import { redact } from "./redact.ts";

/** What a recorder writes into the first line. */
export type RecordHeader = Omit<CaptureHeader, "capture" | "rpc">;

/**
 * Writes captures as the frames pass. One Run a file (DESIGN §8): where a Run starts over (a retry, a stale
 * conversation) the next goes to `name.2.jsonl`, and so on. New files are readable by their owner only.
 */
export class Recorder {
  readonly #file: string;
  readonly #header: RecordHeader;
  #descriptor: number | undefined;
  /** The files written so far. */
  readonly files: string[] = [];
  #failure: unknown;
  /** Whether any frame has come. */
  #heard = false;

  /** @throws Failure `file_unwritable`: before anything is sent */
  constructor(file: string, header: RecordHeader) {
    this.#file = file;
    this.#header = header;
    this.#start(file);
    this.check();
  }

  /** Takes one frame. Never throws: what goes wrong is told by {@link check}. */
  frame(frame: CapturedFrame): void {
    if (this.#failure !== undefined) return;
    const opens = frame.from === "client" && frame.envelope[HEADER_LENGTH] === RUN_REQUEST;
    if (opens && this.#heard) this.#start(numbered(this.#file, this.files.length + 1));
    this.#heard = true;
    this.#write(frameLine(this.#header.redacted ? redact(frame) : frame));
  }

  /** Ends the recording and returns the files that it wrote. Never throws. */
  close(): readonly string[] {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
    return this.files;
  }

  /** @throws Failure `file_unwritable` where a frame could not be written */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  #start(file: string): void {
    try {
      if (this.#descriptor !== undefined) closeSync(this.#descriptor);
      this.#descriptor = undefined;
      if (statSync(file, { throwIfNoEntry: false })?.isFIFO()) throw pipe(file);
      this.#descriptor = openSync(file, "w", 0o600);
      this.files.push(file);
    } catch (error) {
      this.#failure = error instanceof Failure ? error : fileFailure("write", file, error);
    }
    this.#write(headerLine({ capture: 1, rpc: RPC, ...this.#header }));
  }

  #write(line: string): void {
    if (this.#failure !== undefined) return;
    try {
      const bytes = Buffer.from(line);
      // A full disk and a limit take a part first, and say what is wrong when the rest comes.
      for (let written = 0; written < bytes.length; ) written += writeSync(this.#descriptor!, bytes, written);
    } catch (error) {
      this.#failure = fileFailure("write", this.files.at(-1)!, error);
    }
  }
}

/** Opening or writing it would stop everything, an interrupt too, until somebody reads. */
function pipe(file: string): Failure {
  return new Failure("file_unwritable", `cannot write ${file}: it is a pipe`, "Name a file.");
}

/** The tag of AgentClientMessage.run_request: no other client message begins with it. */
const RUN_REQUEST = 0x0a;

function numbered(file: string, count: number): string {
  const dot = file.lastIndexOf(".");
  return dot > file.lastIndexOf("/") + 1 ? `${file.slice(0, dot)}.${count}${file.slice(dot)}` : `${file}.${count}`;
}
