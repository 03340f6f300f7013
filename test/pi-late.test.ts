/** What comes late: legs that wait in an extension's hook while their session ends, or while a newer leg goes on. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { CALL, callsOf, handles, onStage, PARK, parked, result, SAY, textOf, tools, user } from "./pi-fake.ts";

const test = suite("pi late");

/** A promise that is settled from outside. */
function gate() {
  let [open, fail] = [() => {}, (_: Error) => {}];
  const opened = new Promise<void>((resolve, reject) => ([open, fail] = [resolve, reject]));
  return { opened, open, fail };
}

/** A hook that waits at the first event of a type. */
const waitAt = (type: string, reached: ReturnType<typeof gate>, late: ReturnType<typeof gate>) => (event: unknown) =>
  (event as { type: string }).type === type ? (reached.open(), late.opened) : undefined;

for (const [what, sessionId, more] of [
  ["a session that Pi does not keep", "s1", { getSessionFile: () => undefined }],
  ["a session that Pi keeps", "s1", { getSessionFile: () => "/sessions/s1.jsonl" }],
  ["no session", "", {}],
] as const)
  for (const hook of ["onPayload", "onResponse", "onProviderStreamEvent"] as const)
    test(`H9 a shutdown ends a leg of ${what} that waits in ${hook}, and nothing comes of it later`, () =>
      onStage({ script: PARK }, async (stage) => {
        const { pi, host } = stage;
        await pi.fire("session_start", "s1", stage.folder, more);
        const [reached, late] = [gate(), gate()];
        const answer = stage.stream([user("read it")], { sessionId, [hook]: () => (reached.open(), late.opened) }, { tools });
        await reached.opened;
        await pi.fire("session_shutdown", "s1");
        const message = await answer.result();
        assert.is(message.stopReason, "aborted");
        late.open();
        for (const { closed } of host.received) await closed;
        assert.is(host.received.length, hook === "onPayload" ? 0 : 1);
        assert.is(stage.sessions.find("s1"), undefined);
        assert.equal(await handles(stage), []);
      }));

test("H9 a shutdown closes a Run without a session in its midst", () =>
  onStage({ script: [{ text: "a" }, { hang: true }] }, async (stage) => {
    await stage.pi.fire("session_start", "s1", stage.folder);
    const answer = stage.stream([user("hi")], { sessionId: "" });
    for await (const event of answer) if (event.type === "text_delta") await stage.pi.fire("session_shutdown", "s1");
    assert.is((await answer.result()).stopReason, "aborted");
    assert.is(stage.host.received[0]!.rstCode, 8);
  }));

test("a call that comes after its session, which Pi does not keep, leaves no file", () =>
  onStage({ script: SAY }, async (stage) => {
    await stage.pi.fire("session_start", "s1", stage.folder, { getSessionFile: () => undefined });
    await stage.pi.fire("session_shutdown", "s1");
    assert.is((await stage.ask([user("hi")])).message.stopReason, "stop");
    assert.equal(await handles(stage), []);
    await stage.pi.fire("session_shutdown", "s1");
    await stage.pi.fire("session_start", "s1", stage.folder);
    await stage.ask([user("hi")]);
    assert.equal(await handles(stage), ["s1.json"]);
  }));

for (const [what, type, settle] of [
  ["fails at its end", "done", ({ fail }) => fail(new Error("hook broke"))],
  ["comes to its end late", "usage", ({ open }) => open()],
] as [string, string, (late: ReturnType<typeof gate>) => void][])
  test(`a leg that ${what} takes nothing from the leg that has parked meanwhile`, () =>
    onStage({ script: [PARK, CALL] }, async (stage) => {
      const stop = new AbortController();
      const [reached, late] = [gate(), gate()];
      const first = stage.stream([user("read it")], { signal: stop.signal, onProviderStreamEvent: waitAt(type, reached, late) }, { tools });
      await reached.opened;
      const { results } = await parked(stage);
      settle(late);
      await first.result();
      stop.abort();
      assert.is(textOf((await stage.ask(results, {}, { tools })).message), "BLUE");
      assert.is(stage.host.received.length, 2);
    }));

test("a leg without a session that fails at its end takes nothing from the leg that has gone on", () =>
  onStage({ script: [CALL.slice(0, 2), CALL].flat() }, async (stage) => {
    const [reached, late] = [gate(), gate()];
    const first = stage.stream([user("read it")], { sessionId: "", onProviderStreamEvent: waitAt("done", reached, late) }, { tools });
    await reached.opened;
    const messages = [user("read it")];
    for await (const event of first)
      if (event.type === "toolcall_end") {
        messages.push({ ...event.partial, content: [...event.partial.content] }, result(event.toolCall.id, "read", "BLUE"));
        break;
      }
    const { message } = await stage.ask(messages, { sessionId: "" }, { tools });
    late.fail(new Error("hook broke"));
    assert.match((await first.result()).errorMessage!, "hook broke");
    messages.push(message, result(callsOf(message)[0]!.id, "read", "GREEN"));
    assert.is(textOf((await stage.ask(messages, { sessionId: "" }, { tools })).message), "GREEN");
    assert.is(stage.host.received.length, 1);
  }));

test.run();
