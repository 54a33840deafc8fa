import { err, ok, type Result } from '../../../../domain/kernel/result.ts';
import type { FieldTest, QueryField, RunCondition } from '../../../../ports/run-query.ts';
import { CLASSIFIER, fieldNamed, KNOWN_FIELDS, kindOf, type SearchAbout } from './search-fields.ts';
import { type Token, tokensOf } from './search-tokens.ts';

/** Conditions of one query, and how deep they may be nested. */
export const SEARCH_TERMS_MAX = 200;
export const SEARCH_DEPTH_MAX = 32;

/** The instants of which the store has a calendar: the years 1970 to 9999. */
const INSTANT_MAX = 253_402_300_799_999;
const NUMBER = /^-?\d{1,15}(?:\.\d{1,9})?$/;

export const EVERYTHING: RunCondition = { kind: 'all', of: [] };
const NOTHING: RunCondition = { kind: 'any', of: [] };

type Parsed = Result<RunCondition, string>;

/**
 * Reads a query as Conductor's search has it, `field = value` joined by AND, with `<`, `>` and `IN (…)`, values in either
 * quotes or in none and `*` in them for anything; and beyond that OR, NOT, parentheses, `!=`, `<=`, `>=`, and fields of input
 * and output. The error says what is wrong.
 */
export const parseSearch = (text: string, about: SearchAbout = 'workflows'): Parsed => {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === '*') return ok(EVERYTHING);
  const tokens = tokensOf(trimmed);
  return tokens.ok ? new SearchParser(tokens.value, about).parse() : tokens;
};

class SearchParser {
  private readonly tokens: readonly Token[];
  private readonly about: SearchAbout;
  private at = 0;
  private terms = 0;

  constructor(tokens: readonly Token[], about: SearchAbout) {
    this.tokens = tokens;
    this.about = about;
  }

  parse(): Parsed {
    const condition = this.alternatives(0);
    if (!condition.ok) return condition;
    return this.at === this.tokens.length ? condition : err(`There is more after the end: ${this.shown()}.`);
  }

  private alternatives(depth: number): Parsed {
    return this.joined('OR', 'any', () => this.conjunction(depth));
  }

  private conjunction(depth: number): Parsed {
    return this.joined('AND', 'all', () => this.negation(depth));
  }

  private joined(word: 'AND' | 'OR', kind: 'all' | 'any', next: () => Parsed): Parsed {
    const of: RunCondition[] = [];
    do {
      const part = next();
      if (!part.ok) return part;
      of.push(part.value);
    } while (this.takesKeyword(word));
    const [only] = of;
    return ok(of.length === 1 && only !== undefined ? only : { kind, of });
  }

  private negation(depth: number): Parsed {
    if (depth > SEARCH_DEPTH_MAX) return err(`It is nested deeper than ${SEARCH_DEPTH_MAX}.`);
    if (this.takesKeyword('NOT')) {
      const inner = this.negation(depth + 1);
      return inner.ok ? ok({ kind: 'not', of: inner.value }) : inner;
    }
    if (!this.takes('open')) return this.comparison();
    const inner = this.alternatives(depth + 1);
    if (!inner.ok) return inner;
    return this.takes('close') ? inner : err(`A closing parenthesis is missing before ${this.shown()}.`);
  }

  private comparison(): Parsed {
    this.terms += 1;
    if (this.terms > SEARCH_TERMS_MAX) return err(`It has more than ${SEARCH_TERMS_MAX} conditions.`);
    const name = this.word();
    if (name === undefined) return err(`A field is expected, not ${this.shown()}.`);
    const field = name === CLASSIFIER ? CLASSIFIER : fieldNamed(name, this.about);
    if (field === undefined) return err(`There is no field ${name}; known are ${KNOWN_FIELDS.join(', ')}.`);
    if (this.takesKeyword('NOT')) {
      const inner = this.takesKeyword('IN') ? this.membership(field) : err(`IN is expected, not ${this.shown()}.`);
      return inner.ok ? ok({ kind: 'not', of: inner.value }) : inner;
    }
    return this.takesKeyword('IN') ? this.membership(field) : this.relation(field, name);
  }

