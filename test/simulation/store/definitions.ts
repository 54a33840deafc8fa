import { createMemoryStores } from '../../../src/adapters/memory/stores.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { DefinitionStore } from '../../../src/ports/definition-store.ts';
import type { Limits, TaskLimits } from './session.ts';

/** Definitions are not what is simulated: they are those of the memory adapter, with the limits they set. */
export const createDefinitions = (clock: Clock): Readonly<{ definitions: DefinitionStore; limits: Limits }> => {
  const limits = new Map<string, TaskLimits>();
  const { definitions } = createMemoryStores({ clock });
  return {
    limits,
    definitions: {
      ...definitions,
      putTask: async (namespace, definition) => {
        const outcome = await definitions.putTask(namespace, definition);
        const { name, concurrentExecLimit, rateLimit, semaphores = [] } = definition;
        limits.set(`${namespace}/${name}`, { concurrent: concurrentExecLimit, rate: rateLimit, semaphores });
        return outcome;
      },
      deleteTask: async (namespace, name) => {
        limits.delete(`${namespace}/${name}`);
        return definitions.deleteTask(namespace, name);
      },
    },
  };
};
