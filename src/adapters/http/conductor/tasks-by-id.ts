import type { UseCases } from '../../../application/use-cases.ts';
import { type ExecutionId, type Namespace, parseTaskId, type TaskId } from '../../../domain/kernel/brand.ts';
import { type TaskBody, taskBodiesOf } from './wire/task.ts';
import { liveRowsOf, taskRunOf } from './wire/workflow.ts';

/** Runs that are read at a time. */
const READS_MAX = 4;

/** A run as its tasks are shown with it. */
export type ShownTask = Readonly<{ task: TaskBody; correlationId?: string }>;

type Shown = ReadonlyMap<string, ShownTask>;

const tasksOfRun = async ({ executions }: UseCases, namespace: Namespace, id: ExecutionId): Promise<Shown> => {
  const detail = await executions.get(namespace, id);
  // Deleted since it was found.
  if (!detail.ok) return new Map();
  const { correlationId } = detail.value.view;
  const bodies = taskBodiesOf(detail.value.view.tasks, taskRunOf(detail.value), liveRowsOf(detail.value));
  return new Map(bodies.map((task) => [task.taskId, { task, ...(correlationId !== undefined && { correlationId }) }]));
};

/** Attempts by their ids, in that order, each with what its run tells of it; those that are gone are left out. */
export const tasksById = async (
  useCases: UseCases,
  namespace: Namespace,
  taskIds: readonly TaskId[],
): Promise<readonly ShownTask[]> => {
  const runs = [...new Set(taskIds.map((taskId) => parseTaskId(taskId)?.executionId).filter((id) => id !== undefined))];
  const shown = new Map<string, ShownTask>();
  for (let at = 0; at < runs.length; at += READS_MAX) {
    const some = runs.slice(at, at + READS_MAX);
    for (const tasks of await Promise.all(some.map((id) => tasksOfRun(useCases, namespace, id)))) {
      for (const [taskId, task] of tasks) shown.set(taskId, task);
    }
  }
  return taskIds.map((taskId) => shown.get(taskId)).filter((task) => task !== undefined);
};
