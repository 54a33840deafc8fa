import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSteeringSandbox } from '../../../src/adapters/sandbox/steering-sandbox.ts';
import { createTaskSandbox } from '../../../src/adapters/sandbox/task-sandbox.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/domain/kernel/json.ts';
import type { ScriptWrap, SteeringSandbox, TaskSandbox } from '../../../src/ports/script-sandbox.ts';

/** Definitions from public repositories; they are kept beside the repository and are not part of it. */
const CORPUS = new URL('../../../../shared/corpus/conductor-definitions.jsonl', import.meta.url);

type CorpusScript = Readonly<{ type: string; source: string; wrap: ScriptWrap }>;

const textOf = (value: JsonValue | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

const sourceOf = (task: JsonObject): string | undefined => {
  const input = isJsonObject(task.inputParameters) ? task.inputParameters : {};
  switch (task.type) {
    case 'INLINE':
      return input.evaluatorType === 'value-param' ? undefined : textOf(input.expression);
    case 'LAMBDA':
      return textOf(input.scriptExpression);
    case 'JSON_JQ_TRANSFORM':
      return textOf(input.queryExpression);
    case 'SWITCH':
      return task.evaluatorType === 'value-param' ? undefined : textOf(task.expression);
    case 'DECISION':
      return textOf(task.caseExpression);
    case 'DO_WHILE':
      return task.evaluatorType === 'value-param' ? undefined : textOf(task.loopCondition);
    default:
      return undefined;
  }
};

const scriptsIn = (value: JsonValue): readonly CorpusScript[] => {
  if (Array.isArray(value)) return value.flatMap(scriptsIn);
  if (!isJsonObject(value)) return [];
  const source = sourceOf(value);
  const own: CorpusScript[] =
    source === undefined
      ? []
      : [{ type: String(value.type), source, wrap: value.type === 'LAMBDA' ? 'function' : 'program' }];
  return [...own, ...Object.values(value).flatMap(scriptsIn)];
};

const readCorpus = (): readonly CorpusScript[] => {
  const lines = readFileSync(CORPUS, 'utf8').trim().split('\n');
  const all = lines.flatMap((line) => scriptsIn((JSON.parse(line) as { definition: JsonValue }).definition));
  const isTemplate = ({ source }: CorpusScript): boolean => source.includes(`\${`);
  return [...new Map(all.filter((script) => !isTemplate(script)).map((script) => [script.source, script])).values()];
};

const scripts = existsSync(CORPUS) ? readCorpus() : [];
const inJavaScript = scripts.filter(({ type }) => type !== 'JSON_JQ_TRANSFORM');
const inTasks = inJavaScript.filter(({ type }) => type === 'INLINE' || type === 'LAMBDA');
/** No jq knows texts in single quotes. */
const isJq = ({ type, source }: CorpusScript): boolean => type === 'JSON_JQ_TRANSFORM' && !source.includes("'");
const inJq = scripts.filter(isJq);

/** One input on which every script of a task in the corpus can run: the names they read, with values of the right kind. */
const BINDINGS: JsonObject = {
  input: { a: 1 },
  data: { hostName: 'h', apiRandomDelay: '1', randomInt: 5 },
  do_while_loop_ref: { iteration: 1 },
  do_while_switch_ref: { iteration: 1 },
  do_while_fork_ref: { iteration: 1 },
  list: ['a', 'b'],
  iterator: 2,
  index: 2,
  orders: [{ amount: 3 }, { amount: 5 }],
  messages: [{ id: 'm', payload: 1, receivedAt: 2 }],
  number: 1,
  value1: 1,
  value2: 2,
};

describe.skipIf(scripts.length === 0)('real scripts', () => {
  let steering: SteeringSandbox;
  let tasks: TaskSandbox;
  beforeAll(async () => {
    steering = await createSteeringSandbox();
    tasks = createTaskSandbox({ workersMax: 1 });
  });
  afterAll(() => tasks.close());

  it.each(inJavaScript)('parse: $type $source', ({ source, wrap }) => {
    expect(steering.checkSyntax(source, wrap)).toEqual({ ok: true, value: undefined });
  });

  it.each(inTasks)('give a value: $type $source', async ({ source, wrap }) => {
    const answer = await tasks.runScript({ source, wrap, bindings: BINDINGS, nowMs: 1e12, seed: 1, timeoutMs: 20_000 });
    expect(answer).toMatchObject({ ok: true, value: expect.anything() });
  });

  it.each(inJq)('are jq programs: $source', async ({ source }) => {
    const answer = await tasks.runJq({ query: source, input: {}, timeoutMs: 20_000 });
    expect(answer.ok ? 'done' : answer.error.code).not.toMatch(/SYNTAX|LIMIT|UNAVAILABLE/);
  });
});
