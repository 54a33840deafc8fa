import { describe, expect, it } from 'vitest';
import { addMs, type Instant, type Namespace } from '../../src/domain/kernel/brand.ts';
import type { EngineTx } from '../../src/ports/engine-store.ts';
import type { NewScheduleRun, ScheduleRow } from '../../src/ports/schedule-store.ts';
import { ALPHA, BETA, ids, inTx, newExecution } from './given.ts';
import { harnesses, useHarness } from './harness.ts';

const row = (now: Instant, name: string, given: Partial<ScheduleRow> = {}): ScheduleRow => ({
  id: ids.executionId(),
  namespace: ALPHA,
  schedule: {
    name,
    description: `Runs ${name}.`,
    crons: [{ expression: '0 2 * * *', zone: 'Europe/Berlin' }],
    overlap: 'SKIP',
    catchUp: 'FIRE_ALL',
    jitterMs: 0,
    start: { name: 'order', version: 2, input: { full: true }, priority: 3 },
    dialect: 'v1',
  },
  paused: false,
  running: [],
  attempts: 0,
  createdAt: now,
  updatedAt: now,
  createdBy: 'key-1',
  updatedBy: 'key-1',
  ...given,
});

const runOf = (schedule: ScheduleRow, given: Partial<NewScheduleRun> = {}): NewScheduleRun => ({
  scheduleId: schedule.id,
  namespace: schedule.namespace,
  name: schedule.schedule.name,
  workflowName: 'order',
  state: 'STARTED',
  manual: false,
  scheduledAt: schedule.createdAt,
  executionId: ids.executionId(),
  ...given,
});

