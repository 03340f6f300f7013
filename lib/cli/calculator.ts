/** Arithmetic read by recursive descent: nothing of the text is ever run. */

/** Characters of the longest expression, and levels of the deepest. */
const LIMITS = { length: 1000, depth: 100 } as const;

/**
 * The value of an arithmetic expression: decimal numbers, `+ - * / % ^`, parentheses, `sqrt abs min max round`, `pi`
 * and `e`. `×`, `÷`, `−` and `**` are read as well.
 * @throws SyntaxError that says what was expected, and where
 */
export function calculate(expression: string): number {
  if (expression.length > LIMITS.length) throw new SyntaxError(`the expression is over ${LIMITS.length} characters`);
  const parser = new Parser(expression);
  const value = parser.sum();
  parser.expectEnd();
  return value;
}

const FUNCTIONS: ReadonlyMap<string, (...values: number[]) => number> = new Map(
  Object.entries({ sqrt: Math.sqrt, abs: Math.abs, min: Math.min, max: Math.max, round: Math.round }),
);
const CONSTANTS: ReadonlyMap<string, number> = new Map(Object.entries({ pi: Math.PI, e: Math.E }));
const SAME: ReadonlyMap<string, string> = new Map(Object.entries({ "×": "*", "÷": "/", "−": "-", "**": "^" }));

class Parser {
  readonly #tokens: { text: string; at: number }[];
  #next = 0;
  #depth = 0;

  constructor(expression: string) {
    const words = expression.matchAll(/\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+|[a-z]+|\*\*|\S/giu);
    this.#tokens = Array.from(words, ({ 0: word, index }) => ({ text: SAME.get(word) ?? word.toLowerCase(), at: index }));
  }

  sum(): number {
    let value = this.#product();
    for (;;) {
      if (this.#take("+")) value += this.#product();
      else if (this.#take("-")) value -= this.#product();
      else return value;
    }
  }

  #product(): number {
    let value = this.#signed();
    for (;;) {
      if (this.#take("*")) value *= this.#signed();
      else if (this.#take("/")) value /= this.#signed();
      else if (this.#take("%")) value %= this.#signed();
      else return value;
    }
  }

  #signed(): number {
    if (++this.#depth > LIMITS.depth) throw new SyntaxError(`the expression nests over ${LIMITS.depth} deep`);
    const value = this.#take("-") ? -this.#signed() : this.#take("+") ? this.#signed() : this.#power();
    this.#depth--;
    return value;
  }

  #power(): number {
    const base = this.#atom();
    return this.#take("^") ? base ** this.#signed() : base;
  }

  #atom(): number {
    const token = this.#tokens[this.#next];
    if (token !== undefined && /^[\d.]/.test(token.text) && token.text !== ".") {
      this.#next++;
      return Number(token.text);
    }
    if (this.#take("(")) {
      const value = this.sum();
      this.#expect(")");
      return value;
    }
    const constant = token && CONSTANTS.get(token.text);
    if (constant !== undefined) {
      this.#next++;
      return constant;
    }
    const call = token && FUNCTIONS.get(token.text);
    if (call === undefined) throw this.#unexpected("a number");
    this.#next++;
    this.#expect("(");
    const values = [this.sum()];
    while (this.#take(",")) values.push(this.sum());
    this.#expect(")");
    return call(...values);
  }

  expectEnd(): void {
    if (this.#next < this.#tokens.length) throw this.#unexpected("an operator");
  }

  #take(text: string): boolean {
    if (this.#tokens[this.#next]?.text !== text) return false;
    this.#next++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw this.#unexpected(text);
  }

  #unexpected(expected: string): SyntaxError {
    const token = this.#tokens[this.#next];
    const found = token === undefined ? "at the end" : `at character ${token.at + 1}, found ${JSON.stringify(token.text)}`;
    return new SyntaxError(`expected ${expected} ${found}`);
  }
}
