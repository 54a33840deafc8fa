import type { Listener, StateChange } from '../definition/compile-listeners.ts';
import { isWaitingType } from '../definition/task-types.ts';
import { evaluateTemplate } from '../expression/evaluate.ts';
import { type Instant, taskIdOf } from '../kernel/brand.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { formatInstant } from '../kernel/time.ts';
import type { Command } from './commands.ts';
import type { TaskSlot, WorkflowEvent } from './events.ts';
import { masked, maskedKeysOf } from './masking.ts';
import { payloadProblem } from './payload-limit.ts';
import { publishing } from './publish.ts';
import { modeOf, scopeAt } from './scope.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import type { ExecutionStatus } from './statuses.ts';
import { keyOf } from './task-key.ts';

type Told = Readonly<{ change: StateChange; at: Instant }>;

/** Whether a fact of this run could be of interest to anybody: nothing is looked at where it could not. */
export const isHeard = ({ plan, dynamicNodes }: ExecutionState): boolean => plan.isHeard || dynamicNodes.size > 0;

/** What one fact has to be told to the listeners of the definition, from the state right after it. */
export const tellings = (state: ExecutionState, event: WorkflowEvent): readonly Command[] => [
  ...statusTelling(state, event),
  ...taskTellings(state, event),
];

/** The status that a fact gave the run; undefined where it left it as it was. */
const statusOf = ({ lifecycle }: ExecutionState, event: WorkflowEvent): ExecutionStatus | undefined => {
  switch (event.type) {
    case 'ExecutionStarted':
    case 'ExecutionPaused':
    case 'ExecutionResumed':
    case 'ExecutionRetried':
    case 'ExecutionRerun':
    case 'ExecutionRestarted':
    case 'ExecutionClosed':
    case 'TaskCanceled':
      return lifecycle.status === 'NEW' ? undefined : lifecycle.status;
    case 'TasksRerun':
      return lifecycle.status === 'RUNNING' ? lifecycle.status : undefined;
    default:
      return undefined;
  }
};

const runFacts = (state: ExecutionState): JsonObject => ({
  workflowId: state.executionId,
  workflowType: state.plan.definition.name,
  workflowVersion: state.plan.definition.version,
  correlationId: state.started?.correlationId ?? null,
});

const statusTelling = (state: ExecutionState, event: WorkflowEvent): readonly Command[] => {
  const [sink, status] = [state.plan.statusSink, statusOf(state, event)];
  if (sink === undefined || status === undefined) return [];
  const reason = 'reason' in event ? (event.reason ?? null) : null;
  const payload = { ...runFacts(state), status, reason, at: formatInstant(event.at) };
  return [publishing(state, { messageId: `${taskIdOf(state.executionId, state.seq)}/status`, sink, payload })];
};

const taskTellings = (state: ExecutionState, event: WorkflowEvent): readonly Command[] => {
  if (event.type === 'ExecutionClosed' || event.type === 'CompensationStarted') return cancellations(state, event.at);
  const entry = 'ref' in event ? state.tasks.get(keyOf(event as TaskSlot)) : undefined;
  return entry === undefined ? [] : changesOf(entry, event).flatMap((told) => tell(state, entry, told));
};

/** The end cancels what is open: each of these tasks has its own moment, and it is this one. */
const cancellations = (state: ExecutionState, at: Instant): readonly Command[] =>
  [...state.tasks.values()]
    .filter(({ phase, endedAt }) => phase.kind === 'closed' && phase.by === 'end' && endedAt === at)
    .flatMap((entry) => tell(state, entry, { change: 'onCancelled', at }));

/**
 * A lease is no fact of history: that a worker's task has started is told with the fact that closes it, which knows when.
 * Of everything else the start is the moment it is scheduled.
 */
const changesOf = (entry: TaskEntry, event: WorkflowEvent): readonly Told[] => {
  const { at } = event;
  const began: readonly Told[] = [
    { change: 'onScheduled', at },
    { change: 'onStart', at },
  ];
  switch (event.type) {
    case 'TaskScheduled':
      return isWaitingType(entry.node.type) ? began : [{ change: 'onScheduled', at }];
    case 'TaskClosed': {
      const isLate = !isWaitingType(entry.node.type) && event.startedAt !== undefined;
      const started: readonly Told[] = isLate ? [{ change: 'onStart', at: event.startedAt ?? at }] : [];
      return [...started, { change: endOf(event.status), at }];
    }
    case 'TaskCanceled':
      return [{ change: 'onCancelled', at }];
    case 'TaskTakenFromCache':
      return [...began, { change: 'onSuccess', at }];
    case 'TaskRefused':
      return [{ change: 'onFailed', at }];
    case 'OperatorOpened':
      return began;
    case 'OperatorResolved':
      return [...began, { change: endOf(event.status), at }];
    case 'OperatorClosed':
      return [{ change: endOf(event.status), at }];
    default:
      return [];
  }
};

const endOf = (status: string): StateChange => {
  if (status === 'COMPLETED') return 'onSuccess';
  return status === 'CANCELED' ? 'onCancelled' : 'onFailed';
};

const tell = (state: ExecutionState, entry: TaskEntry, told: Told): readonly Command[] => {
  const heard = [...(state.plan.listeners?.[told.change] ?? []), ...(entry.node.listeners?.[told.change] ?? [])];
  return heard.map(({ sink, payload }, index) => {
    const messageId = `${taskIdOf(state.executionId, state.seq)}/${entry.key}/${told.change}/${index}`;
    const facts = { ...taskFacts(state, entry, told), payload: payloadOf(state, payload) };
    return publishing(state, { messageId, sink, payload: facts });
  });
};

const taskFacts = (state: ExecutionState, entry: TaskEntry, { change, at }: Told): JsonObject => ({
  ...runFacts(state),
  state: change,
  taskId: taskIdOf(state.executionId, entry.seq),
  taskRef: entry.key,
  taskType: entry.node.definition.type,
  taskName: entry.taskName,
  attempt: entry.attempt,
  status: entry.status,
  reason: entry.reason ?? null,
  at: formatInstant(at),
});

/**
 * What cannot be evaluated is told as nothing: a listener must not be able to end a run. It sees what a reader of the run
 * would see, and no value under a masked key.
 */
const payloadOf = (state: ExecutionState, template: Listener['payload']): JsonValue => {
  const evaluated = evaluateTemplate(template, scopeAt(state), modeOf(state));
  if (!evaluated.ok || payloadProblem(evaluated.value.value) !== undefined) return null;
  return masked(evaluated.value.value, maskedKeysOf(state.plan.definition));
};
