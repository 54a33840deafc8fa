import type { UseCases } from '../../src/application/use-cases.ts';
import { NAMESPACE, startEngine } from '../../test/support/engine-harness.ts';
import { markOf, type TaskClock } from '../task-clock.ts';
import { type Door, outputOf, QUEUE, type StopWorkers } from './door.ts';

const WORKER_LOOPS = 4;
const LEASE_COUNT = 100;

/** The engine and its workers in this process: the engine and the database without HTTP. */
export const inProcessDoor = (allowUnsafeDurability: boolean): Door => ({
  name: 'in-process',
  startWidth: 200,
  open: async (database) => {
    const { useCases, stop } = await startEngine({ url: database.url, allowUnsafeDurability });
    return {
      register: async (definition) => {
        const outcome = await useCases.definitions.registerWorkflow(NAMESPACE, definition, 'v1', true);
        if (!outcome.ok) throw new Error(outcome.error.message);
      },
      start: async (name, input) => {
        const request = { name, input, priority: 0, idempotencyStrategy: 'RETURN_EXISTING' } as const;
        const started = await useCases.executions.start(NAMESPACE, request);
        if (!started.ok) throw new Error(started.error.message);
      },
      work: async (clock) => startWorkers(useCases, clock),
      pid: process.pid,
      close: stop,
    };
  },
});

export const inProcess = inProcessDoor(false);

/** Each loop leases a batch and completes it, until stopped. */
const startWorkers = (useCases: UseCases, clock: TaskClock): StopWorkers => {
  const stopping = new AbortController();
  const loop = async (index: number): Promise<void> => {
    while (!stopping.signal.aborted) {
      const leased = await useCases.workers.lease({
        namespace: NAMESPACE,
        queues: [QUEUE],
        workerId: `bench-${index}`,
        count: LEASE_COUNT,
        waitMs: 5_000,
        signal: stopping.signal,
      });
      if (!leased.ok) throw new Error(leased.error.message);
      if (leased.value.length === 0) continue;
      const marks = leased.value.map(({ input }) => markOf(input));
      for (const mark of marks) clock.leased(mark);
      for (const mark of marks) clock.reportSent(mark);
      const reports = leased.value.map(({ taskId, leaseToken, input }) => ({
        taskId,
        leaseToken,
        status: 'COMPLETED' as const,
        output: outputOf(input),
      }));
      await useCases.workers.report(NAMESPACE, reports);
      for (const mark of marks) clock.reportAnswered(mark);
    }
  };
  const loops = Array.from({ length: WORKER_LOOPS }, (_, index) => loop(index).catch((error) => clock.fail(error)));
  return async () => {
    stopping.abort();
    await Promise.all(loops);
  };
};
