import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createSteeringSandbox } from '../../../src/adapters/sandbox/steering-sandbox.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import type { SteeringSandbox } from '../../../src/ports/script-sandbox.ts';

let sandbox: SteeringSandbox;
beforeAll(async () => {
  sandbox = await createSteeringSandbox();
});

const resultOf = (source: string, bindings: JsonObject = {}): JsonValue => {
  const result = sandbox.evaluate(source, bindings);
  if (!result.ok) throw new Error(`${result.error.code} ${result.error.message}`);
  return result.value;
};

const codeOf = (source: string, bindings: JsonObject = {}): string => {
  const result = sandbox.evaluate(source, bindings);
  return result.ok ? `value ${JSON.stringify(result.value)}` : result.error.code;
};

const cpuMsOf = (work: () => void): number => {
  const before = process.threadCpuUsage();
  work();
  const used = process.threadCpuUsage(before);
  return (used.user + used.system) / 1_000;
};

describe('the result of a script', () => {
  it.each([
    ['an expression', '$.a + 1', 3],
    ['a statement with a completion value', 'if ($.a > 1) { true; } else { false; }', true],
    ['a function called at once', '(function () { return $.a; })()', 2],
    ['a declared function that is called', 'function e() { return { a: $.a }; } e();', { a: 2 }],
    ['nothing', 'undefined', null],
    ['a function', '(function () {})', null],
    ['a symbol', 'Symbol()', null],
    ['not a number', 'NaN', null],
    ['values without a JSON form inside others', '({ n: 1 / 0, f() {}, l: [undefined] })', { n: null, l: [null] }],
    ['text with a lone surrogate and a NUL', '"\\ud800\\u0000é😀"', '\ud800\u0000é😀'],
    ['a list read as scripts for Java lists do', '[$.list.get(1), $.list.size(), $.list.contains(9)]', [8, 2, false]],
  ])('is the JSON form of %s', (_what, source, expected) => {
    expect(resultOf(source, { a: 2, list: [7, 8] })).toEqual(expected);
  });

  it('never has a key called __proto__ of its own', () => {
    const value = resultOf(`JSON.parse('{"a": 1, "__proto__": {"b": 2}}')`);
    expect(Object.keys(value as JsonObject)).toEqual(['a']);
  });

  it.each(['1n', '({ a: { b: 2n } })', 'const loop = {}; loop.loop = loop; loop', 'async function f() {} f()'])(
    'fails for a value without a JSON form: %s',
    (source) => expect(codeOf(source)).toBe('SCRIPT_FAILED'),
  );
});

describe('what goes wrong', () => {
  it('is told apart: syntax, throw, limit', () => {
    expect(codeOf('if (')).toBe('SCRIPT_SYNTAX');
    expect(codeOf('return 1')).toBe('SCRIPT_SYNTAX');
    expect(codeOf("JSON.parse('{')")).toBe('SCRIPT_FAILED');
    expect(codeOf('eval("if (")')).toBe('SCRIPT_FAILED');
    expect(codeOf('while (true);')).toBe('SCRIPT_LIMIT');
  });

  it.each([
    ['throw new TypeError("no luck")', 'TypeError: no luck'],
    ['throw "just text"', 'just text'],
    ['throw { code: 7 }', '{"code":7}'],
    ['throw null', 'null'],
    ['throw Object.create(null, { toJSON: { get() { throw 1; } } })', 'an error that cannot be described'],
  ])('carries what was thrown: %s', (source, message) => {
    expect(sandbox.evaluate(source, {})).toEqual({ ok: false, error: { code: 'SCRIPT_FAILED', message } });
  });

  it('has a message of bounded length', () => {
    const result = sandbox.evaluate('throw new Error("x".repeat(100000))', {});
    expect(result.ok ? '' : result.error.message).toHaveLength(1_000);
  });
});

