import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createTaskSandbox } from '../../../src/adapters/sandbox/task-sandbox.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import type { RunScriptRequest, TaskSandbox } from '../../../src/ports/script-sandbox.ts';

const TIMEOUT_MS = 20_000;

let sandbox: TaskSandbox;
beforeAll(() => {
  sandbox = createTaskSandbox({ workersMax: 1 });
});
afterAll(() => sandbox.close());

const request = (source: string, more: Partial<RunScriptRequest> = {}): RunScriptRequest => ({
  source,
  bindings: {},
  wrap: 'program',
  nowMs: 1e12,
  seed: 7,
  timeoutMs: TIMEOUT_MS,
  ...more,
});
const script = (source: string, more: Partial<RunScriptRequest> = {}) => sandbox.runScript(request(source, more));
const jq = (query: string, input: JsonValue = null, timeoutMs = TIMEOUT_MS) =>
  sandbox.runJq({ query, input, timeoutMs });
const lambda = (source: string, bindings: JsonObject = {}) => script(source, { bindings, wrap: 'function' });

const value = (expected: JsonValue) => ({ ok: true, value: expected });
const results = (...resultList: JsonValue[]) => value({ result: resultList[0] ?? null, resultList });
const problem = (code: string, message: string | RegExp = /./) => ({
  ok: false,
  error: { code, message: expect.stringMatching(message) },
});

describe('scripts of tasks', () => {
  it('see their bindings as $', async () => {
    expect(await script('$.a + $.b', { bindings: { a: 1, b: 2 } })).toEqual(value(3));
  });

  it('have the clock they are given, standing still', async () => {
    const source = '[Date.now(), new Date().toISOString(), Date().slice(0, 15), new Date(0).getTime()]';
    expect(await script(source)).toEqual(value([1e12, '2001-09-09T01:46:40.000Z', 'Sun Sep 09 2001', 0]));
  });

  it('have random numbers that follow from the seed', async () => {
    const source = 'Array.from({ length: 50 }, Math.random)';
    const first = await script(source);
    const numbers = (first.ok ? first.value : []) as number[];
    expect(new Set(numbers).size).toBe(50);
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
    expect(await script(source)).toEqual(first);
    expect(await script(source, { seed: 8 })).not.toEqual(first);
  });

  it('are taken as the body of a function when they return by themselves', async () => {
    expect(await lambda('return { a: $.a };', { a: 1 })).toEqual(value({ a: 1 }));
    expect(await lambda('if ($.a == 1) { return true } else { return false } // end', { a: 1 })).toEqual(value(true));
    expect(await lambda('function e() { return { a: 1 }; } e();')).toEqual(value({ a: 1 }));
    expect(await lambda('return (')).toMatchObject(problem('SCRIPT_SYNTAX', /SyntaxError/));
    expect(await script('return 1')).toMatchObject(problem('SCRIPT_SYNTAX', /return/));
  });

  it('may work for long, also as the body of a function', async () => {
    expect(await lambda('var n = 0; for (var i = 0; i < 1e6; i++) n += i; return n;')).toEqual(value(499_999_500_000));
  });

  it('leave nothing behind on a thread that is used again', async () => {
    await script('Object.prototype.leak = 1; globalThis.other = 2');
    expect(await script('[typeof other, ({}).leak]')).toEqual(value(['undefined', null]));
  });

  it.each(['process.exit(1)', 'this.constructor.constructor("return process")()', 'import("fs")', 'require("fs")'])(
    'find no way out: %s',
    async (source) => expect(await script(source)).toMatchObject(problem('SCRIPT_FAILED')),
  );

  it('fail with what they throw', async () => {
    expect(await script('null.x')).toMatchObject(problem('SCRIPT_FAILED', /^TypeError: /));
  });

  it('are stopped at their time limit, and the next one finds a new thread', async () => {
    expect(await script('for (;;);', { timeoutMs: 50 })).toMatchObject(problem('SCRIPT_LIMIT', /longer than 50 ms/));
    expect(await script('1 + 1')).toEqual(value(2));
  });

  it.each([
    'const a = []; for (;;) a.push(new Array(1000).fill(1));',
    '"x".repeat(2 ** 29).length',
    'const b = []; for (;;) b.push(new Uint8Array(1e7).fill(1));',
    '"x".repeat(11 * 1024 * 1024)',
    'throw new InternalError("x".repeat(8e7))',
  ])('are stopped at their memory and output limits: %s', async (source) => {
    expect(await script(source)).toMatchObject(problem('SCRIPT_LIMIT'));
    expect(await script('1 + 1')).toEqual(value(2));
  });

  it('take input as large as a payload, and none larger', async () => {
    const mebibytes = (count: number): JsonObject => ({ text: 'x'.repeat(count * 1024 * 1024) });
    expect(await script('$.text.length', { bindings: mebibytes(9) })).toEqual(value(9 * 1024 * 1024));
    expect(await script('$.text.length', { bindings: mebibytes(11) })).toMatchObject(problem('SCRIPT_LIMIT', /larger/));
  });
});

