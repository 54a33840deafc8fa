import { createSystemIds } from '../../../../src/adapters/ids/system-ids.ts';
import { createJwtAccessTokens } from '../../../../src/adapters/keys/jwt-access-tokens.ts';
import { sha256KeyHasher } from '../../../../src/adapters/keys/sha256-key-hasher.ts';
import { createMemoryStores } from '../../../../src/adapters/memory/stores.ts';
import { createAccessUseCases } from '../../../../src/application/access/access-use-cases.ts';
import type { StreamItem, UseCases } from '../../../../src/application/use-cases.ts';
import type { Instant } from '../../../../src/domain/kernel/brand.ts';
import { err, ok } from '../../../../src/domain/kernel/result.ts';
import type { EventHandlerRow, EventHandlerRun } from '../../../../src/ports/event-handler-store.ts';
import type { ScheduleRow, ScheduleRun } from '../../../../src/ports/schedule-store.ts';
import {
  DETAIL,
  LEASED,
  logOf,
  NAMESPACE,
  NOON,
  OTHER_NAMESPACE,
  RUN,
  SUMMARY,
  TASK_DEFINITION,
  UNKNOWN_RUN,
  VIEW,
  WORKFLOW,
} from './samples.ts';

export type Overrides = { readonly [K in keyof UseCases]?: Partial<UseCases[K]> };

const NOT_FOUND = err({ code: 'NOT_FOUND', message: 'There is no such resource.' } as const);
const WORKFLOW_ROW = { name: 'order', version: 3, hash: 'abc', createdAt: NOON, updatedAt: NOON, definition: WORKFLOW };
const TASK_ROW = { createdAt: NOON, updatedAt: NOON, definition: TASK_DEFINITION, contentHash: 'abc' };
const SCHEMA_ROW = { name: 'order', version: 1, data: { type: 'object' }, createdAt: NOON };
const DEPTH = { queue: 'bill', ready: 1, leased: 2, delayed: 3, oldestReadyAgeMs: 4 };

const found = <T>(executionId: string, value: T) => (executionId === RUN ? ok(value) : NOT_FOUND);

export async function* streamOf(events: ReturnType<typeof logOf>, after: number): AsyncGenerator<StreamItem> {
  for (const entry of events) if (entry.seq > after) yield { kind: 'event', entry };
  yield { kind: 'end' };
}

const definitions: UseCases['definitions'] = {
  registerWorkflow: async () => ok({ outcome: 'created', definition: WORKFLOW }),
  validateWorkflow: async () => [{ code: 'INVALID_GRAPH', message: 'a cycle', path: 'tasks[0]' }],
  getWorkflow: async (_, name) => (name === 'order' ? ok(WORKFLOW_ROW) : NOT_FOUND),
  listWorkflows: async () => ok({ items: [WORKFLOW_ROW], nextCursor: 'next' }),
  listWorkflowVersions: async (_, name) => (name === 'order' ? ok([WORKFLOW_ROW]) : NOT_FOUND),
  deleteWorkflow: async (_, name) => (name === 'order' ? ok(null) : NOT_FOUND),
  registerTask: async () => ok({ outcome: 'created', definition: TASK_DEFINITION }),
  getTask: async (_, name) => (name === 'bill' ? ok(TASK_ROW) : NOT_FOUND),
  listTasks: async () => ok({ items: [TASK_ROW] }),
  deleteTask: async (_, name) => (name === 'bill' ? ok(null) : NOT_FOUND),
  registerSchema: async (_, { name }) => ok({ outcome: 'created', name, version: 1 }),
  getSchema: async (_, name) => (name === 'order' ? ok(SCHEMA_ROW) : NOT_FOUND),
  listSchemas: async () => ok({ items: [SCHEMA_ROW] }),
  deleteSchema: async (_, name) => (name === 'order' ? ok(null) : NOT_FOUND),
  putRateLimit: async (_, name) => (name === 'order' ? ok(null) : NOT_FOUND),
};

