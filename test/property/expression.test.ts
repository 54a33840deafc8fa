import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evaluateCondition, isGrammarCondition } from '../../src/domain/expression/condition.ts';
import { isLiteralCondition, parseCondition } from '../../src/domain/expression/condition-parser.ts';
import { CONDUCTOR_MODE, evaluateTemplate, V1_MODE } from '../../src/domain/expression/evaluate.ts';
import { evaluateJsonPath } from '../../src/domain/expression/json-path.ts';
import { parseJsonPath } from '../../src/domain/expression/json-path-parser.ts';
import { compileTemplate } from '../../src/domain/expression/parse-template.ts';
import { referencesOf } from '../../src/domain/expression/references.ts';
import { type Scope, scopeOf } from '../../src/domain/expression/scope.ts';
import { canonicalJson } from '../../src/domain/kernel/canonical-json.ts';
import type { JsonObject, JsonValue } from '../../src/domain/kernel/json.ts';
import { jsonBytes, measureJson } from '../../src/domain/kernel/json-depth.ts';
import { parseStrictJson, STRICT_JSON_LIMITS } from '../../src/domain/kernel/strict-json.ts';
import { formatInstant, parseDuration, parseInstant, parseUntil } from '../../src/domain/kernel/time.ts';

const RUNS = { numRuns: 2_000 };

const json = fc.jsonValue({ maxDepth: 5 }) as fc.Arbitrary<JsonValue>;

/** Texts made of what the grammars are made of reach much further than texts of any characters. */
const madeOf = (...pieces: string[]): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof({ arbitrary: fc.constantFrom(...pieces), weight: 9 }, { arbitrary: fc.string(), weight: 1 }), {
      maxLength: 25,
    })
    .map((parts) => parts.join(''));

const PATH_PIECES = [
  'a',
  'b',
  't',
  'workflow',
  'input',
  'secrets',
  '__proto__',
  'constructor',
  '.',
  '..',
  '*',
  '[',
  ']',
  '[*]',
  '[0]',
  '[-1]',
  '[0,1]',
  '[1:]',
  '[::2]',
  "['a']",
  "['a','b']",
  '[?(',
  ')]',
  '@',
  '@.a',
  '$',
  '$.a',
  '==',
  '!=',
  '<',
  '>=',
  '&&',
  '||',
  '!',
  '(',
  ')',
  "'x'",
  '"',
  "'",
  '1',
  '-',
  ',',
  ':',
  ' in ',
  'true',
  'null',
  '.length()',
  '.sum()',
  '.first()',
  '.concat(',
  '\\',
  ' ',
  '{',
  '}',
  '=~',
];
const paths = madeOf(...PATH_PIECES);
const templates = madeOf('${', '${', '}', '}', '$${', '$', 'workflow.secrets.K', 'text ', ...PATH_PIECES);
const texts = fc.oneof(paths, templates, fc.string({ unit: 'binary' }));

const hostile: JsonObject = JSON.parse('{"__proto__":{"p":1},"constructor":{"prototype":{"p":1}},"a":{"__proto__":1}}');
const roots = fc
  .dictionary(fc.constantFrom('a', 'b', 't', 'workflow', 'input'), fc.oneof(json, fc.constant(hostile)))
  .map((object) => ({ ...object }) as JsonObject);

const freeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) freeze(inner);
  }
  return value;
};

const spied = (object: JsonObject): { scope: Scope; asked: Set<string> } => {
  const asked = new Set<string>();
  const inner = scopeOf(object);
  return {
    asked,
    scope: {
      resolve: (head) => {
        asked.add(head);
        return inner.resolve(head);
      },
      lookup: (head, field) => {
        asked.add(head);
        return inner.lookup(head, field);
      },
      isSealed: () => false,
    },
  };
};

describe('expressions are total', () => {
  test('any text parses or is refused, and what parses evaluates on any value', () => {
    fc.assert(
      fc.property(texts, json, (text, document) => {
        const path = parseJsonPath(text);
        if (!path.ok) {
          expect(path.error.offset).toBeGreaterThanOrEqual(0);
          expect(path.error.offset).toBeLessThanOrEqual(text.length);
          return;
        }
        const value = evaluateJsonPath(path.value, freeze(document));
        if (value.ok) expect(JSON.stringify(value.value)).toBeTypeOf('string');
      }),
      RUNS,
    );
  });

  test('any value with any texts compiles or is refused, and evaluates in any scope', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(texts, fc.dictionary(fc.string(), texts))), roots, (value, object) => {
        const compiled = compileTemplate(value as JsonValue, 'in');
        if (!compiled.ok) {
          expect(compiled.error.length).toBeGreaterThan(0);
          return;
        }
        for (const mode of [V1_MODE, CONDUCTOR_MODE]) {
          const result = evaluateTemplate(compiled.value, scopeOf(freeze(object)), mode);
          if (result.ok) expect(JSON.stringify(result.value.value)).toBeTypeOf('string');
        }
        expect(({} as { p?: number }).p).toBeUndefined();
      }),
      RUNS,
    );
  });

  test('any text is a condition or not, and what is one evaluates', () => {
    const conditions = madeOf(
      '${a.b}',
      '${t}',
      '==',
      '<',
      '&&',
      '||',
      '!',
      '(',
      ')',
      "'x'",
      '1',
      'true',
      'null',
      ' ',
      'x',
      '${',
    );
    fc.assert(
      fc.property(fc.oneof(conditions, texts), roots, (text, object) => {
        isGrammarCondition(text);
        isLiteralCondition(text);
        const condition = parseCondition(text);
        if (condition.ok) evaluateCondition(condition.value, scopeOf(object));
      }),
      RUNS,
    );
  });
});

