import { Failure } from "./failure.ts";

/** The working directory, as the workspace of a Run. @throws Failure `no_working_directory` where it has been removed */
export function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    throw new Failure("no_working_directory", "the working directory is not there any more", "Change to a folder that exists.");
  }
}
