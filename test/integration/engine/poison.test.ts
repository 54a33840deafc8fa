import { describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { violations } from '../../support/invariants.ts';
import { endsOf, eventsOf, ofType, registerWorkflow, startRun, statusOf } from '../../support/runs.ts';
import { leaseFrom, reportAll, reportOf } from '../../support/workers.ts';
import { step, workflow } from './definitions.ts';
import { passDeadlines } from './given.ts';

const POISON = 'poison';
const cause = { isThere: true };

/** A defect of ours that only some data brings out: the evaluation of a script throws instead of answering. */
const throwing = (real: (source: string, bindings: never) => unknown) => (source: string, bindings: unknown) => {
  if (cause.isThere && JSON.stringify(bindings).includes(POISON)) throw new Error('the engine fell over its own feet');
  return real(source, bindings as never);
};

const twoChoices = (name: string, change: JsonObject = {}) => {
  const choice = (ref: string, branch: string) => ({
    name: ref,
    taskReferenceName: ref,
    type: 'SWITCH',
    evaluatorType: 'javascript',
    expression: '$.kind',
    inputParameters: { kind: '${workflow.input.kind}' },
    decisionCases: { never: [step(name, branch)] },
  });
  return workflow(
    name,
    [step(name, 'before'), choice('first', 'a'), step(name, 'between'), choice('second', 'b')],
    change,
  );
};

describe('a run whose evaluation throws', () => {
  const { at, cluster } = useCluster({ evaluateScript: throwing as never });

  const parkedOf = async (id: ExecutionId) => (await at(0).index.find(NAMESPACE, id))?.parked;

  const becomesDue = (id: ExecutionId) =>
    cluster().observer.query('update decide_queue set due_at = clock_timestamp() where workflow_id = $1', [id]);

  /** A back-off is real time; on a slow machine it is over before a test has looked. */
  const postpone = () => cluster().observer.query(`update decide_queue set due_at = due_at + interval '1 hour'`);

  /** One pass, then how long it parked the run for and how often it has failed. */
  const parkedBy = async (pass: () => Promise<unknown>, id: ExecutionId) => {
    const before = await at(0).engine.now();
    await pass();
    const parked = await parkedOf(id);
    const after = await at(0).engine.now();
    await postpone();
    return { ...parked, fromMs: (parked?.retryAt ?? 0) - after, toMs: (parked?.retryAt ?? 0) - before };
  };

  const reportEverything = async (queue: string) => {
    const tasks = await leaseFrom(at(0), [queue], { count: 10 });
    const answers = await reportAll(
      at(0),
      tasks.map((task) => reportOf(task)),
    );
    expect(new Set(answers)).toEqual(new Set(['settled']));
    return tasks.length;
  };

  it('is parked with the reason and a growing back-off; its neighbours of the batch finish at once; it recovers', async () => {
    await registerWorkflow(at(0), twoChoices('poisonous'));
    const sick = await startRun(at(0), 'poisonous', { input: { kind: POISON } });
    const healthy = await Promise.all(
      Array.from({ length: 4 }, () => startRun(at(0), 'poisonous', { input: { kind: 'good' } })),
    );
    expect(await reportEverything('poisonous')).toBe(5);
    const first = await parkedBy(() => at(0).evaluator.runOnce(), sick);
    expect(first).toMatchObject({ attempts: 1, reason: 'the engine fell over its own feet' });
    expect(first.fromMs).toBeLessThanOrEqual(500);
    expect(first.toMs).toBeGreaterThanOrEqual(500);
    expect(at(0).problems).toHaveLength(1);
    expect(await at(0).evaluateAll()).toBe(0);
    expect(await reportEverything('poisonous')).toBe(4);
    await at(0).evaluateAll();
    expect(await endsOf(at(0), healthy)).toEqual({ COMPLETED: 4 });
    const detail = await at(0).useCases.executions.get(NAMESPACE, sick);
    expect(detail.ok && detail.value.waitingFor[0]?.why).toContain('Its evaluation failed 1 times');

    await becomesDue(sick);
    const second = await parkedBy(() => at(0).evaluator.runOnce(), sick);
    expect(second.attempts).toBe(2);
    expect(second.fromMs).toBeLessThanOrEqual(1_000);
    expect(second.toMs).toBeGreaterThanOrEqual(1_000);

    cause.isThere = false;
    await becomesDue(sick);
    await at(0).evaluateAll();
    expect(await parkedOf(sick)).toBeUndefined();
    expect(await reportEverything('poisonous')).toBe(1);
    await at(0).evaluateAll();
    expect(await statusOf(at(0), sick)).toBe('COMPLETED');
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });

  it('begins with the shortest back-off again when it has recovered in between', async () => {
    cause.isThere = true;
    await registerWorkflow(at(0), twoChoices('relapsing'));
    const sick = await startRun(at(0), 'relapsing', { input: { kind: POISON } });
    await reportEverything('relapsing');
    const pass = () => at(0).evaluator.runOnce();
    expect(await parkedBy(pass, sick)).toMatchObject({ attempts: 1 });
    await becomesDue(sick);
    expect(await parkedBy(pass, sick)).toMatchObject({ attempts: 2 });
    cause.isThere = false;
    await becomesDue(sick);
    await at(0).evaluateAll();
    cause.isThere = true;
    expect(await reportEverything('relapsing')).toBe(1);
    expect(await parkedBy(pass, sick)).toMatchObject({ attempts: 1 });
  });

  it('does not keep the deadlines of other runs from being noticed', async () => {
    cause.isThere = true;
    await registerWorkflow(at(0), twoChoices('late', { timeoutSeconds: 60, timeoutPolicy: 'ALERT_ONLY' }));
    const sick = await startRun(at(0), 'late', { input: { kind: POISON } });
    const healthy = await startRun(at(0), 'late', { input: { kind: 'good' } });
    await reportEverything('late');
    await passDeadlines(cluster().observer, sick);
    await passDeadlines(cluster().observer, healthy);
    await at(0).runLoopOnce('deadlines');
    expect(ofType(await eventsOf(at(0), healthy), 'ExecutionDeadlineMissed')).toHaveLength(1);
    expect(ofType(await eventsOf(at(0), sick), 'ExecutionDeadlineMissed')).toEqual([]);
    // It is tried again later, not in a circle.
    expect((await at(0).engine.nextDueInMs()).timer).toBeGreaterThan(0);
    cause.isThere = false;
    await passDeadlines(cluster().observer, sick);
    await at(0).runLoopOnce('deadlines');
    expect(ofType(await eventsOf(at(0), sick), 'ExecutionDeadlineMissed')).toHaveLength(1);
  });

  it('is taken up again at once by whatever asks for a pass', async () => {
    cause.isThere = true;
    await registerWorkflow(at(0), twoChoices('asked'));
    const sick = await startRun(at(0), 'asked', { input: { kind: POISON } });
    await reportEverything('asked');
    expect(await parkedBy(() => at(0).evaluator.runOnce(), sick)).toMatchObject({ attempts: 1 });
    cause.isThere = false;
    await at(0).engine.transaction((tx) => tx.requestEvaluations([sick]));
    expect(await at(0).evaluateAll()).toBe(1);
    expect(await parkedOf(sick)).toBeUndefined();
    expect(await reportEverything('asked')).toBe(1);
  });
});
