/** An extension before an account host, not yet activated. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AccountOptions } from "../lib/loopback/account.ts";
import { createExtension } from "../lib/pi/extension.ts";
import { startAccountHost, type AccountHost } from "./account-host.ts";
import { onStage, type Line, type Stage } from "./pi-fake.ts";

/** The only refresh token that the host takes. */
export const REFRESH = "synthetic-refresh";

/** The stage, with an account. */
export interface Office extends Omit<Stage, "ask" | "stream"> {
  account: AccountHost;
  /** Calls the factory with a token, or with a stored login. */
  activate(more?: Record<string, string>): Promise<void>;
  /** Writes Pi's auth.json. */
  store(credentials: object): Promise<void>;
}

/** An extension that is not yet activated, before an account host. */
export async function inOffice(options: AccountOptions & { line?: Line }, work: (office: Office) => Promise<void>): Promise<void> {
  const account = await startAccountHost({ refreshToken: REFRESH, ...options });
  await onStage({ activate: false, line: options.line ?? "1.6" }, async (stage) => {
    const env = { ...stage.env, CURSOR_PROVIDER_AGENT_ORIGIN: account.origin };
    const store = async (credentials: object) => {
      await mkdir(join(stage.folder, ".pi", "agent"), { recursive: true });
      await writeFile(join(stage.folder, ".pi", "agent", "auth.json"), JSON.stringify(credentials));
    };
    const activate = (more: Record<string, string> = {}) => createExtension({ env: { ...env, ...more }, sessions: stage.sessions })(stage.pi);
    try {
      await work({ ...stage, env, account, activate, store });
    } finally {
      await account.close();
    }
  });
}
