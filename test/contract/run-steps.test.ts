import { describe, expect, it } from 'vitest';
import type { TaskClosed } from '../../src/domain/execution/events.ts';
import { addMs, type ExecutionId, type Instant } from '../../src/domain/kernel/brand.ts';
import type { EnqueueTask, LeasedTask, RunStep } from '../../src/ports/engine-store.ts';
import { taskDefinition } from './definitions.ts';
import {
  ALPHA,
  BETA,
  claimAll,
  closeOf,
  eventsOf,
  givenExecution,
  givenLeasedTask,
  givenScheduledEvent,
  givenTask,
  ids,
  inTx,
  lease,
  messageOf,
  newTask,
  openTask,
  outcomesOf,
  owed,
  reportOf,
  settle,
  timerOf,
} from './given.ts';
import { engineHarnesses, type OpenHarness, useHarness } from './harness.ts';

const closedEvent = ({ ref, iteration, attempt }: LeasedTask, at: Instant): TaskClosed => ({
  type: 'TaskClosed',
  at,
  ref,
  iteration,
  attempt,
  status: 'COMPLETED',
  output: { receipt: 'r-1' },
  disposition: { kind: 'advance' },
});

/** A run whose log has one event, with its one task leased. */
const givenStep = async (harness: OpenHarness, overrides: Parameters<typeof givenLeasedTask>[1] = {}) => {
  const held = await givenLeasedTask(harness, { seq: 1, ...overrides });
  await givenScheduledEvent(harness, held);
  return held;
};

/** The step that a report of the task makes: it closes its attempt and opens a successor. */
const stepOf = (held: LeasedTask, overrides: Partial<RunStep> = {}): RunStep => ({
  executionId: held.executionId,
  namespace: held.namespace,
  reports: [reportOf(held)],
  events: [{ seq: 2, event: closedEvent(held, held.startedAt) }],
  closed: [closeOf(asOpened(held), held.startedAt)],
  opened: [{ task: successor(held) }],
  armed: [],
  disarmed: [],
  endsWork: false,
  messages: [],
  ...overrides,
});

const asOpened = (held: LeasedTask): EnqueueTask => ({
  ...newTask(held.executionId, held.scheduledAt, 1),
  taskId: held.taskId,
  ref: held.ref,
});

const successor = (held: LeasedTask, overrides: Partial<EnqueueTask> = {}): EnqueueTask =>
  newTask(held.executionId, held.scheduledAt, 3, { ref: 'next', queue: 'ship', taskName: 'ship', ...overrides });

const isStepped = async ({ engine }: OpenHarness, step: RunStep): Promise<boolean> =>
  (await engine.stepRuns([step])).stepped.has(step.executionId);

/** What a step that was left alone must not have touched. */
const expectUntouched = async (harness: OpenHarness, held: LeasedTask): Promise<void> => {
  expect(await eventsOf(harness, held.executionId)).toHaveLength(1);
  expect(await harness.closedTasks(held.executionId)).toEqual([]);
  expect((await openTask(harness, held.executionId))?.taskId).toBe(held.taskId);
  expect(await settle(harness, reportOf(held), held.namespace)).toBe('settled');
};

