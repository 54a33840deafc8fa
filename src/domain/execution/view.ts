import type { ExecutionId, Instant, Namespace, TaskId } from '../kernel/brand.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import type { DeadlineKind, ParentLink, TaskSlot } from './events.ts';
import type { ExecutionStatus, TaskStatus } from './statuses.ts';

/** One attempt of a task, or one operator, as history tells it. */
export type TaskView = Readonly<
  TaskSlot & {
    taskId: TaskId;
    attempt: number;
    type: string;
    taskName: string;
    status: TaskStatus;
    queue?: string;
    input: JsonValue;
    output?: JsonObject;
    reason?: string;
    deadline?: DeadlineKind;
    workerId?: string;
    scheduledAt: Instant;
    visibleAt?: Instant;
    startedAt?: Instant;
    endedAt?: Instant;
    /** A waiting task that ends by the clock. */
    fireAt?: Instant;
    /** A compensation: the wire ref of the task it undoes. */
    compensates?: string;
    /** SUB_WORKFLOW: the run that it waits for, or waited for. */
    subWorkflowId?: ExecutionId;
    /** A further attempt follows this one. */
    retried: boolean;
    /** Nobody ran it: its output is that of another task with the same key. */
    fromCache?: true;
  }
>;

/** A run as history up to `seq` tells it. */
export type ExecutionView = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  name: string;
  version: number;
  definitionHash: string;
  status: ExecutionStatus;
  /** RUNNING or PAUSED, and nothing is scheduled until it gets its place under a limit on runs. */
  awaitingAdmission?: true;
  seq: number;
  input: JsonObject;
  output?: JsonObject;
  variables: JsonObject;
  priority: number;
  correlationId?: string;
  parent?: ParentLink;
  copyOf?: ExecutionId;
  createdBy?: string;
  taskToDomain?: Readonly<Record<string, string>>;
  /** When it was last taken up again after it had ended. */
  lastRetriedAt?: Instant;
  startedAt: Instant;
  endedAt?: Instant;
  reason?: string;
  failedTask?: string;
  tasks: readonly TaskView[];
}>;
