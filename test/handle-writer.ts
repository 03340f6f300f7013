/** A process that saves handles of the session `s`: `handle-writer FOLDER NAME TIMES`. Says `saved` after the first. */
import { fileHandleStore } from "../lib/driver/handle-store.ts";
import { handleOf } from "./handles.ts";

const [folder, name, times] = process.argv.slice(2) as [string, string, string];
const store = fileHandleStore(folder);
if (name === "new") await store.save("s", handleOf("new", "shared", "new 1", "new 2", "new 3"));
else
  for (let number = 0; number < Number(times); number++) {
    await store.save("s", handleOf(`${name}${number}`, "shared", `${name}${number}`));
    if (number === 0) console.log("saved");
  }
