import { describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { violations } from '../../support/invariants.ts';
import { endsOf, registerWorkflow, startRun, statusOf } from '../../support/runs.ts';
import { leaseFrom, reportAll, reportOf } from '../../support/workers.ts';
import { step, workflow } from './definitions.ts';

const POISON = 'poison';
const cause = { isThere: true };

/** A defect of ours that only some data brings out: the evaluation of a script throws instead of answering. */
const throwing = (real: (source: string, bindings: never) => unknown) => (source: string, bindings: unknown) => {
  if (cause.isThere && JSON.stringify(bindings).includes(POISON)) throw new Error('the engine fell over its own feet');
  return real(source, bindings as never);
};

const twoChoices = (name: string) => {
  const choice = (ref: string, branch: string) => ({
    name: ref,
    taskReferenceName: ref,
    type: 'SWITCH',
    evaluatorType: 'javascript',
    expression: '$.kind',
    inputParameters: { kind: '${workflow.input.kind}' },
    decisionCases: { never: [step(name, branch)] },
  });
  return workflow(name, [step(name, 'before'), choice('first', 'a'), step(name, 'between'), choice('second', 'b')]);
};

describe('a run whose evaluation throws', () => {
  const { at, cluster } = useCluster({ evaluateScript: throwing as never });

  const parkedOf = async (id: ExecutionId) => (await at(0).index.find(NAMESPACE, id))?.parked;

  const becomesDue = (id: ExecutionId) =>
    cluster().observer.query('update decide_queue set due_at = clock_timestamp() where workflow_id = $1', [id]);

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
    expect(await at(0).evaluator.runOnce()).toBe(5);

    const first = await parkedOf(sick);
    expect(first).toMatchObject({ attempts: 1, reason: 'the engine fell over its own feet' });
    expect(at(0).problems).toHaveLength(1);
    expect(await at(0).evaluateAll()).toBe(0);
    expect(await reportEverything('poisonous')).toBe(4);
    await at(0).evaluateAll();
    expect(await endsOf(at(0), healthy)).toEqual({ COMPLETED: 4 });
    const waiting = await at(0).useCases.executions.get(NAMESPACE, sick);
    expect(JSON.stringify(waiting)).toContain('Its evaluation failed 1 times');

    await becomesDue(sick);
    await at(0).evaluateAll();
    const second = await parkedOf(sick);
    expect(second?.attempts).toBe(2);
    const { rows } = await cluster().observer.query<{ ms: number }>(
      'select 1000 * extract(epoch from due_at - clock_timestamp())::float8 as ms from decide_queue',
    );
    expect(rows[0]?.ms).toBeGreaterThan(500);
    expect(rows[0]?.ms).toBeLessThanOrEqual(1_000);

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
    await at(0).evaluateAll();
    await becomesDue(sick);
    await at(0).evaluateAll();
    expect((await parkedOf(sick))?.attempts).toBe(2);
    cause.isThere = false;
    await becomesDue(sick);
    await at(0).evaluateAll();
    cause.isThere = true;
    expect(await reportEverything('relapsing')).toBe(1);
    await at(0).evaluateAll();
    expect((await parkedOf(sick))?.attempts).toBe(1);
  });

  it('is taken up again at once by whatever asks for a pass', async () => {
    cause.isThere = true;
    await registerWorkflow(at(0), twoChoices('asked'));
    const sick = await startRun(at(0), 'asked', { input: { kind: POISON } });
    await reportEverything('asked');
    await at(0).evaluateAll();
    expect(await parkedOf(sick)).toBeDefined();
    cause.isThere = false;
    await at(0).engine.transaction((tx) => tx.requestEvaluations([sick]));
    expect(await at(0).evaluateAll()).toBe(1);
    expect(await parkedOf(sick)).toBeUndefined();
    expect(await reportEverything('asked')).toBe(1);
  });
});
