import type { Namespace } from '../../domain/kernel/brand.ts';
import { ok } from '../../domain/kernel/result.ts';
import type { ExecutionIndex } from '../../ports/execution-index.ts';
import { queueTopic, type WakeSignal } from '../../ports/wake-signal.ts';
import type { HeldLeases } from '../held-leases.ts';
import type { LeaseTasks } from '../lease-tasks.ts';
import type { TaskDoors } from '../task-doors.ts';
import type { Outcome, UseCases } from '../use-cases.ts';
import type { PolledTask, RunFactsReader } from './run-facts.ts';
import type { TakeNext } from './take-next.ts';
import type { TaskUpdate, UpdateAnswer } from './task-update.ts';
import type { UpdateTasks } from './update-tasks.ts';

type Parts = Readonly<{
  leases: LeaseTasks;
  updates: UpdateTasks;
  next: TakeNext;
  runs: RunFactsReader;
  doors: TaskDoors;
  held: HeldLeases;
  index: ExecutionIndex;
  wake: WakeSignal;
}>;

/** Tasks for clients without lease tokens, gathered for callers. */
export const createTaskUseCases = (parts: Parts): UseCases['tasks'] => {
  const { leases, updates, runs, doors, index, wake } = parts;
  return {
    poll: async (call) => {
      const leased = await leases.lease(call);
      return leased.ok ? ok(await runs.withRuns(leased.value)) : leased;
    },
    update: (namespace, update, by) => updates.update(namespace, update, by),
    updateAndTakeNext: (namespace, update, by, signal) => updateAndTakeNext(parts, namespace, update, by, signal),
    end: (namespace, taskId, call, by) => doors.complete(namespace, taskId, call, by, true),
    appendLogs: (namespace, taskId, lines) => updates.appendLogs(namespace, taskId, lines),
    search: (namespace, filter, page) => index.searchTasks(namespace, filter, page),
    requeue: async (namespace, queue) => {
      const depth = (await index.queues(namespace)).find((each) => each.queue === queue);
      wake.publish([queueTopic(namespace, queue)]);
      return depth === undefined ? 0 : depth.ready + depth.delayed;
    },
  };
};

const updateAndTakeNext = async (
  { updates, next, runs, held }: Parts,
  namespace: Namespace,
  update: TaskUpdate,
  by: string,
  signal: AbortSignal,
): Outcome<PolledTask | undefined> => {
  const { workerId } = update;
  const queue = held.last(update.taskId)?.queue;
  // Only a worker that ends its task has time for another one, and where it stood is known to who gave it out.
  if (workerId === undefined || queue === undefined || update.status === 'IN_PROGRESS') {
    const answer = await updates.update(namespace, update, by);
    return answer.ok ? ok(undefined) : answer;
  }
  const taken = await next.whileEnding({ namespace, queue, workerId, signal }, async () => {
    const answer = await updates.update(namespace, update, by);
    return answer.ok ? ok(isEnded(answer.value)) : answer;
  });
  if (!taken.ok) return taken;
  const [polled] = await runs.withRuns(taken.value === undefined ? [] : [taken.value]);
  return ok(polled);
};

const isEnded = (answer: UpdateAnswer): boolean => answer.kind === 'done';
