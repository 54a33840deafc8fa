import { beforeEach, describe, expect, it } from 'vitest';
import { addMs, type ExecutionId, type Instant, taskIdOf } from '../../src/domain/kernel/brand.ts';
import type { NewExecution } from '../../src/ports/engine-store.ts';
import type { FieldTest, QueryField, RunCondition, RunQuery, RunSort } from '../../src/ports/run-query.ts';
import { ALPHA, BETA, givenTask, ids, inTx, newExecution, owed } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

const ANY: RunCondition = { kind: 'all', of: [] };
const field = (name: QueryField, test: FieldTest): RunCondition => ({ kind: 'field', field: name, test });
const is = (name: QueryField, value: string | number): RunCondition => field(name, { operator: '=', value });
const not = (of: RunCondition): RunCondition => ({ kind: 'not', of });

describe.each(harnesses)('runs found by conditions over $name', (harness) => {
  const open = useHarness(harness);
  /** Ids of three runs a second apart, the first of them the oldest. */
  let runs: readonly ExecutionId[];
  let startedAt: Instant;

  const a: Partial<NewExecution> = { name: 'a', correlationId: 'c_1%', input: { city: 'Köln', list: [{ n: 'x' }, 2] } };
  const b: Partial<NewExecution> = { name: 'b', priority: 7, version: 3, input: { city: null, a: { b: true } } };
  const c: Partial<NewExecution> = { name: 'a.b', parentExecutionId: ids.executionId(), input: {} };

  beforeEach(async () => {
    const { engine } = open();
    startedAt = addMs(await engine.now(), -10_000);
    const rows = [a, b, c].map((each, index) => newExecution(addMs(startedAt, index * 1_000), each));
    await inTx(engine, (tx) => tx.createExecutions(rows));
    await inTx(engine, (tx) => tx.createExecutions([newExecution(startedAt, { namespace: BETA, name: 'a' })]));
    runs = rows.map(({ executionId }) => executionId);
    const [first, second] = runs as [ExecutionId, ExecutionId];
    const at = startedAt;
    const closed = {
      ref: 'pay',
      iteration: 0,
      attempt: 1,
      status: 'FAILED',
      output: {},
      disposition: { kind: 'fail' },
    } as const;
    const scheduled = {
      ref: 'pay',
      iteration: 0,
      attempt: 1,
      taskType: 'SIMPLE',
      taskName: 'charge',
      queue: 'charge',
    } as const;
    await inTx(engine, async (tx) => {
      await tx.appendEvents([
        owed(first, {
          seq: 1,
          event: { type: 'TaskScheduled', at, ...scheduled, input: {}, visibleAt: at, firstScheduledAt: at },
        }),
        owed(first, { seq: 2, event: { type: 'TaskClosed', at, ...closed } }),
        owed(first, {
          seq: 3,
          event: {
            type: 'OperatorResolved',
            at,
            ref: 's',
            iteration: 0,
            operator: 'SWITCH',
            status: 'COMPLETED',
            input: {},
            output: {},
          } as never,
        }),
      ]);
      await tx.projectExecutions([
        owed(first, {
          type: 'ProjectExecution',
          status: 'FAILED',
          output: { paid: false },
          reason: 'No money',
          failedTask: 'pay',
          at: addMs(at, 5),
        }),
      ]);
    });
    await givenTask(open(), second, { seq: 4 });
  });

  const query = (condition: RunCondition, rest: Partial<RunQuery> = {}) =>
    open().index.searchRuns(ALPHA, { condition, sort: [], offset: 0, limit: 10, countMax: 100, ...rest });

  /** Places of the runs found: 0 is the oldest. */
  const found = async (condition: RunCondition, sort: readonly RunSort[] = []) =>
    (await query(condition, { sort })).rows.map(({ executionId }) => runs.indexOf(executionId));

  it.each<[string, () => RunCondition, readonly number[]]>([
    ['anything, the newest first', () => ANY, [2, 1, 0]],
    ['nothing', () => ({ kind: 'any', of: [] }), []],
    ['all of several', () => ({ kind: 'all', of: [is('name', 'b'), is('version', 3)] }), [1]],
    ['any of several', () => ({ kind: 'any', of: [is('name', 'b'), is('status', 'FAILED')] }), [1, 0]],
    ['a status that is none', () => is('status', 'NONE'), []],
    ['one of some statuses', () => field('status', { operator: 'in', values: ['RUNNING', 'NONE'] }), [2, 1]],
    ['what has no correlation id', () => field('correlationId', { operator: 'absent' }), [2, 1]],
    ['another correlation id, or none', () => not(is('correlationId', 'c')), [2, 1, 0]],
    ['not that correlation id', () => not(is('correlationId', 'c_1%')), [2, 1]],
    ['not what ended later', () => not(field('endedAt', { operator: '>', value: 0 })), [2, 1]],
    ['a pattern, whose other signs mean nothing', () => field('name', { operator: 'like', pattern: 'a.*' }), [2]],
    ['a pattern with signs of the language', () => field('correlationId', { operator: 'like', pattern: 'c_1%*' }), [0]],
    ['a pattern that only looks like one', () => field('correlationId', { operator: 'like', pattern: 'c__%' }), []],
    ['a higher priority', () => field('priority', { operator: '>', value: 6.5 }), [1]],
    ['a pattern of a number', () => field('version', { operator: 'like', pattern: '3*' }), [1]],
    ['an id', () => is('executionId', runs[1] ?? ''), [1]],
    ['an id that is none', () => is('executionId', 'nonsense'), []],
    ['a pattern of ids', () => field('executionId', { operator: 'like', pattern: `*${runs[2]?.slice(-12)}` }), [2]],
    ['a parent', () => is('parentExecutionId', c.parentExecutionId ?? ''), [2]],
    ['the very instant', () => is('startedAt', addMs(startedAt, 1_000)), [1]],
    ['up to an instant', () => field('startedAt', { operator: '<=', value: addMs(startedAt, 1_000) }), [1, 0]],
    ['before an instant', () => field('startedAt', { operator: '<', value: addMs(startedAt, 1_000) }), [0]],
    ['after an instant', () => field('startedAt', { operator: '>', value: addMs(startedAt, 1_000) }), [2]],
    ['from an instant on', () => field('startedAt', { operator: '>=', value: addMs(startedAt, 1_000) }), [2, 1]],
    ['one of some instants', () => field('startedAt', { operator: 'in', values: [startedAt, 1] }), [0]],
    ['text in the input', () => is({ payload: 'input', path: ['city'] }, 'Köln'), [0]],
    ['a place in a list', () => is({ payload: 'input', path: ['list', '0', 'n'] }, 'x'), [0]],
    ['what is no text, as JSON', () => is({ payload: 'input', path: ['a', 'b'] }, 'true'), [1]],
    ['the output', () => is({ payload: 'output', path: ['paid'] }, 'false'), [0]],
    ['null, which is nothing', () => is({ payload: 'input', path: ['city'] }, 'null'), []],
    ['a task by its id', () => is({ task: 'taskId' }, taskIdOf(runs[0] as ExecutionId, 1)), [0]],
    ['a task by an id that is none', () => is({ task: 'taskId' }, 'x'), []],
    ['a task by its type', () => is({ task: 'taskType' }, 'SWITCH'), [0]],
    ['a task by the name that is its type', () => is({ task: 'taskType' }, 'charge'), [0]],
    ['a task by its name', () => field({ task: 'taskName' }, { operator: 'like', pattern: 'ch*' }), [0]],
    ['a task by its ref', () => is({ task: 'ref' }, 'pay'), [0]],
    ['a task that ended so', () => is({ task: 'status' }, 'FAILED'), [0]],
    ['a task that waits for a worker', () => is({ task: 'status' }, 'SCHEDULED'), [1]],
    ['words, whatever their case', () => ({ kind: 'words', text: 'no MONEY' }), [0]],
    ['words in the output', () => ({ kind: 'words', text: 'paid' }), [0]],
    ['words with signs that mean nothing', () => ({ kind: 'words', text: 'c_1%' }), [0]],
    ['a document that is part of the input', () => ({ kind: 'holds', document: { list: [2] } }), [0]],
    ['a document that is part of the output', () => ({ kind: 'holds', document: { paid: false } }), [0]],
    ['a document that is not', () => ({ kind: 'holds', document: { list: [3] } }), []],
  ])('%s', async (_, condition, expected) => {
    expect(await found(condition())).toEqual(expected);
  });

  it('are whole, payloads included, and as they are on record', async () => {
    const { rows } = await query(is('status', 'FAILED'));
    expect(rows).toEqual([await open().index.find(ALPHA, runs[0] as ExecutionId)]);
    expect(rows[0]).toMatchObject({ output: { paid: false }, reason: 'No money', failedTask: 'pay' });
  });

  it('are sorted by what is asked, what has none last in either direction', async () => {
    expect(await found(ANY, [{ field: 'name', descending: false }])).toEqual([0, 2, 1]);
    expect(await found(ANY, [{ field: 'endedAt', descending: true }])).toEqual([0, 2, 1]);
    expect(await found(ANY, [{ field: 'endedAt', descending: false }])).toEqual([0, 2, 1]);
    expect(await found(ANY, [{ field: 'priority', descending: true }])).toEqual([1, 2, 0]);
  });

  it('come in pages, all of them counted up to a bound', async () => {
    expect(await query(ANY, { offset: 1, limit: 1 })).toMatchObject({ total: 3, rows: [{ executionId: runs[1] }] });
    expect(await query(ANY, { offset: 5, limit: 1 })).toEqual({ total: 3, rows: [] });
    expect(await query(ANY, { limit: 0 })).toEqual({ total: 3, rows: [] });
    expect(await query(ANY, { limit: 1, countMax: 2 })).toMatchObject({ total: 2 });
  });
});
