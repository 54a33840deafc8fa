import type {
  CallTaskType,
  OperatorType,
  SystemTaskType,
  TaskType,
  WaitingTaskType,
  WorkerTaskType,
} from './workflow-definition.ts';

type Family = 'operator' | 'worker' | 'system' | 'waiting';

const FAMILIES: Readonly<
  Record<OperatorType, 'operator'> &
    Record<WorkerTaskType, 'worker'> &
    Record<SystemTaskType, 'system'> &
    Record<WaitingTaskType, 'waiting'>
> = {
  SWITCH: 'operator',
  DECISION: 'operator',
  FORK_JOIN: 'operator',
  FORK_JOIN_DYNAMIC: 'operator',
  JOIN: 'operator',
  EXCLUSIVE_JOIN: 'operator',
  DO_WHILE: 'operator',
  SET_VARIABLE: 'operator',
  TERMINATE: 'operator',
  NOOP: 'operator',
  SIMPLE: 'worker',
  DYNAMIC: 'worker',
  INLINE: 'system',
  LAMBDA: 'system',
  JSON_JQ_TRANSFORM: 'system',
  GET_WORKFLOW: 'system',
  TERMINATE_WORKFLOW: 'system',
  UPDATE_TASK: 'system',
  HTTP: 'system',
  HTTP_POLL: 'system',
  JDBC: 'system',
  WAIT: 'waiting',
  YIELD: 'waiting',
  HUMAN: 'waiting',
  WAIT_FOR_WEBHOOK: 'waiting',
  PULL_WORKFLOW_MESSAGES: 'waiting',
  EVENT: 'waiting',
  KAFKA_PUBLISH: 'waiting',
  SUB_WORKFLOW: 'waiting',
  START_WORKFLOW: 'waiting',
};

/** Every type that this version executes. */
export const TASK_TYPES = Object.keys(FAMILIES) as readonly TaskType[];

export const isTaskType = (type: string): type is TaskType => Object.hasOwn(FAMILIES, type);

export const familyOf = (type: TaskType): Family => FAMILIES[type];

const CALLS: Readonly<Record<CallTaskType, true>> = { HTTP: true, HTTP_POLL: true, JDBC: true };

/** It leaves this machine, and so has a queue and slots of its own. */
export const isCallType = (type: string): type is CallTaskType => Object.hasOwn(CALLS, type);

/** Nobody leases such a task: it is in progress from the first, and ends through a door of its own. */
export const isWaitingType = (type: string): boolean => isTaskType(type) && familyOf(type) === 'waiting';

/**
 * Types that Conductor runs itself and this version does not. They register at the conductor door, so that a definition is
 * not lost, and fail when they are reached; any other name that is no TaskType is a task for a worker.
 */
export const UNSUPPORTED_TASK_TYPES: ReadonlySet<string> = new Set([
  'GRPC',
  'WEBHOOK',
  'BUSINESS_RULE',
  'QUERY_PROCESSOR',
  'GET_SIGNED_JWT',
  'UPDATE_SECRET',
  'OPSGENIE',
  'SENDGRID',
  'EMAIL',
  'LLM_TEXT_COMPLETE',
  'LLM_CHAT_COMPLETE',
  'LLM_GENERATE_EMBEDDINGS',
  'LLM_STORE_EMBEDDINGS',
  'LLM_GET_EMBEDDINGS',
  'LLM_SEARCH_EMBEDDINGS',
  'LLM_INDEX_TEXT',
  'LLM_INDEX_DOCUMENT',
  'LLM_SEARCH_INDEX',
  'GENERATE_IMAGE',
  'GENERATE_AUDIO',
  'GENERATE_VIDEO',
  'GENERATE_PDF',
  'GET_DOCUMENT',
  'PARSE_DOCUMENT',
  'CHUNK_TEXT',
  'LIST_FILES',
  'LIST_MCP_TOOLS',
  'CALL_MCP_TOOL',
  'AGENT',
  'GET_AGENT_CARD',
  'CANCEL_AGENT',
]);

/** What a declared type compiles to: a type of ours, a worker's task, or a node that fails when it is reached. */
export const executedTypeOf = (declared: string): TaskType | 'UNSUPPORTED' => {
  if (isTaskType(declared)) return declared;
  return UNSUPPORTED_TASK_TYPES.has(declared) ? 'UNSUPPORTED' : 'SIMPLE';
};