describe('what references tell is all that evaluation asks for', () => {
  test('every head asked for was told, unless some head was unknown', () => {
    fc.assert(
      fc.property(templates, roots, (text, object) => {
        const compiled = compileTemplate(text, '');
        if (!compiled.ok) return;
        const references = referencesOf(compiled.value);
        const { scope, asked } = spied(object);
        evaluateTemplate(compiled.value, scope, V1_MODE);
        const told = new Set(references.all.map(({ head }) => head));
        if (!references.hasUnknownHead) expect([...asked].filter((head) => !told.has(head))).toEqual([]);
      }),
      RUNS,
    );
  });
});

describe('data is never evaluated', () => {
  test('whatever text a scope holds comes out as it is, and defers nothing', () => {
    fc.assert(
      fc.property(templates, fc.string(), (text, around) => {
        const literal = around.replaceAll('$', '');
        const scope = scopeOf({ t: { output: { x: text } } });
        const compiled = compileTemplate([`\${t.output.x}`, `${literal}\${t.output.x}`], '');
        if (!compiled.ok) throw new Error('it compiles');
        const expected = { value: [text, literal + text], deferred: [] };
        expect(evaluateTemplate(compiled.value, scope, V1_MODE)).toEqual({ ok: true, value: expected });
      }),
      RUNS,
    );
  });

  test('a constant comes out as it went in', () => {
    fc.assert(
      fc.property(json, (value) => {
        fc.pre(!JSON.stringify(value).includes('${') && !JSON.stringify(value).includes('"__proto__"'));
        const compiled = compileTemplate(value, '');
        expect(compiled).toEqual({ ok: true, value: { kind: 'constant', value } });
      }),
      RUNS,
    );
  });
});

describe('strict JSON and JSON.parse agree', () => {
  const parsedBy = (text: string): { value: unknown } | undefined => {
    try {
      return { value: JSON.parse(text) };
    } catch {
      return undefined;
    }
  };

  test('on every document they both take', () => {
    const spaces = fc.constantFrom(undefined, 1, '\t');
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'grapheme' }), spaces, (value, space) => {
        const text = JSON.stringify(value, null, space);
        fc.pre(!text.includes('"__proto__"') && !text.includes('\\u0000'));
        expect(parseStrictJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
      RUNS,
    );
  });

  test('on what is JSON at all', () => {
    const documents = madeOf(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '"b":',
      '1',
      '-',
      '0',
      '.5',
      'e3',
      'E-400',
      'true',
      'null',
      ' ',
      '\n',
      '\\',
      '\\u0041',
      '\\ud800',
      '\\u0000',
      '"__proto__":',
      '9007199254740993',
    );
    fc.assert(
      fc.property(fc.oneof(documents, fc.string({ unit: 'binary' })), fc.boolean(), (text, refusesDuplicateKeys) => {
        const strict = parseStrictJson(text, { ...STRICT_JSON_LIMITS, refusesDuplicateKeys });
        const plain = parsedBy(text);
        if (strict.ok) expect(plain).toEqual({ value: strict.value });
        else if (plain !== undefined) expect(strict.error.code).not.toBe('INVALID_JSON');
      }),
      { numRuns: 10_000 },
    );
  });

  test('on how large a value is and what its one text says', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), (value) => {
        const size = Buffer.byteLength(JSON.stringify(value));
        expect(jsonBytes(value as JsonValue)).toBe(size);
        expect(measureJson(value as JsonValue, { bytesMax: size - 1, depthMax: 100 }).ok).toBe(false);
        expect(JSON.parse(canonicalJson(value as JsonValue))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      RUNS,
    );
  });
});

describe('times are total', () => {
  const pieces = madeOf(
    '1',
    '2026-03-29',
    ' ',
    'T',
    '02:30',
    ':00',
    'Z',
    '+02:00',
    'Europe/Berlin',
    'PST',
    'd',
    ' days',
    'h',
    'm',
    's',
    'P',
    'PT',
    '.5',
    '-',
  );

  test('any text is a time or is refused', () => {
    fc.assert(
      fc.property(fc.oneof(pieces, fc.string({ unit: 'binary' })), (text) => {
        parseUntil(text);
        parseInstant(text);
        const duration = parseDuration(text);
        if (duration.ok) expect(Number.isInteger(duration.value) && duration.value >= 0).toBe(true);
      }),
      RUNS,
    );
  });

  test('an instant that is written is read back', () => {
    const dates = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(dates, (date) => {
        const parsed = parseInstant(date.toISOString());
        expect(parsed).toEqual({ ok: true, value: date.getTime() });
        if (parsed.ok) expect(formatInstant(parsed.value)).toBe(date.toISOString());
      }),
      RUNS,
    );
  });
});
