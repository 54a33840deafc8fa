/** What is wrong with a text that should be JSON. */
export interface ScanProblem {
  readonly code:
    | 'INVALID_JSON'
    | 'NESTING_TOO_DEEP'
    | 'LIMIT_EXCEEDED'
    | 'DUPLICATE_KEY'
    | 'FORBIDDEN_KEY'
    | 'INVALID_STRING'
    | 'NUMBER_OUT_OF_RANGE';
  readonly message: string;
  /** The place in the text, in UTF-16 code units. */
  readonly offset: number;
}

export const QUOTE = 0x22;
export const MINUS = 0x2d;
const DOT = 0x2e;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const SURROGATE_FIRST = 0xd800;
const LOW_SURROGATE_FIRST = 0xdc00;
const SURROGATE_LAST = 0xdfff;

/** A number of so many digits keeps its value for sure; a longer one, or one with an exponent, is looked at closely. */
const SAFE_DIGITS = 15;
const WHOLE_NUMBER = /^-?\d+$/;
const HEX4 = /^[0-9a-fA-F]{4}$/;
const SIMPLE_ESCAPES = '"\\/bfnrt';

export const isDigit = (code: number): boolean => code >= DIGIT_0 && code <= DIGIT_9;
const isExponent = (code: number): boolean => code === 0x65 || code === 0x45;
const isSign = (code: number): boolean => code === 0x2b || code === MINUS;
const isLowSurrogate = (code: number): boolean => code >= LOW_SURROGATE_FIRST && code <= SURROGATE_LAST;

/**
 * The tokens of JSON in a text, checked and passed over without building anything. Each method answers whether it went
 * well; the first problem is kept.
 */
export class JsonScanner {
  protected readonly text: string;
  protected at = 0;
  protected problem: ScanProblem | undefined;

  constructor(text: string) {
    this.text = text;
  }

  protected fail(code: ScanProblem['code'], message: string, offset = this.at): false {
    this.problem ??= { code, message, offset };
    return false;
  }

  /** Moves to the next character that is no space, and gives its code: NaN at the end of the text. */
  protected skipSpace(): number {
    let code = this.text.charCodeAt(this.at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      this.at += 1;
      code = this.text.charCodeAt(this.at);
    }
    return code;
  }

  /** From the opening quote to after the closing one. */
  protected string(): boolean {
    const { text } = this;
    const start = this.at;
    let at = start + 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.at = at + 1;
        return true;
      }
      // NaN, past the end, fails this comparison as control characters do.
      if (!(code >= 0x20)) return this.failIn(at, start);
      if (code === BACKSLASH || (code >= SURROGATE_FIRST && code <= SURROGATE_LAST)) {
        this.at = at;
        if (!this.special(code)) return false;
        at = this.at;
      } else at += 1;
    }
  }

  private failIn(at: number, start: number): false {
    return at >= this.text.length
      ? this.fail('INVALID_JSON', 'the string is not closed', start)
      : this.fail('INVALID_JSON', 'a control character must be escaped in a string', at);
  }

  /** An escape, or a surrogate pair in whatever spelling of its halves. */
  private special(code: number): boolean {
    const start = this.at;
    const unit = this.codeUnit(code);
    if (unit === undefined) return this.fail('INVALID_JSON', 'the escape is not one of JSON', start);
    if (unit === 0) return this.fail('INVALID_STRING', 'the character U+0000 is refused', start);
    if (unit < SURROGATE_FIRST || unit > SURROGATE_LAST) return true;
    if (unit < LOW_SURROGATE_FIRST && isLowSurrogate(this.codeUnit(this.text.charCodeAt(this.at)) ?? 0)) return true;
    return this.fail('INVALID_STRING', 'half of a surrogate pair is refused', start);
  }

  /** The code unit spelled here, consumed; for a short escape a unit that is harmless. */
  private codeUnit(code: number): number | undefined {
    if (code !== BACKSLASH) {
      this.at += 1;
      return code;
    }
    if (this.text.charCodeAt(this.at + 1) === LOWER_U) {
      const digits = this.text.slice(this.at + 2, this.at + 6);
      this.at += 6;
      return HEX4.test(digits) ? Number.parseInt(digits, 16) : undefined;
    }
    const escaped = this.text.charAt(this.at + 1);
    this.at += 2;
    return escaped !== '' && SIMPLE_ESCAPES.includes(escaped) ? QUOTE : undefined;
  }

  private digits(): number {
    const start = this.at;
    while (isDigit(this.text.charCodeAt(this.at))) this.at += 1;
    return this.at - start;
  }

  protected number(): boolean {
    const start = this.at;
    if (this.text.charCodeAt(this.at) === MINUS) this.at += 1;
    const startsWithZero = this.text.charCodeAt(this.at) === DIGIT_0;
    let digits = this.digits();
    if (digits === 0 || (startsWithZero && digits > 1))
      return this.fail('INVALID_JSON', 'the number is malformed', start);
    if (this.text.charCodeAt(this.at) === DOT) {
      this.at += 1;
      const fraction = this.digits();
      if (fraction === 0) return this.fail('INVALID_JSON', 'the number is malformed', start);
      digits += fraction;
    }
    const hasExponent = isExponent(this.text.charCodeAt(this.at));
    if (hasExponent && !this.exponent()) return this.fail('INVALID_JSON', 'the number is malformed', start);
    return (!hasExponent && digits <= SAFE_DIGITS) || this.keepsItsValue(start);
  }

  private exponent(): boolean {
    this.at += 1;
    if (isSign(this.text.charCodeAt(this.at))) this.at += 1;
    return this.digits() > 0;
  }

  /** What is written as a fraction is rounded as everywhere; a whole number must be printed back the way it came. */
  private keepsItsValue(start: number): boolean {
    const literal = this.text.slice(start, this.at);
    const value = Number(literal);
    const overflows = !Number.isFinite(value);
    const underflows = value === 0 && /^[-0.]*[1-9]/.test(literal);
    const isAltered = WHOLE_NUMBER.test(literal) && !Number.isSafeInteger(value) && String(value) !== literal;
    if (!overflows && !underflows && !isAltered) return true;
    return this.fail('NUMBER_OUT_OF_RANGE', 'the number cannot be kept without changing its value', start);
  }
}
