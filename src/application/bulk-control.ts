import { type ExecutionId, type Namespace, parseExecutionId } from '../domain/kernel/brand.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { ApplicationError } from './application-error.ts';
import { noExecution } from './control-execution.ts';
import type { BulkAction, BulkAnswer, BulkCall, UseCases } from './use-cases.ts';

/** Runs of one call that are dealt with at a time: many enough to hide the round trips, few enough to leave the others room. */
const BULK_FLIGHTS = 4;

type Executions = Pick<UseCases['executions'], Exclude<BulkAction, 'restart'> | 'operate'>;
type Acted = Promise<Result<string | undefined, ApplicationError>>;

const act = async (
  executions: Executions,
  namespace: Namespace,
  id: ExecutionId,
  { action, by, reason }: BulkCall,
): Acted => {
  if (action === 'delete') {
    const deleted = await executions.delete(namespace, id);
    return deleted.ok ? ok(undefined) : deleted;
  }
  if (action === 'restart') {
    const asked = reason === undefined ? { by } : { by, reason };
    const restarted = await executions.operate(namespace, id, { type: 'restart', useLatestDefinitions: false }, asked);
    return restarted.ok ? ok(restarted.value.summary.status) : restarted;
  }
  const done = await executions[action](namespace, id, by, reason);
  return done.ok ? ok(done.value.status) : done;
};

/** What goes wrong with one run is the answer of that run: the others are dealt with all the same. */
const answerOf = async (
  executions: Executions,
  namespace: Namespace,
  id: string,
  call: BulkCall,
): Promise<BulkAnswer> => {
  const executionId = parseExecutionId(id);
  const result = executionId === undefined ? err(noExecution(id)) : await act(executions, namespace, executionId, call);
  return { id, result };
};

/** One action on many runs, each in a transaction of its own and once: one answer for each id, in their order. */
export const bulkControl = async (
  executions: Executions,
  namespace: Namespace,
  ids: readonly string[],
  call: BulkCall,
): Promise<readonly BulkAnswer[]> => {
  const answers = new Map<string, BulkAnswer>();
  const rest = new Set(ids).values();
  const flight = async (): Promise<void> => {
    for (const id of rest) answers.set(id, await answerOf(executions, namespace, id, call));
  };
  await Promise.all(Array.from({ length: BULK_FLIGHTS }, flight));
  return ids.flatMap((id) => answers.get(id) ?? []);
};
