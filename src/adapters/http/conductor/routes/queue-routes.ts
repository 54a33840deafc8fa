import { z } from 'zod';
import { ok } from '../../../../domain/kernel/result.ts';
import type { QueueDepth, WorkerSeen } from '../../../../ports/execution-index.ts';
import { conductorRoute, json, NOTHING, type Route, text } from '../../route.ts';
import { taskIdFrom } from '../../routes/worker-routes.ts';
import { domainOf, queueOf } from '../queue-of.ts';
import { runOf } from '../run-of-path.ts';
import { object, query } from '../schemas/fields.ts';
import { statusOf } from './task-by-ref-routes.ts';

/** What waits to be taken: Conductor counts delayed tasks too, and not those that a worker holds. */
const sizeOf = ({ ready, delayed }: QueueDepth): number => ready + delayed;

const sizesByQueue = (depths: readonly QueueDepth[]): ReadonlyMap<string, number> =>
  new Map(depths.map((depth) => [depth.queue, sizeOf(depth)]));

const sizes = conductorRoute({
  method: 'GET',
  path: '/tasks/queue/sizes',
  summary: 'How many tasks of some types wait, all of them when none is named.',
  scope: 'queues:read',
  query: z.object({ taskType: query.list }),
  handle: async ({ useCases, namespace, query: { taskType } }) => {
    const depths = await useCases.workers.queues(namespace);
    if (!depths.ok) return depths;
    const known = sizesByQueue(depths.value);
    const asked = taskType.length === 0 ? [...known.keys()] : taskType;
    return ok(json(200, Object.fromEntries(asked.map((queue) => [queue, known.get(queue) ?? 0]))));
  },
});

const size = conductorRoute({
  method: 'GET',
  path: '/tasks/queue/size',
  summary: 'How many tasks of a type wait, in a domain if one is named.',
  scope: 'queues:read',
  query: z.object({
    taskType: query.text,
    domain: query.text,
    isolationGroupId: query.text,
    executionNamespace: query.text,
  }),
  handle: async ({ useCases, namespace, query: { taskType = '', domain } }) => {
    const depths = await useCases.workers.queues(namespace);
    return depths.ok ? ok(json(200, sizesByQueue(depths.value).get(queueOf(taskType, domain)) ?? 0)) : depths;
  },
});

const all = conductorRoute({
  method: 'GET',
  path: '/tasks/queue/all',
  summary: 'How many tasks wait in each queue.',
  scope: 'queues:read',
  handle: async ({ useCases, namespace }) => {
    const depths = await useCases.workers.queues(namespace);
    return depths.ok ? ok(json(200, Object.fromEntries(sizesByQueue(depths.value)))) : depths;
  },
});

/** A queue has no parts here: it is shown as its own first one. */
const SHARD = 'a';

const verbose = conductorRoute({
  method: 'GET',
  path: '/tasks/queue/all/verbose',
  summary: 'The same, with those that are held.',
  scope: 'queues:read',
  handle: async ({ useCases, namespace }) => {
    const depths = await useCases.workers.queues(namespace);
    if (!depths.ok) return depths;
    const bodies = depths.value.map(
      (depth) => [depth.queue, { [SHARD]: { size: sizeOf(depth), uacked: depth.leased } }] as const,
    );
    return ok(json(200, Object.fromEntries(bodies)));
  },
});

const pollDataOf = ({ queue, workerId, lastPollAt }: WorkerSeen) => {
  const { taskType, domain } = domainOf(queue);
  return { queueName: taskType, workerId, lastPollTime: lastPollAt, ...(domain !== undefined && { domain }) };
};

const pollData = conductorRoute({
  method: 'GET',
  path: '/tasks/queue/polldata',
  summary: 'Who polled for a task type, and when last, in every domain.',
  scope: 'queues:read',
  query: z.object({ taskType: query.text }),
  handle: async ({ useCases, namespace, query: { taskType = '' } }) => {
    const workers = await useCases.workers.workers(namespace);
    if (!workers.ok) return workers;
    return ok(
      json(
        200,
        workers.value.map(pollDataOf).filter(({ queueName }) => queueName === taskType),
      ),
    );
  },
});

const allPollData = conductorRoute({
  method: 'GET',
  path: '/tasks/queue/polldata/all',
  summary: 'Who polled, and when last.',
  scope: 'queues:read',
  query: z.object({ workerSize: query.text, workerOpt: query.text, queueSize: query.text, queueOpt: query.text }),
  handle: async ({ useCases, namespace }) => {
    const workers = await useCases.workers.workers(namespace);
    return workers.ok ? ok(json(200, workers.value.map(pollDataOf))) : workers;
  },
});

const requeue = conductorRoute({
  method: 'POST',
  path: '/tasks/queue/requeue/:taskType',
  summary:
    'Let whoever waits for a task type look again; answers how many of its tasks wait. None is ever out of its queue.',
  scope: 'queues:read',
  handle: async ({ useCases, namespace, params }) =>
    ok(text(String(await useCases.tasks.requeue(namespace, params.taskType)))),
});

const WAITING_QUEUES = { COMPLETED: '$waiting', FAILED: '$waiting', IN_PROGRESS: '$waiting' } as const;

const waitingQueues = conductorRoute({
  method: 'GET',
  path: '/queue',
  summary: 'The queue that updates of waiting tasks go to, by status: here it is one, inside the server.',
  scope: 'queues:read',
  handle: async () => ok(json(200, WAITING_QUEUES)),
});

const waitingSize = conductorRoute({
  method: 'GET',
  path: '/queue/size',
  summary: 'How many updates of waiting tasks are under way: none, since each is done when it is answered.',
  scope: 'queues:read',
  handle: async () => ok(json(200, { $waiting: 0 })),
});

const updateById = conductorRoute({
  method: 'POST',
  path: '/queue/update/:workflowId/task/:taskId/:status',
  summary: 'Say how a task stands, whoever holds it.',
  scope: 'tasks:complete',
  body: object,
  bodyKind: 'payload',
  bodyOptional: true,
  bodyIsData: true,
  handle: async ({ useCases, namespace, principal, params, body }) => {
    const id = runOf(params.workflowId);
    if (!id.ok) return id;
    const taskId = taskIdFrom(params.taskId);
    if (!taskId.ok) return taskId;
    const status = statusOf(params.status);
    if (!status.ok) return status;
    const update = { taskId: taskId.value, output: body, afterSeconds: 0, extendsLease: false, logs: [] };
    const answer = await useCases.tasks.update(namespace, { ...update, status: status.value }, principal.id);
    return answer.ok ? ok(NOTHING) : answer;
  },
});

export const queueRoutes: readonly Route[] = [
  sizes,
  size,
  verbose,
  all,
  allPollData,
  pollData,
  requeue,
  waitingSize,
  waitingQueues,
  updateById,
];
