import { isWaitingType } from '../definition/task-types.ts';
import { type ExecutionId, type Instant, taskIdOf } from '../kernel/brand.ts';
import { invariant } from '../kernel/invariant.ts';
import type { JsonObject } from '../kernel/json.ts';
import { type CompensationStatus, withCompensation } from './compensation-text.ts';
import type {
  CompensationStarted,
  ExecutionRerun,
  ExecutionStarted,
  ExecutionUpgraded,
  PinnedDefinition,
  SequencedEvent,
  TakenBack,
  TaskClosed,
  TaskScheduled,
  TaskSkipped,
} from './events.ts';
import { keyOf } from './task-key.ts';
import type { ExecutionView, TaskView } from './view.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Draft = Mutable<Omit<ExecutionView, 'tasks'>> & {
  tasks: Mutable<TaskView>[];
  open: Map<string, Mutable<TaskView>>;
  /** The last thing told of each task. */
  last: Map<string, Mutable<TaskView>>;
  /** Operators that were opened, as opposed to refused: a retry of the run opens them again. */
  opened: Set<Mutable<TaskView>>;
  /** How the run is undone, and why. */
  compensation?: { status: CompensationStatus; reason: string | undefined };
};

/**
 * A run as its log tells it, every attempt included. Needs no plan, so it reads logs of any definition; a prefix of the
 * log gives the run as it was then.
 */
export const projectView = (executionId: ExecutionId, log: readonly SequencedEvent[]): ExecutionView => {
  const first = log[0]?.event;
  invariant(first?.type === 'ExecutionStarted', `the log of ${executionId} does not begin with its start`);
  const draft = draftOf(executionId, first);
  for (const entry of log.slice(1)) project(draft, entry);
  const { open: _open, last: _last, opened: _opened, compensation: _compensation, ...view } = draft;
  return view;
};

const draftOf = (executionId: ExecutionId, event: ExecutionStarted): Draft => ({
  executionId,
  namespace: event.namespace,
  name: event.name,
  version: event.version,
  definitionHash: event.definitionHash,
  status: 'RUNNING',
  seq: 1,
  input: event.input,
  variables: event.variables,
  priority: event.priority,
  startedAt: event.at,
  tasks: [],
  open: new Map(),
  last: new Map(),
  opened: new Set(),
  ...(event.correlationId === undefined ? {} : { correlationId: event.correlationId }),
  ...(event.parent === undefined ? {} : { parent: event.parent }),
  ...(event.copyOf === undefined ? {} : { copyOf: event.copyOf }),
  ...(event.createdBy === undefined ? {} : { createdBy: event.createdBy }),
  ...(event.taskToDomain === undefined ? {} : { taskToDomain: event.taskToDomain }),
});

const add = (draft: Draft, task: Mutable<TaskView>, stays: boolean): void => {
  const key = keyOf(task);
  const before = draft.last.get(key);
  if (before !== undefined) before.retried = true;
  draft.last.set(key, task);
  draft.tasks.push(task);
  if (stays) draft.open.set(key, task);
};

