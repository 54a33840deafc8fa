import type { Instant } from '../domain/kernel/brand.ts';
import { isJsonObject } from '../domain/kernel/json.ts';
import type { InternalHandler } from './message-handler.ts';
import { runStartedBy, type StartInTransaction } from './start-in-transaction.ts';

/** Starts the failure workflow of a run, once: its id follows from the end of the run that failed. */
export const failureWorkflowHandler = (starts: StartInTransaction): InternalHandler => ({
  kind: 'internal',
  handle: async (tx, { namespace, executionId, dedupKey, payload }) => {
    const { name, version, input, correlationId, at } = payload;
    if (typeof name !== 'string' || !isJsonObject(input) || typeof at !== 'number') {
      throw new Error('the message names no workflow');
    }
    const started = await starts.start(tx, {
      namespace,
      executionId: runStartedBy(at as Instant, executionId, dedupKey),
      name,
      input,
      priority: 0,
      failedExecutionId: executionId,
      ...(typeof version === 'number' ? { version } : {}),
      ...(typeof correlationId === 'string' ? { correlationId } : {}),
    });
    if (!started.ok) throw new Error(`${started.error.code}: ${started.error.message}`);
    return started.value;
  },
});
