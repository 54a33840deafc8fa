import type { EngineTx, LeasedTask, SteppedRuns } from '../../ports/engine-store.ts';
import type { PinnedDefinition, RunStart } from '../../ports/run-start.ts';
import { writeStep } from './run-steps.ts';
import type { MemoryState } from './state.ts';

/** Whether another look at the definitions finds what was found. */
const isUnchanged = async (tx: EngineTx, { namespace, name, version, found, tasks }: PinnedDefinition) => {
  const row = await tx.findWorkflow(namespace, name, version);
  if (row?.version !== found.version || row.hash !== found.hash) return false;
  const rows = await tx.findTasks(
    namespace,
    tasks.map((task) => task.name),
  );
  return tasks.every((task) => rows.get(task.name)?.contentHash === task.contentHash);
};

const holds = async (state: MemoryState, tx: EngineTx, { execution, pinned, claim }: RunStart): Promise<boolean> => {
  const quotas = state.tables.quotas.get(execution.namespace)?.quotas;
  if (quotas?.maxConcurrentExecutions !== undefined || quotas?.maxExecutionsPerMinute !== undefined) return false;
  if (!(await isUnchanged(tx, pinned))) return false;
  return claim === undefined || (await tx.claimIdempotencyKeys([claim])).has(execution.executionId);
};

/** Runs with their first steps, in one transaction; each whole or not at all. */
export const startRuns = async (
  state: MemoryState,
  tx: EngineTx,
  starts: readonly RunStart[],
): Promise<SteppedRuns> => {
  const isTaken = starts.some(({ execution }) => state.tables.executions.get(execution.executionId) !== undefined);
  if (isTaken) return { stepped: new Set(), leased: [] };
  const leased: LeasedTask[] = [];
  const good = new Set<RunStart>();
  for (const start of starts) {
    if (!(await holds(state, tx, start))) continue;
    good.add(start);
    await tx.createExecutions([start.execution]);
    leased.push(...(await writeStep(state, tx, start.step)));
  }
  return { stepped: new Set([...good].map(({ execution }) => execution.executionId)), leased, now: state.now() };
};
