/** An account host: the embedded host, whose account's requests are kept. */
import { startLoopback } from "../lib/loopback/index.ts";
import type { AccountOptions, AccountRequest } from "../lib/loopback/account.ts";

/** A running account host. */
export interface AccountHost {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** Every request of the account, in order of arrival. */
  readonly received: AccountRequest[];
  close(): Promise<void>;
}

/** Starts an account host on a free port. */
export async function startAccountHost({ answer, ...account }: AccountOptions = {}): Promise<AccountHost> {
  const received: AccountRequest[] = [];
  const host = await startLoopback({
    account: {
      ...account,
      answer: (request) => {
        received.push(request);
        return answer?.(request);
      },
    },
  });
  return { origin: host.origin, received, close: () => host.close() };
}
