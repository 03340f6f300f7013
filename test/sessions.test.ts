/** Every story of fixtures/sessions, its payloads once as they are and once put together from single bytes. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { list, readText } from "../fixtures/load.ts";
import { playStory, readStory } from "./story.ts";

const test = suite("sessions");
const stories = list("fixtures/sessions").filter((name) => name.endsWith(".txt"));

for (const name of stories) {
  const story = readText(`fixtures/sessions/${name}`);
  test(`${name} as it is`, () => playStory(story, "whole"));
  test(`${name} byte by byte`, () => playStory(story, "bytes"));
  test(`${name} says what it shows, opens a Run and brings it to an end or a pause`, () => {
    assert.match(story, new RegExp(`^# ${name.slice(0, -4)}: .+\\((?:§|D)\\d`));
    const texts = readStory(story).map(({ text }) => text);
    assert.ok(texts.includes("open"));
    assert.ok(texts.some((text) => /^(?:fail|emit done|close)/.test(text)));
  });
}

test("there are stories", () => {
  assert.ok(stories.length >= 16, `${stories.length} stories`);
});

test("a story whose expectation is not met fails at its line", () => {
  const start = 'user "hi"\n! open\n  connect\n! opened\n> runRequest text="hi"\n';
  const wrong: Record<string, string> = {
    'line 6: line 7 expects emit text "b", not emit text "a"': '< textDelta text="a"\n  emit text "b"',
    "line 6: what nobody expected": '< textDelta text="a"',
    "line 6: line 8 expects ping": '< textDelta text="a"\n  emit text "a"\n  ping',
    "line 6: line 7 expects arm first": '< textDelta text="a"\n  arm first\n  emit text "a"',
    "line 6: the clock that runs out next": "! timer idle",
    "line 6: no field is called nothing": "< nothing",
    "line 6: no such line of a request: nothing": "nothing",
    "line 6: nothing of that name happens: nothing": "! nothing",
    "line 6: the request goes on with the Run": "! continue",
    "line 7: line 9 expects clientHeartbeat": "! after 14999\n! after 2\n> clientHeartbeat\n> clientHeartbeat",
  };
  for (const [words, lines] of Object.entries(wrong)) {
    let message = "it did not fail";
    try {
      playStory(start + lines, "whole");
    } catch (error) {
      ({ message } = error as Error);
    }
    assert.ok(message.startsWith(words), `${words}\n${message}`);
  }
});

test.run();
