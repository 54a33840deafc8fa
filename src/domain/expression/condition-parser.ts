import { err, ok, type Result } from '../kernel/result.ts';
import { EXPRESSION_CHARS_MAX, EXPRESSION_NESTING_MAX, type ExpressionProblem } from './expression-problem.ts';
import { type CompiledTemplate, parseExpression, parseTemplate, readsSecret, type Template } from './parse-template.ts';
import { TextCursor } from './text-cursor.ts';

export const CONDITION_SIGNS = ['==', '!=', '<=', '<', '>=', '>'] as const;
export type ConditionSign = (typeof CONDITION_SIGNS)[number];

/** The comparison grammar: `<operand> <op> <operand>` with `&&`, `||`, `!` and parentheses. */
export type Condition =
  | { readonly kind: 'or' | 'and'; readonly conditions: readonly Condition[] }
  | { readonly kind: 'not'; readonly condition: Condition }
  /** An operand alone, which must turn out to be true or false. */
  | { readonly kind: 'truth'; readonly operand: CompiledTemplate; readonly offset: number }
  | {
      readonly kind: 'compare';
      readonly sign: ConditionSign;
      readonly left: CompiledTemplate;
      readonly right: CompiledTemplate;
      readonly offset: number;
    };

/**
 * Parses a condition of the comparison grammar. Errors: EXPRESSION_INVALID with the offset (longer than 10,000
 * characters too), FORBIDDEN_REFERENCE for a secret, whose value no condition may see.
 */
export const parseCondition = (text: string): Result<Condition, ExpressionProblem> => {
  const parsed = parseWith(text, false);
  return parsed.ok ? ok(parsed.value.condition) : parsed;
};

/**
 * Whether the text is a condition only by its shape: it compares bare words, so nothing in it can ever change. This is
 * how a reference looks that lacks its `${…}`, such as `workflow.input.tier == 'gold'`.
 */
export const isLiteralCondition = (text: string): boolean => {
  if (text.includes('$')) return false;
  const parsed = parseWith(text, true);
  return parsed.ok && parsed.value.hasBareWord;
};

interface Parsed {
  readonly condition: Condition;
  readonly hasBareWord: boolean;
}

const parseWith = (text: string, takesBareWords: boolean): Result<Parsed, ExpressionProblem> => {
  const tooLong = `the condition is longer than ${EXPRESSION_CHARS_MAX} characters`;
  if (text.length > EXPRESSION_CHARS_MAX) return err({ code: 'EXPRESSION_INVALID', message: tooLong, offset: 0 });
  const cursor = new TextCursor(text);
  const parser = new ConditionParser(cursor, takesBareWords);
  const condition = parser.whole();
  if (condition !== undefined && cursor.problem === undefined)
    return ok({ condition, hasBareWord: parser.hasBareWord });
  return err(cursor.problem ?? { code: 'EXPRESSION_INVALID', message: 'the condition does not parse', offset: 0 });
};

const WORD = /[A-Za-z_][\w.-]*/y;

class ConditionParser {
  hasBareWord = false;
  private readonly cursor: TextCursor;
  private readonly takesBareWords: boolean;
  private depth = 0;

  constructor(cursor: TextCursor, takesBareWords: boolean) {
    this.cursor = cursor;
    this.takesBareWords = takesBareWords;
  }

  whole(): Condition | undefined {
    const condition = this.or();
    return this.cursor.atEnd ? condition : this.cursor.fail(`"${this.cursor.peek()}" is not expected here`);
  }

  private or(): Condition | undefined {
    return this.chain('or', '||', () => this.chain('and', '&&', () => this.term()));
  }

  private chain(kind: 'or' | 'and', sign: string, part: () => Condition | undefined): Condition | undefined {
    const conditions: Condition[] = [];
    do {
      const condition = part();
      if (condition === undefined) return undefined;
      conditions.push(condition);
      this.cursor.skipSpace();
    } while (this.cursor.eat(sign));
    const [only] = conditions;
    return conditions.length === 1 ? only : { kind, conditions };
  }

