import type { JsonValue } from '../../../../src/domain/kernel/json.ts';
import { NAMESPACE, RUN, TASK, TASK_DOCUMENT, TOKEN, WORKFLOW_DOCUMENT } from './samples.ts';

/** A request that a route answers well: the path after filling in, the body, the status. */
export type RouteCase = Readonly<{ path: string; json?: JsonValue; status: number }>;

const ns = `/v1/ns/${NAMESPACE}`;
const run = `${ns}/executions/${RUN}`;
const task = `${ns}/tasks/${TASK}`;
const REPORT = { leaseToken: TOKEN, status: 'COMPLETED', output: { paid: true } };

/** One good request for every route, by method and pattern. */
export const ROUTE_CASES: Readonly<Record<string, RouteCase>> = {
  'GET /v1/health/live': { path: '/v1/health/live', status: 200 },
  'GET /v1/health/ready': { path: '/v1/health/ready', status: 200 },
  'GET /health': { path: '/health', status: 200 },
  'POST /v1/ns/:ns/definitions/workflows': {
    path: `${ns}/definitions/workflows`,
    json: WORKFLOW_DOCUMENT,
    status: 201,
  },
  'POST /v1/ns/:ns/definitions/workflows/validate': {
    path: `${ns}/definitions/workflows/validate`,
    json: WORKFLOW_DOCUMENT,
    status: 200,
  },
  'GET /v1/ns/:ns/definitions/workflows': { path: `${ns}/definitions/workflows?limit=5`, status: 200 },
  'GET /v1/ns/:ns/definitions/workflows/:name': { path: `${ns}/definitions/workflows/order?version=3`, status: 200 },
  'GET /v1/ns/:ns/definitions/workflows/:name/versions': {
    path: `${ns}/definitions/workflows/order/versions`,
    status: 200,
  },
  'DELETE /v1/ns/:ns/definitions/workflows/:name/:version': {
    path: `${ns}/definitions/workflows/order/3`,
    status: 204,
  },
  'POST /v1/ns/:ns/definitions/tasks': { path: `${ns}/definitions/tasks`, json: TASK_DOCUMENT, status: 201 },
  'GET /v1/ns/:ns/definitions/tasks': { path: `${ns}/definitions/tasks`, status: 200 },
  'GET /v1/ns/:ns/definitions/tasks/:name': { path: `${ns}/definitions/tasks/bill`, status: 200 },
  'DELETE /v1/ns/:ns/definitions/tasks/:name': { path: `${ns}/definitions/tasks/bill`, status: 204 },
  'POST /v1/ns/:ns/schemas': { path: `${ns}/schemas`, json: { name: 'order', data: { type: 'object' } }, status: 201 },
  'GET /v1/ns/:ns/schemas': { path: `${ns}/schemas?limit=5`, status: 200 },
  'GET /v1/ns/:ns/schemas/:name': { path: `${ns}/schemas/order?version=1`, status: 200 },
  'DELETE /v1/ns/:ns/schemas/:name/:version': { path: `${ns}/schemas/order/1`, status: 204 },
  'POST /v1/ns/:ns/executions/search': {
    path: `${ns}/executions/search`,
    json: { statuses: ['RUNNING'], startedAfter: '2026-01-01T00:00:00Z', limit: 10 },
    status: 200,
  },
  'GET /v1/ns/:ns/executions/:id': { path: run, status: 200 },
  'GET /v1/ns/:ns/executions/:id/tree': { path: `${run}/tree`, status: 200 },
  'GET /v1/ns/:ns/executions/:id/status': { path: `${run}/status`, status: 200 },
  'GET /v1/ns/:ns/executions/:id/tasks': { path: `${run}/tasks`, status: 200 },
  'GET /v1/ns/:ns/executions/:id/history': { path: `${run}/history?after=0&limit=2`, status: 200 },
  'GET /v1/ns/:ns/executions/:id/state': { path: `${run}/state?seq=2`, status: 200 },
  'GET /v1/ns/:ns/executions/:id/stream': { path: `${run}/stream`, status: 200 },
  'POST /v1/ns/:ns/executions/:name': { path: `${ns}/executions/order`, json: { input: { a: 1 } }, status: 201 },
  'POST /v1/ns/:ns/executions/:name/execute': {
    path: `${ns}/executions/order/execute`,
    json: { waitSeconds: 1 },
    status: 200,
  },
  'POST /v1/ns/:ns/executions/:id/pause': { path: `${run}/pause`, json: { reason: 'lunch' }, status: 200 },
  'POST /v1/ns/:ns/executions/:id/resume': { path: `${run}/resume`, status: 200 },
  'POST /v1/ns/:ns/executions/:id/terminate': { path: `${run}/terminate`, json: {}, status: 200 },
  'POST /v1/ns/:ns/executions/:id/retry': { path: `${run}/retry`, status: 200 },
  'POST /v1/ns/:ns/executions/bulk': {
    path: `${ns}/executions/bulk`,
    json: { action: 'pause', ids: [RUN, 'nonsense'] },
    status: 200,
  },
  'DELETE /v1/ns/:ns/executions/:id': { path: run, status: 204 },
  'POST /v1/ns/:ns/executions/:id/run-again': { path: `${run}/run-again`, json: { latest: true }, status: 201 },
  'POST /v1/ns/:ns/executions/:id/replay': { path: `${run}/replay`, json: { version: 1 }, status: 200 },
  'GET /v1/ns/:ns/quotas': { path: `${ns}/quotas`, status: 200 },
  'PUT /v1/ns/:ns/quotas': { path: `${ns}/quotas`, json: { maxConcurrentExecutions: 10 }, status: 200 },
  'POST /v1/ns/:ns/executions/:id/signal': { path: `${run}/signal`, json: { taskRef: 'wait' }, status: 200 },
  'POST /v1/ns/:ns/executions/:id/rerun': { path: `${run}/rerun`, json: { fromTaskRef: 'bill' }, status: 200 },
  'POST /v1/ns/:ns/executions/:id/rerun-tasks': {
    path: `${run}/rerun-tasks`,
    json: { taskRefs: ['bill'], cascade: true },
    status: 200,
  },
  'POST /v1/ns/:ns/executions/:id/restart': { path: `${run}/restart`, status: 200 },
  'POST /v1/ns/:ns/executions/:id/skip-task': {
    path: `${run}/skip-task`,
    json: { taskRef: 'bill', taskOutput: { paid: true } },
    status: 200,
  },
  'POST /v1/ns/:ns/executions/:id/cancel-task': { path: `${run}/cancel-task`, json: { taskRef: 'bill' }, status: 200 },
  'POST /v1/ns/:ns/executions/:id/variables': { path: `${run}/variables`, json: { variables: { a: 1 } }, status: 200 },
  'POST /v1/ns/:ns/executions/:id/jump': { path: `${run}/jump`, json: { taskRef: 'bill' }, status: 200 },
  'POST /v1/ns/:ns/executions/:id/upgrade': { path: `${run}/upgrade`, json: { version: 2 }, status: 200 },
  'POST /v1/ns/:ns/executions/:id/decide': { path: `${run}/decide`, status: 200 },
  'POST /v1/hooks/:token': { path: '/v1/hooks/good-token', json: { paid: true }, status: 200 },
  'POST /v1/ns/:ns/tasks/:id/complete': { path: `${task}/complete`, json: { output: { ok: true } }, status: 200 },
  'POST /v1/ns/:ns/executions/:id/messages': {
    path: `${run}/messages`,
    json: { namespace: 'of the caller', n: 1 },
    status: 201,
  },
  'POST /v1/ns/:ns/webhooks/:name': { path: `${ns}/webhooks/shop`, json: [1, 2], status: 200 },
  'GET /v1/ns/:ns/dead-letters': { path: `${ns}/dead-letters?limit=5`, status: 200 },
  'POST /v1/ns/:ns/dead-letters/:id/redrive': { path: `${ns}/dead-letters/7/redrive`, status: 204 },
  'DELETE /v1/ns/:ns/dead-letters/:id': { path: `${ns}/dead-letters/7`, status: 204 },
  'GET /v1/ns/:ns/events': { path: `${ns}/events?sink=internal:x`, status: 200 },
  'POST /v1/ns/:ns/queues/:queue/lease': { path: `${ns}/queues/bill/lease`, json: { workerId: 'w1' }, status: 200 },
  'POST /v1/ns/:ns/tasks/:id/heartbeat': { path: `${task}/heartbeat`, json: { leaseToken: TOKEN }, status: 200 },
  'POST /v1/ns/:ns/tasks/:id/logs': { path: `${task}/logs`, json: { leaseToken: TOKEN, lines: ['x'] }, status: 204 },
  'GET /v1/ns/:ns/tasks/:id/logs': { path: `${task}/logs`, status: 200 },
  'POST /v1/ns/:ns/tasks/report': {
    path: `${ns}/tasks/report`,
    json: { reports: [{ ...REPORT, taskId: TASK }] },
    status: 200,
  },
  'POST /v1/ns/:ns/tasks/:id/report': { path: `${task}/report`, json: REPORT, status: 200 },
  'POST /v1/ns/:ns/tasks/:id/release': { path: `${task}/release`, json: { leaseToken: TOKEN }, status: 204 },
  'GET /v1/ns/:ns/queues': { path: `${ns}/queues`, status: 200 },
  'GET /v1/ns/:ns/queues/workers': { path: `${ns}/queues/workers`, status: 200 },
  'GET /v1/ns/:ns/queues/:queue': { path: `${ns}/queues/bill`, status: 200 },
  'POST /v1/ns/:ns/keys': { path: `${ns}/keys`, json: { name: 'ci', scopes: ['keys:read'] }, status: 201 },
  'GET /v1/ns/:ns/keys': { path: `${ns}/keys`, status: 200 },
  'DELETE /v1/ns/:ns/keys/:id': { path: `${ns}/keys/{key}`, status: 204 },
  'GET /v1/namespaces': { path: '/v1/namespaces', status: 200 },
  'POST /v1/namespaces': { path: '/v1/namespaces', json: { name: 'fresh' }, status: 201 },
};
