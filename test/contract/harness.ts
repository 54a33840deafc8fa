import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { ExecutionId } from '../../src/domain/kernel/brand.ts';
import type { AccessStore } from '../../src/ports/access-store.ts';
import type { DefinitionStore } from '../../src/ports/definition-store.ts';
import type { CloseTask, EngineStore } from '../../src/ports/engine-store.ts';
import type { EventHandlerStore } from '../../src/ports/event-handler-store.ts';
import type { ExecutionIndex } from '../../src/ports/execution-index.ts';
import type { HealthProbe } from '../../src/ports/health-probe.ts';
import type { SemaphoreStore } from '../../src/ports/limits.ts';
import type { NamedValueStore } from '../../src/ports/named-values.ts';
import type { PayloadStore } from '../../src/ports/payload-store.ts';
import type { ScheduleStore } from '../../src/ports/schedule-store.ts';
import type { TagStore } from '../../src/ports/tag-store.ts';
import type { WorkerPollStore } from '../../src/ports/worker-polls.ts';
import { memoryHarness } from './memory-harness.ts';
import { postgresHarness } from './postgres-harness.ts';
import { simulatedHarness } from './simulated-harness.ts';

export type StorePorts = Readonly<{
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
}>;

export type RecordedAttempt = Pick<CloseTask, 'ref' | 'iteration' | 'attempt' | 'status'>;

/** What a contract suite needs of an adapter beside its ports. */
export type OpenHarness = StorePorts &
  Readonly<{
    /** Lets `ms` pass for everything stored. */
    advance(ms: number): Promise<void>;
    /** The closed attempts on record, by ref, iteration and attempt. */
    closedTasks(executionId: ExecutionId): Promise<readonly RecordedAttempt[]>;
    /** Empties every table. */
    reset(): Promise<void>;
    close(): Promise<void>;
  }>;

export type Harness = Readonly<{ name: string; open(): Promise<OpenHarness> }>;

/** Every adapter that keeps the contract. */
export const harnesses: readonly Harness[] = [memoryHarness, postgresHarness];

/** The same, and the database that the simulation runs on: for what passes, workers and timers do. */
export const engineHarnesses: readonly Harness[] = [...harnesses, simulatedHarness];

/** Opens the adapter for the tests of the enclosing block, empty at the start of each. */
export const useHarness = (harness: Harness): (() => OpenHarness) => {
  let open: OpenHarness | undefined;
  const current = (): OpenHarness => {
    if (open === undefined) throw new Error('the harness is open only while tests run');
    return open;
  };
  beforeAll(async () => {
    open = await harness.open();
  });
  beforeEach(() => current().reset());
  afterAll(() => open?.close());
  return current;
};
