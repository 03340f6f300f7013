import { constants } from "node:http2";
import { encodeEnvelope } from "../../wire/index.ts";
import { AgentServerMessage } from "../agent/index.ts";
import type { FaultAction } from "./fault.ts";
import type { Response } from "./response.ts";
import { fromHex } from "./value.ts";

/** A text delta that no reader should ever see. */
const stray = encodeEnvelope(0, AgentServerMessage.encode({ interactionUpdate: { textDelta: { text: "never to be read" } } }));

/** The first four bytes of a declared length are all that an envelope's header has. */
const MOST = 2 ** 32 - 1;

/** Lets a response fail, behind everything that was sent before. */
export async function strike(action: FaultAction, response: Response): Promise<void> {
  const { stream, connection } = response;
  // What is not to be read must not be read in the meantime.
  if (action.type !== "slow_reader") await response.flush();
  switch (action.type) {
    case "cut":
      response.settle("reset");
      return connection.cut(action.reset ?? false);
    case "stall":
      return response.settle("silent");
    case "freeze":
      response.settle("silent");
      return connection.freeze();
    case "reset":
      response.settle("reset");
      return connection.resetStream(stream.id!, action.code ?? constants.NGHTTP2_CANCEL);
    case "goaway": {
      const { lastStreamId = stream.id!, code = constants.NGHTTP2_NO_ERROR, data = "", cut = false } = action;
      await connection.goaway(lastStreamId, code, data);
      // A client takes a stream above the last one for refused.
      if (cut || lastStreamId < stream.id!) response.settle("reset");
      if (cut) connection.cut(false);
      return;
    }
    case "response": {
      const { status, contentType, headers, body } = action;
      response.change({ ...(status !== undefined && { ":status": status }), ...(contentType !== undefined && { "content-type": contentType }), ...headers });
      if (body === undefined) return;
      response.respond({}, body === "");
      if (body === "") return;
      await response.write(new TextEncoder().encode(body));
      return response.finish();
    }
    case "trailers_only":
      return response.respond({ ":status": action.status ?? 200, ...action.trailers }, true);
    case "trailers":
      return response.finish(action.trailers);
    case "end_stream":
      return response.finish();
    case "partial_frame": {
      const envelope = encodeEnvelope(0, new Uint8Array(action.declared ?? 64));
      await response.write(envelope.subarray(0, action.sent ?? 8));
      return response.finish();
    }
    case "oversize": {
      const header = new Uint8Array(5);
      new DataView(header.buffer).setUint32(1, Math.min(action.length ?? MOST, MOST));
      await response.write(header);
      return response.settle("silent");
    }
    case "data_after_end":
      await response.write(action.bytes === undefined ? stray : fromHex(action.bytes));
      return response.finish();
    case "slow_reader":
      stream.pause();
      if (action.forMs !== undefined) setTimeout(() => stream.resume(), action.forMs).unref();
      return;
    default:
      return action satisfies never;
  }
}
