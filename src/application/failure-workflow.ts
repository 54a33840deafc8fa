import { isJsonObject } from '../domain/kernel/json.ts';
import type { MessageHandler } from './relay-outbox.ts';
import type { StartWorkflow } from './start-workflow.ts';

/** Starts the failure workflow of a run, once: the key of its start is the message's. */
export const failureWorkflowHandler =
  (start: StartWorkflow): MessageHandler =>
  async (message) => {
    const { name, version, input, correlationId } = message.payload;
    if (typeof name !== 'string' || !isJsonObject(input)) throw new Error('the message names no workflow');
    const started = await start.start(
      message.namespace,
      {
        name,
        input,
        priority: 0,
        idempotencyKey: message.dedupKey,
        idempotencyStrategy: 'RETURN_EXISTING',
        ...(typeof version === 'number' ? { version } : {}),
        ...(typeof correlationId === 'string' ? { correlationId } : {}),
      },
      message.executionId,
    );
    if (!started.ok) throw new Error(`${started.error.code}: ${started.error.message}`);
  };
