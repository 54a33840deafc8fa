import { type Instant, taskIdOf } from '../kernel/brand.ts';
import { invariant } from '../kernel/invariant.ts';
import type { JsonObject } from '../kernel/json.ts';
import { registry } from '../tasks/registry.ts';
import { isGated } from './admission.ts';
import {
  endForParent,
  endOfChild,
  endsOfChildren,
  isReportOf,
  revivalForParent,
  startOfChild,
} from './child-messages.ts';
import type { Command, QueuedFamily } from './commands.ts';
import { attemptTimers, EXECUTION_SLOT, executionTimer } from './deadlines.ts';
import type {
  CompensationStarted,
  ExecutionClosed,
  ExecutionRerun,
  ExecutionRestarted,
  ExecutionUpgraded,
  FailureWorkflowStart,
  TaskClosed,
  WorkflowEvent,
} from './events.ts';
import { failureKey } from './failure-workflow.ts';
import { isHeard, tellings } from './listeners.ts';
import { expiryOf, outputKeyOf } from './output-cache.ts';
import { eventOf } from './publish.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import { keyOf } from './task-key.ts';

/** The effects that one fact owes, from the state right after it. No fact without its effect, no effect without its fact. */
export const commandsFor = (state: ExecutionState, event: WorkflowEvent): readonly Command[] =>
  isHeard(state) ? [...effectsOf(state, event), ...tellings(state, event)] : effectsOf(state, event);

const effectsOf = (state: ExecutionState, event: WorkflowEvent): readonly Command[] => {
  switch (event.type) {
    case 'ExecutionStarted':
      return executionTimer(state);
    case 'TaskScheduled': {
      const entry = entryOf(state, event);
      const opened = openings(state, entry);
      return event.sink === undefined ? opened : [...opened, ...eventOf(state, entry, event.sink, event.input)];
    }
    case 'OperatorResolved':
      return event.sink === undefined ? [] : eventOf(state, entryOf(state, event), event.sink, event.input);
    case 'TaskClosed':
      return closings(state, event);
    case 'ExecutionPaused':
      return [{ type: 'ProjectExecution', status: 'PAUSED', at: event.at }, ...review(state)];
    case 'ExecutionResumed':
      return [{ type: 'ProjectExecution', status: 'RUNNING', at: event.at }, ...review(state)];
    case 'ExecutionRetried':
      return [...reopenings(state, event.at), ...revivalForParent(state, event)];
    case 'CompensationStarted':
      return cancellations(state, event);
    case 'ExecutionRerun':
    case 'ExecutionRestarted':
      return [...reopenings(state, event.at), ...revisions(state, event), ...revivalForParent(state, event)];
    case 'TasksRerun':
      return state.lifecycle.status === 'PAUSED'
        ? []
        : [...reopenings(state, event.at), ...revivalForParent(state, event)];
    case 'ExecutionUpgraded':
      return [...revisions(state, event), { type: 'CancelTimers', ...EXECUTION_SLOT }, ...executionTimer(state)];
    case 'TaskCanceled':
      return [
        ...closings(state, { ...event, status: 'CANCELED', output: {} }),
        { type: 'ProjectExecution', status: 'PAUSED', at: event.at },
      ];
    case 'TaskSkipped':
      return event.attempt === undefined
        ? []
        : closings(state, { ...event, attempt: event.attempt, status: 'SKIPPED' });
    case 'ExecutionClosed':
      return endings(state, event);
    case 'ExecutionAdopted':
    case 'TaskDeadlineMissed':
    case 'TaskRefused':
    case 'TaskTakenFromCache':
    case 'OperatorOpened':
    case 'OperatorClosed':
    case 'LoopIterated':
    case 'SignalBuffered':
    case 'MessageReceived':
    case 'ExecutionQueued':
    case 'ExecutionAdmitted':
    case 'ExecutionDeadlineMissed':
    case 'CompensationEnded':
    case 'ExecutionJumped':
    case 'EnvironmentRead':
    case 'VariablesSet':
    case 'SkipRequested':
      return [];
    default:
      return event satisfies never;
  }
};

const reopenings = (state: ExecutionState, at: Instant): readonly Command[] => [
  { type: 'ProjectExecution', status: 'RUNNING', at },
  ...executionTimer(state),
];

/** What lists and searches show of a run, where an action changed it. */
const revisions = (
  state: ExecutionState,
  event: ExecutionRerun | ExecutionRestarted | ExecutionUpgraded,
): readonly Command[] => {
  const given = 'input' in event || 'definition' in event || 'correlationId' in event;
  const { started } = state;
  if (!given || started === undefined) return [];
  const { definitionHash, version, input, correlationId } = started;
  const correlated = correlationId === undefined ? {} : { correlationId };
  return [{ type: 'ReviseExecution', definitionHash, version, input, ...correlated }];
};

const review = (state: ExecutionState): readonly Command[] =>
  state.awaitingAdmission ? [{ type: 'ReviewAdmissions' }] : [];

const entryOf = (state: ExecutionState, slot: Readonly<{ ref: string; iteration: number }>): TaskEntry => {
  const entry = state.tasks.get(keyOf(slot));
  invariant(entry !== undefined, `no task ${keyOf(slot)}`);
  return entry;
};

