import { describe, expect, it } from 'vitest';
import { addMs, type ExecutionId } from '../../src/domain/kernel/brand.ts';
import type { RunStep } from '../../src/ports/engine-store.ts';
import type { PinnedDefinition, RunStart } from '../../src/ports/run-start.ts';
import { taskDefinition, workflowDefinition } from './definitions.ts';
import {
  ALPHA,
  claimAll,
  eventsOf,
  givenExecution,
  ids,
  inTx,
  lease,
  messageOf,
  newExecution,
  newTask,
  openTask,
  owed,
  pausedEvent,
  reportOf,
  settle,
  timerOf,
} from './given.ts';
import { engineHarnesses, harnesses, type OpenHarness, useHarness } from './harness.ts';

const CHECKOUT = workflowDefinition('checkout', 1);

/** The definition on record, as a start finds it. */
const givenDefinition = async ({ definitions }: OpenHarness): Promise<PinnedDefinition> => {
  await definitions.putWorkflow(ALPHA, CHECKOUT, 'hash-1', true);
  await definitions.putTask(ALPHA, taskDefinition('charge'));
  return found(await pinnedTasks({ definitions } as OpenHarness));
};

const pinnedTasks = async ({ definitions }: OpenHarness): Promise<PinnedDefinition['tasks']> => {
  const contentHash = (await definitions.findTasks(ALPHA, ['charge', 'ship'])).get('charge')?.contentHash;
  return contentHash === undefined ? [{ name: 'ship' }] : [{ name: 'charge', contentHash }, { name: 'ship' }];
};

const found = (tasks: PinnedDefinition['tasks']): PinnedDefinition => ({
  namespace: ALPHA,
  name: 'checkout',
  found: { version: 1, hash: 'hash-1' },
  tasks,
});

const startOf = async (
  { engine }: OpenHarness,
  pinned: PinnedDefinition,
  overrides: Partial<RunStep> = {},
  claim?: RunStart['claim'],
): Promise<RunStart> => {
  const now = await engine.now();
  const execution = newExecution(now, claim === undefined ? {} : { idempotencyKey: claim.key });
  const executionId = claim?.executionId ?? execution.executionId;
  const step: RunStep = {
    executionId,
    namespace: ALPHA,
    reports: [],
    events: [pausedEvent(1, now), pausedEvent(2, now)],
    closed: [],
    opened: [{ task: newTask(executionId, now, 2) }],
    armed: [],
    disarmed: [],
    endsWork: false,
    messages: [],
    ...overrides,
  };
  return { execution: { ...execution, executionId }, pinned, step, ...(claim === undefined ? {} : { claim }) };
};

const claimFor = (key: string) => ({
  namespace: ALPHA,
  key,
  executionId: ids.executionId(),
  fingerprint: 'fingerprint-1',
});

const isStarted = async ({ engine }: OpenHarness, start: RunStart): Promise<boolean> =>
  (await engine.startRuns([start])).stepped.has(start.execution.executionId);

const expectNothing = async (harness: OpenHarness, id: ExecutionId): Promise<void> => {
  expect(await harness.engine.findHead(ALPHA, id)).toBeUndefined();
  expect(await eventsOf(harness, id)).toEqual([]);
  expect(await openTask(harness, id)).toBeUndefined();
};

