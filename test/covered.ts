/** What the environment of a program needs for its coverage to count, where any is taken (see run.ts). */
export function covered(): Record<string, string> {
  const folder = process.env["TEST_COVERAGE"];
  return folder === undefined ? {} : { NODE_V8_COVERAGE: folder };
}
