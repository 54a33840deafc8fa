import { type ExecutionId, taskIdOf } from '../kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import type { Command } from './commands.ts';
import type {
  ChildStart,
  ExecutionClosed,
  ExecutionRerun,
  ExecutionRestarted,
  ExecutionRetried,
  ParentLink,
  TaskClosed,
  TasksRerun,
} from './events.ts';
import type { ExecutionState, TaskEntry } from './state.ts';
import { slotAt } from './task-key.ts';

type PublishMessage = Extract<Command, { type: 'PublishMessage' }>;

/** Only a SUB_WORKFLOW waits for the run that it starts; what a START_WORKFLOW starts belongs to nobody. */
const isChild = (entry: TaskEntry): boolean => entry.node.type === 'SUB_WORKFLOW';

const linkOf = (state: ExecutionState, entry: TaskEntry): ParentLink => ({
  executionId: state.executionId,
  taskId: taskIdOf(state.executionId, entry.seq),
  ...slotAt(entry.node.ref, entry.path),
  attempt: entry.attempt,
});

/** The message that starts the run of an attempt which has just opened. Messages about one child share its line. */
export const startOfChild = (state: ExecutionState, entry: TaskEntry): readonly PublishMessage[] => {
  const { child, phase } = entry;
  if (child === undefined || phase.kind !== 'attempt') return [];
  const { visibleAt, at } = phase.scheduled;
  const link = linkOf(state, entry);
  return [
    {
      type: 'PublishMessage',
      topic: startTopic(entry, child),
      dedupKey: `${link.taskId}/start`,
      orderingKey: child.executionId,
      payload: { parent: link, ...startPayload(state, entry, child.executionId) },
      ...(visibleAt > at ? { visibleAt } : {}),
    },
  ];
};

const startTopic = (entry: TaskEntry, child: ChildStart): PublishMessage['topic'] => {
  if (!isChild(entry)) return 'start-workflow';
  return child.resumed === true ? 'resume-child' : 'start-child';
};

const startPayload = (state: ExecutionState, entry: TaskEntry, executionId: ExecutionId): JsonObject => {
  const { started, plan } = state;
  const { name, version, priority, correlationId, taskToDomain, idempotencyKey, idempotencyStrategy } =
    entry.child ?? {};
  const { input, definition } = isChild(entry) ? ofSubWorkflow(entry) : ofStartWorkflow(entry.input);
  return {
    executionId,
    name: name ?? entry.node.name,
    version: version ?? null,
    definition,
    dialect: plan.dialect,
    input,
    priority: priority ?? started?.priority ?? 0,
    correlationId: correlationId ?? started?.correlationId ?? null,
    taskToDomain: taskToDomain ?? started?.taskToDomain ?? null,
    idempotencyKey: idempotencyKey ?? null,
    idempotencyStrategy: idempotencyStrategy ?? null,
    depth: isChild(entry) ? (started?.depth ?? 0) + 1 : 0,
    ...(started?.eventDepth === undefined ? {} : { eventDepth: started.eventDepth }),
  };
};

type Content = Readonly<{ input: JsonValue; definition: JsonValue }>;

const ofSubWorkflow = ({ node, child, input }: TaskEntry): Content => ({
  input,
  definition: (node.type === 'SUB_WORKFLOW' ? node.inline : undefined) ?? child?.definition ?? null,
});

const ofStartWorkflow = (input: JsonValue): Content => {
  const request = isJsonObject(input) && isJsonObject(input.startWorkflow) ? input.startWorkflow : {};
  return { input: request.input ?? {}, definition: request.workflowDef ?? null };
};

/** A child that has ended names itself in the output that it leaves: such an attempt has nothing to terminate. */
export const isReportOf = (entry: TaskEntry, closed: Pick<TaskClosed, 'output'>): boolean =>
  entry.child === undefined || closed.output.subWorkflowId === entry.child.executionId;

export const endOfChild = (state: ExecutionState, entry: TaskEntry, why: string): readonly PublishMessage[] => {
  const { child } = entry;
  if (child === undefined || !isChild(entry)) return [];
  const { taskId } = linkOf(state, entry);
  return [
    {
      type: 'PublishMessage',
      topic: 'terminate-child',
      dedupKey: `${taskId}/terminate`,
      orderingKey: child.executionId,
      payload: { executionId: child.executionId, reason: `Execution ${state.executionId}: ${why}.` },
    },
  ];
};

/** The end of a run, or of its way forward, ends the children that its open attempts wait for, whichever end it is. */
export const endsOfChildren = (
  state: ExecutionState,
  event: Pick<ExecutionClosed, 'at' | 'status'>,
): readonly PublishMessage[] => {
  const ends: PublishMessage[] = [];
  for (const entry of state.tasks.values()) {
    const isCanceled = entry.phase.kind === 'closed' && entry.phase.by === 'end' && entry.endedAt === event.at;
    if (entry.child === undefined || !isCanceled) continue;
    ends.push(...endOfChild(state, entry, `it ended with status ${event.status}`));
  }
  return ends;
};

/** What a child tells the attempt that waits for it. */
export const endForParent = (state: ExecutionState, event: ExecutionClosed): readonly PublishMessage[] => {
  const { parent } = state;
  if (parent === undefined) return [];
  return [
    {
      type: 'PublishMessage',
      topic: 'child-ended',
      dedupKey: `${state.executionId}/ended/${state.seq}`,
      orderingKey: state.executionId,
      payload: { taskId: parent.taskId, status: event.status, output: event.output, reason: event.reason ?? null },
    },
  ];
};

/** A child that somebody reopened goes on for its parent, which failed because of it; a parent that did it knows. */
export const revivalForParent = (
  state: ExecutionState,
  event: ExecutionRetried | ExecutionRerun | ExecutionRestarted | TasksRerun,
): readonly PublishMessage[] => {
  const { parent } = state;
  if (parent === undefined || 'parent' in event) return [];
  return [
    {
      type: 'PublishMessage',
      topic: 'child-revived',
      dedupKey: `${state.executionId}/revived/${state.seq}`,
      orderingKey: state.executionId,
      payload: { parent, by: event.by },
    },
  ];
};
