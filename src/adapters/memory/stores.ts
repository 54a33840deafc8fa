import type { ExecutionId } from '../../domain/kernel/brand.ts';
import type { AccessStore } from '../../ports/access-store.ts';
import type { BlobCollector } from '../../ports/blob-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DefinitionStore } from '../../ports/definition-store.ts';
import type { CloseTask, EngineStore } from '../../ports/engine-store.ts';
import type { EventHandlerStore } from '../../ports/event-handler-store.ts';
import type { ExecutionIndex } from '../../ports/execution-index.ts';
import type { HealthProbe } from '../../ports/health-probe.ts';
import type { SemaphoreStore } from '../../ports/limits.ts';
import type { NamedValueStore } from '../../ports/named-values.ts';
import type { PayloadStore } from '../../ports/payload-store.ts';
import type { ScheduleStore } from '../../ports/schedule-store.ts';
import type { TagStore } from '../../ports/tag-store.ts';
import type { WakeSignal } from '../../ports/wake-signal.ts';
import type { WorkerPollStore } from '../../ports/worker-polls.ts';
import { createAccessStore } from './access-store.ts';
import { createDefinitionStore } from './definition-store.ts';
import { createEngineStore } from './engine-store.ts';
import { createEventHandlerStore } from './event-handlers.ts';
import { createExecutionIndex } from './execution-index.ts';
import { createPayloadStore } from './external-payloads.ts';
import { createNamedValueStore } from './named-values.ts';
import { createScheduleStore } from './schedules.ts';
import { createSemaphoreStore } from './semaphores.ts';
import { createSerializer } from './serializer.ts';
import { createMemoryState } from './state.ts';
import { createTagStore } from './tags.ts';
import { createWakeSignal } from './wake-signal.ts';
import { createWorkerPollStore } from './worker-polls.ts';

export type MemoryStores = Readonly<{
  engine: EngineStore;
  index: ExecutionIndex;
  definitions: DefinitionStore;
  access: AccessStore;
  semaphores: SemaphoreStore;
  tags: TagStore;
  payloads: PayloadStore;
  values: NamedValueStore;
  workerPolls: WorkerPollStore;
  schedules: ScheduleStore;
  eventHandlers: EventHandlerStore;
  health: HealthProbe;
  blobs: BlobCollector;
  wake: WakeSignal;
  /** The closed attempts of a run, which no port reads: for checks of what was recorded. */
  closedTasks(executionId: ExecutionId): readonly Omit<CloseTask, 'type'>[];
  close(): Promise<void>;
}>;

/**
 * All stores of the engine in the memory of this process, gone with it. They keep the promises of the ports to the letter,
 * by the given clock, so that simulations and fast tests run on them.
 */
export const createMemoryStores = ({ clock }: Readonly<{ clock: Clock }>): MemoryStores => {
  const state = createMemoryState(clock);
  const serializer = createSerializer();
  const wake = createWakeSignal();
  const definitions = createDefinitionStore(state);
  return {
    engine: createEngineStore(state, serializer, definitions),
    index: createExecutionIndex(state, serializer),
    definitions,
    access: createAccessStore(clock, state, serializer),
    semaphores: createSemaphoreStore(state, serializer),
    tags: createTagStore(state, serializer),
    payloads: createPayloadStore(state, serializer),
    values: createNamedValueStore(state, serializer),
    workerPolls: createWorkerPollStore(state, serializer),
    schedules: createScheduleStore(state, serializer),
    eventHandlers: createEventHandlerStore(state, serializer),
    health: { problems: async () => [] },
    // Every value is kept where it is.
    blobs: { collect: async () => 0 },
    wake,
    closedTasks: (executionId) => [...state.tables.closedTasks.byRun.in(executionId)].map((row) => row.closed),
    close: async () => wake.close(),
  };
};
