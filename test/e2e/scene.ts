/** One case: a host with a script, a Pi with a home of its own, and a folder to work in. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startLoopback, type Fault, type Loopback, type Received, type Script } from "../../lib/loopback/index.ts";
import type { AccountOptions } from "../../lib/loopback/account.ts";
import { startFront, type Front } from "./front.ts";
import type { Pi } from "./install.ts";
import { linesOf, RpcPi, runPi, type Line, type Output } from "./process.ts";

/** The extension as it is built. */
const EXTENSION = fileURLToPath(new URL("../../lib/pi/index.js", import.meta.url));

/** What a case is set up with. */
export interface Setting {
  script?: Script | Script[];
  faults?: Fault[];
  /** An account host before the agent host. */
  account?: AccountOptions;
  env?: Record<string, string>;
  /** Files in the working folder. */
  files?: Record<string, string | Uint8Array>;
  /** Pi's settings; by default it retries soon. */
  settings?: object;
  /** Pi's auth.json. Default: none; the token comes from PI_CURSOR_TOKEN. */
  auth?: object;
}

export class Scene {
  readonly pi: Pi;
  readonly host: Loopback;
  readonly front: Front | undefined;
  /** Holds `home`, `agent`, `work`, `handles` and `sessions`. */
  readonly folder: string;
  readonly #env: Record<string, string>;
  readonly #open: RpcPi[] = [];

  private constructor(pi: Pi, host: Loopback, front: Front | undefined, folder: string, env: Record<string, string>) {
    this.pi = pi;
    this.host = host;
    this.front = front;
    this.folder = folder;
    this.#env = env;
  }

  static async open(pi: Pi, setting: Setting): Promise<Scene> {
    const { faults = [], script, account } = setting;
    const host = await startLoopback({ faults, ...(script && { script }) });
    const front = account && (await startFront(host.origin, account));
    const folder = await mkdtemp(join(tmpdir(), "cursor-wire-scene-"));
    for (const name of ["home", "agent", "work", "handles", "sessions"]) await mkdir(join(folder, name));
    const settings = setting.settings ?? { retry: { enabled: true, maxRetries: 3, baseDelayMs: 50 } };
    await writeFile(join(folder, "agent", "settings.json"), JSON.stringify(settings));
    if (setting.auth) await writeFile(join(folder, "agent", "auth.json"), JSON.stringify(setting.auth), { mode: 0o600 });
    for (const [name, content] of Object.entries(setting.files ?? {})) await writeFile(join(folder, "work", name), content);
    const env = {
      HOME: join(folder, "home"),
      PI_CODING_AGENT_DIR: join(folder, "agent"),
      PI_OFFLINE: "1",
      PI_SKIP_VERSION_CHECK: "1",
      PI_TELEMETRY: "0",
      CURSOR_PROVIDER_AGENT_ORIGIN: front?.origin ?? host.origin,
      CURSOR_PROVIDER_HANDLE_DIR: join(folder, "handles"),
      ...(setting.auth === undefined && { PI_CURSOR_TOKEN: "synthetic-token" }),
      ...setting.env,
    };
    return new Scene(pi, host, front, folder, env);
  }

  /** The working folder. */
  get work(): string {
    return join(this.folder, "work");
  }

  /** `pi -p`, which prints the answer. */
  print(args: readonly string[], env: Record<string, string> = {}): Promise<Output> {
    return runPi(this.pi, ["-p", ...this.#arguments(args)], this.work, { ...this.#env, ...env });
  }

  /** `pi --mode json`, which prints every event. */
  async json(args: readonly string[], env: Record<string, string> = {}): Promise<{ output: Output; lines: Line[] }> {
    const output = await runPi(this.pi, ["--mode", "json", ...this.#arguments(args)], this.work, { ...this.#env, ...env });
    return { output, lines: linesOf(output) };
  }

  /** Pi with other arguments than a prompt's. */
  plain(args: readonly string[]): Promise<Output> {
    return runPi(this.pi, ["-e", EXTENSION, ...args], this.work, this.#env);
  }

  /** `pi --mode rpc`; closed with the scene at the latest. */
  rpc(args: readonly string[] = []): RpcPi {
    const pi = new RpcPi(this.pi, this.#arguments(args), this.work, this.#env);
    this.#open.push(pi);
    return pi;
  }

  /** What the host received in a Run; an error where it was not asked so often. */
  run(index: number): Received {
    const received = this.host.received[index];
    if (received === undefined) throw new Error(`the host saw ${this.host.received.length} Runs, not Run ${index + 1}`);
    return received;
  }

  async close(): Promise<void> {
    for (const pi of this.#open) await pi.close();
    await this.front?.close();
    await this.host.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  #arguments(args: readonly string[]): string[] {
    const model = args.includes("--model") ? [] : ["--model", "composer-2.5"];
    return ["-e", EXTENSION, "--provider", "cursor", ...model, "--session-dir", join(this.folder, "sessions"), ...args];
  }
}
