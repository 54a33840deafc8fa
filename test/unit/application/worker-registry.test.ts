import { describe, expect, it } from 'vitest';
import { createMemoryStores } from '../../../src/adapters/memory/stores.ts';
import { WORKER_NOTED_EVERY_MS, WorkerRegistry } from '../../../src/application/worker-registry.ts';
import type { Namespace } from '../../../src/domain/kernel/brand.ts';
import type { WorkerPoll, WorkerPollStore } from '../../../src/ports/worker-polls.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const HERE = 'here' as Namespace;

/** Two servers over one store, and what they write to it. */
const servers = () => {
  const clock = createFakeClock();
  const { workerPolls } = createMemoryStores({ clock });
  const written: (readonly WorkerPoll[])[] = [];
  const store: WorkerPollStore = {
    ...workerPolls,
    note: async (polls) => {
      written.push(polls);
      await workerPolls.note(polls);
    },
  };
  return { clock, written, one: new WorkerRegistry(clock, store), other: new WorkerRegistry(clock, store) };
};

describe('the workers that poll', () => {
  it('are known to their own server at once, and to the others once it has told the store', async () => {
    const { one, other } = servers();
    one.seen(HERE, 'pick', 'w1');
    expect(await one.served(HERE, ['pick', 'label'], 90_000)).toEqual(new Set(['pick']));
    expect(await other.served(HERE, ['pick'], 90_000)).toEqual(new Set());
    await one.flush();
    other.seen(HERE, 'label', 'w2');
    expect(await other.served(HERE, ['pick', 'label'], 90_000)).toEqual(new Set(['label', 'pick']));
    expect((await other.list(HERE)).map(({ workerId }) => workerId)).toEqual(['w1', 'w2']);
    expect(await other.list('elsewhere' as Namespace)).toEqual([]);
  });

  it('are listed once, by their latest poll', async () => {
    const { clock, one, other } = servers();
    one.seen(HERE, 'pick', 'w1');
    await one.flush();
    clock.advance(1_000);
    other.seen(HERE, 'pick', 'w1');
    expect(await other.list(HERE)).toEqual([{ queue: 'pick', workerId: 'w1', lastPollAt: clock.now() }]);
  });

  it('are written down rarely however often they poll, and not at all once they have stopped', async () => {
    const { clock, written, one } = servers();
    for (let poll = 0; poll < 100; poll += 1) {
      one.seen(HERE, 'pick', 'w1');
      await one.flush();
      clock.advance(WORKER_NOTED_EVERY_MS / 10);
    }
    expect(written.length).toBeLessThanOrEqual(11);
    clock.advance(WORKER_NOTED_EVERY_MS);
    await one.flush();
    const told = written.length;
    clock.advance(10 * WORKER_NOTED_EVERY_MS);
    await one.flush();
    expect(written.length).toBe(told);
    expect(await one.served(HERE, ['pick'], 90_000)).toEqual(new Set());
  });

  it('are told again when the store could not be reached', async () => {
    const clock = createFakeClock();
    const { workerPolls } = createMemoryStores({ clock });
    let isDown = true;
    const note: WorkerPollStore['note'] = async (polls) => {
      if (isDown) throw new Error('down');
      await workerPolls.note(polls);
    };
    const one = new WorkerRegistry(clock, { ...workerPolls, note });
    one.seen(HERE, 'pick', 'w1');
    await expect(one.flush()).rejects.toThrow('down');
    isDown = false;
    await one.flush();
    expect(await workerPolls.servedQueues(HERE, ['pick'], 1_000)).toEqual(new Set(['pick']));
  });
});
