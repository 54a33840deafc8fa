import { type ExpressionProblem, type ExpressionProblemCode, isPrototypeKey } from './expression-problem.ts';

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const INTEGER = /-?\d{1,15}(?!\d)/y;
const SPACE = /\s*/y;
const HEX4 = /[0-9a-fA-F]{4}/y;

/**
 * A place in a text, and the first problem met there. Parsers built on it return undefined once there is a problem, so
 * that a user's mistake needs no exception.
 */
export class TextCursor {
  readonly text: string;
  position: number;
  problem: ExpressionProblem | undefined;

  constructor(text: string, position = 0) {
    this.text = text;
    this.position = position;
  }

  get atEnd(): boolean {
    return this.position >= this.text.length;
  }

  /** The character `ahead` places on, "" past the end. */
  peek(ahead = 0): string {
    return this.text.charAt(this.position + ahead);
  }

  looksAt(token: string): boolean {
    return this.text.startsWith(token, this.position);
  }

  eat(token: string): boolean {
    if (!this.looksAt(token)) return false;
    this.position += token.length;
    return true;
  }

  skipSpace(): void {
    this.match(SPACE);
  }

  /** What the sticky pattern matches here, consumed. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.position += found.length;
    return found;
  }

  fail(message: string, code: ExpressionProblemCode = 'EXPRESSION_INVALID', offset = this.position): undefined {
    this.problem ??= { code, message, offset };
    return undefined;
  }

  /** A whole number that a list can be indexed with. */
  integer(): number | undefined {
    const digits = this.match(INTEGER);
    return digits === undefined ? this.fail('a whole number is expected here') : Number(digits);
  }

  number(): number | undefined {
    const start = this.position;
    const value = Number(this.match(NUMBER) ?? Number.NaN);
    return Number.isFinite(value) ? value : this.fail('a number is expected here', 'EXPRESSION_INVALID', start);
  }

  /** A text in single or double quotes; a backslash takes the next character as it is, or as JSON escapes it. */
  quoted(): string | undefined {
    const start = this.position;
    const quote = this.peek();
    this.position += 1;
    let value = '';
    while (!this.atEnd) {
      const char = this.peek();
      this.position += 1;
      if (char === quote) return value;
      value += char === '\\' ? this.escaped() : char;
    }
    return this.fail('the quoted text is not closed', 'EXPRESSION_INVALID', start);
  }

  private escaped(): string {
    const char = this.peek();
    this.position += 1;
    if (char !== 'u') return ESCAPES[char] ?? char;
    const code = this.match(HEX4);
    return code === undefined ? 'u' : String.fromCharCode(Number.parseInt(code, 16));
  }

  /** The name, unless it is one that no path may hold. */
  allowedName(name: string, offset: number): string | undefined {
    return isPrototypeKey(name) ? this.fail(`the name "${name}" is refused`, 'EXPRESSION_INVALID', offset) : name;
  }
}
