import { ok } from '../../../domain/kernel/result.ts';
import { json, namespaceRoute, type Route } from '../route.ts';
import {
  type QueueDepthBody,
  type QueueListBody,
  queueDepth,
  queueList,
  type WorkerListBody,
  workerList,
} from '../schemas/workers.ts';
import { workerOf } from '../wire/worker-wire.ts';

const list = namespaceRoute({
  method: 'GET',
  path: '/queues',
  summary: 'List the task queues and how full they are.',
  scope: 'queues:read',
  replies: { 200: queueList },
  handle: async ({ useCases, namespace }) => {
    const queues = await useCases.workers.queues(namespace);
    return queues.ok ? ok(json<QueueListBody>(200, { queues: [...queues.value] })) : queues;
  },
});

const workers = namespaceRoute({
  method: 'GET',
  path: '/queues/workers',
  summary: 'List the workers that polled lately.',
  scope: 'queues:read',
  replies: { 200: workerList },
  handle: async ({ useCases, namespace }) => {
    const seen = await useCases.workers.workers(namespace);
    return seen.ok ? ok(json<WorkerListBody>(200, { workers: seen.value.map(workerOf) })) : seen;
  },
});

const get = namespaceRoute({
  method: 'GET',
  path: '/queues/:queue',
  summary: 'Read how full a task queue is.',
  scope: 'queues:read',
  replies: { 200: queueDepth },
  handle: async ({ useCases, namespace, params }) => {
    const queue = await useCases.workers.queue(namespace, params.queue);
    return queue.ok ? ok(json<QueueDepthBody>(200, queue.value)) : queue;
  },
});

export const queueRoutes: readonly Route[] = [list, workers, get];
