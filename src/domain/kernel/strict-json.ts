import type { JsonValue } from './json.ts';
import { JSON_DEPTH_MAX } from './json-depth.ts';
import { isDigit, JsonScanner, MINUS, QUOTE, type ScanProblem } from './json-scanner.ts';
import { err, ok, type Result } from './result.ts';
import { childPath } from './value-path.ts';

/** Most keys in one object: an object of that many is already slow to build and to compare. */
export const OBJECT_KEYS_MAX = 100_000;

export interface StrictJsonLimits {
  readonly depthMax: number;
  readonly objectKeysMax: number;
  /** Whether the same key twice in one object is refused; otherwise the last one wins, as in `JSON.parse`. */
  readonly refusesDuplicateKeys: boolean;
}

export const STRICT_JSON_LIMITS: StrictJsonLimits = {
  depthMax: JSON_DEPTH_MAX,
  objectKeysMax: OBJECT_KEYS_MAX,
  refusesDuplicateKeys: false,
};

/** For definitions, where a key given twice is a mistake. */
export const DEFINITION_JSON_LIMITS: StrictJsonLimits = { ...STRICT_JSON_LIMITS, refusesDuplicateKeys: true };

export interface StrictJsonProblem extends ScanProblem {
  /** The place in the value, such as `tasks[2].name`; "" for the whole. */
  readonly path: string;
}

/**
 * Parses JSON that comes from outside. The text is checked in one pass before anything is built from it, so hostile
 * nesting or numbers cost one look. Errors: INVALID_JSON (syntax, trailing text), NESTING_TOO_DEEP, LIMIT_EXCEEDED (keys
 * in one object), DUPLICATE_KEY (if asked for), FORBIDDEN_KEY (`__proto__`, and `constructor` that holds `prototype`),
 * INVALID_STRING (NUL or half a surrogate pair), NUMBER_OUT_OF_RANGE (would not keep its value).
 */
export const parseStrictJson = (
  text: string,
  limits: StrictJsonLimits = STRICT_JSON_LIMITS,
): Result<JsonValue, StrictJsonProblem> => {
  const problem = new StrictCheck(text, limits).run();
  // What the check let pass is JSON, so this cannot throw; a property test holds the two against each other.
  return problem === undefined ? ok(JSON.parse(text)) : err(problem);
};

const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * A recursive walk over the text that builds nothing. Each method answers whether it went well; the first problem is
 * kept, and on the way back every level adds its own part of the path.
 */
class StrictCheck extends JsonScanner {
  private readonly limits: StrictJsonLimits;
  private readonly segments: (string | number)[] = [];

  constructor(text: string, limits: StrictJsonLimits) {
    super(text);
    this.limits = limits;
  }

  run(): StrictJsonProblem | undefined {
    if (this.value(0, false)) {
      this.skipSpace();
      if (this.at === this.text.length) return undefined;
      this.fail('INVALID_JSON', 'the text goes on after the end of the value');
    }
    const path = this.segments.reduceRight<string>(childPath, '');
    return this.problem === undefined ? undefined : { ...this.problem, path };
  }

  private within(segment: string | number, went: boolean): boolean {
    if (!went) this.segments.push(segment);
    return went;
  }

  private value(depth: number, isUnderConstructor: boolean): boolean {
    const code = this.skipSpace();
    if (code === QUOTE) return this.string();
    if (code === OPEN_BRACE) return this.object(depth + 1, isUnderConstructor);
    if (code === OPEN_BRACKET) return this.list(depth + 1);
    if (code === MINUS || isDigit(code)) return this.number();
    return this.word('true') || this.word('false') || this.word('null') || this.unexpected('a value');
  }

  private word(word: string): boolean {
    if (!this.text.startsWith(word, this.at)) return false;
    this.at += word.length;
    return true;
  }

  private unexpected(wanted: string): false {
    const isEnd = this.at >= this.text.length;
    return this.fail(
      'INVALID_JSON',
      isEnd ? `the text ends where ${wanted} is expected` : `${wanted} is expected here`,
    );
  }

  private isTooDeep(depth: number): boolean {
    return depth > this.limits.depthMax && !this.fail('NESTING_TOO_DEEP', `nested deeper than ${this.limits.depthMax}`);
  }

  private list(depth: number): boolean {
    if (this.isTooDeep(depth)) return false;
    this.at += 1;
    if (this.skipSpace() === CLOSE_BRACKET) {
      this.at += 1;
      return true;
    }
    for (let index = 0; ; index += 1) {
      if (!this.value(depth, false)) return this.within(index, false);
      const code = this.skipSpace();
      if (code !== COMMA && code !== CLOSE_BRACKET) return this.unexpected('"," or "]"');
      this.at += 1;
      if (code === CLOSE_BRACKET) return true;
    }
  }

  private object(depth: number, isUnderConstructor: boolean): boolean {
    if (this.isTooDeep(depth)) return false;
    this.at += 1;
    if (this.skipSpace() === CLOSE_BRACE) {
      this.at += 1;
      return true;
    }
    const seen = this.limits.refusesDuplicateKeys ? new Set<string>() : undefined;
    for (let keys = 1; ; keys += 1) {
      if (keys > this.limits.objectKeysMax) {
        return this.fail('LIMIT_EXCEEDED', `more than ${this.limits.objectKeysMax} keys in one object`);
      }
      if (!this.member(depth, isUnderConstructor, seen)) return false;
      const code = this.skipSpace();
      if (code !== COMMA && code !== CLOSE_BRACE) return this.unexpected('"," or "}"');
      this.at += 1;
      if (code === CLOSE_BRACE) return true;
    }
  }

  private member(depth: number, isUnderConstructor: boolean, seen: Set<string> | undefined): boolean {
    if (this.skipSpace() !== QUOTE) return this.unexpected('a key in double quotes');
    const start = this.at;
    if (!this.string()) return false;
    const end = this.at;
    if (!this.isAllowedKey(start, end, isUnderConstructor, seen)) return this.within(this.keyText(start, end), false);
    if (this.skipSpace() !== COLON) return this.unexpected('":"');
    this.at += 1;
    const went = this.value(depth, this.keyIs(start, end, 'constructor'));
    return went || this.within(this.keyText(start, end), false);
  }

  private isAllowedKey(
    start: number,
    end: number,
    isUnderConstructor: boolean,
    seen: Set<string> | undefined,
  ): boolean {
    if (this.keyIs(start, end, '__proto__')) return this.fail('FORBIDDEN_KEY', 'the key "__proto__" is refused', start);
    if (isUnderConstructor && this.keyIs(start, end, 'prototype')) {
      return this.fail('FORBIDDEN_KEY', 'the key "prototype" in "constructor" is refused', start);
    }
    if (seen === undefined) return true;
    const key = this.keyText(start, end);
    if (seen.has(key)) return this.fail('DUPLICATE_KEY', 'the key is there twice', start);
    seen.add(key);
    return true;
  }

  /** An escaped key is longer than the name it spells, a plain one has exactly its length and two quotes. */
  private keyIs(start: number, end: number, name: string): boolean {
    const length = end - start - 2;
    if (length === name.length) return this.text.startsWith(name, start + 1);
    return (
      length > name.length &&
      length <= name.length * 6 &&
      this.hasEscape(start, end) &&
      this.keyText(start, end) === name
    );
  }

  private hasEscape(start: number, end: number): boolean {
    return this.text.slice(start, end).includes('\\');
  }

  private keyText(start: number, end: number): string {
    const raw = this.text.slice(start, end);
    return raw.includes('\\') ? JSON.parse(raw) : raw.slice(1, -1);
  }
}
