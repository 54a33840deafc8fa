import { expect, it } from 'vitest';
import type { LeaseTasks } from '../../../src/application/lease-tasks.ts';
import { ParkedPolls } from '../../../src/application/parked-polls.ts';
import type { ReleaseLeases } from '../../../src/application/release-leases.ts';
import { TakeNext } from '../../../src/application/unfenced/take-next.ts';
import type { Namespace, TaskId } from '../../../src/domain/kernel/brand.ts';
import { err, ok } from '../../../src/domain/kernel/result.ts';
import type { LeasedTask } from '../../../src/ports/engine-store.ts';

const NS = 'default' as Namespace;
const CALL = { namespace: NS, queue: 'work', workerId: 'w', signal: new AbortController().signal };
const task = (id: string) => ({ taskId: id as TaskId, queue: 'work' }) as LeasedTask;

/** Leases of these tasks, and a record of what was handed out, asked for and given back. */
const given = (ready: readonly LeasedTask[] = []) => {
  const told = { asked: [] as number[], handedOut: [] as string[], released: [] as string[] };
  const polls = new ParkedPolls();
  const leases = {
    lease: async ({ count }: { count: number }) => {
      told.asked.push(count);
      return ok(ready.slice(0, count));
    },
    handOver: async (_: unknown, tasks: readonly LeasedTask[]) => {
      told.handedOut.push(...tasks.map(({ taskId }) => taskId));
      return ok(tasks);
    },
  } as unknown as LeaseTasks;
  const release = {
    release: async (tasks: readonly LeasedTask[]) => told.released.push(...tasks.map(({ taskId }) => taskId)),
  } as unknown as ReleaseLeases;
  return { told, polls, next: new TakeNext({ leases, polls, release }) };
};

/** A step of some run leases a task to whoever waits for the queue. */
const leaseOnTheWay = (polls: ParkedPolls, leased: LeasedTask): void => {
  const poll = polls.offer(NS, 'work');
  if (poll === undefined) throw new Error('nobody waits');
  poll.handOver(leased);
};

it('gives the worker what was leased to it while its update was written, as every lease is given', async () => {
  const { told, polls, next } = given();
  const taken = await next.whileEnding(CALL, async () => {
    leaseOnTheWay(polls, task('a'));
    return ok(true);
  });
  expect(taken).toEqual(ok(task('a')));
  expect(told).toEqual({ asked: [], handedOut: ['a'], released: [] });
  expect(polls.size).toBe(0);
});

it('gives back what was leased on the way when the update is refused, or fails', async () => {
  const { told, polls, next } = given();
  const refused = await next.whileEnding(CALL, async () => {
    leaseOnTheWay(polls, task('a'));
    return err('no' as const);
  });
  expect(refused).toEqual(err('no'));
  const failed = next.whileEnding(CALL, async () => {
    leaseOnTheWay(polls, task('b'));
    throw new Error('down');
  });
  await expect(failed).rejects.toThrow('down');
  expect(told).toEqual({ asked: [], handedOut: [], released: ['a', 'b'] });
  expect(polls.size).toBe(0);
});

it('is nobody whose waiting says that the queue is empty: it never looked', async () => {
  const { polls, next } = given();
  let seen: boolean | undefined;
  await next.whileEnding(CALL, async () => {
    seen = polls.haveSeenEmpty(NS, ['work']);
    return ok(false);
  });
  expect(seen).toBe(false);
});

it('does not look where a poll waits that has found nothing', async () => {
  const { told, polls, next } = given([task('a')]);
  const poll = polls.enter({
    namespace: NS,
    queues: ['work'],
    workerId: 'x',
    count: 1,
    waitMs: 9,
    signal: CALL.signal,
  });
  expect(await next.whileEnding(CALL, async () => ok(true))).toEqual(ok(undefined));
  expect(told.asked).toEqual([]);
  await polls.leave(poll);
  expect(await next.whileEnding(CALL, async () => ok(true))).toEqual(ok(task('a')));
});

it('lets workers of one name that ask together share a lease, and those of others not', async () => {
  const { told, next } = given([task('a'), task('b'), task('c')]);
  const calls = [CALL, CALL, CALL, { ...CALL, workerId: 'other' }];
  const taken = await Promise.all(calls.map((call) => next.whileEnding(call, async () => ok(true))));
  expect(told.asked.toSorted()).toEqual([1, 3]);
  expect(taken.slice(0, 3)).toEqual([ok(task('a')), ok(task('b')), ok(task('c'))]);
});
