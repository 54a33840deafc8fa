import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createPostgresStores } from '../../src/adapters/postgres/stores.ts';
import { createWakeHints } from '../../src/adapters/postgres/wake-hints.ts';
import { createSteeringSandbox } from '../../src/adapters/sandbox/steering-sandbox.ts';
import { createTaskSandbox } from '../../src/adapters/sandbox/task-sandbox.ts';
import type { ControlExecution } from '../../src/application/control-execution.ts';
import type { Evaluator } from '../../src/application/evaluate-executions.ts';
import type { Loop } from '../../src/application/loop.ts';
import type { MessageHandler } from '../../src/application/message-handler.ts';
import type { StartInTransaction } from '../../src/application/start-in-transaction.ts';
import type { StartWorkflow } from '../../src/application/start-workflow.ts';
import type { UseCases } from '../../src/application/use-cases.ts';
import { callbackKeyOf } from '../../src/composition/callback-key.ts';
import { ROLES } from '../../src/composition/config.ts';
import type { Outbound } from '../../src/composition/container.ts';
import { compose } from '../../src/composition/container.ts';
import { messageHandlers } from '../../src/composition/message-handlers.ts';
import { createLoops } from '../../src/composition/roles.ts';
import { TOKENS } from '../../src/composition/tokens.ts';
import type { EvaluateScript } from '../../src/domain/execution/script.ts';
import type { Namespace } from '../../src/domain/kernel/brand.ts';
import type { BlobCollector, BlobStore } from '../../src/ports/blob-store.ts';
import type { DefinitionStore } from '../../src/ports/definition-store.ts';
import type { EngineStore } from '../../src/ports/engine-store.ts';
import type { ExecutionIndex } from '../../src/ports/execution-index.ts';
import type { WakeSignal } from '../../src/ports/wake-signal.ts';
import { noCalls } from './outbound.ts';
import { allowUnsafeDurability, createTestDatabase } from './postgres.ts';
import { testSeal } from './seal.ts';

export const NAMESPACE = 'default' as Namespace;

const POOL_MAX = 12;
const FOLD_CACHE_BYTES = 64 * 1_048_576;
const ROUNDS_MAX = 1_000;

export type ServerOptions = Readonly<{
  poolMax?: number;
  /** Hints to other servers; off unless told. */
  notify?: boolean;
  /** Instead of the real signal. */
  wake?: WakeSignal;
  /** Puts faults between the application and its store. */
  faults?: (engine: EngineStore) => EngineStore;
  /** The same for what is only read. */
  reads?: (index: ExecutionIndex) => ExecutionIndex;
  evaluateScript?: (real: EvaluateScript) => EvaluateScript;
  outbound?: Outbound;
  foldCacheBytesMax?: number;
  /** Where large values are kept, made when the servers open; in a table unless told. */
  blobs?: () => BlobStore;
  /** Off: every report takes the longer road, through the decide queue. */
  stepsOnReport?: boolean;
}>;

/** One server without HTTP: the real composition over the real adapters, its loops under the hand of the test. */
export type TestServer = Readonly<{
  useCases: UseCases;
  evaluator: Evaluator;
  control: ControlExecution;
  start: StartWorkflow;
  startInTransaction: StartInTransaction;
  handlers: ReadonlyMap<string, MessageHandler>;
  engine: EngineStore;
  blobs: BlobCollector;
  index: ExecutionIndex;
  definitions: DefinitionStore;
  wake: WakeSignal;
  /** What it logged as a warning or worse. */
  problems: readonly string[];
  /** All loops of a server, or those whose names begin with one of the given. */
  startLoops(...names: readonly string[]): void;
  stopLoops(): Promise<void>;
  /** One turn of a loop. */
  runLoopOnce(name: string): Promise<void>;
  /** Passes until no decide row is due. Returns how many runs they claimed. */
  evaluateAll(): Promise<number>;
  close(): Promise<void>;
}>;

const steering = createSteeringSandbox();

const captureLog = (problems: string[]) =>
  pino({ level: 'warn', base: null }, { write: (line: string) => problems.push(line) });

const openWake = async (url: string, options: ServerOptions) => {
  if (options.wake !== undefined) return { wake: options.wake, close: async () => undefined };
  const hints = await createWakeHints({ url, notify: options.notify ?? false });
  await hints.whenListening();
  return { wake: hints as WakeSignal, close: () => hints.close() };
};

