import type { JsonObject, JsonValue } from '../kernel/json.ts';
import type { RetryLogic, TaskDefinition, TaskTimeoutPolicy } from './task-definition.ts';

/** Steps that the decider resolves itself; they are never queued. */
export type OperatorType =
  | 'SWITCH'
  | 'DECISION'
  | 'FORK_JOIN'
  | 'FORK_JOIN_DYNAMIC'
  | 'JOIN'
  | 'EXCLUSIVE_JOIN'
  | 'DO_WHILE'
  | 'SET_VARIABLE'
  | 'TERMINATE'
  | 'NOOP';

/** Steps that a worker leases. */
export type WorkerTaskType = 'SIMPLE' | 'DYNAMIC';

/** Of these, the ones that call what is not ours: they take as long as another machine pleases. */
export type CallTaskType = 'HTTP' | 'HTTP_POLL' | 'JDBC';

/** Steps that the server runs outside the pass. */
export type SystemTaskType =
  | 'INLINE'
  | 'LAMBDA'
  | 'JSON_JQ_TRANSFORM'
  | 'GET_WORKFLOW'
  | 'TERMINATE_WORKFLOW'
  | 'UPDATE_TASK'
  | CallTaskType;

/** Steps that send a message. They are done with that, or wait for an answer. */
export type PublishingTaskType = 'EVENT' | 'KAFKA_PUBLISH';

/** Steps that wait for the clock, a signal, a person, a callback, a message or another run. */
export type WaitingTaskType =
  | 'WAIT'
  | 'YIELD'
  | 'HUMAN'
  | 'WAIT_FOR_WEBHOOK'
  | 'PULL_WORKFLOW_MESSAGES'
  | 'SUB_WORKFLOW'
  | 'START_WORKFLOW'
  | PublishingTaskType;

export type TaskType = OperatorType | WorkerTaskType | SystemTaskType | WaitingTaskType;

/** How `null` reads inside a longer text, and which defaults absent fields were given. */
export type Dialect = 'v1' | 'conductor';

export type RetryOverrides = Readonly<{
  retryCount?: number;
  retryLogic?: RetryLogic;
  retryDelaySeconds?: number;
  backoffScaleFactor?: number;
  maxRetryDelaySeconds?: number;
  jitter?: number;
  backoffJitterMs?: number;
  nonRetryableErrors?: readonly string[];
  scheduleToStartTimeout?: number;
  startToCloseTimeout?: number;
  totalTimeout?: number;
  heartbeatTimeout?: number;
  timeoutPolicy?: TaskTimeoutPolicy;
}>;

/** The output of a task may be that of another of its name with the same key, for so long. */
export type CacheConfig = Readonly<{ key: string; ttlInSecond: number }>;

/** One step of a definition, as stored. Children are nested; a definition is a tree. */
export type TaskNodeDefinition = Readonly<{
  name: string;
  taskReferenceName: string;
  /** A TaskType, or a Conductor type that this version does not execute. */
  type: string;
  inputParameters: JsonObject;
  optional: boolean;
  permissive: boolean;
  startDelaySeconds: number;
  overrides: RetryOverrides;
  /** Input that data gave a branch of a dynamic fork: laid over inputParameters, and never searched for expressions. */
  literalInput?: JsonObject;
  taskDefinition?: TaskDefinition;
  /** How it is undone when the run fails: the name of a task definition, or a whole step. */
  compensateWith?: string | TaskNodeDefinition;
  domain?: string;
  cacheConfig?: CacheConfig;
  description?: string;
  /** SWITCH, DECISION */
  evaluatorType?: string;
  expression?: string;
  caseValueParam?: string;
  caseExpression?: string;
  decisionCases?: Readonly<Record<string, readonly TaskNodeDefinition[]>>;
  defaultCase?: readonly TaskNodeDefinition[];
  /** FORK_JOIN */
  forkTasks?: readonly (readonly TaskNodeDefinition[])[];
  /** FORK_JOIN_DYNAMIC */
  dynamicForkTasksParam?: string;
  dynamicForkTasksInputParamName?: string;
  dynamicForkJoinTasksParam?: string;
  /** JOIN, EXCLUSIVE_JOIN */
  joinOn?: readonly string[];
  defaultExclusiveJoinTask?: readonly string[];
  /** DO_WHILE */
  loopCondition?: string;
  loopOver?: readonly TaskNodeDefinition[];
  /** Template or list that a DO_WHILE walks over. */
  items?: JsonValue;
  keepLastN?: number;
  /** DYNAMIC */
  dynamicTaskNameParam?: string;
  /** SUB_WORKFLOW: which definition, and how it is started. */
  subWorkflowParam?: JsonObject;
  /** LAMBDA */
  scriptExpression?: string;
  /** Stored and shown, without effect in this version. */
  extra: JsonObject;
}>;

/** How many runs with the same key may be going at a time, and what becomes of one too many. */
export type RateLimitConfig = Readonly<{
  /** Text with expressions over the start of the run. */
  rateLimitKey: string;
  concurrentExecLimit: number;
  policy: 'QUEUE' | 'REJECT';
}>;

export type WorkflowTimeoutPolicy = 'TIME_OUT_WF' | 'ALERT_ONLY';

/** What the user registered, made explicit: absent fields were filled by the door it came through. */
export type WorkflowDefinition = Readonly<{
  dialect: Dialect;
  name: string;
  version: number;
  description?: string;
  ownerEmail?: string;
  tasks: readonly TaskNodeDefinition[];
  inputParameters: readonly string[];
  inputTemplate: JsonObject;
  /** Absent: the output of the last task is the output of the run. */
  outputParameters?: JsonObject;
  variables: JsonObject;
  inputSchema?: JsonValue;
  outputSchema?: JsonValue;
  enforceSchema: boolean;
  timeoutSeconds: number;
  timeoutPolicy: WorkflowTimeoutPolicy;
  /** Tasks of workers and of the server that one run may have open at a time; absent: no limit. */
  maxConcurrentTasks?: number;
  failureWorkflow: string;
  failureWorkflowVersion?: number;
  restartable: boolean;
  /** Keys whose values no read shows; absent in what was stored before it had an effect. */
  maskedFields?: readonly string[];
  /** Runs of this name that may be going at a time; absent: any number. */
  maxConcurrentExecutions?: number;
  rateLimitConfig?: RateLimitConfig;
  tags: readonly string[];
  metadata: JsonObject;
  /** Stored and shown, without effect in this version. */
  extra: JsonObject;
}>;