  private term(): Condition | undefined {
    if (this.depth >= EXPRESSION_NESTING_MAX) return this.cursor.fail('the condition is nested too deeply');
    this.depth += 1;
    const condition = this.nestedTerm();
    this.depth -= 1;
    return condition;
  }

  private nestedTerm(): Condition | undefined {
    const { cursor } = this;
    cursor.skipSpace();
    if (cursor.eat('!')) {
      const condition = this.term();
      return condition === undefined ? undefined : { kind: 'not', condition };
    }
    if (!cursor.eat('(')) return this.comparisonOrTruth();
    const inner = this.or();
    if (inner === undefined) return undefined;
    return cursor.eat(')') ? inner : cursor.fail('")" is expected here');
  }

  private comparisonOrTruth(): Condition | undefined {
    const offset = this.cursor.position;
    const left = this.operand();
    if (left === undefined) return undefined;
    this.cursor.skipSpace();
    const sign = this.sign();
    if (sign === undefined) return { kind: 'truth', operand: left, offset };
    this.cursor.skipSpace();
    const right = this.operand();
    return right === undefined ? undefined : { kind: 'compare', sign, left, right, offset };
  }

  private sign(): ConditionSign | undefined {
    if (this.cursor.eat('===')) return '==';
    if (this.cursor.eat('!==')) return '!=';
    return CONDITION_SIGNS.find((sign) => this.cursor.eat(sign));
  }

  private operand(): CompiledTemplate | undefined {
    const { cursor } = this;
    const char = cursor.peek();
    if (cursor.looksAt('${')) return this.reference();
    if (char === "'" || char === '"') return this.text();
    if (/[-\d]/.test(char)) {
      const value = cursor.number();
      return value === undefined ? undefined : { kind: 'constant', value };
    }
    return this.word();
  }

  private reference(): CompiledTemplate | undefined {
    const { cursor } = this;
    const offset = cursor.position;
    const parsed = parseExpression(cursor.text, offset);
    if (!parsed.ok) return cursor.fail(parsed.error.message, parsed.error.code, parsed.error.offset);
    cursor.position = parsed.value.end;
    return this.operandOf({ kind: 'single', expression: parsed.value.expression }, offset);
  }

  /** A quoted operand is a template: `'${a.b}' == 'x'` compares the text of what the expression gives. */
  private text(): CompiledTemplate | undefined {
    const offset = this.cursor.position;
    const text = this.cursor.quoted();
    if (text === undefined) return undefined;
    const parsed = parseTemplate(text);
    if (!parsed.ok) return this.cursor.fail(parsed.error.message, parsed.error.code, offset);
    return this.operandOf(parsed.value, offset);
  }

  private operandOf(template: Template, offset: number): CompiledTemplate | undefined {
    if (template.kind === 'literal') return { kind: 'constant', value: template.text };
    const expressions = template.kind === 'single' ? [template.expression] : template.parts;
    if (expressions.some((part) => typeof part !== 'string' && readsSecret(part))) {
      return this.cursor.fail('a secret cannot be compared', 'FORBIDDEN_REFERENCE', offset);
    }
    return { kind: 'text', template, pointer: '' };
  }

  private word(): CompiledTemplate | undefined {
    const offset = this.cursor.position;
    const word = this.cursor.match(WORD);
    if (word === 'true' || word === 'false') return { kind: 'constant', value: word === 'true' };
    if (word === 'null') return { kind: 'constant', value: null };
    if (word === undefined || !this.takesBareWords) {
      return this.cursor.fail(
        'a "${" expression, a number, a quoted text, true, false or null is expected here',
        'EXPRESSION_INVALID',
        offset,
      );
    }
    this.hasBareWord = true;
    return { kind: 'constant', value: word };
  }
}
