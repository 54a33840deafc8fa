import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';
import { err } from '../domain/kernel/result.ts';
import type { ExecutionIndex } from '../ports/execution-index.ts';
import { noExecution } from './control-execution.ts';
import type { StartWorkflow } from './start-workflow.ts';
import type { Outcome, RunAgainCall, StartedExecution } from './use-cases.ts';

/**
 * Starts a new run as another one was started: the same definition version, input, correlation id, priority and domains,
 * but for what the caller gives instead. Whatever state the other is in, it is only read. Errors: those of a start.
 */
export const runAgain =
  ({ index, start }: Readonly<{ index: ExecutionIndex; start: StartWorkflow }>) =>
  async (namespace: Namespace, executionId: ExecutionId, call: RunAgainCall): Outcome<StartedExecution> => {
    const [first] = await index.history(namespace, executionId, 0, 1);
    const started = first?.event;
    if (started?.type !== 'ExecutionStarted') return err(noExecution(executionId));
    const { latest, version = started.version, input = started.input, priority = started.priority } = call;
    const { correlationId = started.correlationId } = call;
    return start.start(namespace, {
      name: started.name,
      input,
      priority,
      idempotencyStrategy: 'RETURN_EXISTING',
      copyOf: executionId,
      ...(latest ? {} : { version }),
      ...(correlationId === undefined ? {} : { correlationId }),
      ...(started.taskToDomain === undefined ? {} : { taskToDomain: started.taskToDomain }),
    });
  };
