import { describe, expect, it } from 'vitest';
import type { Instant, Namespace } from '../../../src/domain/kernel/brand.ts';
import { formatInstant } from '../../../src/domain/kernel/time.ts';
import type { Schedule } from '../../../src/domain/schedule/schedule.ts';
import { openSimulatedEngine } from '../../../src/testing/simulated-engine.ts';
import { createVirtualClock, SIMULATION_START } from '../../../src/testing/virtual-clock.ts';
import { memoryEngine } from '../../support/memory-engine.ts';

const NS = 'default' as Namespace;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const scheduleOf = (name: string, given: Partial<Schedule> = {}): Schedule => ({
  name,
  crons: [{ expression: '0 * * * *', zone: 'UTC' }],
  overlap: 'ALLOW',
  catchUp: 'SKIP',
  jitterMs: 0,
  start: { name: 'order', input: {}, priority: 0 },
  dialect: 'v1',
  ...given,
});

const accepted = <T>(
  result: Readonly<{ ok: true; value: T }> | Readonly<{ ok: false; error: { message: string } }>,
): T => {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
};

/** An engine with the workflow `order`, which waits, and `instant`, which does not. */
const open = async () => {
  const engine = memoryEngine();
  const schedules = engine.useCases.schedules;
  const task = (type: string) => ({ name: 't', taskReferenceName: 't', type });
  await engine.register({ name: 'order', version: 1, tasks: [task('WAIT')] });
  await engine.register({ name: 'instant', version: 1, tasks: [task('NOOP')] });
  const now = await engine.engine.now();
  // To the hour: what is due next is an hour away.
  await engine.advance(HOUR - (now % HOUR));
  return {
    ...engine,
    put: async (schedule: Schedule, rest: object = {}) =>
      accepted(await schedules.put(NS, { schedule, by: 'key-1', ...rest })),
    pass: async (ms: number) => {
      engine.advance(ms);
      await engine.runLoopOnce('fire-schedules');
    },
    states: async (name: string) =>
      accepted(await schedules.runs(NS, name, 100))
        .items.map(({ state }) => state)
        .reverse(),
    runs: async (name: string) => accepted(await schedules.runs(NS, name, 100)).items,
    schedules,
  };
};