const executions: UseCases['executions'] = {
  start: async (_, { name }) =>
    name === 'order' ? ok({ executionId: RUN, status: 'RUNNING', name, version: 3, created: true }) : NOT_FOUND,
  wait: async (_, id) => found(id, DETAIL),
  test: async () => ok(DETAIL),
  resetCallbacks: async (_, id) => found(id, 0),
  searchRuns: async () => ok({ rows: [DETAIL.row], total: 1 }),
  waitUntilBlocked: async (_, id) => found(id, { target: DETAIL, timedOut: false }),
  get: async (_, id) => found(id, DETAIL),
  status: async (_, id) => found(id, SUMMARY),
  tree: async (_, id) => found(id, { executions: [SUMMARY], truncated: false }),
  history: async (_, id) => found(id, { events: logOf(2), more: true }),
  stateAt: async (_, id) => found(id, VIEW),
  search: async () => ok({ items: [SUMMARY], nextCursor: 'next' }),
  pause: async (_, id) => found(id, { ...SUMMARY, status: 'PAUSED' }),
  resume: async (_, id) => found(id, SUMMARY),
  terminate: async (_, id) => found(id, { ...SUMMARY, status: 'TERMINATED' }),
  retry: async (_, id) => found(id, SUMMARY),
  delete: async (_, id) => found(id, null),
  bulk: async (_, ids, { action }) =>
    ids.map((id) => ({ id, result: found(id, action === 'delete' ? undefined : 'PAUSED') })),
  replay: async (_, id) => {
    const [first] = logOf(2);
    if (first === undefined) return NOT_FOUND;
    const difference = { seq: first.seq, recorded: first.event, derived: first.event };
    const preview = { events: logOf(2), unused: [2] };
    return found(id, { executionId: RUN, name: 'order', version: 3, recorded: 2, difference, preview });
  },
  runAgain: async (_, id) =>
    found(id, { executionId: UNKNOWN_RUN, status: 'RUNNING', name: 'order', version: 3, created: true } as const),
  signal: async (_, id) => found(id, { summary: SUMMARY, delivered: true }),
  operate: async (_, id) => found(id, { summary: SUMMARY, stale: ['b'] }),
  decide: async (_, id) => found(id, { summary: SUMMARY, repaired: 0 }),
  stream: async (_, id, after) => found(id, streamOf(logOf(3), after)),
};

const workers: UseCases['workers'] = {
  lease: async () => ok([LEASED]),
  heartbeat: async () => ok({ kind: 'extended', leaseExpiresAt: NOON }),
  report: async (_, reports) => reports.map(({ taskId }) => ({ taskId, result: ok({ repeated: false }) })),
  release: async () => ok(null),
  appendLogs: async () => ok(null),
  logs: async () => ok({ items: [{ at: NOON, line: 'hello' }] }),
  queues: async () => ok([DEPTH]),
  queue: async (_, queue) => (queue === 'bill' ? ok(DEPTH) : NOT_FOUND),
  workers: async () => ok([{ queue: 'bill', workerId: 'w1', lastPollAt: NOON }]),
};

const tasks: UseCases['tasks'] = {
  poll: async () => ok([]),
  update: async (_, { taskId }) => (taskId === LEASED.taskId ? ok({ kind: 'done' }) : NOT_FOUND),
  updateAndTakeNext: async () => ok(undefined),
  end: async (_, taskId) => (taskId === LEASED.taskId ? ok(SUMMARY) : NOT_FOUND),
  appendLogs: async () => ok(null),
  search: async () => ({ taskIds: [], total: 0 }),
  requeue: async () => 0,
};

const tags: UseCases['tags'] = {
  add: async () => ok(null),
  replace: async () => ok(null),
  remove: async () => 0,
  clear: async () => undefined,
  of: async () => new Map(),
  namesWith: async () => [],
  list: async () => [],
};

const payloads: UseCases['payloads'] = {
  location: async () => ok({ path: 'a.json', token: 'good' }),
  upload: async (token) => (token === 'good' ? ok(null) : NOT_FOUND),
  download: async (token) => (token === 'good' ? ok({}) : NOT_FOUND),
  load: async () => ok({}),
};