describe.each(harnesses)('schedules over $name', (harness) => {
  const open = useHarness(harness);
  const tx = <T>(work: (tx: EngineTx) => Promise<T>) => inTx(open().engine, work);
  const insert = async (name: string, given: Partial<ScheduleRow> = {}): Promise<ScheduleRow> => {
    const made = row(await open().engine.now(), name, given);
    expect(await tx((t) => t.insertSchedule(made))).toBe('created');
    return made;
  };
  const names = (rows: readonly ScheduleRow[]) => rows.map(({ schedule }) => schedule.name);

  it('are kept with all they have, and changed under their lock', async () => {
    const now = await open().engine.now();
    const at = { nextAt: addMs(now, 1_000), fireAt: addMs(now, 2_000), catchUpUntil: addMs(now, 1) };
    const whole = { ...at, paused: true, pausedReason: 'holidays', running: [ids.executionId(), ids.executionId()] };
    const made = await insert('nightly', { ...whole, attempts: 2 });
    expect(await open().schedules.findSchedule(ALPHA, 'nightly')).toEqual(made);
    const { pausedReason: _reason, catchUpUntil: _until, ...rest } = made;
    const changed = { ...rest, paused: false, running: [], attempts: 0, updatedBy: 'key-2', updatedAt: addMs(now, 5) };
    await tx(async (t) => {
      expect(await t.lockSchedule(ALPHA, 'nightly')).toEqual(made);
      await t.updateSchedule(changed);
    });
    expect(await tx((t) => t.lockSchedule(ALPHA, 'nightly'))).toEqual(changed);
    expect(await tx((t) => t.insertSchedule(row(now, 'nightly')))).toBe('exists');
  });

  it('belong to their namespace', async () => {
    await insert('nightly');
    const other = await insert('nightly', { namespace: BETA });
    await tx((t) => t.recordScheduleRun(runOf(other), 10));
    expect(await open().schedules.listScheduleRuns(ALPHA, undefined, { limit: 10 })).toEqual([]);
    expect(await open().schedules.listScheduleRuns(ALPHA, 'nightly', { limit: 10 })).toEqual([]);
    expect(await tx((t) => t.deleteSchedule(ALPHA, 'nightly'))).toBe(true);
    expect(await tx((t) => t.deleteSchedule(ALPHA, 'nightly'))).toBe(false);
    expect(await open().schedules.findSchedule(ALPHA, 'nightly')).toBeUndefined();
    expect(await open().schedules.findSchedule(BETA, 'nightly')).toEqual(other);
    expect(await tx((t) => t.lockSchedule('gamma' as Namespace, 'nightly'))).toBeUndefined();
  });

  it('are listed by name, page by page and by what is asked', async () => {
    for (const name of ['b', 'a', 'c']) await insert(name, { paused: name === 'b' });
    const list = open().schedules.listSchedules;
    expect(names(await list(ALPHA, {}, { limit: 2 }))).toEqual(['a', 'b']);
    expect(names(await list(ALPHA, {}, { limit: 2, after: 'b' }))).toEqual(['c']);
    expect(names(await list(ALPHA, { paused: true }, { limit: 9 }))).toEqual(['b']);
    expect(names(await list(ALPHA, { text: 'RUNS C' }, { limit: 9 }))).toEqual(['c']);
    expect(names(await list(ALPHA, { text: '%' }, { limit: 9 }))).toEqual([]);
    expect(names(await list(ALPHA, { workflowName: 'order' }, { limit: 9 }))).toEqual(['a', 'b', 'c']);
    expect(names(await list(ALPHA, { workflowName: 'bill' }, { limit: 9 }))).toEqual([]);
    expect(names(await list(BETA, {}, { limit: 9 }))).toEqual([]);
  });

  it('are claimed when they are due, the one that has waited longest first, and never while paused', async () => {
    expect(await open().schedules.nextScheduleInMs()).toBeUndefined();
    expect(await tx((t) => t.claimSchedule())).toBeUndefined();
    const now = await open().engine.now();
    await insert('later', { nextAt: now, fireAt: addMs(now, 60_000) });
    await insert('paused', { nextAt: now, fireAt: now, paused: true });
    await insert('ended');
    const inMs = await open().schedules.nextScheduleInMs();
    expect(inMs).toBeGreaterThan(50_000);
    expect(inMs).toBeLessThanOrEqual(60_000);
    expect(await tx((t) => t.claimSchedule())).toBeUndefined();
    await insert('late', { nextAt: now, fireAt: addMs(now, -1_000) });
    await insert('latest', { nextAt: now, fireAt: addMs(now, -5_000) });
    expect(await open().schedules.nextScheduleInMs()).toBe(0);
    const claimed = await tx((t) => t.claimSchedule());
    expect(claimed?.row.schedule.name).toBe('latest');
    expect(claimed?.now).toBeGreaterThanOrEqual(now);
  });

  it('count against the quota of their namespace', async () => {
    await open().access.putQuotas(ALPHA, { maxSchedules: 1 });
    await insert('first');
    const second = row(await open().engine.now(), 'second');
    expect(await tx((t) => t.insertSchedule(second))).toEqual({ quota: 'maxSchedules', limit: 1, current: 1 });
    await insert('elsewhere', { namespace: BETA });
    await tx((t) => t.deleteSchedule(ALPHA, 'first'));
    expect(await tx((t) => t.insertSchedule(second))).toBe('created');
  });

  it('keep the newest of their history, each firing once', async () => {
    const made = await insert('nightly');
    const other = await insert('other');
    const first = runOf(made);
    const record = (run: NewScheduleRun) => tx((t) => t.recordScheduleRun(run, 2));
    await record(first);
    await record(first);
    await record(runOf(other, { state: 'FAILED', reason: 'NOT_FOUND: none' }));
    const list = open().schedules.listScheduleRuns;
    expect(await list(ALPHA, 'nightly', { limit: 9 })).toMatchObject([first]);
    const [second, third] = [runOf(made, { manual: true }), runOf(made, { state: 'MISSED', reason: 'two' })];
    await record(second);
    await record(third);
    const newest = await list(ALPHA, 'nightly', { limit: 9 });
    expect(newest).toMatchObject([third, second]);
    expect(await list(ALPHA, 'nightly', { limit: 9, before: newest[0]?.id ?? '' })).toMatchObject([second]);
    expect(await list(ALPHA, undefined, { limit: 9 })).toMatchObject([
      third,
      second,
      { name: 'other', state: 'FAILED' },
    ]);
    await tx((t) => t.deleteSchedule(ALPHA, 'nightly'));
    expect(await list(ALPHA, undefined, { limit: 9 })).toMatchObject([{ name: 'other' }]);
  });

  it('know which of their runs are going', async () => {
    const now = await open().engine.now();
    const going = newExecution(now);
    await tx((t) => t.createExecutions([going]));
    expect(await tx((t) => t.openRuns([ids.executionId(), going.executionId]))).toEqual([going.executionId]);
    expect(await tx((t) => t.openRuns([]))).toEqual([]);
  });

  it('are as they were after a transaction that rolls back', async () => {
    const made = await insert('nightly');
    const failing = tx(async (t) => {
      await t.updateSchedule({ ...made, attempts: 4 });
      await t.recordScheduleRun(runOf(made), 10);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await open().schedules.findSchedule(ALPHA, 'nightly')).toEqual(made);
    expect(await open().schedules.listScheduleRuns(ALPHA, undefined, { limit: 9 })).toEqual([]);
  });
});
