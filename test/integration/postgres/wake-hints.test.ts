import type pg from 'pg';
import { firstValueFrom } from 'rxjs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { payloadsOf } from '../../../src/adapters/postgres/hint-payload.ts';
import { createWakeHints, type WakeHints } from '../../../src/adapters/postgres/wake-hints.ts';
import type { Namespace } from '../../../src/domain/kernel/brand.ts';
import { queueTopic, type WakeTopic } from '../../../src/ports/wake-signal.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { connect } from './sessions.ts';

const PACK = queueTopic('race' as Namespace, 'pack');
const SHIP = queueTopic('race' as Namespace, 'ship');

describe('wake hints', () => {
  let url: string;
  let drop: () => Promise<void>;
  let observer: pg.Client;
  const open: WakeHints[] = [];

  beforeAll(async () => {
    ({ url, drop } = await createTestDatabase());
    observer = await connect(url);
    await observer.query('listen rondo_wake');
  });
  afterEach(async () => {
    for (const hints of open.splice(0)) await hints.close();
  });
  afterAll(async () => {
    await observer.end();
    await drop();
  });

  const start = async (notify = true): Promise<WakeHints> => {
    const hints = createWakeHints({ url, notify });
    open.push(hints);
    await hints.whenListening();
    return hints;
  };
  const countOf = (hints: WakeHints, topic: WakeTopic): { woken: number } => {
    const seen = { woken: 0 };
    hints.on(topic).subscribe(() => {
      seen.woken += 1;
    });
    return seen;
  };

  it('wake waiters of the same process at once, by topic', async () => {
    const hints = await start();
    const [pack, ship] = [countOf(hints, PACK), countOf(hints, SHIP)];
    hints.publish([PACK]);
    expect([pack.woken, ship.woken]).toEqual([1, 0]);
  });

  it('wake waiters of other processes, by topic', async () => {
    const [one, two] = [await start(), await start()];
    const ship = countOf(two, SHIP);
    const woken = firstValueFrom(two.on(PACK));
    one.publish([PACK]);
    await woken;
    expect(ship.woken).toBe(0);
  });

  it('do not come back to the process that sent them', async () => {
    const [one, two] = [await start(), await start()];
    const mine = countOf(one, PACK);
    const woken = firstValueFrom(two.on(PACK));
    one.publish([PACK]);
    await woken;
    const answered = firstValueFrom(one.on(SHIP));
    two.publish([SHIP]);
    await answered;
    expect(mine.woken).toBe(1);
  });

  it('are coalesced: a thousand publications are a few notifications', async () => {
    const [one, two] = [await start(), await start()];
    let notifications = 0;
    observer.on('notification', () => {
      notifications += 1;
    });
    const woken = firstValueFrom(two.on(SHIP));
    for (let index = 0; index < 1_000; index += 1) one.publish([PACK]);
    one.publish([SHIP]);
    await woken;
    await observer.query('select 1');
    expect(notifications).toBeLessThan(5);
    observer.removeAllListeners('notification');
  });

  it('wake everybody after listening was interrupted, for hints of that time are lost', async () => {
    const hints = await start();
    const woken = firstValueFrom(hints.on(PACK));
    const { rows } = await observer.query<{ ended: boolean }>(
      `select pg_terminate_backend(pid) as ended from pg_stat_activity
        where application_name = 'rondo hints' and datname = current_database()`,
    );
    expect(rows).toEqual([{ ended: true }]);
    await woken;
    await hints.whenListening();
    const other = await start();
    const again = firstValueFrom(hints.on(SHIP));
    other.publish([SHIP]);
    await again;
  });

  it('stay in the process when they are switched off', async () => {
    const [silent, other] = [await start(false), await start()];
    const mine = countOf(silent, PACK);
    const theirs = countOf(other, PACK);
    silent.publish([PACK]);
    const heard = firstValueFrom(other.on(SHIP));
    (await start()).publish([SHIP]);
    await heard;
    expect([mine.woken, theirs.woken]).toEqual([1, 0]);
  });

  it('forget a topic with its last listener', async () => {
    const hints = await start(false);
    const subscriptions = [hints.on(PACK).subscribe(), hints.on(PACK).subscribe(), hints.on(SHIP).subscribe()];
    hints.publish([PACK, 'evaluations']);
    expect(hints.topicCount()).toBe(2);
    for (const subscription of subscriptions) subscription.unsubscribe();
    expect(hints.topicCount()).toBe(0);
  });

  it('of many topics fit the payloads of the server, and too many become one that wakes all', async () => {
    const topics = Array.from({ length: 400 }, (_, index) =>
      queueTopic('race' as Namespace, `queue-${index}-${'x'.repeat(60)}`),
    );
    const payloads = payloadsOf('me', topics);
    expect(payloads.length).toBeGreaterThan(1);
    for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
    expect(payloads.flatMap((payload) => JSON.parse(payload).topics)).toEqual(topics);
    const [one, two] = [await start(), await start()];
    const woken = firstValueFrom(two.on(PACK));
    one.publish(Array.from({ length: 2_000 }, (_, index) => queueTopic('race' as Namespace, `other-${index}`)));
    await woken;
  });
});
