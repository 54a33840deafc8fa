import { describe, expect, it } from 'vitest';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { createGate, withTx } from '../../support/faults.ts';
import { deadlocks, violations } from '../../support/invariants.ts';
import { registerWorkflow, startRequest } from '../../support/runs.ts';
import { chain } from './definitions.ts';
import { countOf, whenBlocked } from './given.ts';

const afterClaim = createGate();

describe('starts with an idempotency key', () => {
  const { at, cluster } = useCluster(
    { poolMax: 24 },
    { poolMax: 24 },
    {
      faults: (engine) =>
        withTx(engine, (tx) => ({
          claimIdempotencyKeys: async (claims) => {
            const won = await tx.claimIdempotencyKeys(claims);
            await afterClaim.pass();
            return won;
          },
        })),
    },
  );

  const start = (server: number, idempotencyKey: string, n = 1) =>
    at(server).useCases.executions.start(NAMESPACE, startRequest('idem', { input: { n }, idempotencyKey }));

  const runsWith = (key: string) =>
    countOf(cluster().observer, 'select count(*) from workflow_executions where idempotency_key = $1', [key]);

  it('100 equal ones at once over two servers give one run and 100 equal answers', async () => {
    await registerWorkflow(at(0), chain('idem', 1));
    const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => start(index % 2, 'many')));
    const values = answers.flatMap((answer) => (answer.ok ? [answer.value] : []));
    expect(values).toHaveLength(100);
    expect(new Set(values.map(({ executionId }) => executionId)).size).toBe(1);
    expect(values.filter(({ created }) => created)).toHaveLength(1);
    expect(await runsWith('many')).toBe(1);
  });

  it('an unequal one under a used key is refused, at once or later, and starts nothing', async () => {
    const answers = await Promise.all([start(0, 'reused', 1), start(1, 'reused', 2), start(0, 'reused', 2)]);
    const winner = answers.find((answer) => answer.ok && answer.value.created);
    expect(winner).toBeDefined();
    const later = await start(1, 'reused', 3);
    expect(later).toMatchObject({ ok: false, error: { code: 'IDEMPOTENCY_KEY_REUSED', path: 'idempotencyKey' } });
    for (const answer of answers) {
      if (answer.ok) continue;
      expect(answer.error.code).toBe('IDEMPOTENCY_KEY_REUSED');
    }
    expect(await runsWith('reused')).toBe(1);
  });

  it('the loser of a key whose winner has not committed waits for it, and answers with its run', async () => {
    const held = afterClaim.close();
    const winner = start(2, 'uncommitted');
    await held;
    const loser = start(0, 'uncommitted');
    await whenBlocked(cluster().observer);
    afterClaim.open();
    const [won, lost] = await Promise.all([winner, loser]);
    expect(won).toMatchObject({ ok: true, value: { created: true } });
    expect(lost).toMatchObject({ ok: true, value: { created: false } });
    expect(lost.ok && won.ok && lost.value.executionId === won.value.executionId).toBe(true);
  });

  it('strategy FAIL answers CONFLICT with the run that exists, whether it has ended or not', async () => {
    const id = await startedId('fails');
    const again = () => startWith('fails', 'FAIL');
    expect(await again()).toMatchObject({ error: { code: 'CONFLICT', details: { workflowId: id } } });
    await at(0).useCases.executions.terminate(NAMESPACE, id, 'test');
    expect(await again()).toMatchObject({ error: { code: 'CONFLICT', details: { workflowId: id } } });
  });

  it('strategy FAIL_ON_RUNNING is refused while the run is going or paused, and takes the key over once it has ended', async () => {
    const id = await startedId('bold');
    expect(await startWith('bold', 'FAIL_ON_RUNNING')).toMatchObject({ error: { code: 'CONFLICT' } });
    await at(0).useCases.executions.pause(NAMESPACE, id, 'test');
    expect(await startWith('bold', 'FAIL_ON_RUNNING')).toMatchObject({ error: { code: 'CONFLICT' } });
    await at(0).useCases.executions.terminate(NAMESPACE, id, 'test');
    const taken = await startWith('bold', 'FAIL_ON_RUNNING', 2);
    expect(taken).toMatchObject({ ok: true, value: { created: true } });
    const second = taken.ok ? taken.value.executionId : undefined;
    expect(second).not.toBe(id);
    expect(await startWith('bold', 'RETURN_EXISTING', 2)).toMatchObject({ value: { executionId: second } });
    expect(await startWith('bold', 'RETURN_EXISTING', 1)).toMatchObject({ error: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });

  it('50 racing FAIL_ON_RUNNING starts under the key of an ended run make one run, round after round', async () => {
    let id = await startedId('rounds');
    for (let round = 0; round < 4; round += 1) {
      await at(0).useCases.executions.terminate(NAMESPACE, id, 'test');
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => startWith('rounds', 'FAIL_ON_RUNNING', 1, index % 2)),
      );
      const [winner, ...more] = answers.flatMap((answer) => (answer.ok ? [answer.value] : []));
      expect(more).toEqual([]);
      expect(winner?.created).toBe(true);
      const codes = new Set(answers.flatMap((answer) => (answer.ok ? [] : [answer.error.code])));
      expect([...codes]).toEqual(['CONFLICT']);
      id = winner?.executionId ?? id;
    }
    expect(await runsWith('rounds')).toBe(5);
  });

  it('a retry of the holder and a take-over of its key never both see the key free', async () => {
    let id = await startedId('contested');
    for (let round = 0; round < 6; round += 1) {
      await at(0).useCases.executions.terminate(NAMESPACE, id, 'test');
      const [retried, taken] = await Promise.all([
        at(1).useCases.executions.retry(NAMESPACE, id, 'test'),
        startWith('contested', 'FAIL_ON_RUNNING'),
      ]);
      expect(retried.ok).toBe(true);
      if (taken.ok) {
        // The key went first, to the new run; the old one was reopened without it.
        await at(0).useCases.executions.terminate(NAMESPACE, id, 'test');
        id = taken.value.executionId;
      } else expect(taken.error).toMatchObject({ code: 'CONFLICT', details: { workflowId: id } });
    }
    expect(await deadlocks(cluster().observer)).toBe(0);
  });

  it('a key of one workflow is not that of another, nor of the namespace', async () => {
    await registerWorkflow(at(0), chain('idem_too', 1, 'idem'));
    const scoped = (name: string) => {
      const change = { input: {}, idempotencyKey: 'scoped', idempotencyScope: 'workflow' } as const;
      return at(0).useCases.executions.start(NAMESPACE, startRequest(name, change));
    };
    const [one, other, again] = [await scoped('idem'), await scoped('idem_too'), await scoped('idem')];
    expect([one, other, again].map((answer) => answer.ok && answer.value.created)).toEqual([true, true, false]);
    expect(await start(0, 'scoped')).toMatchObject({ ok: true, value: { created: true } });
  });

  const startWith = (
    idempotencyKey: string,
    idempotencyStrategy: 'RETURN_EXISTING' | 'FAIL' | 'FAIL_ON_RUNNING',
    n = 1,
    server = 1,
  ) =>
    at(server).useCases.executions.start(
      NAMESPACE,
      startRequest('idem', { input: { n }, idempotencyKey, idempotencyStrategy }),
    );

  const startedId = async (key: string) => {
    const first = await start(0, key);
    if (!first.ok) throw new Error(first.error.message);
    return first.value.executionId;
  };
});