const doors: UseCases['doors'] = {
  completeTask: async (_, taskId) => (taskId === LEASED.taskId ? ok(SUMMARY) : NOT_FOUND),
  sendMessage: async (_, id) => found(id, { messageId: 'm1' }),
  callback: async ({ token }) => token === 'good-token',
  webhook: async () => 1,
};

const LETTER = {
  id: '7',
  executionId: RUN,
  topic: 'event/kafka',
  orderingKey: `${RUN}/event/kafka`,
  payload: { sink: 'kafka:orders' },
  attempts: 10,
  createdAt: NOON,
  deadAt: NOON,
  lastFailure: 'no handler',
};
const EVENT = { id: '8', sink: 'internal:x', executionId: RUN, messageId: 'm', payload: {}, recordedAt: NOON };

const outbox: UseCases['outbox'] = {
  deadLetters: async () => ok({ items: [LETTER], nextCursor: 'next' }),
  redrive: async (_, id) => (id === '7' ? ok(null) : NOT_FOUND),
  deleteDeadLetter: async (_, id) => (id === '7' ? ok(null) : NOT_FOUND),
  internalEvents: async () => ok({ items: [EVENT] }),
};

const SEMAPHORE = { name: 'bank', permits: 3, held: 1, createdAt: NOON, updatedAt: NOON };
const semaphores: UseCases['semaphores'] = {
  put: async (_, name, permits) => ok({ outcome: 'created', semaphore: { ...SEMAPHORE, name, permits } }),
  get: async (_, name) => (name === 'bank' ? ok(SEMAPHORE) : NOT_FOUND),
  list: async () => ok({ items: [SEMAPHORE] }),
  delete: async () => ok(null),
};

const SCHEDULE: ScheduleRow = {
  id: RUN,
  namespace: NAMESPACE,
  schedule: {
    name: 'nightly',
    description: 'every night',
    crons: [{ expression: '0 2 * * *', zone: 'Europe/Berlin' }],
    startAt: NOON,
    overlap: 'SKIP',
    catchUp: 'FIRE_ONE',
    jitterMs: 500,
    start: { name: 'order', input: { full: true }, priority: 0 },
    dialect: 'v1',
  },
  paused: true,
  pausedReason: 'holidays',
  nextAt: NOON,
  fireAt: NOON,
  running: [],
  attempts: 0,
  createdAt: NOON,
  updatedAt: NOON,
  createdBy: 'key-1',
  updatedBy: 'key-1',
};
const SCHEDULE_RUN: ScheduleRun = {
  id: '7',
  scheduleId: RUN,
  namespace: NAMESPACE,
  name: 'nightly',
  workflowName: 'order',
  state: 'STARTED',
  manual: false,
  scheduledAt: NOON,
  executionId: RUN,
  recordedAt: NOON,
};
const HANDLER: EventHandlerRow = {
  namespace: NAMESPACE,
  handler: {
    name: 'on-paid',
    event: 'internal:paid',
    description: 'ships what is paid',
    active: true,
    condition: '${amount} > 0',
    evaluator: 'javascript',
    dedupeId: '${order}',
    actions: [{ type: 'START_WORKFLOW', input: { name: 'order' }, expandInlineJson: false }],
    dialect: 'v1',
  },
  createdAt: NOON,
  updatedAt: NOON,
  createdBy: 'key-1',
  updatedBy: 'key-1',
};
const HANDLER_RUN: EventHandlerRun = {
  id: '7',
  namespace: NAMESPACE,
  handler: 'on-paid',
  event: 'internal:paid',
  messageId: 'm-1',
  state: 'ACTED',
  reason: 'why',
  actions: [{ action: 'START_WORKFLOW', workflowId: RUN }],
  recordedAt: NOON,
};
const eventHandlers: UseCases['eventHandlers'] = {
  put: async () => ok({ outcome: 'created', row: HANDLER }),
  get: async (_, name) => (name === 'on-paid' ? ok(HANDLER) : NOT_FOUND),
  list: async () => ok({ items: [HANDLER], nextCursor: 'next' }),
  delete: async (_, name) => (name === 'on-paid' ? ok(null) : NOT_FOUND),
  test: async (_, name) =>
    name === 'on-paid'
      ? ok(
          ok({
            holds: true,
            dedupeId: '7',
            actions: [{ type: 'START_WORKFLOW', name: 'order', input: {}, priority: 0 }],
          }),
        )
      : NOT_FOUND,
  runs: async (_, name) => (name === 'on-paid' ? ok({ items: [HANDLER_RUN] }) : NOT_FOUND),
  publish: async (_, { id = 'm-1' }) => ok({ messageId: id, duplicate: false, handlers: 1 }),
};