describe('determinism', () => {
  it.each(['Date.now()', 'new Date()', 'Date()', 'Math.random()', 'new (new Date(0).constructor)()'])(
    'has no clock and no chance: %s',
    (source) => expect(codeOf(source)).toBe('SCRIPT_FAILED'),
  );

  it.each(['WeakRef', 'FinalizationRegistry', 'performance'])('has no %s', (name) =>
    expect(resultOf(`typeof ${name}`)).toBe('undefined'),
  );

  it('still computes with the times it is given', () => {
    expect(resultOf('new Date($.at).toISOString()', { at: 1e12 })).toBe('2001-09-09T01:46:40.000Z');
    expect(resultOf('new Date(0) instanceof Date')).toBe(true);
  });

  describe('in a time zone far from UTC', () => {
    const zone = process.env.TZ;
    afterEach(() => {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    });

    it('computes in UTC', () => {
      process.env.TZ = 'Asia/Tokyo';
      expect(new Date(0).getHours()).toBe(9);
      expect(
        resultOf('[new Date(0).getHours(), new Date(2020, 0, 1).getTime(), Date.parse("2020-01-01T00:00")]'),
      ).toEqual([0, 1577836800000, 1577836800000]);
    });
  });

  it('stops a script after the same work each time', () => {
    const turns = 'for (var i = 0; i < $.turns; i++); i';
    const passes = (count: number): boolean => sandbox.evaluate(turns, { turns: count }).ok;
    let [low, high] = [0, 1_000_000];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (passes(middle)) low = middle;
      else high = middle;
    }
    expect([passes(low), passes(high), passes(low), passes(high)]).toEqual([true, false, true, false]);
  });
});

describe('a script that wants out', () => {
  it.each([
    'this.constructor.constructor("return process")()',
    '[].map.constructor("return require")()("fs")',
    'require("fs")',
    'import("fs")',
    'import("node:child_process").then((m) => m.execSync("id"))',
    'fetch("http://127.0.0.1/")',
    'setTimeout(function () {}, 1)',
    'new WebAssembly.Memory({ initial: 1 })',
    'new Worker("x")',
  ])('finds nothing: %s', (source) => expect(codeOf(source)).toBe('SCRIPT_FAILED'));

  it('cannot use module syntax', () => {
    expect(codeOf('import fs from "fs"; 1')).toBe('SCRIPT_SYNTAX');
    expect(codeOf('import.meta.url')).toBe('SCRIPT_SYNTAX');
  });

  it('deceives only itself by replacing built-ins', () => {
    expect(codeOf('JSON.stringify = function () { return "{"; }; JSON.parse = null; $.a', { a: 1 })).toBe('value 1');
    expect(resultOf('[JSON.stringify({}), $.a]', { a: 2 })).toEqual(['{}', 2]);
  });
});

describe('isolation', () => {
  it.each([
    ['a global', 'globalThis.leak = 1', 'typeof leak'],
    ['a declaration', 'var leak = 1; let other = 2; function third() {}', 'typeof leak + typeof other + typeof third'],
    ['a polluted prototype', 'Object.prototype.leak = 1', '({}).leak'],
    ['a changed array method', 'Array.prototype.map = function () { return "leak"; }', '[1].map(String)'],
    ['a changed iterator', 'Array.prototype[Symbol.iterator] = null', '[...[1]].length'],
    [
      'a frozen global',
      'Object.freeze(globalThis); Object.freeze(Object.prototype)',
      'Object.isFrozen(Object.prototype)',
    ],
    ['a symbol of the registry', 'Object.prototype[Symbol.for("leak")] = 1', '({})[Symbol.for("leak")]'],
    ['a static of a regular expression', '/(lea)k/.exec("leak"); RegExp.prototype.leak = 1', '/x/.leak'],
    ['input', '$.leak = 1', '$.leak'],
  ])('keeps %s from the next evaluation', (_what, before, after) => {
    const clean = codeOf(after);
    codeOf(before);
    expect(codeOf(after)).toBe(clean);
  });

  it('keeps what a stopped script did from the next evaluation', () => {
    expect(codeOf('Object.prototype.leak = 1; for (;;);')).toBe('SCRIPT_LIMIT');
    expect(codeOf('({}).leak')).toBe('value null');
  });
});