const project = (draft: Draft, { seq, event }: SequencedEvent): void => {
  draft.seq = seq;
  switch (event.type) {
    case 'TaskScheduled':
      return add(draft, scheduledView(draft, seq, event), true);
    case 'TaskClosed':
      return closeTask(draft, event);
    case 'TaskRefused':
      return add(
        draft,
        {
          ...instantView(draft, seq, event),
          attempt: event.attempt,
          type: event.taskType,
          taskName: event.taskName,
          status: event.status,
          reason: event.reason,
          ...compensatesOf(event),
        },
        false,
      );
    case 'TaskTakenFromCache': {
      const { attempt, taskName, taskType: type, output } = event;
      const view = { ...instantView(draft, seq, event), attempt, type, taskName, output, fromCache: true as const };
      return add(draft, { ...view, status: 'COMPLETED' }, false);
    }
    case 'OperatorResolved':
      if (event.variables !== undefined) draft.variables = { ...draft.variables, ...event.variables };
      return add(
        draft,
        {
          ...instantView(draft, seq, event),
          type: event.operator,
          status: event.status,
          output: event.output,
          ...reasonOf(event),
        },
        false,
      );
    case 'OperatorOpened': {
      const { endedAt: _, ...view } = instantView(draft, seq, event);
      const task: Mutable<TaskView> = { ...view, type: event.operator, status: 'IN_PROGRESS' };
      draft.opened.add(task);
      return add(draft, task, true);
    }
    case 'OperatorClosed':
      return settle(draft, keyOf(event), event.at, { status: event.status, output: event.output, ...reasonOf(event) });
    case 'CompensationStarted':
      return startCompensation(draft, event);
    case 'CompensationEnded':
      return compensate(draft, event.status, event.reason);
    case 'ExecutionQueued':
      draft.awaitingAdmission = true;
      return;
    case 'ExecutionAdmitted':
      delete draft.awaitingAdmission;
      return;
    case 'ExecutionClosed':
      return closeExecution(draft, event);
    case 'ExecutionPaused':
      draft.status = 'PAUSED';
      return;
    case 'ExecutionResumed':
      draft.status = 'RUNNING';
      return;
    case 'ExecutionAdopted':
      draft.parent = event.parent;
      return;
    case 'ExecutionRetried':
      if (event.parent !== undefined) draft.parent = event.parent;
      draft.lastRetriedAt = event.at;
      return reopenExecution(draft);
    case 'ExecutionRerun':
      return rerunExecution(draft, event);
    case 'TasksRerun':
      takeBack(draft, event, event.at);
      return draft.status === 'PAUSED' ? undefined : reopenExecution(draft);
    case 'ExecutionRestarted':
      return restartExecution(draft, event.variables, event.definition);
    case 'ExecutionJumped':
      return takeBack(draft, event, event.at);
    case 'ExecutionUpgraded':
      return upgradeExecution(draft, event);
    case 'VariablesSet':
      draft.variables = { ...draft.variables, ...event.variables };
      return;
    case 'TaskSkipped':
      return skipTask(draft, seq, event);
    case 'TaskCanceled':
      draft.status = 'PAUSED';
      return settle(draft, keyOf(event), event.at, { status: 'CANCELED', ...reasonOf(event) });
    case 'EnvironmentRead':
    case 'ExecutionStarted':
    case 'LoopIterated':
    case 'SignalBuffered':
    case 'MessageReceived':
    case 'SkipRequested':
    case 'TaskDeadlineMissed':
    case 'ExecutionDeadlineMissed':
      return;
    default:
      return event satisfies never;
  }
};

const reasonOf = (event: Readonly<{ reason?: string }>): { reason?: string } =>
  event.reason === undefined ? {} : { reason: event.reason };

const compensatesOf = (event: Readonly<{ compensates?: string }>): { compensates?: string } =>
  event.compensates === undefined ? {} : { compensates: event.compensates };

const scheduledView = (draft: Draft, seq: number, event: TaskScheduled): Mutable<TaskView> => ({
  taskId: taskIdOf(draft.executionId, seq),
  ref: event.ref,
  iteration: event.iteration,
  attempt: event.attempt,
  type: event.taskType,
  taskName: event.taskName,
  status: isWaitingType(event.taskType) ? 'IN_PROGRESS' : 'SCHEDULED',
  queue: event.queue,
  input: event.input,
  scheduledAt: event.at,
  visibleAt: event.visibleAt,
  retried: false,
  ...(event.fireAt === undefined ? {} : { fireAt: event.fireAt }),
  ...compensatesOf(event),
  ...(event.child === undefined || event.taskType !== 'SUB_WORKFLOW' ? {} : { subWorkflowId: event.child.executionId }),
});

type Instantaneous = Readonly<{ ref: string; iteration: number; at: Instant; input: TaskView['input'] }>;

const instantView = (draft: Draft, seq: number, event: Instantaneous) => ({
  taskId: taskIdOf(draft.executionId, seq),
  ref: event.ref,
  iteration: event.iteration,
  attempt: 1,
  taskName: event.ref,
  input: event.input,
  scheduledAt: event.at,
  startedAt: event.at,
  endedAt: event.at,
  retried: false,
});

const settle = (draft: Draft, key: string, at: Instant, change: Partial<Mutable<TaskView>>): void => {
  const task = draft.open.get(key);
  if (task === undefined) return;
  Object.assign(task, change, { endedAt: at });
  draft.open.delete(key);
};

const closeTask = (draft: Draft, event: TaskClosed): void =>
  settle(draft, keyOf(event), event.at, {
    status: event.status,
    output: event.output,
    retried: event.disposition.kind === 'retry',
    ...reasonOf(event),
    ...(event.deadline === undefined ? {} : { deadline: event.deadline }),
    ...(event.workerId === undefined ? {} : { workerId: event.workerId }),
    ...(event.startedAt === undefined ? {} : { startedAt: event.startedAt }),
  });

