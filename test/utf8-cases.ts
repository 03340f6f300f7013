/** Strings and broken strings for the UTF-8 tests: every shape at every length where the codec changes its way. */

/** Valid strings, among them a byte order mark, NUL, and each length of sequence at each place. */
export const STRINGS: readonly string[] = [
  "",
  "\0",
  "\ufeff",
  "\ufeffafter a byte order mark that is kept",
  "\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}",
  ...[1, 2, 3, 4, 5, 7, 8, 9, 15, 19, 20, 21, 22, 23, 24, 25, 63, 64, 127, 128, 2047, 2048, 4095, 4096, 4097, 8192].flatMap((length) => [
    "a".repeat(length),
    "é".repeat(length),
    "模".repeat(length),
    "😀".repeat(length),
    "a".repeat(length - 1) + "é",
    "é" + "a".repeat(length - 1),
    "思考 think ".repeat(length).slice(0, length),
  ]),
];

/** Invalid sequences in hex; each is also tried inside longer strings. */
export const BROKEN: readonly string[] = [
  "80", "bf", "c0", "c080", "c1bf", "c2", "c228", "c2c2", "df", "e0", "e080", "e08080", "e09fbf", "e0a0", "e0a028", "e1", "e180",
  "e12880", "e18028", "ed", "eda080", "edbfbf", "edae80edb080", "ee", "ef", "efbf", "f0", "f08080", "f0808080", "f08fbfbf", "f0908080ff",
  "f090", "f09080", "f0902880", "f0908028", "f0289080", "f4", "f48fbf", "f4908080", "f5", "f5808080", "f7bfbfbf", "f8", "f888808080", "fc84808080",
  "fe", "ff", "fffe", "feff", "80bf80bf", "e4bda0e4bd", "f09f98", "f09f9880f09f98",
];

/** The UTF-8 of each string, then the broken sequences alone, behind and in front of ASCII and Han, short and long. */
export function utf8Cases(): Uint8Array[] {
  const encoder = new TextEncoder();
  const cases: Uint8Array[] = STRINGS.map((text) => encoder.encode(text));
  for (const hex of BROKEN) {
    const broken = Uint8Array.from(hex.match(/../g)!, (pair) => parseInt(pair, 16));
    for (const [before, after] of [["", ""], ["a", ""], ["", "a"], ["模", "模"], ["some twenty-one bytes ", ""], ["", " some twenty-one bytes"], ["模型思考输出结果分析", "问题"], ["x".repeat(5000), "y"]] as const)
      cases.push(join(encoder.encode(before), broken, encoder.encode(after)));
  }
  return cases;
}

function join(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
