import { z } from 'zod';
import { ok } from '../../../../domain/kernel/result.ts';
import { conductorRoute, json, type NamespaceCall, NO_CONTENT, type Route } from '../../route.ts';
import { queueOf } from '../queue-of.ts';
import { batchPollQuery, POLL_TIMEOUT_MS, pollQuery } from '../schemas/tasks.ts';
import { polledTaskOf } from '../wire/polled-task.ts';

/** A poll that names no worker. */
const UNNAMED = '';

type Polled = Readonly<{ workerid: string | undefined; domain: string | undefined }>;

const leaseCall = (
  { namespace, signal, params, query }: NamespaceCall<'/:taskType', Polled, unknown>,
  count: number,
  waitMs: number,
) => ({
  namespace,
  queues: [queueOf(params.taskType, query.domain)],
  workerId: query.workerid ?? UNNAMED,
  count,
  waitMs,
  signal,
});

const poll = conductorRoute({
  method: 'GET',
  path: '/tasks/poll/:taskType',
  summary: 'Lease one task, or none.',
  scope: 'queues:lease:{taskType}',
  query: z.object(pollQuery),
  handle: async (call) => {
    const polled = await call.useCases.tasks.poll(leaseCall(call, 1, POLL_TIMEOUT_MS));
    if (!polled.ok) return polled;
    const [task] = polled.value;
    return ok(task === undefined ? NO_CONTENT : json(200, polledTaskOf(task)));
  },
});

const batchPoll = conductorRoute({
  method: 'GET',
  path: '/tasks/poll/batch/:taskType',
  summary: 'Lease up to a number of tasks, waiting for the first.',
  scope: 'queues:lease:{taskType}',
  query: batchPollQuery,
  handle: async (call) => {
    const { count, timeout } = call.query;
    if (count === 0) return ok(json(200, []));
    const polled = await call.useCases.tasks.poll(leaseCall(call, count, timeout));
    return polled.ok ? ok(json(200, polled.value.map(polledTaskOf))) : polled;
  },
});

export const pollRoutes: readonly Route[] = [batchPoll, poll];
