import { z } from 'zod';
import type { ExecutionId } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import { failedWorkflowOf } from './failed-workflow.ts';
import type { InternalHandler } from './message-handler.ts';
import type { StartInTransaction } from './start-in-transaction.ts';

const failureMessage = z.object({
  executionId: z.custom<ExecutionId>((id) => typeof id === 'string'),
  name: z.string(),
  version: z.number().optional(),
  /** Of the end that it is about. */
  seq: z.number(),
  input: z.custom<JsonObject>((input) => typeof input === 'object' && input !== null),
  correlationId: z.string().optional(),
  taskToDomain: z.record(z.string(), z.string()).optional(),
});

/**
 * Starts the failure workflow of a run, once: its id follows from the end of the run that failed. What that run did is told
 * from its log up to that end, whatever has become of it since.
 */
export const failureWorkflowHandler = (starts: StartInTransaction): InternalHandler => ({
  kind: 'internal',
  handle: async (tx, { namespace, executionId: failedExecutionId, payload }) => {
    const { seq, input, version, correlationId, taskToDomain, ...named } = failureMessage.parse(payload);
    const logs = await tx.readEvents(new Map([[failedExecutionId, 0]]));
    const log = logs.get(failedExecutionId) ?? [];
    const failedWorkflow = failedWorkflowOf(failedExecutionId, log.slice(0, seq));
    const [first] = log;
    const eventDepth = first?.event.type === 'ExecutionStarted' ? first.event.eventDepth : undefined;
    const started = await starts.start(tx, {
      namespace,
      ...named,
      input: { ...input, failedWorkflow },
      priority: 0,
      failedExecutionId,
      ...(eventDepth === undefined ? {} : { eventDepth }),
      ...(version === undefined ? {} : { version }),
      ...(correlationId === undefined ? {} : { correlationId }),
      ...(taskToDomain === undefined ? {} : { taskToDomain }),
    });
    if (!started.ok) throw new Error(`${started.error.code}: ${started.error.message}`);
    return started.value;
  },
});
