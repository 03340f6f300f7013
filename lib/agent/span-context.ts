import { message, optional, string, uint32 } from "../../wire/index.ts";

/** §5: where a request belongs in the peer's traces. */
export const SpanContext = message({
  traceId: string(1),
  spanId: string(2),
  traceFlags: optional(uint32(3)),
  traceState: optional(string(4)),
});
