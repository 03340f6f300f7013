import type { PiModel, PiUsage } from "./pi.ts";

/** Tokens of a message as Pi counts them, with the cost by the model's rates in dollars per million. */
export function usageOf({ cost }: Pick<PiModel, "cost">, input: number, output: number): PiUsage {
  const price = (rate: number | undefined, tokens: number) => ((Number(rate) || 0) * tokens) / 1_000_000;
  const [paidInput, paidOutput] = [price(cost?.input, input), price(cost?.output, output)];
  return {
    input,
    output,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: input + output,
    cost: { input: paidInput, output: paidOutput, cacheRead: 0, cacheWrite: 0, total: paidInput + paidOutput },
  };
}
