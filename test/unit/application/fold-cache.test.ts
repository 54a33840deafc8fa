import { expect, test } from 'vitest';
import { FoldCache } from '../../../src/application/fold-cache.ts';
import type { Plan } from '../../../src/domain/definition/plan.ts';
import { type ExecutionState, emptyState } from '../../../src/domain/execution/state.ts';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';

const state = (id: string): ExecutionState => emptyState(id as ExecutionId, {} as Plan);

test('a state that is taken is gone until it is put back: a pass that rolls back leaves nothing behind', () => {
  const cache = new FoldCache(1_000_000);
  const run = state('run');
  cache.put(run);
  expect(cache.take(run.executionId)).toBe(run);
  expect(cache.take(run.executionId)).toBeUndefined();
});

test('the least recently used go first once the bound is reached', () => {
  const cache = new FoldCache(10_000);
  for (const id of ['a', 'b']) cache.put(state(id));
  const a = cache.take('a' as ExecutionId);
  if (a !== undefined) cache.put(a);
  cache.put(state('c'));
  expect([cache.size, cache.take('b' as ExecutionId), cache.take('a' as ExecutionId)]).toEqual([2, undefined, a]);
});

test('a state beyond the whole bound is not kept at all', () => {
  const cache = new FoldCache(1_000);
  cache.put(state('a'));
  expect(cache.size).toBe(0);
});

test('who needs a state that is lent waits for it, and finds it changed or, after a step that failed, gone', async () => {
  const cache = new FoldCache(1_000_000);
  const run = state('run');
  cache.put(run);
  const loan = cache.lend(run.executionId);
  expect(cache.lend(run.executionId)).toBeUndefined();
  let returned = false;
  const waiting = cache.returned([run.executionId]).then(() => {
    returned = true;
  });
  await Promise.resolve();
  expect(returned).toBe(false);
  loan?.end(run);
  await waiting;
  expect(cache.take(run.executionId)).toBe(run);
  cache.put(run);
  cache.lend(run.executionId)?.end(undefined);
  await cache.returned([run.executionId]);
  expect(cache.take(run.executionId)).toBeUndefined();
});
