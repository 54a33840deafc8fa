import { type ExecutionId, type Namespace, parseTaskId, type TaskId } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { EngineStore } from '../ports/engine-store.ts';
import type { ExecutionSummary } from '../ports/execution-index.ts';
import type { Ids } from '../ports/ids.ts';
import type { ControlExecution } from './control-execution.ts';
import type { CompleteTaskCall, Outcome } from './use-cases.ts';

export type TaskDoorsDeps = Readonly<{ engine: EngineStore; control: ControlExecution; ids: Ids }>;

const noTask = (taskId: TaskId) => err({ code: 'NOT_FOUND', message: `There is no task ${taskId}.` } as const);

/** What the world outside does with tasks that nobody leases, and with the messages of a run. */
export class TaskDoors {
  private readonly deps: TaskDoorsDeps;

  constructor(deps: TaskDoorsDeps) {
    this.deps = deps;
  }

  /** Ends a task. The same call again is answered like the first. Errors: NOT_FOUND, TERMINAL_STATE, INVALID_STATE. */
  async complete(
    namespace: Namespace,
    taskId: TaskId,
    call: CompleteTaskCall,
    by: string,
    ofWorkersToo = false,
  ): Outcome<ExecutionSummary> {
    const task = parseTaskId(taskId);
    if (task === undefined) return noTask(taskId);
    const scheduled = await this.deps.engine.findEvent(task.executionId, task.scheduledSeq);
    if (scheduled?.namespace !== namespace || scheduled.event.type !== 'TaskScheduled') return noTask(taskId);
    const { scheduledSeq, executionId } = task;
    return this.deps.control.request(namespace, executionId, {
      type: 'CompleteTask',
      scheduledSeq,
      by,
      ofWorkersToo,
      ...call,
    });
  }

  /** Leaves a message for the run, in the order of arrival. Errors: NOT_FOUND, TERMINAL_STATE, LIMIT_EXCEEDED. */
  async sendMessage(
    namespace: Namespace,
    executionId: ExecutionId,
    payload: JsonObject,
    by: string,
  ): Outcome<Readonly<{ messageId: string }>> {
    // Any id that nobody else draws will do; these have the order of time.
    const id: string = this.deps.ids.executionId();
    const taken = await this.deps.control.request(namespace, executionId, { type: 'ReceiveMessage', id, payload, by });
    return taken.ok ? ok({ messageId: id }) : taken;
  }
}
