/** A host's store that takes its time, on a clock of the test's own: what it is asked for comes in order, and waits for nothing else. */
import { mock } from "node:test";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Handles } from "../lib/driver/handles.ts";
import type { HandleStore } from "../lib/driver/handle-store.ts";
import type { Diagnostic } from "../lib/session/turn.ts";
import { handleOf } from "./handles.ts";

const test = suite("handles patience");
test.before.each(() => mock.timers.enable({ apis: ["setTimeout"] }));
test.after.each(() => mock.timers.reset());

/** A store that answers one question after the other, when the test says so. */
function slowStore(): HandleStore & { asked: string[]; settle(error?: Error): Promise<void> } {
  const asked: string[] = [];
  const open: ((error?: Error) => void)[] = [];
  const wait = (what: string): Promise<undefined> => {
    asked.push(what);
    return new Promise((resolve, reject) => open.push((error) => (error ? reject(error) : resolve(undefined))));
  };
  return {
    asked,
    settle: (error) => (open.shift()!(error), turn()),
    load: () => wait("load"),
    save: (_, { conversationId }) => wait(`save ${conversationId}`),
    remove: () => wait("remove"),
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function passed(ms: number): Promise<void> {
  await turn();
  mock.timers.tick(ms);
  await turn();
}

/** Whether `work` has come to an end. */
async function over(work: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void work.then(() => (settled = true));
  await turn();
  return settled;
}

const never = new AbortController().signal;

test("a save that outlasts the store's time is told, and what comes behind it still comes behind", async () => {
  const store = slowStore();
  const told: Diagnostic[] = [];
  const handles = new Handles(store, (diagnostic) => told.push(diagnostic));
  const saved = handles.keep("s", handleOf("a"));
  await passed(4_999);
  assert.not(await over(saved));
  await passed(1);
  assert.ok(await over(saved));
  assert.equal(told.map(({ type, message }) => [type, /5000 ms/.test(message)]), [["handle_not_kept", true]]);
  const removed = handles.keep("s", undefined);
  await passed(10);
  assert.equal(store.asked, ["save a"]);
  await store.settle();
  assert.equal(store.asked, ["save a", "remove"]);
  await store.settle();
  assert.ok(await over(removed));
  assert.is(told.length, 1);
});

test("of what a store that sleeps is asked for, the last is done", async () => {
  const store = slowStore();
  const handles = new Handles(store, () => {});
  const all = [handles.keep("s", handleOf("a"))];
  await turn();
  for (const handle of [handleOf("b"), undefined, handleOf("c")]) all.push(handles.keep("s", handle));
  await store.settle(new Error("not now"));
  assert.equal(store.asked, ["save a", "save c"]);
  await store.settle();
  assert.ok(await over(Promise.all(all)));
});

test("a store that never answers costs a leg its time once, and other sessions nothing", async () => {
  const store = slowStore();
  const told: string[] = [];
  const handles = new Handles(store, ({ type }) => told.push(type));
  void handles.keep("s", handleOf("a"));
  const loaded = handles.load("s", never);
  const other = handles.load("t", never);
  await turn();
  assert.equal(store.asked, ["save a", "load"]);
  await passed(5_000);
  assert.ok(await over(loaded));
  assert.ok(await over(other));
  assert.equal(told.sort(), ["handle_not_kept", "handle_unreadable", "handle_unreadable"]);
});

test("close waits for what is being kept, as long as a store may take", async () => {
  const store = slowStore();
  const handles = new Handles(store, () => {});
  assert.ok(await over(handles.settled()));
  void handles.keep("s", handleOf("a"));
  const settled = handles.settled();
  await passed(4_000);
  assert.not(await over(settled));
  await store.settle();
  assert.ok(await over(settled));
  void handles.keep("s", handleOf("b"));
  const late = handles.settled();
  await passed(5_000);
  assert.ok(await over(late));
});

test.run();