describe.each(engineHarnesses)('a step of a run over $name', (harness) => {
  const open = useHarness(harness);

  it('closes what was reported, opens what follows and appends the facts, without asking for a pass', async () => {
    const held = await givenStep(open());
    expect(await isStepped(open(), stepOf(held))).toBe(true);
    expect((await eventsOf(open(), held.executionId)).map(({ event }) => event.type)).toEqual([
      'TaskScheduled',
      'TaskClosed',
    ]);
    expect(await open().closedTasks(held.executionId)).toMatchObject([
      { ref: held.ref, iteration: 0, attempt: 1, status: 'COMPLETED' },
    ]);
    expect(await openTask(open(), held.executionId)).toMatchObject({ ref: 'next', leased: false });
    expect(await claimAll(open())).toEqual([]);
    expect((await lease(open(), { queues: ['ship'] })).map(({ ref }) => ref)).toEqual(['next']);
  });

  it('leases what it opens on the way, as a lease would', async () => {
    const held = await givenStep(open());
    const leaseToken = ids.leaseToken();
    const opened = [{ task: successor(held), lease: { leaseToken, workerId: 'worker-2', leaseMs: 5_000 } }];
    const { leased, now } = await open().engine.stepRuns([stepOf(held, { opened })]);
    const [task, ...others] = leased;
    expect(others).toEqual([]);
    if (task === undefined || now === undefined) throw new Error('expected a leased task');
    expect(task).toMatchObject({ leaseToken, workerId: 'worker-2', ref: 'next', attempt: 1, input: { amount: 12.5 } });
    expect(task.leaseExpiresAt - task.startedAt).toBeGreaterThanOrEqual(4_999);
    expect(task.leaseExpiresAt - task.startedAt).toBeLessThanOrEqual(5_001);
    expect(await lease(open(), { queues: ['ship'] })).toEqual([]);
    expect(await settle(open(), reportOf(task))).toBe('settled');
  });

  it('leases nothing of a name with a limit on the way', async () => {
    const held = await givenStep(open());
    await open().definitions.putTask(ALPHA, taskDefinition('ship', { concurrentExecLimit: 1 }));
    const opened = [{ task: successor(held), lease: { leaseToken: ids.leaseToken(), workerId: 'worker-2' } }];
    const { leased, stepped } = await open().engine.stepRuns([stepOf(held, { opened })]);
    expect([...stepped]).toEqual([held.executionId]);
    expect(leased).toEqual([]);
    expect(await lease(open(), { queues: ['ship'] })).toHaveLength(1);
  });

  it('knows the report again that it was made of', async () => {
    const held = await givenStep(open());
    const report = reportOf(held, { output: { nested: { list: [1, 2.5, null] } }, reason: 'fine' });
    expect(await isStepped(open(), stepOf(held, { reports: [report] }))).toBe(true);
    expect(await settle(open(), structuredClone(report))).toBe('repeated');
    expect(await settle(open(), { ...report, reason: 'other' })).toBe('leaseLost');
  });

  it('is left alone when the token is another one', async () => {
    const held = await givenStep(open());
    const reports = [reportOf({ ...held, leaseToken: ids.leaseToken() })];
    expect(await isStepped(open(), stepOf(held, { reports }))).toBe(false);
    await expectUntouched(open(), held);
  });

  it('is left alone when something else has ended the attempt, which stays ended', async () => {
    const held = await givenStep(open());
    expect(await settle(open(), reportOf(held, { status: 'FAILED' }))).toBe('settled');
    expect(await isStepped(open(), stepOf(held))).toBe(false);
    expect((await outcomesOf(open(), held.executionId)).map(({ status }) => status)).toEqual(['FAILED']);
  });

  it('is left alone when one of its reports does not hold, though another does', async () => {
    const held = await givenStep(open());
    await givenTask(open(), held.executionId, { seq: 2, ref: 'other', queue: 'other' });
    const [other] = await lease(open(), { queues: ['other'] });
    if (other === undefined) throw new Error('expected a second task');
    const reports = [reportOf(held), reportOf({ ...other, leaseToken: ids.leaseToken() })];
    const closed = [closeOf(asOpened(held), held.startedAt), closeOf({ ...asOpened(other) }, held.startedAt)];
    expect(await isStepped(open(), stepOf(held, { reports, closed }))).toBe(false);
    expect(await settle(open(), reportOf(held))).toBe('settled');
    expect(await settle(open(), reportOf(other))).toBe('settled');
  });

  it('is left alone in another namespace', async () => {
    const held = await givenStep(open());
    expect(await isStepped(open(), { ...stepOf(held), namespace: BETA })).toBe(false);
    await expectUntouched(open(), held);
  });

  it.each(['PAUSED', 'TERMINATED'] as const)('is left alone when the run is %s', async (status) => {
    const held = await givenStep(open());
    const at = held.startedAt;
    const projection = { type: 'ProjectExecution', status, at } as const;
    await inTx(open().engine, (tx) => tx.projectExecutions([owed(held.executionId, projection)]));
    expect(await isStepped(open(), stepOf(held))).toBe(false);
    await expectUntouched(open(), held);
  });

  it('is left alone when the log went on without it', async () => {
    const held = await givenStep(open());
    const late = stepOf(held, { events: [{ seq: 1, event: closedEvent(held, held.startedAt) }] });
    expect(await isStepped(open(), late)).toBe(false);
    await expectUntouched(open(), held);
  });

  it('is left alone when what it opens was open before, or was closed', async () => {
    const held = await givenStep(open());
    const again = successor(held, { ref: 'was-open' });
    await inTx(open().engine, (tx) => tx.enqueueTasks([owed(held.executionId, { ...again })]));
    expect(await isStepped(open(), stepOf(held, { opened: [{ task: { ...again, ...atSeq(held, 9) } }] }))).toBe(false);
    await inTx(open().engine, (tx) => tx.closeTasks([owed(held.executionId, closeOf(again, held.startedAt))]));
    expect(await isStepped(open(), stepOf(held, { opened: [{ task: { ...again, ...atSeq(held, 9) } }] }))).toBe(false);
    expect(await eventsOf(open(), held.executionId)).toHaveLength(1);
    expect(await settle(open(), reportOf(held))).toBe('settled');
  });

  it('takes the other runs of a call along when one is left alone', async () => {
    const held = await givenStep(open());
    const other = await givenStep(open());
    const broken = stepOf(other, { reports: [reportOf({ ...other, leaseToken: ids.leaseToken() })] });
    const { stepped } = await open().engine.stepRuns([broken, stepOf(held)]);
    expect([...stepped]).toEqual([held.executionId]);
    await expectUntouched(open(), other);
  });

  it('ends a run and clears its timers', async () => {
    const held = await givenStep(open());
    const { executionId, startedAt: at } = held;
    await givenTimer(open(), executionId, addMs(at, -1));
    const projection = { type: 'ProjectExecution', status: 'COMPLETED', at, output: { done: true } } as const;
    expect(await isStepped(open(), stepOf(held, { opened: [], endsWork: true, projection }))).toBe(true);
    expect(await openTask(open(), executionId)).toBeUndefined();
    expect(await open().index.find(ALPHA, executionId)).toMatchObject({ status: 'COMPLETED', output: { done: true } });
    expect((await inTx(open().engine, (tx) => tx.fireTimers(10))).underLock).toEqual([]);
  });

  it('clears the timers of a run that turns back, and arms those of what it opens then', async () => {
    const held = await givenStep(open());
    const { executionId, startedAt: at } = held;
    await givenTimer(open(), executionId, addMs(at, -1));
    const next = successor(held);
    const armed = [timerOf(next, 'SCHEDULE_TO_CLOSE', addMs(at, -1))];
    expect(await isStepped(open(), stepOf(held, { opened: [{ task: next }], armed, endsWork: true }))).toBe(true);
    const fired = await inTx(open().engine, (tx) => tx.fireTimers(10));
    expect([fired.evaluated, fired.underLock]).toEqual([[executionId], []]);
    expect((await outcomesOf(open(), executionId)).map(({ ref }) => ref)).toEqual(['next']);
  });

  it('does not end a run that has other open attempts, whose reports may have been accepted', async () => {
    const held = await givenStep(open());
    await givenTask(open(), held.executionId, { seq: 2, ref: 'other', queue: 'other' });
    const projection = { type: 'ProjectExecution', status: 'FAILED', at: held.startedAt } as const;
    expect(await isStepped(open(), stepOf(held, { opened: [], endsWork: true, projection }))).toBe(false);
    expect(await settle(open(), reportOf(held))).toBe('settled');
  });

  it('arms the timers of what it opens, drops those of what it closes, and puts messages in the outbox', async () => {
    const held = await givenStep(open());
    const { executionId, startedAt: at, ref } = held;
    const due = addMs(at, -1);
    const slot = { ref, iteration: 0, attempt: 1 };
    await inTx(open().engine, (tx) => tx.armTimers([owed(executionId, timerOf(slot, 'SCHEDULE_TO_CLOSE', due))]));
    const next = successor(held);
    const step = stepOf(held, {
      armed: [timerOf(next, 'SCHEDULE_TO_CLOSE', due)],
      disarmed: [{ type: 'CancelTimers', ...slot }],
      messages: [
        messageOf('later', { visibleAt: addMs(at, 60_000), orderingKey: 'later' }),
        messageOf('one'),
        messageOf('two'),
      ],
    });
    expect(await isStepped(open(), step)).toBe(true);
    await inTx(open().engine, (tx) => tx.fireTimers(10));
    expect((await outcomesOf(open(), executionId)).map((outcome) => outcome.ref)).toEqual(['next']);
    const messages = await inTx(open().engine, (tx) => tx.claimMessages(10, 1_000));
    expect(messages.map(({ dedupKey }) => dedupKey)).toEqual(['one']);
  });

  it('answers nothing to nothing', async () => {
    const { stepped, leased } = await open().engine.stepRuns([]);
    expect([stepped.size, leased.length]).toEqual([0, 0]);
  });

  it('is for runs that exist', async () => {
    const held = await givenStep(open());
    await givenExecution(open());
    const executionId = ids.executionId();
    expect(await isStepped(open(), { ...stepOf(held), executionId })).toBe(false);
  });
});

const atSeq = (held: LeasedTask, seq: number) => ({ taskId: newTask(held.executionId, held.scheduledAt, seq).taskId });

const givenTimer = ({ engine }: OpenHarness, executionId: ExecutionId, at: Instant): Promise<void> =>
  inTx(engine, (tx) =>
    tx.armTimers([owed(executionId, timerOf({ ref: '', iteration: 0, attempt: 0 }, 'EXECUTION', at))]),
  );