const steeringFor = async ({ evaluateScript }: ServerOptions) => {
  const real = await steering;
  return evaluateScript === undefined ? real : { ...real, evaluate: evaluateScript(real.evaluate) };
};

/** Opens a server over a database; nothing runs until its loops are started. */
export const openServer = async (url: string, options: ServerOptions = {}): Promise<TestServer> => {
  const problems: string[] = [];
  const stores = await createPostgresStores({
    url,
    poolMax: options.poolMax ?? POOL_MAX,
    blobs: options.blobs?.(),
    allowUnsafeDurability: allowUnsafeDurability(),
  });
  const signal = await openWake(url, options);
  const sandbox = createTaskSandbox({ workersMax: 1 });
  const engine = options.faults?.(stores.engine) ?? stores.engine;
  const index = options.reads?.(stores.index) ?? stores.index;
  const container = compose({
    ...stores,
    engine,
    index,
    wake: signal.wake,
    steering: await steeringFor(options),
    sandbox,
    seal: testSeal,
    outbound: options.outbound ?? noCalls,
    log: captureLog(problems),
    clock: systemClock,
    callbackKey: await callbackKeyOf(stores.access),
    foldCacheBytesMax: options.foldCacheBytesMax ?? FOLD_CACHE_BYTES,
    stepsOnReport: options.stepsOnReport ?? true,
    circuitBreakers: false,
  });
  const evaluator = container.resolve(TOKENS.evaluator);
  const loops = createLoops(container, new Set(ROLES), async () => undefined);
  const started = new Set<Loop>();
  const stopLoops = async (): Promise<void> => {
    await Promise.all([...started].map((loop) => loop.stop()));
    started.clear();
  };
  return {
    useCases: container.resolve(TOKENS.useCases),
    evaluator,
    control: container.resolve(TOKENS.control),
    start: container.resolve(TOKENS.start),
    startInTransaction: container.resolve(TOKENS.startInTransaction),
    handlers: messageHandlers(container),
    engine,
    blobs: stores.blobs,
    index: stores.index,
    definitions: stores.definitions,
    wake: signal.wake,
    problems,
    startLoops: (...names) => {
      for (const loop of loops) {
        if (names.length > 0 && !names.some((name) => loop.name.startsWith(name))) continue;
        started.add(loop);
        loop.start();
      }
    },
    stopLoops,
    runLoopOnce: async (name) => {
      const loop = loops.find((candidate) => candidate.name === name);
      if (loop === undefined) throw new Error(`there is no loop ${name}`);
      loop.start();
      await loop.stop();
    },
    evaluateAll: async () => {
      let claimed = 0;
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const found = await evaluator.runOnce();
        if (found === 0) return claimed;
        claimed += found;
      }
      throw new Error(`after ${ROUNDS_MAX} passes there is still one due`);
    },
    close: async () => {
      await stopLoops();
      container.resolve(TOKENS.delayed).close();
      await sandbox.close();
      await signal.close();
      await stores.close();
    },
  };
};

/** Servers over one database of the file's own, and a session to look around with. */
export type Cluster = Readonly<{ url: string; servers: readonly TestServer[]; observer: pg.Client }>;

export const connect = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url });
  // Tests end backends on purpose.
  client.on('error', () => undefined);
  await client.connect();
  return client;
};

/** Opens one server per options for the tests of the file. Server `n` is `cluster().servers[n]`; `at(n)` says it shorter. */
export const useCluster = (...options: readonly ServerOptions[]) => {
  let cluster: Cluster | undefined;
  let drop: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    const database = await createTestDatabase();
    drop = database.drop;
    const observer = await connect(database.url);
    const servers = await Promise.all(options.map((each) => openServer(database.url, each)));
    cluster = { url: database.url, servers, observer };
  });
  afterAll(async () => {
    await Promise.all((cluster?.servers ?? []).map((server) => server.close()));
    await cluster?.observer.end();
    await drop?.();
  });
  const current = (): Cluster => {
    if (cluster === undefined) throw new Error('the servers are open only while tests run');
    return cluster;
  };
  return {
    cluster: current,
    at: (index: number): TestServer => {
      const server = current().servers[index];
      if (server === undefined) throw new Error(`there is no server ${index}`);
      return server;
    },
  };
};
