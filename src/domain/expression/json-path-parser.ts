import type { JsonValue } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { EXPRESSION_CHARS_MAX, EXPRESSION_NESTING_MAX, type ExpressionProblem } from './expression-problem.ts';
import {
  COMPARISONS,
  type Comparison,
  type Filter,
  type JsonPath,
  type Operand,
  PATH_FUNCTIONS,
  type PathFunction,
  type PathOperand,
  type Step,
} from './json-path-ast.ts';
import { TextCursor } from './text-cursor.ts';

/** What ends a dotted name: in a filter the operators do too, since `@.a>1` needs no spaces. */
export const PATH_NAME = /[^\s.[\](){}'"*,]+/y;
const NAME_IN_FILTER = /[^\s.[\](){}'"*,<>=!&|~]+/y;
const WORD = /[a-z]+(?![\w-])/y;
const SLICE_OR_INDEX = /[-:\d]/;

const isPathFunction = (name: string): name is PathFunction => (PATH_FUNCTIONS as readonly string[]).includes(name);

/**
 * Parses a JSONPath once, for any number of evaluations: `$.a.b`, `a.b` or `['a'].b`.
 * Errors: EXPRESSION_INVALID with the offset, also for names such as `__proto__` and for texts over 10,000 characters.
 */
export const parseJsonPath = (text: string): Result<JsonPath, ExpressionProblem> => {
  if (text.length > EXPRESSION_CHARS_MAX) {
    return err({
      code: 'EXPRESSION_INVALID',
      message: `the path is longer than ${EXPRESSION_CHARS_MAX} characters`,
      offset: 0,
    });
  }
  const cursor = new TextCursor(text);
  const steps = new PathParser(cursor).wholePath();
  return steps === undefined || cursor.problem !== undefined
    ? err(cursor.problem ?? { code: 'EXPRESSION_INVALID', message: 'the path does not parse', offset: 0 })
    : ok({ steps });
};

class PathParser {
  private readonly cursor: TextCursor;
  private depth = 0;

  constructor(cursor: TextCursor) {
    this.cursor = cursor;
  }

  wholePath(): readonly Step[] | undefined {
    const { cursor } = this;
    cursor.skipSpace();
    const rooted = cursor.peek() === '$' && /^[.[\s]?$/.test(cursor.peek(1));
    if (rooted) cursor.position += 1;
    const steps = this.steps(PATH_NAME, !rooted);
    cursor.skipSpace();
    return cursor.atEnd ? steps : cursor.fail(`"${cursor.peek()}" is not expected here`);
  }

  /** The steps from here on; `bare` says that the first name needs no dot before it. */
  private steps(name: RegExp, bare: boolean): readonly Step[] | undefined {
    const steps: Step[] = [];
    const add = (step: Step | undefined): void => {
      if (step !== undefined) steps.push(step);
    };
    if (bare && !this.cursor.looksAt('.') && !this.cursor.looksAt('[')) add(this.member(name));
    while (this.cursor.problem === undefined) {
      const descends = this.cursor.eat('..');
      if (descends) steps.push({ kind: 'descend' });
      const dotted = descends || this.cursor.eat('.');
      if (this.cursor.eat('[')) add(this.bracket());
      else if (dotted) add(this.member(name));
      else return steps;
    }
    return undefined;
  }

  private member(pattern: RegExp): Step | undefined {
    if (this.cursor.eat('*')) return { kind: 'wildcard' };
    const start = this.cursor.position;
    const name = this.cursor.match(pattern);
    if (name === undefined) return this.cursor.fail('a name is expected here');
    if (this.cursor.eat('(')) return this.call(name, start);
    return this.cursor.allowedName(name, start) === undefined ? undefined : { kind: 'name', name };
  }

  private call(name: string, start: number): Step | undefined {
    if (!isPathFunction(name)) return this.cursor.fail(`there is no function "${name}"`, 'EXPRESSION_INVALID', start);
    const operands = this.list(')', () => this.operand());
    return operands === undefined ? undefined : { kind: 'call', name, operands };
  }

  /** Comma-separated things up to the closing character, which is consumed. */
  private list<T>(close: string, item: () => T | undefined): readonly T[] | undefined {
    const items: T[] = [];
    this.cursor.skipSpace();
    if (this.cursor.eat(close)) return items;
    for (;;) {
      this.cursor.skipSpace();
      const parsed = item();
      if (parsed === undefined) return undefined;
      items.push(parsed);
      this.cursor.skipSpace();
      if (this.cursor.eat(close)) return items;
      if (!this.cursor.eat(',')) return this.cursor.fail(`"," or "${close}" is expected here`);
    }
  }

  private bracket(): Step | undefined {
    const { cursor } = this;
    cursor.skipSpace();
    const char = cursor.peek();
    if (cursor.eat('*')) return this.closed({ kind: 'wildcard' });
    if (cursor.eat('?')) return this.closed(this.filterStep());
    if (char === "'" || char === '"') return this.names();
    if (SLICE_OR_INDEX.test(char)) return this.indexes();
    if (char === '(') return cursor.fail('scripts in a path are not supported');
    return cursor.fail('a quoted name, an index, a slice, "*" or a filter is expected here');
  }

  private closed(step: Step | undefined): Step | undefined {
    this.cursor.skipSpace();
    return step === undefined || this.cursor.eat(']') ? step : this.cursor.fail('"]" is expected here');
  }

  private names(): Step | undefined {
    const names = this.list(']', () => {
      const start = this.cursor.position;
      if (!/^['"]/.test(this.cursor.peek())) return this.cursor.fail('a quoted name is expected here');
      const name = this.cursor.quoted();
      return name === undefined ? undefined : this.cursor.allowedName(name, start);
    });
    const [name] = names ?? [];
    if (names === undefined || name === undefined) return undefined;
    return names.length === 1 ? { kind: 'name', name } : { kind: 'names', names };
  }

  private indexes(): Step | undefined {
    const first = this.cursor.looksAt(':') ? undefined : this.cursor.integer();
    this.cursor.skipSpace();
    if (this.cursor.problem === undefined && this.cursor.eat(':')) return this.closed(this.slice(first));
    if (first === undefined) return undefined;
    if (this.cursor.eat(']')) return { kind: 'index', index: first };
    if (!this.cursor.eat(',')) return this.cursor.fail('"]", "," or ":" is expected here');
    const rest = this.list(']', () => this.cursor.integer());
    return rest === undefined ? undefined : { kind: 'indexes', indexes: [first, ...rest] };
  }

  private slice(start: number | undefined): Step | undefined {
    const bound = (): number | undefined => {
      this.cursor.skipSpace();
      return /[-\d]/.test(this.cursor.peek()) ? this.cursor.integer() : undefined;
    };
    const end = bound();
    this.cursor.skipSpace();
    const stride = this.cursor.eat(':') ? (bound() ?? 1) : 1;
    return stride === 0 ? this.cursor.fail('the stride of a slice cannot be 0') : { kind: 'slice', start, end, stride };
  }

  private filterStep(): Step | undefined {
    const filter = this.or();
    return filter === undefined ? undefined : { kind: 'filter', filter };
  }

  private or(): Filter | undefined {
    return this.chain('or', '||', () => this.chain('and', '&&', () => this.term()));
  }

  private chain(kind: 'or' | 'and', sign: string, part: () => Filter | undefined): Filter | undefined {
    const filters: Filter[] = [];
    do {
      const filter = part();
      if (filter === undefined) return undefined;
      filters.push(filter);
      this.cursor.skipSpace();
    } while (this.cursor.eat(sign));
    const [only] = filters;
    return filters.length === 1 ? only : { kind, filters };
  }

  private term(): Filter | undefined {
    if (this.depth >= EXPRESSION_NESTING_MAX) return this.cursor.fail('the filter is nested too deeply');
    this.depth += 1;
    const filter = this.nestedTerm();
    this.depth -= 1;
    return filter;
  }

  private nestedTerm(): Filter | undefined {
    const { cursor } = this;
    cursor.skipSpace();
    if (cursor.eat('!')) {
      const filter = this.term();
      return filter === undefined ? undefined : { kind: 'not', filter };
    }
    if (!cursor.eat('(')) return this.comparisonOrExistence();
    const inner = this.or();
    cursor.skipSpace();
    if (inner === undefined) return undefined;
    return cursor.eat(')') ? inner : cursor.fail('")" is expected here');
  }

  private comparisonOrExistence(): Filter | undefined {
    const left = this.operand();
    if (left === undefined) return undefined;
    this.cursor.skipSpace();
    const comparison = this.comparison();
    if (comparison === undefined) {
      if (this.cursor.problem !== undefined) return undefined;
      return left.kind === 'path'
        ? { kind: 'exists', operand: left }
        : this.cursor.fail('a comparison is expected here');
    }
    this.cursor.skipSpace();
    const right = this.operand();
    return right === undefined ? undefined : { kind: 'compare', comparison, left, right };
  }

  private comparison(): Comparison | undefined {
    if (this.cursor.looksAt('=~')) return this.cursor.fail('regular expressions in a path are not supported');
    if (this.cursor.eat('===')) return '==';
    if (this.cursor.eat('!==')) return '!=';
    const symbol = COMPARISONS.find((sign) => /\W/.test(sign) && this.cursor.eat(sign));
    if (symbol !== undefined) return symbol;
    const start = this.cursor.position;
    const word = this.cursor.match(WORD);
    const named = COMPARISONS.find((name) => name === word);
    if (word !== undefined && named === undefined) {
      return this.cursor.fail(`there is no comparison "${word}"`, 'EXPRESSION_INVALID', start);
    }
    return named;
  }

  private operand(): Operand | undefined {
    const char = this.cursor.peek();
    if (char === '@' || char === '$') return this.pathOperand(char);
    const value = this.literal();
    return value === undefined ? undefined : { kind: 'literal', value };
  }

  private pathOperand(from: '@' | '$'): PathOperand | undefined {
    this.cursor.position += 1;
    if (this.depth >= EXPRESSION_NESTING_MAX) return this.cursor.fail('the filter is nested too deeply');
    this.depth += 1;
    const steps = this.steps(NAME_IN_FILTER, false);
    this.depth -= 1;
    return steps === undefined ? undefined : { kind: 'path', from, steps };
  }

  private literal(): JsonValue | undefined {
    const { cursor } = this;
    const char = cursor.peek();
    if (char === "'" || char === '"') return cursor.quoted();
    if (/[-\d]/.test(char)) return cursor.number();
    if (cursor.eat('[')) {
      if (this.depth >= EXPRESSION_NESTING_MAX) return cursor.fail('the list is nested too deeply');
      this.depth += 1;
      const values = this.list(']', () => this.literal());
      this.depth -= 1;
      return values;
    }
    const start = cursor.position;
    const word = cursor.match(WORD);
    if (word === 'true' || word === 'false') return word === 'true';
    if (word === 'null') return null;
    return cursor.fail('a path with "@" or "$", or a literal, is expected here', 'EXPRESSION_INVALID', start);
  }
}
