import type { AccessStore } from '../../ports/access-store.ts';
import type { BlobCollector, BlobStore } from '../../ports/blob-store.ts';
import type { DefinitionStore } from '../../ports/definition-store.ts';
import type { EngineStore } from '../../ports/engine-store.ts';
import type { EventHandlerStore } from '../../ports/event-handler-store.ts';
import type { ExecutionIndex } from '../../ports/execution-index.ts';
import type { HealthProbe } from '../../ports/health-probe.ts';
import type { SemaphoreStore } from '../../ports/limits.ts';
import type { NamedValueStore } from '../../ports/named-values.ts';
import type { PayloadStore } from '../../ports/payload-store.ts';
import type { ScheduleStore } from '../../ports/schedule-store.ts';
import type { TagStore } from '../../ports/tag-store.ts';
import type { WorkerPollStore } from '../../ports/worker-polls.ts';
import { createAccessStore } from './access-store.ts';
import { createBlobCollector } from './blob-collector.ts';
import { openDatabase } from './database.ts';
import { createDefinitionStore } from './definition-store.ts';
import { createEngineStore } from './engine-store.ts';
import { createEventHandlerStore } from './event-handlers.ts';
import { createExecutionIndex } from './execution-index.ts';
import { createPayloadStore } from './external-payloads.ts';
import { createHealthProbe } from './health.ts';
import { createNamedValueStore } from './named-values.ts';
import { createScheduleStore } from './schedules.ts';
import { createSemaphoreStore } from './semaphores.ts';
import { createTagStore } from './tags.ts';
import { createWorkerPollStore } from './worker-polls.ts';

export type PostgresStoresOptions = Readonly<{
  url: string;
  /** Connections at most. */
  poolMax: number;
  /** Where large values are kept; absent: in a table. */
  blobs?: BlobStore | undefined;
  /** For tests: a server that may lose what it acknowledged is no health problem. */
  allowUnsafeDurability?: boolean;
  log?: (message: string) => void;
}>;

export type PostgresStores = Readonly<{
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
  /** Ends the connections once those in use are given back. */
  close(): Promise<void>;
}>;

/** Opens the stores over one pool. Errors: UNAVAILABLE. */
export async function createPostgresStores(options: PostgresStoresOptions): Promise<PostgresStores> {
  const database = await openDatabase(options);
  return {
    engine: createEngineStore(database),
    index: createExecutionIndex(database),
    definitions: createDefinitionStore(database),
    access: createAccessStore(database),
    semaphores: createSemaphoreStore(database),
    tags: createTagStore(database),
    payloads: createPayloadStore(database),
    values: createNamedValueStore(database),
    workerPolls: createWorkerPollStore(database),
    schedules: createScheduleStore(database),
    eventHandlers: createEventHandlerStore(database),
    health: createHealthProbe(database, { allowUnsafeDurability: options.allowUnsafeDurability ?? false }),
    blobs: createBlobCollector(database),
    close: () => database.close(),
  };
}