describe('a schedule', () => {
  it('starts its workflow at each of its instants, with the facts that its input asks for', async () => {
    const engine = await open();
    await engine.put(
      scheduleOf('hourly', {
        start: {
          name: 'instant',
          priority: 7,
          correlationId: 'c-1',
          input: { at: '${schedule.scheduledAt}', by: 'from ${schedule.name}', manual: '${schedule.manual}', n: 1 },
        },
      }),
    );
    for (let hour = 0; hour < 3; hour += 1) await engine.pass(HOUR);
    const runs = await engine.runs('hourly');
    expect(runs).toHaveLength(3);
    const [newest] = runs;
    const run = await engine.get(newest?.executionId as never);
    expect(run.view).toMatchObject({
      name: 'instant',
      status: 'COMPLETED',
      correlationId: 'c-1',
      priority: 7,
      input: { at: formatInstant(newest?.scheduledAt as Instant), by: 'from hourly', manual: false, n: 1 },
    });
    expect((newest?.scheduledAt ?? 0) % HOUR).toBe(0);
  });

  it('of Conductor has the facts added to the input of its runs, which is not evaluated', async () => {
    const engine = await open();
    const start = { name: 'instant', priority: 0, input: { kept: '${schedule.name}' } };
    await engine.put(scheduleOf('hourly', { dialect: 'conductor', start }));
    await engine.pass(HOUR);
    const [run] = await engine.runs('hourly');
    const { view } = await engine.get(run?.executionId as never);
    expect(view.input).toEqual({
      kept: '${schedule.name}',
      _startedByScheduler: 'hourly',
      _scheduledTime: run?.scheduledAt,
      _executedTime: run?.recordedAt,
      _executionId: run?.executionId,
      _schedulerCron: '0 * * * *',
    });
  });

  it('skips a firing while a run of its own is going, and says which', async () => {
    const engine = await open();
    await engine.put(scheduleOf('hourly', { overlap: 'SKIP' }));
    await engine.pass(HOUR);
    await engine.pass(HOUR);
    expect(await engine.states('hourly')).toEqual(['STARTED', 'SKIPPED']);
    const [skipped, started] = await engine.runs('hourly');
    expect(skipped?.reason).toContain(started?.executionId);
    await engine.useCases.executions.terminate(NS, started?.executionId as never, 'test');
    await engine.pass(HOUR);
    expect(await engine.states('hourly')).toEqual(['STARTED', 'SKIPPED', 'STARTED']);
  });

  it('skips while any run of its own is going, not the last alone', async () => {
    const engine = await open();
    await engine.put(scheduleOf('hourly', { overlap: 'SKIP' }));
    const first = accepted(await engine.schedules.fire(NS, 'hourly'));
    const second = accepted(await engine.schedules.fire(NS, 'hourly'));
    await engine.useCases.executions.terminate(NS, second.executionId, 'test');
    await engine.pass(HOUR);
    expect((await engine.runs('hourly'))[0]).toMatchObject({ state: 'SKIPPED' });
    await engine.useCases.executions.terminate(NS, first.executionId, 'test');
    await engine.pass(HOUR);
    expect((await engine.runs('hourly'))[0]).toMatchObject({ state: 'STARTED' });
  });

  it('still knows of a long run when its history is full of what was skipped', async () => {
    const engine = await open();
    await engine.put(scheduleOf('often', { overlap: 'SKIP', crons: [{ expression: '* * * * *', zone: 'UTC' }] }));
    for (let minute = 0; minute < 130; minute += 1) await engine.pass(MINUTE);
    expect(new Set(await engine.states('often'))).toEqual(new Set(['SKIPPED']));
    expect(await engine.states('often')).toHaveLength(100);
  });

  it('records a start that is refused and goes on', async () => {
    const engine = await open();
    await engine.put(scheduleOf('hourly', { start: { name: 'later', input: {}, priority: 0 } }));
    await engine.pass(HOUR);
    await engine.register({ name: 'later', version: 1, tasks: [{ name: 't', taskReferenceName: 't', type: 'NOOP' }] });
    await engine.pass(HOUR);
    expect(await engine.states('hourly')).toEqual(['FAILED', 'STARTED']);
    expect((await engine.runs('hourly'))[1]?.reason).toBe('NOT_FOUND: There is no workflow definition later.');
  });

  it('makes up for what was missed as it is told, or says that it does not', async () => {
    const engine = await open();
    for (const catchUp of ['SKIP', 'FIRE_ONE', 'FIRE_ALL'] as const) await engine.put(scheduleOf(catchUp, { catchUp }));
    await engine.pass(5 * HOUR + MINUTE);
    expect(await engine.states('SKIP')).toEqual(['MISSED']);
    expect((await engine.runs('SKIP'))[0]?.reason).toMatch(/^5 firings were missed from .+ to .+\.$/);
    expect(await engine.states('FIRE_ONE')).toEqual(['MISSED', 'STARTED']);
    expect(await engine.states('FIRE_ALL')).toEqual(['STARTED', 'STARTED', 'STARTED', 'STARTED', 'STARTED']);
  });

  it('passes over what comes while it is paused, and goes on from now', async () => {
    const engine = await open();
    await engine.put(scheduleOf('hourly', { catchUp: 'FIRE_ALL' }));
    expect(accepted(await engine.schedules.pause(NS, 'hourly', 'key-2', 'holidays'))).toMatchObject({
      paused: true,
      pausedReason: 'holidays',
      updatedBy: 'key-2',
    });
    await engine.pass(5 * HOUR);
    expect(await engine.states('hourly')).toEqual([]);
    const resumed = accepted(await engine.schedules.resume(NS, 'hourly', 'key-3'));
    expect(resumed.pausedReason).toBeUndefined();
    await engine.pass(HOUR);
    expect(await engine.states('hourly')).toEqual(['STARTED']);
  });

  it('fires by hand beside its times, whatever the overlap, and tells of a refusal', async () => {
    const engine = await open();
    await engine.put(scheduleOf('hourly', { overlap: 'SKIP' }));
    const { nextAt } = accepted(await engine.schedules.get(NS, 'hourly'));
    const first = accepted(await engine.schedules.fire(NS, 'hourly'));
    accepted(await engine.schedules.fire(NS, 'hourly'));
    expect((await engine.get(first.executionId)).view.status).toBe('RUNNING');
    expect(await engine.runs('hourly')).toMatchObject([{ manual: true }, { manual: true }]);
    expect(accepted(await engine.schedules.get(NS, 'hourly')).nextAt).toBe(nextAt);
    await engine.pass(HOUR);
    expect(await engine.states('hourly')).toEqual(['STARTED', 'STARTED', 'SKIPPED']);
    await engine.put(scheduleOf('lost', { start: { name: 'nothing', input: {}, priority: 0 } }));
    expect(await engine.schedules.fire(NS, 'lost')).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
    expect(await engine.states('lost')).toEqual(['FAILED']);
    expect(await engine.schedules.fire(NS, 'nobody')).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
  });

  it('ends with its window', async () => {
    const engine = await open();
    const now = await engine.engine.now();
    const window = { startAt: (now + HOUR) as Instant, endAt: (now + 2 * HOUR) as Instant };
    await engine.put(scheduleOf('hourly', window));
    for (let hour = 0; hour < 4; hour += 1) await engine.pass(HOUR);
    expect((await engine.runs('hourly')).map(({ scheduledAt }) => scheduledAt)).toEqual([window.endAt, window.startAt]);
    expect(accepted(await engine.schedules.get(NS, 'hourly')).nextAt).toBeUndefined();
  });

  it('that is put again as it is changes nothing, and loses nothing that is due', async () => {
    const engine = await open();
    const schedule = scheduleOf('hourly', { catchUp: 'FIRE_ALL' });
    expect(await engine.put(schedule)).toMatchObject({ outcome: 'created' });
    engine.advance(3 * HOUR);
    expect(await engine.put(schedule)).toMatchObject({ outcome: 'unchanged' });
    expect(await engine.put({ ...schedule, description: 'of all orders' })).toMatchObject({ outcome: 'replaced' });
    await engine.pass(0);
    expect(await engine.states('hourly')).toEqual(['STARTED', 'STARTED', 'STARTED']);
    engine.advance(3 * HOUR);
    await engine.put({ ...schedule, crons: [{ expression: '30 * * * *', zone: 'UTC' }] });
    await engine.pass(HOUR);
    expect(await engine.states('hourly')).toHaveLength(4);
  });

  it('counts against the quota of its namespace', async () => {
    const engine = await open();
    await engine.useCases.access.putQuotas(NS, { maxSchedules: 1 });
    await engine.put(scheduleOf('first'));
    const refused = await engine.schedules.put(NS, { schedule: scheduleOf('second'), by: 'key-1' });
    expect(refused).toMatchObject({
      ok: false,
      error: { code: 'LIMIT_EXCEEDED', details: { quota: 'maxSchedules', limit: 1, current: 1 } },
    });
    expect(await engine.put(scheduleOf('first', { description: 'changed' }))).toMatchObject({ outcome: 'replaced' });
  });
});

