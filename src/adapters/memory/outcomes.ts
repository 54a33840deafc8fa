import type { TaskOutcome } from '../../domain/execution/requests.ts';
import { requestRead } from './evaluations.ts';
import { optional } from './optional.ts';
import type { OpenTask } from './rows.ts';
import type { MemoryState } from './state.ts';

/** Leaves an outcome in the mailbox of an open attempt and asks for the pass that will read it. */
export const setOutcome = (
  state: MemoryState,
  row: OpenTask,
  ended: Pick<TaskOutcome, 'status' | 'output' | 'reason' | 'deadline' | 'workerId'>,
): void => {
  const outcome: TaskOutcome = {
    ref: row.task.ref,
    iteration: row.task.iteration,
    attempt: row.task.attempt,
    ...optional('workerId', row.lease?.workerId),
    ...ended,
    ...optional('startedAt', row.startedAt),
    ...optional('callbacks', row.callbacks),
    ...optional('callbackSeconds', row.callbackSeconds),
  };
  state.tables.openTasks.put({ ...row, outcome, outcomeOrder: state.nextOrder() });
  requestRead(state, row.executionId, new Set([row.task.taskId]));
};
