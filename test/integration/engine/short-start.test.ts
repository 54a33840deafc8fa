import { afterEach, describe, expect, it } from 'vitest';
import { STEP_RUNS_MAX } from '../../../src/application/advance-runs.ts';
import type { EngineStore } from '../../../src/ports/engine-store.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { createGate } from '../../support/faults.ts';
import { leftovers, violations } from '../../support/invariants.ts';
import { endsOf, registerTask, registerWorkflow, startRequest, startRun, startRuns } from '../../support/runs.ts';
import { leaseFrom, leaseOne, reportOne, startWorker } from '../../support/workers.ts';
import { chain } from './definitions.ts';
import { countOf } from './given.ts';

const beforeStart = createGate();
const starts = { written: 0, leased: 0, failsAfter: false };

/** Counts what takes the short road, and lets a test hold it or cut it off. */
const watched = (engine: EngineStore): EngineStore => ({
  ...engine,
  startRuns: async (of) => {
    await beforeStart.pass();
    const written = await engine.startRuns(of);
    starts.written += written.stepped.size;
    starts.leased += written.leased.length;
    if (starts.failsAfter) throw new Error('the answer was lost');
    return written;
  },
});

describe('the short road of a start', () => {
  const { at, cluster } = useCluster({ faults: watched }, {});

  afterEach(() => {
    Object.assign(starts, { written: 0, leased: 0, failsAfter: false });
  });

  const startWith = (name: string, change: Parameters<typeof startRequest>[1] = {}) =>
    at(0).useCases.executions.start(NAMESPACE, startRequest(name, change));

  it('begins where an earlier start has found the definitions, and hands the first task to the poll that waits', async () => {
    await registerWorkflow(at(0), chain('begun', 1));
    await startRun(at(0), 'begun');
    expect(starts.written).toBe(0);
    expect(await reportOne(at(0), await leaseOne(at(0), 'begun'))).toBe('settled');
    const poll = leaseFrom(at(0), ['begun'], { waitMs: 30_000, workerId: 'patient' });
    // The poll before has looked, found nothing and is parked once the queue has been asked for.
    expect(await leaseFrom(at(0), ['begun'], { waitMs: 0 })).toEqual([]);
    const id = await startRun(at(0), 'begun');
    const [task] = await poll;
    if (task === undefined) throw new Error('expected a task');
    expect(task).toMatchObject({ executionId: id, workerId: 'patient' });
    expect(starts).toMatchObject({ written: 1, leased: 1 });
    expect(await reportOne(at(0), task)).toBe('settled');
    await at(0).evaluateAll();
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
    expect(await leftovers(cluster().observer)).toEqual([]);
  });

  it('sees what another server registered before', async () => {
    await registerWorkflow(at(0), chain('changed', 1));
    await startRuns(at(0), 'changed', 2);
    await registerWorkflow(at(1), { ...chain('changed', 1), version: 2 });
    expect(await startWith('changed')).toMatchObject({ ok: true, value: { version: 2 } });
    expect(await startWith('changed')).toMatchObject({ ok: true, value: { version: 2 } });
    await registerTask(at(1), { name: 'changed', concurrentExecLimit: 3 });
    const before = starts.written;
    expect(await startWith('changed')).toMatchObject({ ok: true });
    expect(starts.written).toBe(before);
    expect(await startWith('changed')).toMatchObject({ ok: true });
    expect(starts.written).toBe(before + 1);
  });

  it('writes nothing from a definition that is replaced between the decision and the statement', async () => {
    await registerWorkflow(at(0), chain('raced', 1));
    await startRun(at(0), 'raced');
    const held = beforeStart.close();
    const start = startWith('raced');
    await held;
    await registerWorkflow(at(1), { ...chain('raced', 2), version: 2 });
    beforeStart.open();
    expect(await start).toMatchObject({ ok: true, value: { version: 2 } });
    expect(starts.written).toBe(0);
  });

  it('refuses only what the definitions of now refuse', async () => {
    const strict = { type: 'object', required: ['order'] };
    await registerWorkflow(at(0), { ...chain('judged', 1), inputSchema: strict, enforceSchema: true });
    expect(await startWith('judged', { input: { order: 1 } })).toMatchObject({ ok: true });
    expect(await startWith('judged')).toMatchObject({ ok: false, error: { code: 'INPUT_SCHEMA_VIOLATION' } });
    await registerWorkflow(at(1), { ...chain('judged', 1), version: 2 });
    expect(await startWith('judged')).toMatchObject({ ok: true, value: { version: 2 } });
  });

  it('is for few starts at a time: where more come at once they share a transaction', async () => {
    await registerWorkflow(at(0), chain('many', 1));
    await startRun(at(0), 'many');
    await startRuns(at(0), 'many', 2 * STEP_RUNS_MAX + 1);
    expect(starts.written).toBe(0);
    await startRuns(at(0), 'many', STEP_RUNS_MAX);
    expect(starts.written).toBe(STEP_RUNS_MAX);
  });

  it('under a key of many gives one run, and answers the others with it', async () => {
    await registerWorkflow(at(0), chain('keyed', 1));
    await startRun(at(0), 'keyed');
    const answers = await Promise.all(
      Array.from({ length: STEP_RUNS_MAX }, () => startWith('keyed', { idempotencyKey: 'one' })),
    );
    const values = answers.flatMap((answer) => (answer.ok ? [answer.value] : []));
    expect(values).toHaveLength(STEP_RUNS_MAX);
    expect(values.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(values.map(({ executionId }) => executionId)).size).toBe(1);
    expect(starts.written).toBe(1);
    expect(await startWith('keyed', { idempotencyKey: 'one', input: { other: true } })).toMatchObject({
      ok: false,
      error: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
  });

  it('whose answer is lost leaves a run that a start under the same key finds, and that goes on', async () => {
    await registerWorkflow(at(0), chain('lost', 1));
    await startRun(at(0), 'lost');
    starts.failsAfter = true;
    await expect(startWith('lost', { idempotencyKey: 'lost' })).rejects.toThrow('the answer was lost');
    starts.failsAfter = false;
    const again = await startWith('lost', { idempotencyKey: 'lost' });
    if (!again.ok) throw new Error(again.error.code);
    expect(again.value.created).toBe(false);
    expect(await countOf(cluster().observer, `select count(*) from workflow_executions where name = 'lost'`)).toBe(2);
    at(0).startLoops('evaluate', 'wake-polls');
    const worker = startWorker(at(0), ['lost']);
    expect(await endsOf(at(0), [again.value.executionId])).toEqual({ COMPLETED: 1 });
    await worker.stop();
    await at(0).stopLoops();
  });
});
