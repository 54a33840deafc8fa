import { createMemoryStores, type MemoryStores } from '../../src/adapters/memory/stores.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import type { Harness, OpenHarness } from './harness.ts';

export const memoryHarness: Harness = {
  name: 'memory',
  open: async (): Promise<OpenHarness> => {
    const clock = createFakeClock();
    let stores: MemoryStores = createMemoryStores({ clock });
    return {
      get engine() {
        return stores.engine;
      },
      get index() {
        return stores.index;
      },
      get definitions() {
        return stores.definitions;
      },
      get access() {
        return stores.access;
      },
      get semaphores() {
        return stores.semaphores;
      },
      get values() {
        return stores.values;
      },
      get tags() {
        return stores.tags;
      },
      get payloads() {
        return stores.payloads;
      },
      get workerPolls() {
        return stores.workerPolls;
      },
      get eventHandlers() {
        return stores.eventHandlers;
      },
      get schedules() {
        return stores.schedules;
      },
      get health() {
        return stores.health;
      },
      advance: async (ms) => clock.advance(ms),
      closedTasks: async (executionId) => stores.closedTasks(executionId),
      reset: async () => {
        await stores.close();
        stores = createMemoryStores({ clock });
      },
      close: () => stores.close(),
    };
  },
};
