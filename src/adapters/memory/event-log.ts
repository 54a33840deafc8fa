import type { EngineTx } from '../../ports/engine-store.ts';
import type { MemoryState } from './state.ts';

/** The log of each run: seq starts at 1 and has no gaps, so the place of an event in its list is its seq. */
export const eventLogWrites = (state: MemoryState): Pick<EngineTx, 'readEvents' | 'appendEvents'> => ({
  readEvents: async (after) =>
    new Map([...after].map(([executionId, seq]) => [executionId, state.events.get(executionId).slice(seq)])),
  appendEvents: async (events) => {
    for (const { executionId, item } of events) {
      const last = state.events.get(executionId).length;
      if (item.seq !== last + 1) {
        throw new Error(`event ${item.seq} cannot follow event ${last} of execution ${executionId}`);
      }
      state.events.append(executionId, item);
    }
  },
});
