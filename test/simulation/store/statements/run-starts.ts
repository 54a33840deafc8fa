import type { Instant } from '../../../../src/domain/kernel/brand.ts';
import type { LeasedTask, SteppedRuns } from '../../../../src/ports/engine-store.ts';
import type { PinnedDefinition, RunStart } from '../../../../src/ports/run-start.ts';
import type { Tx } from '../session.ts';
import { limitsStarts } from './admissions.ts';
import { writeStepOf } from './run-steps.ts';

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Definitions are not what is simulated, so they are read from the store that keeps them. */
const isUnchanged = async (session: Tx, { namespace, name, version, found, tasks }: PinnedDefinition) => {
  const row = await session.definitions.findWorkflow(namespace, name, version);
  if (row?.version !== found.version || row.hash !== found.hash) return false;
  const rows = await session.definitions.findTasks(
    namespace,
    tasks.map((task) => task.name),
  );
  return tasks.every((task) => rows.get(task.name)?.contentHash === task.contentHash);
};

/** Runs with their first steps in one statement; a start whose key is taken, or whose namespace has a quota, is left alone. */
export const startRuns = (session: Tx, starts: readonly RunStart[]): Promise<SteppedRuns> =>
  session.run('start', async (statement) => {
    const { executions, idempotencyKeys } = session.database.tables;
    const good: RunStart[] = [];
    for (const start of starts.toSorted((a, b) => compareText(a.claim?.key ?? '', b.claim?.key ?? ''))) {
      if (!(await isUnchanged(session, start.pinned)) || limitsStarts(statement, start.pinned.namespace)) continue;
      const { claim } = start;
      if (claim !== undefined) {
        const { namespace, key, executionId, fingerprint } = claim;
        const rival = await statement.insert(idempotencyKeys, { namespace, key, executionId, fingerprint });
        if (rival !== undefined) continue;
      }
      good.push(start);
    }
    const leased: LeasedTask[] = [];
    for (const { execution, step } of good) {
      await statement.mustInsert(executions, { ...execution, status: 'RUNNING', updatedAt: execution.startedAt });
      leased.push(...(await writeStepOf(session, statement, step, [])));
    }
    const stepped = new Set(good.map(({ execution }) => execution.executionId));
    return { stepped, leased, now: Math.floor(statement.now()) as Instant };
  });
