import { createMemoryStores } from '../../src/adapters/memory/stores.ts';
import { createProcess, Scheduler } from '../simulation/scheduler.ts';
import { Database, QUIET } from '../simulation/store/database.ts';
import { createDefinitions } from '../simulation/store/definitions.ts';
import { createSimulatedStore, Pool } from '../simulation/store/engine-store.ts';
import { createSimulatedIndex } from '../simulation/store/execution-index.ts';
import { Chance } from '../support/chance.ts';
import { createFakeClock, FAKE_CLOCK_START } from '../support/fake-clock.ts';
import type { Harness, OpenHarness, RecordedAttempt } from './harness.ts';

const CONNECTIONS = 5;
const STATEMENT_MS = 0.001;

/** Lets everybody through at once: what is compared here is what the statements do, not when. */
class OpenScheduler extends Scheduler {
  private readonly onPoint: () => void;

  constructor(chance: Chance, onPoint: () => void) {
    super(chance);
    this.onPoint = onPoint;
  }

  override point(): Promise<void> {
    this.onPoint();
    return Promise.resolve();
  }

  override add({ go }: Parameters<Scheduler['add']>[0]): void {
    go();
  }
}

const openStores = () => {
  const chance = new Chance(1);
  // Of two statements one is later, as with a real clock.
  const scheduler = new OpenScheduler(chance, () => database.advance(STATEMENT_MS));
  const database: Database = new Database({
    scheduler,
    chance,
    hooks: QUIET,
    rowPointShare: 0,
    startAt: FAKE_CLOCK_START,
  });
  const clock = {
    monotonicMs: () => database.now(),
    now: () => Math.floor(database.now()) as ReturnType<ReturnType<typeof createFakeClock>['now']>,
  };
  const { definitions, limits } = createDefinitions(clock);
  const options = { database, process: createProcess('contract'), pool: new Pool(CONNECTIONS), definitions, limits };
  return {
    database,
    definitions,
    engine: createSimulatedStore(options),
    index: createSimulatedIndex(options),
  };
};

const closedTasksOf = (database: Database, executionId: string): readonly RecordedAttempt[] =>
  database.tables.closedTasks
    .committedOf(executionId)
    .map(({ ref, iteration, attempt, status }) => ({ ref, iteration, attempt, status }))
    .sort((a, b) => (a.ref < b.ref ? -1 : a.ref > b.ref ? 1 : a.iteration - b.iteration || a.attempt - b.attempt));

/** The store of the simulation keeps the same contract as the adapters that it stands for. */
export const simulatedHarness: Harness = {
  name: 'the simulated PostgreSQL',
  open: async (): Promise<OpenHarness> => {
    let stores = openStores();
    const { access, health, semaphores, schedules, eventHandlers, tags, payloads, values, workerPolls } =
      createMemoryStores({
        clock: createFakeClock(),
      });
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
      access,
      semaphores,
      tags,
      payloads,
      values,
      workerPolls,
      schedules,
      eventHandlers,
      health,
      advance: async (ms) => stores.database.advance(ms),
      closedTasks: async (executionId) => closedTasksOf(stores.database, executionId),
      reset: async () => {
        stores = openStores();
      },
      close: async () => undefined,
    };
  },
};
