import { describe, expect, it } from 'vitest';
import { CACHE_KEY_CHARS_MAX } from '../../../src/domain/execution/output-cache.ts';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import { dynamicFork, fork, join, loop, type Step, simple } from '../../support/builders.ts';
import { Run } from '../../support/drive.ts';

const cached = (ref: string, fields: JsonObject = {}): Step =>
  simple(ref, {
    name: 'fetch',
    inputParameters: { uri: '${workflow.input.uri}', method: 'GET', other: '${workflow.input.other}' },
    cacheConfig: { key: '${uri}-${method}', ttlInSecond: 60 },
    ...fields,
  });

const given = () => {
  const outputs = new Map<string, JsonObject>();
  const start = (tasks: readonly Step[], input: JsonObject = { uri: '/a' }, rest = {}) =>
    new Run({ tasks, ...rest }, { outputs, input });
  return { outputs, start };
};

describe('a task with a cacheConfig', () => {
  it('is run once for a key, and then takes the output over without a queue', () => {
    const { start } = given();
    start([cached('a')]).complete('a', { body: 1 });
    const again = start([cached('b')], { uri: '/a', other: 'ignored: it is not in the key' });
    expect([again.status, again.output, again.open()]).toEqual(['COMPLETED', { body: 1 }, []]);
    expect(again.seen('b')).toMatchObject({ status: 'COMPLETED', fromCache: true, taskName: 'fetch', attempt: 1 });
    expect(again.eventsOf('TaskScheduled')).toEqual([]);
  });

  it('is run for another key, and under another name', () => {
    const { start } = given();
    start([cached('a')]).complete('a', { body: 1 });
    expect(start([cached('a')], { uri: '/b' }).open()).toEqual(['a']);
    expect(start([cached('a', { name: 'load' })]).open()).toEqual(['a']);
  });

  it('is stored when it completes, until its time is over, and never when it fails', () => {
    const { start, outputs } = given();
    const run = start([cached('a', { retryCount: 1, retryDelaySeconds: 1 })]);
    run.fail('a').advance(1_500);
    expect(outputs.size).toBe(0);
    run.complete('a', { body: 1 });
    expect(run.stored).toEqual([
      { type: 'StoreTaskOutput', taskName: 'fetch', key: '/a-GET', output: { body: 1 }, expiresAt: run.now + 60_000 },
    ]);
    start([cached('a', { optional: true, retryCount: 0 })], { uri: '/c' }).fail('a');
    expect(outputs.size).toBe(1);
  });

  it('lets the next task of its run take its output over, in a loop and in the branch of a fork', () => {
    const { start } = given();
    const looped = start([loop('l', 3, [cached('a')])]).complete('a__1', { body: 1 });
    expect([looped.status, looped.seen('a__3').fromCache]).toEqual(['COMPLETED', true]);
    const forked = start([
      fork('f', [[cached('b'), simple('after')], [cached('c', { inputParameters: { uri: 'x' } })]]),
      join('j'),
    ]);
    expect(forked.open()).toEqual(['after', 'c']);
  });

  it('waits for nobody when the run is paused, and is asked for again when it goes on', () => {
    const { start } = given();
    start([cached('a')]).complete('a', { body: 1 });
    const run = start([simple('first'), cached('b')]);
    run.pause().complete('first');
    expect(run.view.tasks.map(({ ref }) => ref)).toEqual(['first']);
    expect(run.resume().status).toBe('COMPLETED');
  });

  it('is run when what is kept does not fit its output schema', () => {
    const { start } = given();
    start([cached('a')]).complete('a', { body: 1 });
    const taskDefinition = { outputSchema: { properties: { body: { type: 'string' } } } };
    expect(start([cached('a', { taskDefinition })]).open()).toEqual(['a']);
  });

  it('has the name that data gives, in a DYNAMIC and in a dynamic fork', () => {
    const { start } = given();
    start([cached('a')]).complete('a', { body: 1 });
    const dynamic = cached('d', { type: 'DYNAMIC', name: 'd', dynamicTaskNameParam: 'n' }) as JsonObject;
    const inputParameters = { n: 'fetch', uri: '/a', method: 'GET' };
    expect(start([{ ...dynamic, inputParameters }]).seen('d')).toMatchObject({ fromCache: true, taskName: 'fetch' });
    const entry = { name: 'fetch', taskReferenceName: 'x', cacheConfig: { key: '${uri}-GET', ttlInSecond: 1 } };
    expect(
      start([dynamicFork('f', '${workflow.input.tasks}', { x: { uri: '/a' } }), join('j')], { tasks: [entry] }).seen(
        'x',
      ).fromCache,
    ).toBe(true);
  });

  it('is not kept under a key that is too long, and is kept under one that is an object', () => {
    const outputs = new Map<string, JsonObject>();
    const step = simple('a', {
      inputParameters: { key: '${workflow.input.key}' },
      cacheConfig: { key: '${key}', ttlInSecond: 60 },
    });
    const stored = (key: JsonValue) => new Run({ tasks: [step] }, { outputs, input: { key } }).complete('a').stored;
    expect(stored('k'.repeat(CACHE_KEY_CHARS_MAX + 1))).toEqual([]);
    expect(stored('k'.repeat(CACHE_KEY_CHARS_MAX))).toHaveLength(1);
    expect(stored({ a: 1 })).toMatchObject([{ taskName: 'a', key: '{"a":1}' }]);
  });

  it('is not undone where nobody ran it, and is never how something is undone', () => {
    const { start } = given();
    start([cached('a')]).complete('a', { body: 1 });
    const undo = cached('u', { inputParameters: { uri: '/a', method: 'GET' } });
    const tasks = [
      cached('b', { compensateWith: 'undo' }),
      simple('c', { compensateWith: undo }),
      simple('d', { retryCount: 0 }),
    ];
    const run = start(tasks).complete('c').fail('d');
    expect(run.open()).toEqual(['u']);
    expect(run.complete('u').status).toBe('FAILED');
  });

  it('may be a retried attempt that another run has finished meanwhile', () => {
    const { start } = given();
    const run = start([cached('a')]);
    start([cached('b')]).complete('b', { body: 2 });
    run.fail('a');
    expect([run.status, run.output, run.seen('a').attempt]).toEqual(['COMPLETED', { body: 2 }, 2]);
  });

  it('is not cached without a key and a time at the door of Conductor, and has no effect on operators', () => {
    const { start, outputs } = given();
    start([cached('a', { cacheConfig: { key: '', ttlInSecond: 5 } })], {}, { door: 'conductor' }).complete('a', {
      body: 1,
    });
    expect(outputs.size).toBe(0);
  });
});