const ofSchedule = async (name: string) => (name === 'nightly' ? ok(SCHEDULE) : NOT_FOUND);
const schedules: UseCases['schedules'] = {
  put: async () => ok({ outcome: 'created', row: SCHEDULE }),
  get: (_, name) => ofSchedule(name),
  list: async () => ok({ items: [SCHEDULE], nextCursor: 'next' }),
  delete: async (_, name) => (name === 'nightly' ? ok(null) : NOT_FOUND),
  pause: (_, name) => ofSchedule(name),
  resume: (_, name) => ofSchedule(name),
  fire: async (_, name) => (name === 'nightly' ? ok({ executionId: RUN }) : NOT_FOUND),
  preview: async () => ok([NOON]),
  previewOf: async (_, name) => (name === 'nightly' ? ok([NOON]) : NOT_FOUND),
  runs: async (_, name) => (name === 'nightly' ? ok({ items: [SCHEDULE_RUN] }) : NOT_FOUND),
};

const VALUE = { name: 'REGION', value: 'north', createdAt: 0 as Instant, updatedAt: 0 as Instant };
const SECRET = { name: 'token', keyId: 'k1', createdAt: 0 as Instant, updatedAt: 0 as Instant };

const environment: UseCases['environment'] = {
  put: async () => ok('created'),
  get: async () => ok(VALUE),
  list: async () => ok({ items: [VALUE] }),
  delete: async () => ok(null),
};

const secrets: UseCases['secrets'] = {
  put: async () => ok('created'),
  get: async () => ok(SECRET),
  list: async () => ok({ items: [SECRET] }),
  delete: async () => ok(null),
  rotate: async () => ok({ keyId: 'k1', resealed: 1, unreadable: [] }),
};

/**
 * Use cases that answer like an engine with one run, one workflow definition and one task definition. Keys and namespaces
 * are real, over the store in memory.
 */
export const fakeUseCases = async (overrides: Overrides = {}): Promise<UseCases> => {
  const clock = { now: () => Date.now() as Instant, monotonicMs: () => performance.now() };
  const store = createMemoryStores({ clock }).access;
  await store.createNamespace(NAMESPACE);
  await store.createNamespace(OTHER_NAMESPACE);
  const tokens = createJwtAccessTokens(['a secret of tests'], clock);
  const access = createAccessUseCases({
    access: store,
    ids: createSystemIds(clock),
    clock,
    hasher: sha256KeyHasher,
    tokens,
  });
  return {
    definitions: { ...definitions, ...overrides.definitions },
    executions: { ...executions, ...overrides.executions },
    workers: { ...workers, ...overrides.workers },
    tasks: { ...tasks, ...overrides.tasks },
    tags: { ...tags, ...overrides.tags },
    payloads: { ...payloads, ...overrides.payloads },
    doors: { ...doors, ...overrides.doors },
    outbox: { ...outbox, ...overrides.outbox },
    environment: { ...environment, ...overrides.environment },
    secrets: { ...secrets, ...overrides.secrets },
    semaphores: { ...semaphores, ...overrides.semaphores },
    schedules: { ...schedules, ...overrides.schedules },
    eventHandlers: { ...eventHandlers, ...overrides.eventHandlers },
    access: { ...access, ...overrides.access },
    health: { problems: async () => [], ...overrides.health },
  };
};
