import type { TaskDefinition } from '../../../../domain/definition/task-definition.ts';
import type { WorkflowDefinition } from '../../../../domain/definition/workflow-definition.ts';
import type { Instant } from '../../../../domain/kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../domain/kernel/json.ts';
import { workflowDocumentOf } from '../../wire/definition-wire.ts';

const MS_PER_SECOND = 1_000;

/** When a definition was stored; absent for one that only a run has. */
export type Stored = Readonly<{ createdAt: Instant; updatedAt: Instant }>;

const auditOf = (stored: Stored | undefined): JsonObject =>
  stored === undefined ? {} : { createTime: stored.createdAt, updateTime: stored.updatedAt };

/** A task definition as Conductor's TaskDef, every field that it has a default for included. */
export const taskDefOf = (definition: TaskDefinition, stored?: Stored): JsonObject => {
  const { policy, rateLimit, semaphores, extra, ...plain } = definition;
  return {
    inputKeys: [],
    outputKeys: [],
    enforceSchema: false,
    taskStatusListenerEnabled: true,
    runtimeMetadata: [],
    ...plain,
    retryCount: policy.retryCount,
    retryLogic: policy.retryLogic,
    retryDelaySeconds: policy.retryDelayMs / MS_PER_SECOND,
    backoffScaleFactor: policy.backoffScaleFactor,
    maxRetryDelaySeconds: policy.maxRetryDelayMs / MS_PER_SECOND,
    backoffJitterMs: policy.jitterMs,
    timeoutPolicy: policy.timeoutPolicy,
    timeoutSeconds: policy.startToCloseMs / MS_PER_SECOND,
    responseTimeoutSeconds: policy.heartbeatMs / MS_PER_SECOND,
    pollTimeoutSeconds: policy.scheduleToStartMs / MS_PER_SECOND,
    totalTimeoutSeconds: policy.scheduleToCloseMs / MS_PER_SECOND,
    rateLimitPerFrequency: rateLimit?.leases ?? 0,
    rateLimitFrequencyInSeconds: rateLimit?.windowSeconds ?? 1,
    ...(semaphores !== undefined && { semaphores }),
    ...extra,
    ...auditOf(stored),
  };
};

/** Deadlines as they are spelled here, in a document of ours, and there. */
const SPELLINGS: Readonly<Record<string, string>> = {
  scheduleToStartTimeout: 'pollTimeoutSeconds',
  startToCloseTimeout: 'timeoutSeconds',
  totalTimeout: 'totalTimeoutSeconds',
  heartbeatTimeout: 'responseTimeoutSeconds',
};

const respelled = (document: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(document).map(([name, value]) => [SPELLINGS[name] ?? name, value]));

/** What a step has in Conductor's WorkflowTask when nothing is said. */
const STEP_DEFAULTS: JsonObject = {
  type: 'SIMPLE',
  inputParameters: {},
  decisionCases: {},
  defaultCase: [],
  forkTasks: [],
  startDelay: 0,
  joinOn: [],
  optional: false,
  defaultExclusiveJoinTask: [],
  asyncComplete: false,
  loopOver: [],
  onStateChange: {},
  permissive: false,
  metadata: {},
};

type TaskDefinitions = Readonly<Record<string, TaskDefinition>>;
type SeeStep = (step: JsonObject) => void;

const objectsOf = (value: JsonValue | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

/** A step as Conductor's WorkflowTask with the definition of its task written into it; `see` is told of it and of those in it. */
const stepOf = (step: JsonObject, taskDefinitions: TaskDefinitions, see: SeeStep): JsonObject => {
  const stepsOf = (value: JsonValue | undefined) => objectsOf(value).map((each) => stepOf(each, taskDefinitions, see));
  const { decisionCases, defaultCase, forkTasks, loopOver, compensateWith, taskDefinition, ...plain } = step;
  const name = typeof plain.name === 'string' ? plain.name : '';
  const frozen = Object.hasOwn(taskDefinitions, name) ? taskDefinitions[name] : undefined;
  const wire: JsonObject = {
    ...STEP_DEFAULTS,
    ...respelled(plain),
    ...(isJsonObject(decisionCases) && {
      decisionCases: Object.fromEntries(Object.entries(decisionCases).map(([label, steps]) => [label, stepsOf(steps)])),
    }),
    ...(defaultCase !== undefined && { defaultCase: stepsOf(defaultCase) }),
    ...(Array.isArray(forkTasks) && { forkTasks: forkTasks.map(stepsOf) }),
    ...(loopOver !== undefined && { loopOver: stepsOf(loopOver) }),
    ...(compensateWith !== undefined && {
      compensateWith: isJsonObject(compensateWith) ? stepOf(compensateWith, taskDefinitions, see) : compensateWith,
    }),
    ...(isJsonObject(taskDefinition) && { taskDefinition: respelled(taskDefinition) }),
    ...(taskDefinition === undefined && frozen !== undefined && { taskDefinition: taskDefOf(frozen) }),
  };
  see(wire);
  return wire;
};

const DEFINITION_DEFAULTS: JsonObject = {
  schemaVersion: 2,
  outputParameters: {},
  workflowStatusListenerEnabled: false,
  maskedFields: [],
};

const ignore: SeeStep = () => undefined;

/** A workflow definition as Conductor's WorkflowDef. With task definitions it is the snapshot that a run carries. */
export const workflowDefOf = (
  definition: WorkflowDefinition,
  stored?: Stored,
  taskDefinitions: TaskDefinitions = {},
  see: SeeStep = ignore,
): JsonObject => {
  const document = workflowDocumentOf(definition);
  const { failureWorkflow, ...rest } = document;
  const withoutEmptyName = failureWorkflow === '' ? rest : document;
  return {
    ...DEFINITION_DEFAULTS,
    ...withoutEmptyName,
    tasks: objectsOf(document.tasks).map((step) => stepOf(step, taskDefinitions, see)),
    ...auditOf(stored),
  };
};