describe('a year of firings', () => {
  it.each(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'])(
    'over both changes of the clocks in %s has one run a day',
    async (zone) => {
      const clock = createVirtualClock();
      const engine = await openSimulatedEngine(clock, (tasks) => tasks);
      const task = { name: 't', taskReferenceName: 't', type: 'NOOP' };
      await engine.useCases.definitions.registerWorkflow(
        NS,
        { name: 'instant', version: 1, tasks: [task] },
        'v1',
        false,
      );
      const crons = [{ expression: '15 2 * * *', zone }];
      const start = { name: 'instant', input: { at: '${schedule.scheduledAt}' }, priority: 0 };
      await engine.useCases.schedules.put(NS, { schedule: scheduleOf('daily', { crons, start }), by: 'test' });
      const dayOf = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
      const days: string[] = [];
      while (days.length < 365) {
        const next = accepted(await engine.useCases.schedules.get(NS, 'daily')).nextAt;
        if (next === undefined) throw new Error('it ended');
        clock.advanceTo(next);
        await engine.turn();
        days.push(dayOf.format(next));
      }
      const history = accepted(await engine.useCases.schedules.runs(NS, 'daily', 365)).items;
      expect(history).toHaveLength(100);
      expect(history.every(({ state }) => state === 'STARTED')).toBe(true);
      const found = await engine.index.search(NS, { name: 'instant' }, { limit: 1_000 });
      expect(found).toHaveLength(365);
      const first = Date.parse(`${days[0]}T00:00:00Z`);
      expect(first).toBeLessThan(SIMULATION_START + 48 * HOUR);
      expect(days).toEqual(
        Array.from({ length: 365 }, (_, index) => new Date(first + index * 24 * HOUR).toISOString().slice(0, 10)),
      );
      await engine.close();
    },
  );
});