describe('jq programs', () => {
  it('answer the first result and all of them', async () => {
    expect(await jq('.a', { a: { b: 1 } })).toEqual(results({ b: 1 }));
    expect(await jq('.[]', [1, null, 'two\nlines "é😀"'])).toEqual(results(1, null, 'two\nlines "é😀"'));
    expect(await jq('.', [1, 2])).toEqual(results([1, 2]));
    expect(await jq('empty')).toEqual(results());
    expect(await jq('1, halt')).toEqual(results(1));
  });

  it('are not read as options', async () => {
    expect(await jq('-1')).toEqual(results(-1));
    expect(await jq('--help')).toMatchObject(problem('SCRIPT_SYNTAX'));
  });

  it('tell syntax errors from failures, with the message of jq', async () => {
    expect(await jq('{')).toMatchObject(problem('SCRIPT_SYNTAX', /syntax error/));
    expect(await jq('nope')).toMatchObject(problem('SCRIPT_SYNTAX', /nope\/0 is not defined/));
    expect(await jq('')).toMatchObject(problem('SCRIPT_SYNTAX'));
    expect(await jq('.a', [1])).toMatchObject(problem('SCRIPT_FAILED', /^Cannot index array with string "a"/));
    expect(await jq('1, error("no luck")')).toMatchObject(problem('SCRIPT_FAILED', /^no luck$/));
    expect(await jq('error({ a: 1 })')).toMatchObject(problem('SCRIPT_FAILED', /^{"a":1}$/));
    expect(await jq('"2 compile errors" | halt_error(2)')).toMatchObject(problem('SCRIPT_FAILED'));
  });

  it('see nothing of the server', async () => {
    expect(await jq('$ENV | keys | map(select(. != "_" and . != "LANG"))')).toEqual(
      results(['HOME', 'LOGNAME', 'PATH', 'PWD', 'USER']),
    );
    expect(await jq('$ENV | [.HOME, ._, .PWD]')).toEqual(results(['/home/web_user', 'jq', '/']));
    expect(await jq('include "/etc/passwd"; 1')).toMatchObject(problem('SCRIPT_SYNTAX', /not found/));
  });

  it('make no object with a key __proto__', async () => {
    const answer = await jq('{a: 1} | setpath(["__proto__"]; {b: 2})');
    expect(answer.ok && Object.keys(answer.value.result as JsonObject)).toEqual(['a']);
  });

  it('may have object values without parentheses, as in definitions made for the jq of the JVM', async () => {
    expect(await jq('{ a: .x // "none", b: .y + 1 | tostring, c: [{ d: 1 + 1, e: 2 }] }', { y: 1 })).toEqual(
      results({ a: 'none', b: '2', c: [{ d: 2, e: 2 }] }),
    );
    expect(
      await jq('{ a: . as {b: $b, c: [$c]} | $b + $c, "k\\(1 + 1):": "{a: \\({x: 1 + 1}.x), }" }', { b: 1, c: [2] }),
    ).toEqual(results({ a: 3, 'k2:': '{a: 2, }' }));
    expect(await jq('{ a: 1 + 1, b: ("x#y" + "\\"z") } # , } {')).toEqual(results({ a: 2, b: 'x#y"z' }));
    expect(await jq('{ a: 1 + }')).toMatchObject(problem('SCRIPT_SYNTAX', /^syntax error/));
  });

  it('are refused when they are too long', async () => {
    expect(await jq(`1${' '.repeat(64 * 1024)}`)).toMatchObject(problem('SCRIPT_LIMIT', /longer/));
  });

  it('print to nowhere', async () => {
    expect(await jq('[range(20000) | debug] | length')).toEqual(results(20_000));
    expect(await jq('"\\n" | stderr | length')).toEqual(results(1));
  });

  it('are stopped at their time limit, and the next one finds a new thread', async () => {
    expect(await jq('last(range(1e12))', null, 50)).toMatchObject(problem('SCRIPT_LIMIT', /longer than 50 ms/));
    expect(await jq('def f: f; f', null, 50)).toMatchObject(problem('SCRIPT_LIMIT', /longer than 50 ms/));
    expect(await jq('.', 1)).toEqual(results(1));
  });

  it.each([
    '[range(1e9)] | length',
    '"x" * 1e9 | length',
    'def f: 1 + f; f',
    '[range(2e6) | "longer than 6 bytes"]',
    'repeat(1)',
  ])('are stopped at their memory and output limits: %s', async (query) => {
    expect(await jq(query)).toMatchObject(problem('SCRIPT_LIMIT'));
    expect(await jq('.', 1)).toEqual(results(1));
  });
});

