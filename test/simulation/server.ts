import type { DependencyContainer } from 'tsyringe';
import { createAjvValidator } from '../../src/adapters/json-schema/ajv-validator.ts';
import { createMemoryStores } from '../../src/adapters/memory/stores.ts';
import { createWakeSignal } from '../../src/adapters/memory/wake-signal.ts';
import { FoldCache } from '../../src/application/fold-cache.ts';
import type { Loop } from '../../src/application/loop.ts';
import type { UseCases } from '../../src/application/use-cases.ts';
import { ROLES } from '../../src/composition/config.ts';
import { compose, type Foundations } from '../../src/composition/container.ts';
import { createLoops } from '../../src/composition/roles.ts';
import { TOKENS } from '../../src/composition/tokens.ts';
import type { ExecutionState } from '../../src/domain/execution/state.ts';
import type { ExecutionId, Instant } from '../../src/domain/kernel/brand.ts';
import { ok } from '../../src/domain/kernel/result.ts';
import type { DefinitionStore } from '../../src/ports/definition-store.ts';
import type { Ids } from '../../src/ports/ids.ts';
import type { TaskSandbox } from '../../src/ports/script-sandbox.ts';
import type { WakeSignal } from '../../src/ports/wake-signal.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { noCalls } from '../support/outbound.ts';
import { evaluateScript } from '../support/scripts.ts';
import { testSeal } from '../support/seal.ts';
import type { Plant } from './plants.ts';
import { createProcess, type Process } from './scheduler.ts';
import type { Database } from './store/database.ts';
import { createSimulatedStore, Pool } from './store/engine-store.ts';
import { createSimulatedIndex } from './store/execution-index.ts';
import { asPort } from './store/outside-the-model.ts';
import type { Limits } from './store/session.ts';

/** A planted mistake: a state that a pass is changing stays where the next pass finds it, whatever becomes of this one. */
class CacheThatKeeps extends FoldCache {
  private isWithin = false;

  override take(id: ExecutionId): ExecutionState | undefined {
    const state = super.take(id);
    if (state !== undefined && !this.isWithin) this.put(state);
    return state;
  }

  override put(state: ExecutionState): void {
    this.isWithin = true;
    super.put(state);
    this.isWithin = false;
  }
}

/** Seals the callbacks of webhooks. */
export const CALLBACK_KEY = '0'.repeat(64);

export type ServerOptions = Readonly<{
  name: string;
  database: Database;
  definitions: DefinitionStore;
  limits: Limits;
  connections: number;
  foldCacheBytes: number;
  /** Whether reports take the short road where they can. */
  stepsOnReport: boolean;
  ids: Ids;
  plant: Plant | undefined;
  /** How far its clock is from the database's. */
  clockOffsetMs: () => number;
  /** Hints that it gives; nothing depends on them. */
  onHint: (topic: string) => void;
  /** What it logs as an error. */
  onProblem: (message: string, error: unknown) => void;
}>;

/** One server of the cluster: the real composition over the simulated database, its loops in the hand of the scheduler. */
export type Server = Readonly<{
  process: Process;
  useCases: UseCases;
  loops: ReadonlyMap<string, Loop>;
  /** Loops with a turn under way. */
  turning: Set<string>;
}>;

const schemas = createAjvValidator(evaluateScript);

/** The sandbox of the system tasks is not what is simulated: the tasks of these programs need no script. */
const sandbox: TaskSandbox = {
  runScript: async () => ok(null),
  runJq: async () => ok({ result: null, resultList: [] }),
  close: async () => undefined,
};

const { access, health } = createMemoryStores({ clock: createFakeClock() });

const logOf = (onProblem: ServerOptions['onProblem']): Foundations['log'] => {
  const quiet = () => undefined;
  const error = (fields: Readonly<{ err?: unknown; executionId?: string }>, message: string): void =>
    onProblem(`${message} ${fields.executionId ?? ''}`, fields.err);
  return { error, fatal: error, warn: quiet, info: quiet, debug: quiet, trace: quiet } as never;
};

const hinting = (onHint: ServerOptions['onHint']): WakeSignal => {
  const local = createWakeSignal();
  return {
    ...local,
    publish: (topics) => {
      const all = [...topics];
      for (const topic of all) onHint(topic);
      local.publish(all);
    },
  };
};

const replaceChance = (container: DependencyContainer, options: ServerOptions): void => {
  container.register(TOKENS.ids, { useValue: options.ids });
  container.register(TOKENS.schemas, { useValue: schemas });
  if (options.plant === 'cache-after-rollback') {
    container.register(TOKENS.foldCache, { useValue: new CacheThatKeeps(options.foldCacheBytes) });
  }
};

/** Not driven by hand: these are no concern of the simulated database. */
const LEFT_OUT = new Set(['partitions', 'retry-counts', 'past-limits', 'worker-polls', 'blob-collection', 'calls']);

export const bootServer = (options: ServerOptions): Server => {
  const process = createProcess(options.name);
  const { database, definitions, limits, plant } = options;
  const pool = new Pool(options.connections);
  const store = { database, process, pool, definitions, limits, ...(plant === undefined ? {} : { plant }) };
  const container = compose(
    asPort<Foundations>({
      log: logOf(options.onProblem),
      clock: {
        now: () => (database.now() + options.clockOffsetMs()) as Instant,
        monotonicMs: () => database.now(),
      },
      engine: createSimulatedStore(store),
      index: createSimulatedIndex(store),
      definitions,
      access,
      health,
      semaphores: asPort<Foundations['semaphores']>({}),
      tags: asPort<Foundations['tags']>({}),
      payloads: asPort<Foundations['payloads']>({}),
      workerPolls: asPort<Foundations['workerPolls']>({ servedQueues: async () => new Set() }),
      eventHandlers: asPort<Foundations['eventHandlers']>({}),
      schedules: asPort<Foundations['schedules']>({ nextScheduleInMs: async () => undefined }),
      blobs: asPort<Foundations['blobs']>({}),
      wake: hinting(options.onHint),
      steering: { evaluate: evaluateScript, checkSyntax: () => ok(undefined) },
      sandbox,
      values: asPort<Foundations['values']>({}),
      seal: testSeal,
      outbound: noCalls,
      foldCacheBytesMax: options.foldCacheBytes,
      stepsOnReport: options.stepsOnReport,
      circuitBreakers: false,
      callbackKey: CALLBACK_KEY,
    }),
  );
  replaceChance(container, options);
  const loops = createLoops(container, new Set(ROLES), async () => undefined);
  return {
    process,
    useCases: container.resolve(TOKENS.useCases),
    loops: new Map(loops.filter(({ name }) => !LEFT_OUT.has(name)).map((loop) => [loop.name, loop])),
    turning: new Set(),
  };
};