describe.each(engineHarnesses)('a start in one statement over $name', (harness) => {
  const open = useHarness(harness);

  it('puts the run on record with its first facts and tasks, without asking for a pass', async () => {
    const start = await startOf(open(), await givenDefinition(open()));
    const { executionId } = start.execution;
    expect(await isStarted(open(), start)).toBe(true);
    expect(await open().engine.findHead(ALPHA, executionId)).toMatchObject({
      status: 'RUNNING',
      definitionHash: 'hash-1',
    });
    expect((await eventsOf(open(), executionId)).map(({ seq }) => seq)).toEqual([1, 2]);
    expect(await openTask(open(), executionId)).toMatchObject({ ref: 'task-2', leased: false });
    expect(await claimAll(open())).toEqual([]);
    expect((await lease(open())).map((task) => task.executionId)).toEqual([executionId]);
  });

  it('leases what it opens on the way', async () => {
    const pinned = await givenDefinition(open());
    const { execution, step } = await startOf(open(), pinned);
    const leaseToken = ids.leaseToken();
    const opened = step.opened.map(({ task }) => ({ task, lease: { leaseToken, workerId: 'worker-2' } }));
    const { leased } = await open().engine.startRuns([{ execution, pinned, step: { ...step, opened } }]);
    expect(leased).toMatchObject([{ leaseToken, workerId: 'worker-2', ref: 'task-2', input: { amount: 12.5 } }]);
    expect(await lease(open())).toEqual([]);
    for (const task of leased) expect(await settle(open(), reportOf(task))).toBe('settled');
  });

  it('arms the timers and owes the messages of the first step', async () => {
    const pinned = await givenDefinition(open());
    const now = await open().engine.now();
    const armed = [timerOf({ ref: '', iteration: 0, attempt: 0 }, 'EXECUTION', addMs(now, 60_000))];
    const start = await startOf(open(), pinned, { armed, messages: [messageOf('message-1')] });
    expect(await isStarted(open(), start)).toBe(true);
    const { timer, message } = await open().engine.nextDueInMs();
    expect(timer).toBeGreaterThan(50_000);
    expect(message).toBe(0);
  });

  it.each<[string, (pinned: PinnedDefinition) => PinnedDefinition]>([
    ['another version is the highest', (pinned) => ({ ...pinned, found: { version: 2, hash: 'hash-1' } })],
    ['its content is another', (pinned) => ({ ...pinned, found: { version: 1, hash: 'hash-2' } })],
    ['there is no such definition', (pinned) => ({ ...pinned, name: 'unknown' })],
    ['there is no such version', (pinned) => ({ ...pinned, version: 7, found: { version: 7, hash: 'hash-1' } })],
    ['a task definition is another', (pinned) => ({ ...pinned, tasks: [{ name: 'charge', contentHash: 'other' }] })],
    ['a task definition is new', (pinned) => ({ ...pinned, tasks: [{ name: 'charge' }] })],
    ['a task definition is gone', (pinned) => ({ ...pinned, tasks: [{ name: 'ship', contentHash: 'old' }] })],
  ])('writes nothing when %s', async (_, change) => {
    const start = await startOf(open(), change(await givenDefinition(open())));
    expect(await isStarted(open(), start)).toBe(false);
    await expectNothing(open(), start.execution.executionId);
  });

  it('writes nothing when what it pinned was registered anew meanwhile', async () => {
    const pinned = await givenDefinition(open());
    await open().definitions.putTask(ALPHA, taskDefinition('charge', { concurrentExecLimit: 4 }));
    expect(await isStarted(open(), await startOf(open(), pinned))).toBe(false);
    const again = found(await pinnedTasks(open()));
    expect(await isStarted(open(), await startOf(open(), again))).toBe(true);
    await open().definitions.putWorkflow(ALPHA, { ...CHECKOUT, version: 2 }, 'hash-2', false);
    expect(await isStarted(open(), await startOf(open(), again))).toBe(false);
    expect(await isStarted(open(), await startOf(open(), { ...again, version: 1 }))).toBe(true);
  });

  it('wins its key once, and starts nothing under a key that another run holds', async () => {
    const pinned = await givenDefinition(open());
    const first = await startOf(open(), pinned, {}, claimFor('key-1'));
    const rival = await startOf(open(), pinned, {}, claimFor('key-1'));
    const other = await startOf(open(), pinned, {}, claimFor('key-2'));
    const { stepped } = await open().engine.startRuns([first, rival, other]);
    expect([...stepped].toSorted()).toEqual([first.execution.executionId, other.execution.executionId].toSorted());
    await expectNothing(open(), rival.execution.executionId);
    expect(await isStarted(open(), await startOf(open(), pinned, {}, claimFor('key-1')))).toBe(false);
    expect(await open().engine.findIdempotencyHolder(ALPHA, 'key-1')).toMatchObject({
      executionId: first.execution.executionId,
    });
  });

  it('takes no key when its definitions have changed', async () => {
    const pinned = await givenDefinition(open());
    const changed = { ...pinned, found: { version: 1, hash: 'hash-2' } };
    expect(await isStarted(open(), await startOf(open(), changed, {}, claimFor('key-1')))).toBe(false);
    expect(await open().engine.findIdempotencyHolder(ALPHA, 'key-1')).toBeUndefined();
  });

  it('is left alone, with all that came with it, when its id is taken', async () => {
    const pinned = await givenDefinition(open());
    const taken = await givenExecution(open());
    await inTx(open().engine, (tx) => tx.appendEvents([owed(taken, pausedEvent(1, 0 as never))]));
    const start = await startOf(open(), pinned);
    const clash = { ...start, execution: { ...start.execution, executionId: taken } };
    const other = await startOf(open(), pinned);
    const stepped = await open().engine.startRuns([other, { ...clash, step: { ...start.step, executionId: taken } }]);
    expect(stepped).toEqual({ stepped: new Set(), leased: [] });
    await expectNothing(open(), other.execution.executionId);
  });

  it('of nothing does nothing', async () => {
    expect(await open().engine.startRuns([])).toMatchObject({ stepped: new Set(), leased: [] });
  });
});

describe.each(harnesses)('a start in one statement under a quota over $name', (harness) => {
  const open = useHarness(harness);

  it.each([{ maxConcurrentExecutions: 100 }, { maxExecutionsPerMinute: 100 }])(
    'writes nothing: %o has to be counted',
    async (quotas) => {
      const pinned = await givenDefinition(open());
      await open().access.putQuotas(ALPHA, quotas);
      const start = await startOf(open(), pinned);
      expect(await isStarted(open(), start)).toBe(false);
      await expectNothing(open(), start.execution.executionId);
    },
  );
});