describe('the threads', () => {
  const opened: TaskSandbox[] = [];
  const open = (workersMax: number): TaskSandbox => {
    const fresh = createTaskSandbox({ workersMax });
    opened.push(fresh);
    return fresh;
  };
  afterEach(() => Promise.all(opened.splice(0).map((fresh) => fresh.close())));

  it('do not hold up each other', async () => {
    const pair = open(2);
    let isEndlessDone = false;
    const endless = pair.runScript(request('for (;;);')).finally(() => {
      isEndlessDone = true;
    });
    expect(await pair.runScript(request('1'))).toEqual(value(1));
    expect(isEndlessDone).toBe(false);
    await pair.close();
    expect(await endless).toMatchObject(problem('SANDBOX_UNAVAILABLE'));
  });

  it('serve many jobs in turn', async () => {
    const pair = open(2);
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => pair.runScript(request('$.index', { bindings: { index } }))),
    );
    expect(answers).toEqual(Array.from({ length: 30 }, (_, index) => value(index)));
  });

  it('refuse work beyond the queue instead of holding it', async () => {
    const single = open(1);
    const answers = Array.from({ length: 30 }, () => single.runScript(request('1')));
    const codes = (await Promise.all(answers)).map((answer) => (answer.ok ? 'done' : answer.error.code));
    expect(codes.filter((code) => code === 'done')).toHaveLength(17);
    expect(codes.filter((code) => code === 'SANDBOX_UNAVAILABLE')).toHaveLength(13);
  });

  it('answer everything that is open when they are closed, and refuse what comes later', async () => {
    const single = open(1);
    const answers = [single.runScript(request('for (;;);')), single.runScript(request('1'))];
    await single.close();
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject(problem('SANDBOX_UNAVAILABLE'));
    expect(await single.runScript(request('1'))).toMatchObject(problem('SANDBOX_UNAVAILABLE', /closed/));
  });

  it('let the process end when they are idle', async () => {
    const module = new URL('../../../src/adapters/sandbox/task-sandbox.ts', import.meta.url).href;
    const program = `
      const { createTaskSandbox } = await import(${JSON.stringify(module)});
      const request = ${JSON.stringify(request('40 + 2'))};
      const answer = await createTaskSandbox({ workersMax: 1 }).runScript(request);
      console.log(answer.value);`;
    const options = { timeout: TIMEOUT_MS };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], options);
    expect(stdout).toBe('42\n');
  });
});