const BOMBS: readonly (readonly [string, string])[] = [
  ['an endless loop', 'for (;;);'],
  ['an endless loop that catches everything', 'for (;;) { try { for (;;); } catch (e) {} }'],
  [
    'an endless loop in a getter of its error',
    'const e = new Error(); throw Object.defineProperty(e, "message", { get() { for (;;); } })',
  ],
  ['an endless loop in the JSON form of its result', '({ toJSON() { for (;;); } })'],
  ['a regular expression with exponential backtracking', '/(a+)+$/.test("a".repeat(50000) + "b")'],
  ['a native loop over nothing', 'Array.prototype.forEach.call({ length: 2 ** 53 - 1 }, function () {})'],
  ['a native concatenation of nothing', '[].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true })'],
  ['a quadratic text search', '"x".repeat(5e6).indexOf("x".repeat(2.5e6) + "y")'],
  ['native work hidden in a short loop', 'const t = "x".repeat(5e6); for (let i = 0; i < 9000; i++) t.indexOf("y"); 1'],
  ['endless recursion', 'function f() { return f(); } f()'],
  ['endless recursion through native functions', 'function f() { return [1].map(f); } f()'],
  ['a deep nesting of brackets', 'eval("[".repeat(1e5))'],
  ['a large text', '"x".repeat(2 ** 28).length'],
  ['a large array', 'new Array(2 ** 32 - 1).fill(0).length'],
  ['a growing array', 'const a = []; for (;;) a.push(a.slice());'],
  ['a growing text', 'let s = "x"; for (;;) s += s;'],
  ['a large buffer', 'const b = []; for (;;) b.push(new Uint8Array(1e6).fill(1));'],
  ['a result too large', '"x".repeat(300 * 1024)'],
];

describe('limits', () => {
  it.each(BOMBS)('stop %s, and the sandbox is as good as new', (_what, bomb) => {
    expect(codeOf(bomb)).toBe('SCRIPT_LIMIT');
    expect(resultOf('[$.a, typeof leak, [1, 2].map(String)]', { a: 1 })).toEqual([1, 'undefined', ['1', '2']]);
  });

  it.each(BOMBS)('stop %s in a fraction of a second of CPU time', (_what, bomb) => {
    // Idle, none takes more than 60 ms. Ten times that still tells it from the minutes they take when nothing stops them.
    expect(cpuMsOf(() => codeOf(bomb))).toBeLessThan(600);
  });

  it('allow 200 evaluations in a row after a bomb of each kind', () => {
    for (const [, bomb] of BOMBS) codeOf(bomb);
    const values = Array.from({ length: 200 }, (_, index) => resultOf('$.index * 2', { index }));
    expect(values).toEqual(Array.from({ length: 200 }, (_, index) => index * 2));
  });

  it('keep memory bounded over bombs', () => {
    for (const [, bomb] of BOMBS) codeOf(bomb);
    const before = process.memoryUsage().rss;
    for (let round = 0; round < 3; round += 1) for (const [, bomb] of BOMBS) codeOf(bomb);
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024);
  });

  it('apply to the length of the source', () => {
    expect(codeOf(`1${' '.repeat(64 * 1024 - 1)}`)).toBe('value 1');
    expect(codeOf(`1${' '.repeat(64 * 1024)}`)).toBe('SCRIPT_LIMIT');
  });

  it('apply to the size, the depth and the cost of the input', () => {
    let deep: JsonObject = {};
    for (let depth = 0; depth < 100_000; depth += 1) deep = { deep };
    const keys = Array.from({ length: 60_000 }, (_, index) => ({ [`key${index}`]: 1 }));
    expect(codeOf('1', { text: 'x'.repeat(1024 * 1024) })).toBe('SCRIPT_LIMIT');
    expect(codeOf('1', deep)).toBe('SCRIPT_LIMIT');
    expect(sandbox.evaluate('1', { keys })).toMatchObject({ ok: false, error: { code: 'SCRIPT_LIMIT' } });
  });

  it('leave room for ordinary work', () => {
    const orders = Array.from({ length: 5_000 }, (_, id) => ({ id, amount: id % 7 }));
    const source = '$.orders.filter((o) => o.amount > 3).reduce((sum, o) => sum + o.amount, 0)';
    expect(resultOf(source, { orders })).toBe(10_710);
  });
});

describe('the syntax check', () => {
  it('does not run the script', () => {
    expect(sandbox.checkSyntax('for (;;);', 'program')).toEqual({ ok: true, value: undefined });
  });

  it('accepts a return of its own only where the source may be the body of a function', () => {
    expect(sandbox.checkSyntax('return 1', 'function')).toEqual({ ok: true, value: undefined });
    expect(sandbox.checkSyntax('return 1', 'program')).toMatchObject({ ok: false, error: { code: 'SCRIPT_SYNTAX' } });
  });

  it('says what is wrong', () => {
    expect(sandbox.checkSyntax('let x = ;', 'program')).toMatchObject({
      ok: false,
      error: { code: 'SCRIPT_SYNTAX', message: expect.stringContaining('SyntaxError') },
    });
  });

  it('refuses a source that is too long', () => {
    expect(sandbox.checkSyntax(' '.repeat(64 * 1024 + 1), 'program')).toMatchObject({
      error: { code: 'SCRIPT_LIMIT' },
    });
  });
});
