import { z } from 'zod';
import { IDEMPOTENCY_KEY } from '../../schemas/executions.ts';
import { integer, maybe, object, otherwise, priority, query, text, texts, version } from './fields.ts';

export const IDEMPOTENCY_STRATEGIES = ['FAIL', 'RETURN_EXISTING', 'FAIL_ON_RUNNING'] as const;

const NAME_CHARS_MAX = 255;
const idempotencyKey = text.refine((key) => IDEMPOTENCY_KEY.test(key), '1 to 255 printable ASCII characters');
const strategy = z.enum(IDEMPOTENCY_STRATEGIES);
const shortText = text.refine((value) => value.length <= NAME_CHARS_MAX, `at most ${NAME_CHARS_MAX} characters`);
const domains = z.record(z.string(), text);

const startShape = {
  version: maybe(version),
  correlationId: maybe(shortText),
  input: otherwise(object, {}),
  taskToDomain: maybe(domains),
  workflowDef: maybe(object),
  priority: otherwise(priority, 0),
  createdBy: maybe(shortText),
  idempotencyKey: maybe(idempotencyKey),
  idempotencyStrategy: maybe(strategy),
  externalInputPayloadStoragePath: maybe(text),
};

/** StartWorkflowRequest. The name may come with the definition that is sent along. */
export const startRequest = z.object({ ...startShape, name: maybe(shortText) });
export type StartBody = z.output<typeof startRequest>;

/** What an input is, where the whole body is one. */
export const inputBody = object;

export const startQuery = z.object({
  version: query.integer(0, Number.MAX_SAFE_INTEGER),
  correlationId: query.text,
  priority: query.integer(0, 99),
});

const MS_PER_SECOND = 1_000;
/** How long a call waits that does not say, and how long it may at most. */
const WAIT_SECONDS_DEFAULT = 10;
export const WAIT_SECONDS_MAX = 60;

export const waitMsOf = (seconds: number): number =>
  (seconds === 0 ? WAIT_SECONDS_DEFAULT : Math.min(seconds, WAIT_SECONDS_MAX)) * MS_PER_SECOND;

export const RETURN_STRATEGIES = [
  'TARGET_WORKFLOW',
  'BLOCKING_WORKFLOW',
  'BLOCKING_TASK',
  'BLOCKING_TASK_INPUT',
] as const;
export type ReturnStrategy = (typeof RETURN_STRATEGIES)[number];

export const returnStrategy = query.text.pipe(z.enum(RETURN_STRATEGIES).default('TARGET_WORKFLOW'));

export const executeQuery = z.object({
  version: query.integer(0, Number.MAX_SAFE_INTEGER),
  requestId: query.text,
  waitUntilTaskRef: query.list,
  waitForSeconds: query.integerOr(0, Number.MAX_SAFE_INTEGER, 0),
  consistency: query.text.pipe(z.enum(['SYNCHRONOUS', 'DURABLE', 'REGION_DURABLE']).optional()),
  returnStrategy,
});
export type ExecuteQuery = z.output<typeof executeQuery>;

export const rerunRequest = z.object({
  reRunFromTaskId: maybe(text),
  taskInput: maybe(object),
  workflowInput: maybe(object),
  correlationId: maybe(shortText),
});

export const skipTaskRequest = z.object({ taskInput: maybe(object), taskOutput: maybe(object) });

export const upgradeRequest = z.object({
  name: maybe(text),
  version: maybe(version),
  workflowInput: maybe(object),
  taskOutput: maybe(z.record(z.string(), object)),
});

export const stateRequest = z.object({
  taskReferenceName: maybe(text),
  taskResult: maybe(
    z.object({
      taskId: maybe(text),
      status: maybe(z.enum(['COMPLETED', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR'])),
      outputData: maybe(object),
      workerId: maybe(text),
    }),
  ),
  variables: maybe(object),
});
export type StateBody = z.output<typeof stateRequest>;

/** Of one bulk call. */
export const BULK_IDS_MAX = 1_000;
export const bulkIds = texts.max(
  BULK_IDS_MAX,
  `Cannot process more than ${BULK_IDS_MAX} workflows. Please use multiple requests.`,
);

export const correlationIds = texts.max(BULK_IDS_MAX);
export const correlationBatch = z.object({
  correlationIds: otherwise(correlationIds, []),
  workflowNames: otherwise(texts.max(BULK_IDS_MAX), []),
});

export const includesQuery = z.object({ includeClosed: query.flag(false), includeTasks: query.flag(false) });

export const SEARCH_SIZE_MAX = 5_000;
export const SEARCH_START_MAX = 1_000_000;
const SEARCH_SIZE_DEFAULT = 100;

export const searchQuery = z.object({
  start: query.integerOr(0, SEARCH_START_MAX, 0),
  size: query.integerOr(0, SEARCH_SIZE_MAX, SEARCH_SIZE_DEFAULT),
  sort: query.text,
  freeText: query.text,
  query: query.text,
  classifier: query.text,
  topLevelOnly: query.flag(false),
});

const mock = z.object({
  status: otherwise(z.enum(['IN_PROGRESS', 'COMPLETED', 'FAILED', 'FAILED_WITH_TERMINAL_ERROR']), 'COMPLETED'),
  output: otherwise(object, {}),
  executionTime: otherwise(integer(0, Number.MAX_SAFE_INTEGER), 0),
  queueWaitTime: otherwise(integer(0, Number.MAX_SAFE_INTEGER), 0),
});
export type MockBody = z.output<typeof mock>;

const testShape = {
  ...startShape,
  name: maybe(shortText),
  taskRefToMockOutput: otherwise(z.record(z.string(), z.array(mock)), {}),
};
const testBase = z.object(testShape);

/** WorkflowTestRequest. The mocks of a child are under the ref of the task that starts it. */
export type TestBody = z.output<typeof testBase> &
  Readonly<{ subWorkflowTestRequest?: Readonly<Record<string, TestBody>> | undefined }>;

export const testRequest: z.ZodType<TestBody> = z.object({
  ...testShape,
  subWorkflowTestRequest: z.lazy(() => maybe(z.record(z.string(), testRequest))),
});
