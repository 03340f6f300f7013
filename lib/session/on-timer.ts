/** A clock ran out (DESIGN D1). */
import { LIMITS } from "../agent/limits.ts";
import { complete, fail, park } from "./finish.ts";
import { send } from "./reply.ts";
import { arm, type Session } from "./session.ts";
import { duration, timerFailure, TIMERS, type Timer } from "./timers.ts";

/** A clock has run out: what that means is its row of TIMERS (DESIGN D1). */
export function onTimer(session: Session, timer: Timer): void {
  if (!session.armed.delete(timer)) return;
  const row = TIMERS[timer];
  switch (row.fires) {
    case "fail":
      fail(session, timerFailure(row, duration(timer, session.settings.clocks)));
      return;
    case "burst":
      park(session);
      return;
    case "drained":
      complete(session);
      return;
    case "heartbeat":
      send(session, { clientHeartbeat: {} });
      arm(session, timer);
      return;
    case "execHeartbeat":
      // No more than a leg's: a peer that sends without end and reads nothing would fill the memory.
      for (const id of [...session.pending.keys()].slice(0, LIMITS.calls)) send(session, { execClientControlMessage: { heartbeat: { id } } });
      arm(session, timer);
      return;
    default:
      row.fires satisfies "ping";
      session.out.push({ type: "ping" });
      if (!session.armed.has("pong")) arm(session, "pong");
      arm(session, timer);
  }
}
