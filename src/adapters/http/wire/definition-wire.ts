import type { TaskDefinition } from '../../../domain/definition/task-definition.ts';
import type { TaskNodeDefinition, WorkflowDefinition } from '../../../domain/definition/workflow-definition.ts';
import type { JsonObject } from '../../../domain/kernel/json.ts';
import type { TaskDefinitionRow, WorkflowDefinitionRow } from '../../../ports/definition-store.ts';
import type { DefinitionDetailBody, DefinitionSummaryBody, TaskDefinitionDetailBody } from '../schemas/definitions.ts';
import { isoText } from './instant-wire.ts';

const MS_PER_SECOND = 1_000;

type Nodes = readonly TaskNodeDefinition[];

/** A task definition in the form in which it is registered: seconds, flat, with the fields that have no effect. */
export const taskDocumentOf = ({ policy, rateLimit, extra, ...plain }: TaskDefinition): JsonObject => ({
  ...plain,
  rateLimitPerFrequency: rateLimit?.leases ?? 0,
  rateLimitFrequencyInSeconds: rateLimit?.windowSeconds ?? 1,
  retryCount: policy.retryCount,
  retryLogic: policy.retryLogic,
  retryDelaySeconds: policy.retryDelayMs / MS_PER_SECOND,
  backoffScaleFactor: policy.backoffScaleFactor,
  maxRetryDelaySeconds: policy.maxRetryDelayMs / MS_PER_SECOND,
  jitter: policy.jitterShare,
  backoffJitterMs: policy.jitterMs,
  retryBudget: policy.retryBudget ?? 1,
  nonRetryableErrors: policy.nonRetryableErrors,
  scheduleToStartTimeout: policy.scheduleToStartMs / MS_PER_SECOND,
  startToCloseTimeout: policy.startToCloseMs / MS_PER_SECOND,
  totalTimeout: policy.scheduleToCloseMs / MS_PER_SECOND,
  heartbeatTimeout: policy.heartbeatMs / MS_PER_SECOND,
  timeoutPolicy: policy.timeoutPolicy,
  ...extra,
});

const casesOf = (cases: Readonly<Record<string, Nodes>>): JsonObject =>
  Object.fromEntries(Object.entries(cases).map(([label, nodes]) => [label, nodesOf(nodes)]));

const nodesOf = (nodes: Nodes): readonly JsonObject[] => nodes.map(nodeOf);

const nodeOf = (node: TaskNodeDefinition): JsonObject => {
  const { overrides, extra, startDelaySeconds, taskDefinition, ...rest } = node;
  const { compensateWith, decisionCases, defaultCase, forkTasks, loopOver, ...plain } = rest;
  return {
    ...plain,
    startDelay: startDelaySeconds,
    ...overrides,
    ...(taskDefinition !== undefined && { taskDefinition: taskDocumentOf(taskDefinition) }),
    ...(compensateWith !== undefined && {
      compensateWith: typeof compensateWith === 'string' ? compensateWith : nodeOf(compensateWith),
    }),
    ...(decisionCases !== undefined && { decisionCases: casesOf(decisionCases) }),
    ...(defaultCase !== undefined && { defaultCase: nodesOf(defaultCase) }),
    ...(forkTasks !== undefined && { forkTasks: forkTasks.map(nodesOf) }),
    ...(loopOver !== undefined && { loopOver: nodesOf(loopOver) }),
    ...extra,
  };
};

/** A workflow definition in the form in which it is registered; every default is spelled out in it. */
export const workflowDocumentOf = ({ dialect: _, extra, tasks, ...plain }: WorkflowDefinition): JsonObject => ({
  ...plain,
  tasks: nodesOf(tasks),
  ...extra,
});

export const definitionSummaryOf = (row: WorkflowDefinitionRow): DefinitionSummaryBody => ({
  name: row.name,
  version: row.version,
  hash: row.hash,
  ...(row.definition.description !== undefined && { description: row.definition.description }),
  createdAt: isoText(row.createdAt),
  updatedAt: isoText(row.updatedAt),
});

export const definitionDetailOf = (row: WorkflowDefinitionRow): DefinitionDetailBody => ({
  ...definitionSummaryOf(row),
  definition: workflowDocumentOf(row.definition),
});

export const taskDefinitionOf = ({
  createdAt,
  updatedAt,
  definition,
}: TaskDefinitionRow): TaskDefinitionDetailBody => ({
  name: definition.name,
  createdAt: isoText(createdAt),
  updatedAt: isoText(updatedAt),
  definition: taskDocumentOf(definition),
});