const cancelOpen = (draft: Draft, at: Instant): void => {
  for (const key of [...draft.open.keys()]) settle(draft, key, at, { status: 'CANCELED' });
};

const startCompensation = (draft: Draft, event: CompensationStarted): void => {
  cancelOpen(draft, event.at);
  draft.compensation = { status: 'RUNNING', reason: event.reason };
  compensate(draft, 'RUNNING', undefined);
};

const compensate = (
  draft: Draft,
  status: CompensationStatus,
  reason: string | undefined,
  before: readonly (string | undefined)[] = [draft.compensation?.reason],
): void => {
  if (draft.compensation !== undefined) draft.compensation.status = status;
  draft.variables = withCompensation(draft.variables, status, [...before, reason]);
};

const closeExecution = (draft: Draft, event: Extract<SequencedEvent['event'], { type: 'ExecutionClosed' }>): void => {
  cancelOpen(draft, event.at);
  if (draft.compensation?.status === 'RUNNING') compensate(draft, 'FAILED', event.reason, []);
  delete draft.awaitingAdmission;
  draft.status = event.status;
  draft.output = event.output;
  draft.endedAt = event.at;
  if (event.reason !== undefined) draft.reason = event.reason;
  if (event.failedTask !== undefined) draft.failedTask = event.failedTask;
};

/** Joins and loops that failed, or that the end canceled, wait again; all else is told by facts of its own. */
const reopenExecution = (draft: Draft): void => {
  draft.status = 'RUNNING';
  for (const field of ['output', 'endedAt', 'reason', 'failedTask'] as const) delete draft[field];
  if (draft.compensation !== undefined) return compensate(draft, 'RUNNING', undefined);
  for (const task of draft.opened) {
    if (task.status !== 'CANCELED' && task.status !== 'FAILED' && task.status !== 'FAILED_WITH_TERMINAL_ERROR')
      continue;
    reopenTask(draft, task);
  }
};

/** Operators that were taken back are not told of again; loops that had ended go on. */
const takeBack = (draft: Draft, { reopened = [], withdrawn = [] }: TakenBack, at: Instant): void => {
  for (const key of withdrawn) {
    const task = draft.last.get(key);
    if (task !== undefined) draft.opened.delete(task);
    settle(draft, key, at, { status: 'CANCELED' });
  }
  for (const key of reopened) {
    const task = draft.last.get(key);
    if (task !== undefined) reopenTask(draft, task);
  }
};

const reopenTask = (draft: Draft, task: Mutable<TaskView>): void => {
  task.status = 'IN_PROGRESS';
  for (const field of ['output', 'endedAt', 'reason'] as const) delete task[field];
  draft.open.set(keyOf(task), task);
};

const rerunExecution = (draft: Draft, event: ExecutionRerun): void => {
  if (event.input !== undefined) draft.input = event.input;
  if (event.correlationId !== undefined) draft.correlationId = event.correlationId;
  if (event.from === undefined) return restartExecution(draft, event.variables ?? {});
  takeBack(draft, event, event.at);
  reopenExecution(draft);
};

const restartExecution = (draft: Draft, variables: JsonObject, definition?: PinnedDefinition): void => {
  draft.opened.clear();
  delete draft.compensation;
  if (definition !== undefined) followDefinition(draft, definition);
  draft.variables = variables;
  reopenExecution(draft);
};

const followDefinition = (draft: Draft, { definitionHash, name, version }: PinnedDefinition): void => {
  Object.assign(draft, { definitionHash, name, version });
};

const upgradeExecution = (draft: Draft, event: ExecutionUpgraded): void => {
  followDefinition(draft, event.definition);
  draft.variables = event.variables;
  if (event.input !== undefined) draft.input = event.input;
};

const skipTask = (draft: Draft, seq: number, event: TaskSkipped): void => {
  const key = keyOf(event);
  const { input, output } = event;
  if (draft.open.has(key))
    return settle(draft, key, event.at, { status: 'SKIPPED', input, output, ...reasonOf(event) });
  const type = event.taskType;
  add(
    draft,
    {
      ...instantView(draft, seq, event),
      taskName: event.taskName,
      type,
      status: 'SKIPPED',
      output,
      ...reasonOf(event),
    },
    false,
  );
};
