import { describe, expect, it } from 'vitest';
import { FIRING_TRIES_MAX } from '../../../src/application/fire-schedules.ts';
import type { Instant } from '../../../src/domain/kernel/brand.ts';
import type { Schedule } from '../../../src/domain/schedule/schedule.ts';
import { NAMESPACE, type TestServer, useCluster } from '../../support/engine.ts';
import { type Life, mortal, withTx } from '../../support/faults.ts';
import { violations } from '../../support/invariants.ts';
import { registerWorkflow } from '../../support/runs.ts';

const SECOND = 1_000;
/** What one firing does in its transaction, one after the other. */
const STEPS = [
  'claimSchedule',
  'lookUpRun',
  'createExecutions',
  'appendEvents',
  'recordScheduleRun',
  'updateSchedule',
] as const;

const life: Life = { isDead: false };
let isBroken = false;

describe('schedules on PostgreSQL', () => {
  const { at, cluster } = useCluster(
    {},
    {},
    {},
    { faults: (engine) => mortal(engine, life) },
    {
      faults: (engine) =>
        withTx(engine, () =>
          isBroken
            ? {
                createExecutions: async () => {
                  throw new Error('the disk is full');
                },
              }
            : {},
        ),
    },
  );

  /** A schedule of each second whose instants are all past, and none of them decided about. */
  const overdue = async (name: string, instants: number, given: Partial<Schedule> = {}): Promise<void> => {
    await registerWorkflow(at(0), {
      name,
      version: 1,
      tasks: [{ name: 'n', taskReferenceName: 'n', type: 'NOOP' }],
    });
    const now = Math.floor((await at(0).engine.now()) / SECOND) * SECOND;
    const endAt = (now - 20 * SECOND) as Instant;
    const startAt = (endAt - (instants - 1) * SECOND) as Instant;
    const schedule: Schedule = {
      name,
      crons: [{ expression: '* * * * * *', zone: 'UTC' }],
      startAt,
      endAt,
      overlap: 'ALLOW',
      catchUp: 'FIRE_ALL',
      jitterMs: 0,
      start: { name, input: {}, priority: 0 },
      dialect: 'conductor',
      ...given,
    };
    const put = await at(0).useCases.schedules.put(NAMESPACE, { schedule, by: 'test' });
    if (!put.ok) throw new Error(put.error.message);
    await cluster().observer.query('update schedules set next_at = $1, fire_at = $1 where name = $2', [
      new Date(startAt).toISOString(),
      name,
    ]);
  };
  const dueNow = (name: string) =>
    cluster().observer.query(
      'update schedules set fire_at = clock_timestamp() where name = $1 and fire_at is not null',
      [name],
    );
  const runsOf = async (name: string) => (await at(0).index.search(NAMESPACE, { name }, { limit: 1_000 })).length;
  const historyOf = async (name: string) => {
    const runs = await at(0).useCases.schedules.runs(NAMESPACE, name, 1_000);
    if (!runs.ok) throw new Error(runs.error.message);
    return runs.value.items;
  };
  const nextOf = async (name: string) => {
    const found = await at(0).useCases.schedules.get(NAMESPACE, name);
    return found.ok ? found.value.nextAt : 'gone';
  };
  const fireAll = async (servers: readonly TestServer[], name: string): Promise<void> => {
    while ((await nextOf(name)) !== undefined) {
      await Promise.all(servers.map((server) => server.runLoopOnce('fire-schedules')));
    }
  };
  const expectSound = async () => {
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  };

  it('fire each of 60 instants once when three servers race for them', async () => {
    await overdue('raced', 60);
    await fireAll([at(0), at(1), at(2)], 'raced');
    expect(await runsOf('raced')).toBe(60);
    const history = await historyOf('raced');
    expect(history.map(({ state }) => state)).toEqual(Array.from({ length: 60 }, () => 'STARTED'));
    expect(new Set(history.map(({ scheduledAt }) => scheduledAt)).size).toBe(60);
    await expectSound();
  });

  it.each(STEPS)('lose nothing and repeat nothing when the process dies after %s', async (step) => {
    const name = `killed_${step.toLowerCase()}`;
    await overdue(name, 2);
    life.diesAfter = step;
    await at(3).runLoopOnce('fire-schedules');
    expect(life.isDead).toBe(true);
    expect([await runsOf(name), await historyOf(name)]).toEqual([0, []]);
    delete life.diesAfter;
    life.isDead = false;
    await dueNow(name);
    await fireAll([at(0), at(3)], name);
    expect(await runsOf(name)).toBe(2);
    expect((await historyOf(name)).map(({ state }) => state)).toEqual(['STARTED', 'STARTED']);
    await expectSound();
  });

  it('start the run of an instant once, even where a schedule is put back to it', async () => {
    await overdue('put_back', 3);
    const due = await nextOf('put_back');
    await fireAll([at(0)], 'put_back');
    await cluster().observer.query('update schedules set next_at = $1, fire_at = $1 where name = $2', [
      new Date(due as Instant).toISOString(),
      'put_back',
    ]);
    await fireAll([at(1)], 'put_back');
    expect([await runsOf('put_back'), (await historyOf('put_back')).length]).toEqual([3, 3]);
  });

  it('go on without a firing that breaks each time, and keep no other from firing', async () => {
    await overdue('broken', 1);
    isBroken = true;
    for (let tries = 1; tries <= FIRING_TRIES_MAX; tries += 1) {
      await at(4).runLoopOnce('fire-schedules');
      await dueNow('broken');
    }
    expect((await historyOf('broken')).map(({ state, reason }) => [state, reason])).toEqual([
      ['FAILED', 'the disk is full'],
    ]);
    expect([await nextOf('broken'), await runsOf('broken')]).toEqual([undefined, 0]);
    await overdue('broken_once', 1);
    await at(4).runLoopOnce('fire-schedules');
    isBroken = false;
    await overdue('beside', 1);
    await fireAll([at(4)], 'beside');
    expect([await runsOf('beside'), await runsOf('broken_once')]).toEqual([1, 0]);
    await dueNow('broken_once');
    await fireAll([at(4)], 'broken_once');
    expect(await runsOf('broken_once')).toBe(1);
  });
});
