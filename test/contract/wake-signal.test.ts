import { describe, expect, it } from 'vitest';
import { createMemoryStores } from '../../src/adapters/memory/stores.ts';
import type { ExecutionId } from '../../src/domain/kernel/brand.ts';
import { executionTopic, queueTopic, type WakeTopic } from '../../src/ports/wake-signal.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { ALPHA, BETA } from './given.ts';

/** Counts how often a topic woke its waiter. */
const listen = (topic: WakeTopic, wake = createMemoryStores({ clock: createFakeClock() }).wake) => {
  const heard = { count: 0, ended: false };
  const subscription = wake.on(topic).subscribe({
    next: () => {
      heard.count += 1;
    },
    complete: () => {
      heard.ended = true;
    },
  });
  return { wake, heard, subscription };
};

describe('the wake signal', () => {
  it('wakes every waiter of the topic for each publish', () => {
    const { wake, heard } = listen('evaluations');
    const other = listen('evaluations', wake);
    wake.publish(['evaluations']);
    wake.publish(['evaluations', 'timers']);
    expect([heard.count, other.heard.count]).toEqual([2, 2]);
  });

  it('wakes nobody on another topic, queue, namespace or run', () => {
    const { wake, heard } = listen(queueTopic(ALPHA, 'charge'));
    wake.publish([
      'outbox',
      queueTopic(ALPHA, 'refund'),
      queueTopic(BETA, 'charge'),
      executionTopic('x' as ExecutionId),
    ]);
    expect(heard.count).toBe(0);
  });

  it('wakes once for a topic that one publish names twice', () => {
    const { wake, heard } = listen('timers');
    wake.publish(['timers', 'timers']);
    expect(heard.count).toBe(1);
  });

  it('says nothing of what was published before the subscription', () => {
    const { wake } = listen('timers');
    wake.publish(['evaluations']);
    expect(listen('evaluations', wake).heard.count).toBe(0);
  });

  it('leaves a waiter in peace once it unsubscribed, and the others awake', () => {
    const { wake, heard, subscription } = listen('timers');
    const other = listen('timers', wake);
    subscription.unsubscribe();
    wake.publish(['timers']);
    expect([heard.count, other.heard.count]).toEqual([0, 1]);
  });

  it('ends its waiters when the stores close', async () => {
    const stores = createMemoryStores({ clock: createFakeClock() });
    const { heard } = listen('timers', stores.wake);
    await stores.close();
    expect(heard.ended).toBe(true);
  });
});