/** What an open attempt needs: its queue row and its timers. Also what `resume` finds owed for it. */
export const openings = (state: ExecutionState, entry: TaskEntry): readonly Command[] => {
  const { phase, node } = entry;
  invariant(phase.kind === 'attempt', `${entry.key} has no open attempt`);
  const { scheduled, policy, seq, missed } = phase;
  return [
    {
      type: 'EnqueueTask',
      taskId: taskIdOf(state.executionId, seq),
      ref: scheduled.ref,
      iteration: scheduled.iteration,
      attempt: scheduled.attempt,
      family: registry[node.type].family as QueuedFamily,
      taskType: scheduled.taskType,
      taskName: scheduled.taskName,
      queue: scheduled.queue,
      priority: state.started?.priority ?? 0,
      workflowName: state.plan.definition.name,
      input: scheduled.input,
      visibleAt: scheduled.visibleAt,
      scheduledAt: scheduled.at,
      heartbeatMs: policy.heartbeatMs,
      startToCloseMs: policy.startToCloseMs,
      alertOnly: policy.timeoutPolicy === 'ALERT_ONLY',
    },
    ...attemptTimers(scheduled, policy, missed),
    ...startOfChild(state, entry),
  ];
};

type Closing = Pick<
  TaskClosed,
  'ref' | 'iteration' | 'attempt' | 'at' | 'status' | 'output' | 'startedAt' | 'workerId' | 'reason'
>;

const closings = (state: ExecutionState, event: Closing): readonly Command[] => {
  const entry = entryOf(state, event);
  const slot = { ref: event.ref, iteration: event.iteration, attempt: event.attempt };
  return [
    {
      type: 'CloseTask',
      taskId: taskIdOf(state.executionId, entry.seq),
      ...slot,
      status: event.status,
      taskType: entry.node.definition.type,
      taskName: entry.taskName,
      scheduledAt: entry.scheduledAt,
      endedAt: event.at,
      ...(event.startedAt === undefined ? {} : { startedAt: event.startedAt }),
      ...(event.workerId === undefined ? {} : { workerId: event.workerId }),
      ...(event.reason === undefined ? {} : { reason: event.reason }),
    },
    ...(entry.timed ? [{ type: 'CancelTimers' as const, ...slot }] : []),
    ...(isReportOf(entry, event) ? [] : endOfChild(state, entry, 'the task that started it was closed')),
    ...storedOutput(state, entry, event),
  ];
};

/** Only what completed well is worth taking over by another run. */
const storedOutput = (state: ExecutionState, entry: TaskEntry, event: Closing): readonly Command[] => {
  const { cache } = entry.node;
  if (cache === undefined || event.status !== 'COMPLETED') return [];
  const key = outputKeyOf(state, entry.node, entry.taskName, entry.input);
  if (key === undefined) return [];
  return [{ type: 'StoreTaskOutput', ...key, output: event.output, expiresAt: expiryOf(cache, event.at) }];
};

const endings = (state: ExecutionState, event: ExecutionClosed): readonly Command[] => [
  ...cancellations(state, event),
  {
    type: 'ProjectExecution',
    status: event.status,
    at: event.at,
    output: event.output,
    ...(event.reason === undefined ? {} : { reason: event.reason }),
    ...(event.failedTask === undefined ? {} : { failedTask: event.failedTask }),
  },
  ...endForParent(state, event),
  ...(isGated(state) ? [{ type: 'ReleaseAdmission' as const }] : []),
  ...failureWorkflow(state, event),
];

const cancellations = (state: ExecutionState, event: ExecutionClosed | CompensationStarted): readonly Command[] =>
  leavesWork(state) ? [{ type: 'CancelOpenWork', at: event.at }, ...endsOfChildren(state, event)] : [];

/** What the end canceled has rows in the store, and so has the deadline of the run; most runs end without either. */
const leavesWork = (state: ExecutionState): boolean => {
  if (state.plan.timeoutMs > 0) return true;
  for (const { phase } of state.tasks.values()) if (phase.kind === 'closed' && phase.by === 'end') return true;
  return false;
};

const failureWorkflow = (state: ExecutionState, event: ExecutionClosed): readonly Command[] => {
  if (event.failureWorkflow === undefined) return [];
  return [
    {
      type: 'PublishMessage',
      topic: 'start-failure-workflow',
      dedupKey: failureKey(state, state.seq),
      orderingKey: state.executionId,
      payload: failurePayload(state, event, event.failureWorkflow),
    },
  ];
};

const failurePayload = (
  state: ExecutionState,
  event: ExecutionClosed,
  { name, version, executionId }: FailureWorkflowStart,
): JsonObject => {
  const { definition } = state.plan;
  const { correlationId, taskToDomain } = state.started ?? {};
  const failedTask = event.failedTask === undefined ? undefined : state.tasks.get(event.failedTask);
  return {
    name,
    executionId,
    seq: state.seq,
    ...(version === undefined ? {} : { version }),
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(taskToDomain === undefined ? {} : { taskToDomain }),
    input: {
      ...state.started?.input,
      workflowId: state.executionId,
      workflowType: definition.name,
      workflowVersion: definition.version,
      reason: event.reason ?? null,
      failureStatus: event.status,
      failureTaskId: failedTask === undefined ? null : taskIdOf(state.executionId, failedTask.seq),
    },
  };
};
