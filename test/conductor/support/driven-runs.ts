import { expect } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/domain/kernel/json.ts';
import type { LeasedTask } from '../../../src/ports/engine-store.ts';
import { eventually } from '../../support/eventually.ts';
import { type ConductorServer, NAMESPACE } from './conductor-server.ts';

type Status = 'COMPLETED' | 'FAILED' | 'FAILED_WITH_TERMINAL_ERROR';

/** Registers a workflow of these steps, as Conductor reads it. */
export const given = async (
  { useCases }: ConductorServer,
  name: string,
  tasks: readonly JsonObject[],
  rest: JsonObject = {},
): Promise<string> => {
  const document: JsonValue = { name, version: 1, tasks, ...rest };
  const registered = await useCases.definitions.registerWorkflow(NAMESPACE, document, 'conductor', true);
  if (!registered.ok) throw new Error(JSON.stringify(registered.error));
  return name;
};

export const simple = (ref: string, rest: JsonObject = {}): JsonObject => ({
  name: ref,
  taskReferenceName: ref,
  type: 'SIMPLE',
  ...rest,
});

/** Takes one task of a queue, as soon as there is one. */
export const lease = async ({ useCases }: ConductorServer, queue: string): Promise<LeasedTask> => {
  const signal = new AbortController().signal;
  const call = { namespace: NAMESPACE, queues: [queue], workerId: 'w1', count: 1, waitMs: 5_000, signal };
  const leased = await useCases.workers.lease(call);
  const task = leased.ok ? leased.value[0] : undefined;
  if (task === undefined) throw new Error(`nothing came to the queue ${queue}`);
  return task;
};

/** Does one task of a queue. */
export const work = async (
  server: ConductorServer,
  queue: string,
  output: JsonObject = {},
  status: Status = 'COMPLETED',
): Promise<void> => {
  const { taskId, leaseToken } = await lease(server, queue);
  const [answer] = await server.useCases.workers.report(NAMESPACE, [{ taskId, leaseToken, status, output }]);
  expect(answer?.result.ok).toBe(true);
};

export const hasStatus = async ({ send }: ConductorServer, id: string, status: string): Promise<void> => {
  await eventually(`${id} is ${status}`, async () => {
    const { json } = await send('GET', `/api/workflow/${id}/status`);
    return (json as { status?: string }).status === status;
  });
};
