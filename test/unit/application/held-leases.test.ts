import { expect, it } from 'vitest';
import { HELD_LEASES_MAX, HeldLeases } from '../../../src/application/held-leases.ts';
import { type ExecutionId, type Instant, type Namespace, taskIdOf } from '../../../src/domain/kernel/brand.ts';
import type { LeasedTask } from '../../../src/ports/engine-store.ts';
import { createFakeIds } from '../../support/fake-ids.ts';

const ids = createFakeIds();
const AT = 1_000 as Instant;

const leased = (executionId: ExecutionId, seq: number): LeasedTask => ({
  taskId: taskIdOf(executionId, seq),
  executionId,
  namespace: 'default' as Namespace,
  ref: 'charge',
  iteration: 0,
  attempt: 1,
  taskType: 'SIMPLE',
  taskName: 'charge',
  queue: 'charge',
  priority: 0,
  input: {},
  leaseToken: ids.leaseToken(),
  leaseExpiresAt: AT,
  scheduledAt: AT,
  startedAt: AT,
  workerId: 'worker-1',
  heartbeatMs: 60_000,
});

it('knows a lease by its task and its token, until it is forgotten', () => {
  const held = new HeldLeases();
  const task = leased(ids.executionId(), 2);
  held.remember([task]);
  expect(held.of(task)).toMatchObject({ ref: 'charge', attempt: 1, workerId: 'worker-1', startedAt: AT });
  expect(held.of({ ...task, leaseToken: ids.leaseToken() })).toBeUndefined();
  held.forget(task.taskId);
  expect(held.of(task)).toBeUndefined();
});

it('knows the last lease of a task alone', () => {
  const held = new HeldLeases();
  const first = leased(ids.executionId(), 2);
  const second = { ...first, leaseToken: ids.leaseToken(), workerId: 'worker-2' };
  held.remember([first, second]);
  expect(held.of(first)).toBeUndefined();
  expect(held.of(second)?.workerId).toBe('worker-2');
});

it('forgets the oldest when it is full', () => {
  const held = new HeldLeases();
  const executionId = ids.executionId();
  const first = leased(executionId, 1);
  held.remember([first]);
  held.remember(
    Array.from({ length: HELD_LEASES_MAX }, (_, index) => ({ ...first, taskId: taskIdOf(executionId, index + 2) })),
  );
  expect(held.size).toBe(HELD_LEASES_MAX);
  expect(held.of(first)).toBeUndefined();
});
