import { createAjvValidator } from '../adapters/json-schema/ajv-validator.ts';
import { createMemoryStores } from '../adapters/memory/stores.ts';
import { createSteeringSandbox } from '../adapters/sandbox/steering-sandbox.ts';
import { createTaskSandbox } from '../adapters/sandbox/task-sandbox.ts';
import { RelayOutbox } from '../application/relay-outbox.ts';
import type { UseCases } from '../application/use-cases.ts';
import { FireTimers, ReclaimLeases } from '../application/watch-deadlines.ts';
import { compose, type Outbound } from '../composition/container.ts';
import { createLog } from '../composition/log.ts';
import { messageHandlers } from '../composition/message-handlers.ts';
import { createFireSchedules, createSystemTasks } from '../composition/roles.ts';
import { TOKENS } from '../composition/tokens.ts';
import { CALLS_QUEUE } from '../domain/execution/queues.ts';
import type { Namespace } from '../domain/kernel/brand.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { DecisionEnvironment } from '../domain/tasks/task-semantics.ts';
import type { EngineStore, LeasedTask } from '../ports/engine-store.ts';
import type { ExecutionIndex } from '../ports/execution-index.ts';
import type { NamedValueStore } from '../ports/named-values.ts';
import type { SecretSeal } from '../ports/secret-seal.ts';
import { SIMULATION_START, type VirtualClock } from './virtual-clock.ts';

export const NAMESPACE = 'default' as Namespace;

const FOLD_CACHE_BYTES = 64 * 1_048_576;

/** Shared by all simulations of a process: both are expensive to start and keep nothing of what they ran. */
const steering = createSteeringSandbox();
const sandbox = createTaskSandbox({ workersMax: 1 });

/** A simulation calls nobody: what it has no mock for completes with nothing. */
const NO_CALLS: Outbound = {
  slots: 1,
  drainMs: 0,
  datasources: {
    run: async () => err({ code: 'UNKNOWN_DATASOURCE', message: 'A simulation has none.', retryable: false }),
  },
  http: { send: async () => err({ code: 'URL_NOT_ALLOWED', message: 'A simulation makes no calls.' }) },
};

/** A simulation has no secrets: each is called by its name, and nothing is hidden. */
const inventedSecrets = (values: NamedValueStore): NamedValueStore => ({
  ...values,
  findValues: async (namespace, kind, names) =>
    kind === 'SECRET'
      ? names.map((name) => ({
          name,
          value: `secret:${name}`,
          createdAt: SIMULATION_START,
          updatedAt: SIMULATION_START,
        }))
      : values.findValues(namespace, kind, names),
});

const OPEN_SEAL: SecretSeal = { keyId: undefined, seal: (text) => text, open: (sealed) => ok(sealed) };

/** Calls taken up at a time, and for how long: as long as any mock may take. */
const CALLS_MAX = 1_000;
const CALL_LEASE_MS = 400 * 24 * 3_600_000;

/** The whole engine over stores in memory, on virtual time; nothing runs but what is asked to. */
export type SimulatedEngine = Readonly<{
  useCases: UseCases;
  engine: EngineStore;
  index: ExecutionIndex;
  /** Everything a server does by itself, once. Returns how much there was to do. */
  turn(): Promise<number>;
  /** Deliveries that failed, and why. */
  problems: readonly string[];
  close(): Promise<void>;
}>;

/** What a decision needs beside the run, for who decides without an engine. */
export const decisionEnvironment = async (): Promise<Pick<DecisionEnvironment, 'evaluateScript' | 'findViolation'>> => {
  const { evaluate } = await steering;
  const schemas = createAjvValidator(evaluate);
  return { evaluateScript: evaluate, findViolation: (schema, value) => schemas.firstViolation(schema, value) };
};

/** `intercept` takes the system tasks that are not to be run. */
export const openSimulatedEngine = async (
  clock: VirtualClock,
  intercept: (tasks: readonly LeasedTask[]) => readonly LeasedTask[],
): Promise<SimulatedEngine> => {
  const stores = createMemoryStores({ clock });
  const container = compose({
    ...stores,
    steering: await steering,
    sandbox,
    values: inventedSecrets(stores.values),
    seal: OPEN_SEAL,
    outbound: NO_CALLS,
    log: createLog('silent'),
    clock,
    callbackKey: 'simulation',
    foldCacheBytesMax: FOLD_CACHE_BYTES,
    stepsOnReport: false,
    circuitBreakers: false,
  });
  const { engine, index, wake } = stores;
  const problems: string[] = [];
  const evaluator = container.resolve(TOKENS.evaluator);
  const relay = new RelayOutbox(engine, messageHandlers(container), (_id, reason, dead) => {
    if (dead) problems.push(reason);
  });
  const timers = new FireTimers(engine, evaluator, wake, (_id, error) => problems.push(String(error)));
  const leases = new ReclaimLeases(engine, wake);
  const filtered: EngineStore = {
    ...engine,
    leaseTasks: async (request) => intercept(await engine.leaseTasks(request)),
  };
  const system = createSystemTasks(container, filtered);
  const ids = container.resolve(TOKENS.ids);
  const takeCalls = async (): Promise<number> => {
    const tokens = Array.from({ length: CALLS_MAX }, () => ids.leaseToken());
    const request = { queues: [CALLS_QUEUE], workerId: 'simulation', count: CALLS_MAX, leaseMs: CALL_LEASE_MS, tokens };
    const tasks = await engine.leaseTasks({ namespace: undefined, ...request });
    intercept(tasks);
    return tasks.length;
  };
  const schedules = createFireSchedules(container);
  const steps = [
    () => evaluator.runOnce(),
    () => timers.runOnce(),
    () => leases.runOnce(),
    () => system.runOnce(),
    takeCalls,
    () => relay.runOnce(),
    () => schedules.runOnce(),
  ];
  return {
    useCases: container.resolve(TOKENS.useCases),
    engine,
    index,
    problems,
    turn: async () => {
      let done = 0;
      for (const step of steps) done += await step();
      return done;
    },
    close: async () => {
      container.resolve(TOKENS.delayed).close();
      await stores.close();
    },
  };
};
