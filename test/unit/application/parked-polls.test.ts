import { expect, it } from 'vitest';
import { type ParkedPoll, ParkedPolls } from '../../../src/application/parked-polls.ts';
import type { LeaseCall } from '../../../src/application/use-cases.ts';
import type { Namespace } from '../../../src/domain/kernel/brand.ts';
import type { LeasedTask } from '../../../src/ports/engine-store.ts';

const DEFAULT = 'default' as Namespace;

const call = (overrides: Partial<LeaseCall> = {}): LeaseCall => ({
  namespace: DEFAULT,
  queues: ['charge'],
  workerId: 'worker-1',
  count: 1,
  waitMs: 1_000,
  signal: new AbortController().signal,
  ...overrides,
});

const task = (name: string) => ({ taskName: name }) as LeasedTask;

it('offers a task to a poll that waits for its queue, as often as the poll has room', () => {
  const polls = new ParkedPolls();
  const poll = polls.enter(call({ count: 2, queues: ['charge', 'ship'] }));
  expect(polls.offer(DEFAULT, 'other')).toBeUndefined();
  expect(polls.offer('foreign' as Namespace, 'charge')).toBeUndefined();
  expect(polls.offer(DEFAULT, 'charge')).toBe(poll);
  expect(polls.offer(DEFAULT, 'ship')).toBe(poll);
  expect(polls.offer(DEFAULT, 'charge')).toBeUndefined();
  poll.withdraw();
  expect(polls.offer(DEFAULT, 'charge')).toBe(poll);
});

it('spreads tasks over all who wait', () => {
  const polls = new ParkedPolls();
  const parked = [polls.enter(call({ count: 9 })), polls.enter(call({ count: 9 })), polls.enter(call({ count: 9 }))];
  const offered = Array.from({ length: 6 }, () => polls.offer(DEFAULT, 'charge') as ParkedPoll);
  expect(offered).toEqual([...parked, ...parked]);
});

it('hands over what was leased once nothing is in the air any more', async () => {
  const polls = new ParkedPolls();
  const poll = polls.enter(call({ count: 3 }));
  let handed = 0;
  poll.handed.subscribe(() => {
    handed += 1;
  });
  for (let index = 0; index < 3; index += 1) polls.offer(DEFAULT, 'charge');
  poll.handOver(task('first'));
  poll.withdraw();
  expect(handed).toBe(0);
  const left = polls.leave(poll);
  poll.handOver(task('second'));
  expect(handed).toBe(1);
  expect((await left).map(({ taskName }) => taskName)).toEqual(['first', 'second']);
});

it('keeps a poll that nothing was handed to waiting', () => {
  const polls = new ParkedPolls();
  const poll = polls.enter(call());
  let handed = 0;
  poll.handed.subscribe(() => {
    handed += 1;
  });
  polls.offer(DEFAULT, 'charge');
  poll.withdraw();
  expect(handed).toBe(0);
  expect(polls.waitedFor()).toMatchObject([{ namespace: DEFAULT, queue: 'charge' }]);
});

it('offers nothing to a poll that left, and waits for no queue that nobody polls', async () => {
  const polls = new ParkedPolls();
  const poll = polls.enter(call());
  const other = polls.enter(call({ queues: ['charge', 'ship'] }));
  expect(polls.size).toBe(2);
  expect(await polls.leave(poll)).toEqual([]);
  expect(polls.offer(DEFAULT, 'charge')).toBe(other);
  other.withdraw();
  await polls.leave(other);
  expect([polls.size, polls.waitedFor()]).toEqual([0, []]);
});
