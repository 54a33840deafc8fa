import { describe, expect, it } from 'vitest';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { createGate, withTx } from '../../support/faults.ts';
import { violations } from '../../support/invariants.ts';
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

  it('strategy FAIL answers CONFLICT with the run that exists; FAIL_ON_RUNNING only while it runs', async () => {
    const first = await start(0, 'strategy');
    const id = first.ok ? first.value.executionId : undefined;
    const again = (idempotencyStrategy: 'FAIL' | 'FAIL_ON_RUNNING') =>
      at(1).useCases.executions.start(
        NAMESPACE,
        startRequest('idem', { input: { n: 1 }, idempotencyKey: 'strategy', idempotencyStrategy }),
      );
    expect(await again('FAIL')).toMatchObject({ error: { code: 'CONFLICT', details: { workflowId: id } } });
    expect(await again('FAIL_ON_RUNNING')).toMatchObject({ error: { code: 'CONFLICT' } });
    if (id === undefined) throw new Error('expected a run');
    await at(0).useCases.executions.terminate(NAMESPACE, id, 'test');
    expect(await again('FAIL_ON_RUNNING')).toMatchObject({ ok: true, value: { executionId: id, created: false } });
    expect(await violations(cluster().observer, at(0).definitions)).toEqual([]);
  });
});
