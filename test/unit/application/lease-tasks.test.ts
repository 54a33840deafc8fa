import { expect, it } from 'vitest';
import { createWakeSignal } from '../../../src/adapters/memory/wake-signal.ts';
import { type LeaseDeps, LeaseTasks } from '../../../src/application/lease-tasks.ts';
import { ParkedPolls } from '../../../src/application/parked-polls.ts';
import type { LeaseCall } from '../../../src/application/use-cases.ts';
import type { Namespace } from '../../../src/domain/kernel/brand.ts';
import type { LeasedTask, LeaseRequest } from '../../../src/ports/engine-store.ts';
import { queueTopic } from '../../../src/ports/wake-signal.ts';

const DEFAULT = 'default' as Namespace;

/** Polls over a store whose queues hold what the test puts into them, and that counts how often it is looked at. */
const given = () => {
  const wake = createWakeSignal();
  const ready = new Map<string, number>();
  const looks: LeaseRequest[] = [];
  const engine = {
    leaseTasks: async (request: LeaseRequest) => {
      looks.push(request);
      const found: LeasedTask[] = [];
      for (const queue of request.queues) {
        const left = ready.get(queue) ?? 0;
        const taken = Math.min(left, request.count - found.length);
        ready.set(queue, left - taken);
        found.push(...Array.from({ length: taken }, () => ({ queue }) as LeasedTask));
      }
      return found;
    },
  };
  const deps = {
    engine,
    wake,
    ids: { leaseToken: () => 'token' },
    release: {},
    workers: { seen: () => undefined },
    polls: new ParkedPolls(),
    held: { remember: () => undefined },
    secrets: { fillAll: async (leased: readonly LeasedTask[]) => leased },
    domains: { note: async () => undefined },
  } as unknown as LeaseDeps;
  const tasks = new LeaseTasks(deps);
  const poll = async (overrides: Partial<LeaseCall> = {}): Promise<number> => {
    const call: LeaseCall = {
      namespace: DEFAULT,
      queues: ['charge'],
      workerId: 'worker-1',
      count: 1,
      waitMs: 60_000,
      signal: new AbortController().signal,
      ...overrides,
    };
    const leased = await tasks.lease(call);
    return leased.ok ? leased.value.length : -1;
  };
  const parked = async (count: number): Promise<void> => {
    while (deps.polls.size < count) await new Promise((resolve) => setImmediate(resolve));
  };
  const put = (queue: string, count: number): void => {
    ready.set(queue, (ready.get(queue) ?? 0) + count);
    wake.publish([queueTopic(DEFAULT, queue)]);
  };
  return { poll, parked, put, looks };
};

it('parks a poll beside one that waits for the same queue without a look, and wakes both', async () => {
  const { poll, parked, put, looks } = given();
  const first = poll();
  await parked(1);
  const second = poll();
  await parked(2);
  expect(looks).toHaveLength(1);
  put('charge', 2);
  expect(await Promise.all([first, second])).toEqual([1, 1]);
});

it('looks for a poll that waits for a queue which nobody has seen empty', async () => {
  const { poll, parked, put, looks } = given();
  const first = poll();
  await parked(1);
  put('ship', 1);
  expect(await poll({ queues: ['charge', 'ship'] })).toBe(1);
  expect(looks).toHaveLength(2);
  put('charge', 1);
  await first;
});

it('looks for a poll that does not wait', async () => {
  const { poll, parked, put, looks } = given();
  const first = poll();
  await parked(1);
  expect(await poll({ waitMs: 0 })).toBe(0);
  expect(looks).toHaveLength(2);
  put('charge', 1);
  await first;
});

it('looks for a poll that comes when the one that waits was told to look again', async () => {
  const { poll, parked, put, looks } = given();
  const first = poll();
  await parked(1);
  // In the same turn: what is put wakes the first, which has not left its place when the second comes to it.
  const second = poll();
  put('charge', 2);
  expect(await Promise.all([first, second])).toEqual([1, 1]);
  expect(looks).toHaveLength(3);
});
