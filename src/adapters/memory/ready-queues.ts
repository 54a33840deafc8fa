import type { EngineStore, QueueName } from '../../ports/engine-store.ts';
import { heldBackMs } from './gates.ts';
import { optional } from './optional.ts';
import { inNamespace, type OpenTask } from './rows.ts';
import type { MemoryState } from './state.ts';

/** The candidates that hold a visible task; where a limit holds it back, with the time until that may be over. */
export const readyQueues = (
  state: MemoryState,
  candidates: Parameters<EngineStore['readyQueues']>[0],
): Awaited<ReturnType<EngineStore['readyQueues']>> =>
  candidates.flatMap((candidate) => {
    const [head] = visibleTasks(state, candidate);
    if (head === undefined) return [];
    return { ...candidate, ...optional('opensInMs', heldBackMs(state, head)) };
  });

function* visibleTasks(state: MemoryState, { namespace, queue }: QueueName): Generator<OpenTask> {
  const { ready, delayed } = state.tables.openTasks;
  const now = state.now();
  yield* ready.in(inNamespace(namespace, queue));
  for (const row of delayed.in(queue)) {
    if (row.visibleAt > now) return;
    if (row.namespace === namespace && row.task.family === 'worker') yield row;
  }
}