  private membership(field: QueryField | typeof CLASSIFIER): Parsed {
    if (!this.takes('open')) return err(`A list in parentheses is expected after IN, not ${this.shown()}.`);
    const values: string[] = [];
    do {
      const value = this.word();
      if (value === undefined) return err(`A value is expected in the list, not ${this.shown()}.`);
      values.push(value);
    } while (this.takes('comma'));
    if (!this.takes('close')) return err(`The list is not closed before ${this.shown()}.`);
    if (field === CLASSIFIER) return ok(values.includes('workflow') ? EVERYTHING : NOTHING);
    const read = values.map((value) => wantedValue(field, value));
    const wrong = values.find((_, index) => read[index] === undefined);
    if (wrong !== undefined) return err(`${wrong} is not a number.`);
    return ok({ kind: 'field', field, test: { operator: 'in', values: read.filter((value) => value !== undefined) } });
  }

  private relation(field: QueryField | typeof CLASSIFIER, name: string): Parsed {
    const sign = this.tokens[this.at];
    if (sign?.kind !== 'sign') return err(`A comparison is expected after ${name}, not ${this.shown()}.`);
    this.at += 1;
    const text = this.word();
    if (text === undefined) return err(`A value is expected after ${name} ${sign.text}, not ${this.shown()}.`);
    const isNegated = sign.text === '!=' || sign.text === '<>';
    const operator = isNegated ? '=' : (sign.text as '=' | '<' | '<=' | '>' | '>=');
    if (field === CLASSIFIER) {
      if (operator !== '=') return err(`${CLASSIFIER} can only be compared by = and !=.`);
      return ok((text === 'workflow') === !isNegated ? EVERYTHING : NOTHING);
    }
    const test = testOf(field, operator, text);
    if (!test.ok) return test;
    const condition: RunCondition = { kind: 'field', field, test: test.value };
    return ok(isNegated ? { kind: 'not', of: condition } : condition);
  }

  private word(): string | undefined {
    const token = this.tokens[this.at];
    if (token?.kind !== 'word') return undefined;
    this.at += 1;
    return token.text;
  }

  private takes(kind: 'open' | 'close' | 'comma'): boolean {
    if (this.tokens[this.at]?.kind !== kind) return false;
    this.at += 1;
    return true;
  }

  private takesKeyword(keyword: 'AND' | 'OR' | 'NOT' | 'IN'): boolean {
    const token = this.tokens[this.at];
    if (token?.kind !== 'word' || token.quoted || token.text.toUpperCase() !== keyword) return false;
    this.at += 1;
    return true;
  }

  private shown(): string {
    const token = this.tokens[this.at];
    if (token === undefined) return 'the end';
    return 'text' in token ? token.text : { open: '(', close: ')', comma: ',' }[token.kind];
  }
}

const wantedValue = (field: QueryField, text: string): string | number | undefined => {
  const kind = kindOf(field);
  if (kind === 'text') return text;
  if (!NUMBER.test(text)) return undefined;
  const value = Number(text);
  return kind === 'instant' ? Math.min(Math.max(Math.trunc(value), 0), INSTANT_MAX) : value;
};

const testOf = (
  field: QueryField,
  operator: '=' | '<' | '<=' | '>' | '>=',
  text: string,
): Result<FieldTest, string> => {
  if (operator === '=' && text.includes('*')) return ok({ operator: 'like', pattern: text });
  if (typeof field !== 'string' && operator !== '=') {
    return err(`Tasks, input and output can only be compared by =, != and IN, not by ${operator}.`);
  }
  const value = wantedValue(field, text);
  return value === undefined ? err(`${text} is not a number.`) : ok({ operator, value });
};
