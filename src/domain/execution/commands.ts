import type { Instant, TaskId } from '../kernel/brand.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import type { DeadlineKind, TaskSlot } from './events.ts';
import type { OutputKey } from './output-cache.ts';
import type { AttemptStatus, ExecutionStatus } from './statuses.ts';

/** The four families of design.md; each task type is in exactly one, and only three of them are ever queued. */
export type QueuedFamily = 'worker' | 'system' | 'waiting';

/** What a timer ends when it fires. A heartbeat has no timer: its deadline is the lease of the queue row. */
export type TimerPurpose = 'WAIT' | 'EXECUTION' | Exclude<DeadlineKind, 'HEARTBEAT'>;

/** An effect owed to the store because of one fact; carried out in the transaction that appends the fact. */
export type Command =
  | Readonly<
      TaskSlot & {
        type: 'EnqueueTask';
        taskId: TaskId;
        attempt: number;
        family: QueuedFamily;
        taskType: string;
        taskName: string;
        queue: string;
        priority: number;
        /** The definition of the run: those that share a queue take turns. */
        workflowName: string;
        input: JsonValue;
        visibleAt: Instant;
        scheduledAt: Instant;
        heartbeatMs: number;
        /** Armed as a timer when the first lease is taken; 0: none. */
        startToCloseMs: number;
        /** The policy of its deadlines is ALERT_ONLY: they end nothing, so their timers must not close the mailbox. */
        alertOnly: boolean;
      }
    >
  | Readonly<
      TaskSlot & {
        type: 'CloseTask';
        taskId: TaskId;
        attempt: number;
        status: AttemptStatus;
        taskType: string;
        taskName: string;
        scheduledAt: Instant;
        startedAt?: Instant;
        endedAt: Instant;
        workerId?: string;
        reason?: string;
      }
    >
  /** The run ended: every open attempt, timer and buffered work of it goes. */
  | Readonly<{ type: 'CancelOpenWork'; at: Instant }>
  | Readonly<
      TaskSlot & { type: 'ArmTimer'; attempt: number; purpose: TimerPurpose; fireAt: Instant; alertOnly: boolean }
    >
  | Readonly<TaskSlot & { type: 'CancelTimers'; attempt: number }>
  | Readonly<OutputKey & { type: 'StoreTaskOutput'; output: JsonObject; expiresAt: Instant }>
  /** The run ended: its places under limits on runs are free for others. */
  | Readonly<{ type: 'ReleaseAdmission' }>
  /** A queued run was paused or resumed: who is next may be another now. */
  | Readonly<{ type: 'ReviewAdmissions' }>
  | Readonly<{
      type: 'ProjectExecution';
      status: ExecutionStatus;
      at: Instant;
      output?: JsonObject;
      reason?: string;
      failedTask?: string;
    }>
  /** An operator action changed what lists and searches show of the run. */
  | Readonly<{
      type: 'ReviseExecution';
      definitionHash: string;
      version: number;
      input: JsonObject;
      correlationId?: string;
    }>
  | Readonly<{
      type: 'PublishMessage';
      topic: OutboxTopic;
      dedupKey: string;
      orderingKey: string;
      payload: JsonObject;
      /** Not before then; absent: at once. */
      visibleAt?: Instant;
    }>;

/** Internal topics are handled in the relay's own transaction. */
export type OutboxTopic =
  | 'start-failure-workflow'
  | 'start-child'
  | 'start-workflow'
  | 'resume-child'
  | 'child-ended'
  | 'child-revived'
  | 'terminate-child'
  | 'handle-event'
  | EventTopic;

/** Messages of EVENT tasks and for listeners, by the kind of their sink. */
export type EventTopic = 'event/internal' | BrokerTopic;

/** Sinks that nothing delivers to yet: their messages are kept as dead letters, which can be sent again once something does. */
export type BrokerTopic = `event/${'kafka' | 'nats' | 'amqp' | 'sqs' | 'redis' | 'webhook' | 'unknown'}`;
