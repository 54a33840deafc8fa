import 'reflect-metadata';
import { type DependencyContainer, type InjectionToken, instanceCachingFactory, container as root } from 'tsyringe';
import { parseCron } from '../adapters/cron/croner-calendar.ts';
import { sha256 } from '../adapters/hash/sha256.ts';
import { createSystemIds } from '../adapters/ids/system-ids.ts';
import { createAjvValidator } from '../adapters/json-schema/ajv-validator.ts';
import { createCallbackSeal } from '../adapters/keys/hmac-callback-seal.ts';
import { createPayloadSeal } from '../adapters/keys/hmac-payload-seal.ts';
import { createJwtAccessTokens } from '../adapters/keys/jwt-access-tokens.ts';
import { sha256KeyHasher } from '../adapters/keys/sha256-key-hasher.ts';
import { createAccessUseCases } from '../application/access/access-use-cases.ts';
import { AdvanceRuns } from '../application/advance-runs.ts';
import { CircuitBreakers } from '../application/circuit-breakers.ts';
import { ControlExecution } from '../application/control-execution.ts';
import { createDefinitionUseCases } from '../application/definitions/definition-use-cases.ts';
import { freezeDefinition } from '../application/definitions/freeze-definition.ts';
import { createBundleResolver } from '../application/definitions/load-bundle.ts';
import { PlanCache } from '../application/definitions/plan-cache.ts';
import { DelayedWakes } from '../application/delayed-wakes.ts';
import { deleteExecution } from '../application/delete-execution.ts';
import { DomainPolls } from '../application/domain-polls.ts';
import { createExecutionUseCases, createWorkerUseCases } from '../application/engine-use-cases.ts';
import { Evaluator } from '../application/evaluate-executions.ts';
import { ManageEventHandlers } from '../application/event-handler-use-cases.ts';
import { FoldCache } from '../application/fold-cache.ts';
import { HeldLeases } from '../application/held-leases.ts';
import { LeaseTasks } from '../application/lease-tasks.ts';
import { MaskedReads } from '../application/masked-reads.ts';
import { OperateExecution } from '../application/operate-execution.ts';
import { createOutboxUseCases } from '../application/outbox-use-cases.ts';
import { ParkedPolls } from '../application/parked-polls.ts';
import { createPayloadUseCases } from '../application/payload-use-cases.ts';
import { QueryExecutions } from '../application/query-executions.ts';
import { ReceiveCallbacks } from '../application/receive-callbacks.ts';
import { ReleaseLeases } from '../application/release-leases.ts';
import { ReplayExecution } from '../application/replay-execution.ts';
import { ReportTasks } from '../application/report-tasks.ts';
import { resetCallbacks } from '../application/reset-callbacks.ts';
import { RetryBudgets } from '../application/retry-budgets.ts';
import { runAgain } from '../application/run-again.ts';
import { ManageSchedules } from '../application/schedule-use-cases.ts';
import { createSemaphoreUseCases } from '../application/semaphore-use-cases.ts';
import { ShortStart } from '../application/short-start.ts';
import { StartInTransaction } from '../application/start-in-transaction.ts';
import { StartWorkflow } from '../application/start-workflow.ts';
import { StoreClock } from '../application/store-clock.ts';
import { FollowExecution } from '../application/stream-execution.ts';
import { createTagUseCases } from '../application/tag-use-cases.ts';
import { TaskDoors } from '../application/task-doors.ts';
import { RunFactsReader } from '../application/unfenced/run-facts.ts';
import { TakeNext } from '../application/unfenced/take-next.ts';
import { createTaskUseCases } from '../application/unfenced/task-use-cases.ts';
import { UpdateTasks } from '../application/unfenced/update-tasks.ts';
import type { UseCases } from '../application/use-cases.ts';
import { FillSecrets } from '../application/values/fill-secrets.ts';
import { createEnvironmentUseCases, createSecretUseCases } from '../application/values/value-use-cases.ts';
import { WaitUntilBlocked } from '../application/wait-until-blocked.ts';
import { WorkerRegistry } from '../application/worker-registry.ts';
import type { AccessStore } from '../ports/access-store.ts';
import type { BlobCollector } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { DefinitionStore } from '../ports/definition-store.ts';
import type { EngineStore } from '../ports/engine-store.ts';
import type { EventHandlerStore } from '../ports/event-handler-store.ts';
import type { ExecutionIndex } from '../ports/execution-index.ts';
import type { HealthProbe } from '../ports/health-probe.ts';
import type { SemaphoreStore } from '../ports/limits.ts';
import type { NamedValueStore } from '../ports/named-values.ts';
import type { OutboundHttp } from '../ports/outbound-http.ts';
import type { PayloadStore } from '../ports/payload-store.ts';
import type { ScheduleStore } from '../ports/schedule-store.ts';
import type { SteeringSandbox, TaskSandbox } from '../ports/script-sandbox.ts';
import type { SecretSeal } from '../ports/secret-seal.ts';
import type { SqlDatasources } from '../ports/sql-datasources.ts';
import type { TagStore } from '../ports/tag-store.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { WorkerPollStore } from '../ports/worker-polls.ts';
import type { Log } from './log.ts';
import { TOKENS } from './tokens.ts';

/** The doors to the outside, how many calls may be under way through them, and how long a stop waits for these. */
export type Outbound = Readonly<{ http: OutboundHttp; datasources: SqlDatasources; slots: number; drainMs: number }>;

/** The adapters that a composition is built on; each is required, so a missing one does not compile. */
export type Foundations = Readonly<{
  log: Log;
  clock: Clock;
  engine: EngineStore;
  index: ExecutionIndex;
  definitions: DefinitionStore;
  access: AccessStore;
  semaphores: SemaphoreStore;
  tags: TagStore;
  payloads: PayloadStore;
  values: NamedValueStore;
  seal: SecretSeal;
  workerPolls: WorkerPollStore;
  schedules: ScheduleStore;
  eventHandlers: EventHandlerStore;
  health: HealthProbe;
  blobs: BlobCollector;
  wake: WakeSignal;
  steering: SteeringSandbox;
  sandbox: TaskSandbox;
  outbound: Outbound;
  /** Of this database: what its callbacks are sealed with. */
  callbackKey: string;
  /** What access tokens are signed with; without one, what callbacks are sealed with. */
  tokenSecrets?: readonly [string, ...string[]];
  foldCacheBytesMax: number;
  /** Whether calls of system tasks that leave this process go through circuit breakers. */
  circuitBreakers: boolean;
  /** Whether reports take the short road: a process that decides nothing else decides nothing there either. */
  stepsOnReport: boolean;
}>;

/** Builds the container: the only place that constructs anything of the application. */
export const compose = (foundations: Foundations): DependencyContainer => {
  const container = root.createChildContainer();
  const single = <T>(token: InjectionToken<T>, make: (c: DependencyContainer) => T): void => {
    container.register(token, { useFactory: instanceCachingFactory(make) });
  };
  registerFoundations(container, foundations);
  single(TOKENS.ids, (c) => createSystemIds(c.resolve(TOKENS.clock)));
  single(TOKENS.evaluateScript, (c) => c.resolve(TOKENS.steering).evaluate);
  single(TOKENS.schemas, (c) => createAjvValidator(c.resolve(TOKENS.evaluateScript)));
  single(TOKENS.foldCache, () => new FoldCache(foundations.foldCacheBytesMax));
  single(TOKENS.heldLeases, () => new HeldLeases());
  single(TOKENS.parkedPolls, () => new ParkedPolls());
  single(TOKENS.storeClock, (c) => new StoreClock(c.resolve(TOKENS.clock)));
  single(TOKENS.advance, (c) => (foundations.stepsOnReport ? advanceRuns(c) : undefined));
  single(TOKENS.plans, () => new PlanCache());
  single(TOKENS.retryBudgets, () => new RetryBudgets());
  single(TOKENS.delayed, (c) => new DelayedWakes(c.resolve(TOKENS.wake)));
  single(TOKENS.workers, (c) => new WorkerRegistry(c.resolve(TOKENS.clock), c.resolve(TOKENS.workerPolls)));
  single(
    TOKENS.domains,
    (c) => new DomainPolls(c.resolve(TOKENS.engine), c.resolve(TOKENS.clock), c.resolve(TOKENS.parkedPolls)),
  );
  single(TOKENS.breakers, (c) => circuitBreakers(c, foundations.circuitBreakers));
  single(TOKENS.release, (c) => new ReleaseLeases(c.resolve(TOKENS.engine), c.resolve(TOKENS.wake)));
  single(TOKENS.evaluator, evaluator);
  single(TOKENS.resolveBundle, (c) =>
    createBundleResolver({ definitions: c.resolve(TOKENS.definitions), hash: sha256 }),
  );
  single(TOKENS.start, startWorkflow);
  single(TOKENS.startInTransaction, startInTransaction);
  single(TOKENS.leases, leaseTasks);
  single(TOKENS.fillSecrets, fillSecrets);
  single(
    TOKENS.reports,
    (c) =>
      new ReportTasks(
        c.resolve(TOKENS.engine),
        c.resolve(TOKENS.wake),
        c.resolve(TOKENS.clock),
        c.resolve(TOKENS.advance),
      ),
  );
  single(TOKENS.callbacks, () => createCallbackSeal(foundations.callbackKey));
  single(TOKENS.payloadSeal, () => createPayloadSeal(foundations.callbackKey));
  single(TOKENS.accessTokens, (c) =>
    createJwtAccessTokens(foundations.tokenSecrets ?? [foundations.callbackKey], c.resolve(TOKENS.clock)),
  );
  single(TOKENS.control, controlExecution);
  single(
    TOKENS.masks,
    (c) => new MaskedReads(c.resolve(TOKENS.index), c.resolve(TOKENS.plans), c.resolve(TOKENS.definitions)),
  );
  single(
    TOKENS.queries,
    (c) =>
      new QueryExecutions({
        index: c.resolve(TOKENS.index),
        plans: c.resolve(TOKENS.plans),
        bundles: c.resolve(TOKENS.definitions),
        masks: c.resolve(TOKENS.masks),
        workers: c.resolve(TOKENS.workers),
        clock: c.resolve(TOKENS.clock),
      }),
  );
  single(
    TOKENS.doors,
    (c) =>
      new TaskDoors({
        engine: c.resolve(TOKENS.engine),
        control: c.resolve(TOKENS.control),
        ids: c.resolve(TOKENS.ids),
      }),
  );
  single(TOKENS.useCases, useCases);
  return container;
};

const registerFoundations = (container: DependencyContainer, given: Foundations): void => {
  const {
    log,
    clock,
    engine,
    index,
    definitions,
    access,
    semaphores,
    tags,
    values,
    seal,
    health,
    wake,
    steering,
    sandbox,
    outbound,
  } = given;
  container.register(TOKENS.log, { useValue: log });
  container.register(TOKENS.clock, { useValue: clock });
  container.register(TOKENS.engine, { useValue: engine });
  container.register(TOKENS.index, { useValue: index });
  container.register(TOKENS.definitions, { useValue: definitions });
  container.register(TOKENS.access, { useValue: access });
  container.register(TOKENS.semaphores, { useValue: semaphores });
  container.register(TOKENS.tags, { useValue: tags });
  container.register(TOKENS.payloads, { useValue: given.payloads });
  container.register(TOKENS.values, { useValue: values });
  container.register(TOKENS.seal, { useValue: seal });
  container.register(TOKENS.workerPolls, { useValue: given.workerPolls });
  container.register(TOKENS.schedules, { useValue: given.schedules });
  container.register(TOKENS.eventHandlers, { useValue: given.eventHandlers });
  container.register(TOKENS.parseCron, { useValue: parseCron });
  container.register(TOKENS.blobs, { useValue: given.blobs });
  container.register(TOKENS.health, { useValue: health });
  container.register(TOKENS.wake, { useValue: wake });
  container.register(TOKENS.steering, { useValue: steering });
  container.register(TOKENS.sandbox, { useValue: sandbox });
  container.register(TOKENS.outbound, { useValue: outbound });
};

const evaluator = (c: DependencyContainer): Evaluator => {
  const log = c.resolve(TOKENS.log);
  return new Evaluator({
    engine: c.resolve(TOKENS.engine),
    evaluateScript: c.resolve(TOKENS.evaluateScript),
    retryBudgets: c.resolve(TOKENS.retryBudgets),
    schemas: c.resolve(TOKENS.schemas),
    callbackToken: c.resolve(TOKENS.callbacks).token,
    plans: c.resolve(TOKENS.plans),
    cache: c.resolve(TOKENS.foldCache),
    wake: c.resolve(TOKENS.wake),
    delayed: c.resolve(TOKENS.delayed),
    clock: c.resolve(TOKENS.storeClock),
    onParked: (executionId, error) =>
      log.error({ executionId, err: error }, 'an evaluation failed alone and is parked'),
  });
};

const circuitBreakers = (c: DependencyContainer, isOn: boolean): CircuitBreakers => {
  const log = c.resolve(TOKENS.log);
  return new CircuitBreakers(c.resolve(TOKENS.clock), isOn, (change) =>
    log.warn(change, 'a circuit changed its state'),
  );
};

const startInTransaction = (c: DependencyContainer): StartInTransaction =>
  new StartInTransaction({
    evaluateScript: c.resolve(TOKENS.evaluateScript),
    callbackToken: c.resolve(TOKENS.callbacks).token,
    retryBudgets: c.resolve(TOKENS.retryBudgets),
    resolveBundle: c.resolve(TOKENS.resolveBundle),
    plans: c.resolve(TOKENS.plans),
    cache: c.resolve(TOKENS.foldCache),
    wake: c.resolve(TOKENS.wake),
    delayed: c.resolve(TOKENS.delayed),
    schemas: c.resolve(TOKENS.schemas),
    hash: sha256,
    checkScript: c.resolve(TOKENS.steering).checkSyntax,
  });

const startWorkflow = (c: DependencyContainer): StartWorkflow =>
  new StartWorkflow({
    engine: c.resolve(TOKENS.engine),
    definitions: c.resolve(TOKENS.definitions),
    evaluateScript: c.resolve(TOKENS.evaluateScript),
    callbackToken: c.resolve(TOKENS.callbacks).token,
    retryBudgets: c.resolve(TOKENS.retryBudgets),
    resolveBundle: c.resolve(TOKENS.resolveBundle),
    plans: c.resolve(TOKENS.plans),
    cache: c.resolve(TOKENS.foldCache),
    wake: c.resolve(TOKENS.wake),
    delayed: c.resolve(TOKENS.delayed),
    ids: c.resolve(TOKENS.ids),
    hash: sha256,
    freeze: (namespace, document) =>
      freezeDefinition(
        { hash: sha256, checkScript: c.resolve(TOKENS.steering).checkSyntax },
        c.resolve(TOKENS.definitions),
        namespace,
        document,
        'conductor',
      ),
    schemas: c.resolve(TOKENS.schemas),
    clock: c.resolve(TOKENS.storeClock),
    short: new ShortStart({
      engine: c.resolve(TOKENS.engine),
      definitions: c.resolve(TOKENS.definitions),
      evaluateScript: c.resolve(TOKENS.evaluateScript),
      callbackToken: c.resolve(TOKENS.callbacks).token,
      retryBudgets: c.resolve(TOKENS.retryBudgets),
      schemas: c.resolve(TOKENS.schemas),
      cache: c.resolve(TOKENS.foldCache),
      polls: c.resolve(TOKENS.parkedPolls),
      clock: c.resolve(TOKENS.storeClock),
      ids: c.resolve(TOKENS.ids),
      wake: c.resolve(TOKENS.wake),
      delayed: c.resolve(TOKENS.delayed),
    }),
  });

const advanceRuns = (c: DependencyContainer): AdvanceRuns =>
  new AdvanceRuns({
    engine: c.resolve(TOKENS.engine),
    definitions: c.resolve(TOKENS.definitions),
    evaluateScript: c.resolve(TOKENS.evaluateScript),
    callbackToken: c.resolve(TOKENS.callbacks).token,
    retryBudgets: c.resolve(TOKENS.retryBudgets),
    schemas: c.resolve(TOKENS.schemas),
    cache: c.resolve(TOKENS.foldCache),
    held: c.resolve(TOKENS.heldLeases),
    polls: c.resolve(TOKENS.parkedPolls),
    clock: c.resolve(TOKENS.storeClock),
    ids: c.resolve(TOKENS.ids),
    wake: c.resolve(TOKENS.wake),
    delayed: c.resolve(TOKENS.delayed),
  });

const fillSecrets = (c: DependencyContainer): FillSecrets =>
  new FillSecrets({
    engine: c.resolve(TOKENS.engine),
    values: c.resolve(TOKENS.values),
    seal: c.resolve(TOKENS.seal),
    reports: c.resolve(TOKENS.reports),
  });

/** What people may know and change of the values of a namespace. */
const valueUseCases = (c: DependencyContainer): Pick<UseCases, 'environment' | 'secrets'> => {
  const deps = { values: c.resolve(TOKENS.values), seal: c.resolve(TOKENS.seal), tags: c.resolve(TOKENS.tags) };
  return { environment: createEnvironmentUseCases(deps), secrets: createSecretUseCases(deps) };
};

const leaseTasks = (c: DependencyContainer): LeaseTasks =>
  new LeaseTasks({
    engine: c.resolve(TOKENS.engine),
    wake: c.resolve(TOKENS.wake),
    ids: c.resolve(TOKENS.ids),
    release: c.resolve(TOKENS.release),
    workers: c.resolve(TOKENS.workers),
    polls: c.resolve(TOKENS.parkedPolls),
    held: c.resolve(TOKENS.heldLeases),
    secrets: c.resolve(TOKENS.fillSecrets),
    domains: c.resolve(TOKENS.domains),
  });

const controlExecution = (c: DependencyContainer): ControlExecution =>
  new ControlExecution({
    engine: c.resolve(TOKENS.engine),
    index: c.resolve(TOKENS.index),
    evaluateScript: c.resolve(TOKENS.evaluateScript),
    retryBudgets: c.resolve(TOKENS.retryBudgets),
    schemas: c.resolve(TOKENS.schemas),
    callbackToken: c.resolve(TOKENS.callbacks).token,
    evaluator: c.resolve(TOKENS.evaluator),
    plans: c.resolve(TOKENS.plans),
    wake: c.resolve(TOKENS.wake),
  });

const doors = (c: DependencyContainer): UseCases['doors'] => {
  const tasks = c.resolve(TOKENS.doors);
  const callbacks = new ReceiveCallbacks({
    engine: c.resolve(TOKENS.engine),
    index: c.resolve(TOKENS.index),
    doors: tasks,
    seal: c.resolve(TOKENS.callbacks),
    clock: c.resolve(TOKENS.clock),
    secrets: c.resolve(TOKENS.fillSecrets),
  });
  return {
    completeTask: (namespace, taskId, call, by) => tasks.complete(namespace, taskId, call, by),
    sendMessage: (namespace, executionId, payload, by) => tasks.sendMessage(namespace, executionId, payload, by),
    callback: (call) => callbacks.callback(call),
    webhook: (namespace, webhook, payload) => callbacks.webhook(namespace, webhook, payload),
  };
};

const tasks = (c: DependencyContainer): UseCases['tasks'] => {
  const leases = c.resolve(TOKENS.leases);
  const held = c.resolve(TOKENS.heldLeases);
  const doors = c.resolve(TOKENS.doors);
  const index = c.resolve(TOKENS.index);
  return createTaskUseCases({
    leases,
    held,
    doors,
    index,
    wake: c.resolve(TOKENS.wake),
    next: new TakeNext({ leases, polls: c.resolve(TOKENS.parkedPolls), release: c.resolve(TOKENS.release) }),
    runs: new RunFactsReader({
      index,
      cache: c.resolve(TOKENS.foldCache),
      plans: c.resolve(TOKENS.plans),
      bundles: c.resolve(TOKENS.definitions),
    }),
    updates: new UpdateTasks({
      held,
      doors,
      engine: c.resolve(TOKENS.engine),
      clock: c.resolve(TOKENS.clock),
      reports: c.resolve(TOKENS.reports),
      delayed: c.resolve(TOKENS.delayed),
    }),
  });
};

const operateExecution = (c: DependencyContainer): OperateExecution =>
  new OperateExecution({
    control: c.resolve(TOKENS.control),
    index: c.resolve(TOKENS.index),
    plans: c.resolve(TOKENS.plans),
    definitions: c.resolve(TOKENS.definitions),
    resolveBundle: c.resolve(TOKENS.resolveBundle),
    schemas: c.resolve(TOKENS.schemas),
  });

const manageSchedules = (c: DependencyContainer): ManageSchedules =>
  new ManageSchedules({
    engine: c.resolve(TOKENS.engine),
    schedules: c.resolve(TOKENS.schedules),
    starts: c.resolve(TOKENS.startInTransaction),
    parseCron: c.resolve(TOKENS.parseCron),
    tags: c.resolve(TOKENS.tags),
    ids: c.resolve(TOKENS.ids),
    wake: c.resolve(TOKENS.wake),
  });

const manageEventHandlers = (c: DependencyContainer): ManageEventHandlers =>
  new ManageEventHandlers({
    engine: c.resolve(TOKENS.engine),
    handlers: c.resolve(TOKENS.eventHandlers),
    evaluateScript: c.resolve(TOKENS.evaluateScript),
    checkScript: c.resolve(TOKENS.steering).checkSyntax,
    tags: c.resolve(TOKENS.tags),
    ids: c.resolve(TOKENS.ids),
    wake: c.resolve(TOKENS.wake),
  });

const useCases = (c: DependencyContainer) => {
  const index = c.resolve(TOKENS.index);
  const queries = c.resolve(TOKENS.queries);
  const health = c.resolve(TOKENS.health);
  const steering = c.resolve(TOKENS.steering);
  return {
    definitions: createDefinitionUseCases({
      definitions: c.resolve(TOKENS.definitions),
      checkScript: steering.checkSyntax,
      schemas: c.resolve(TOKENS.schemas),
      hash: sha256,
      tags: c.resolve(TOKENS.tags),
    }),
    executions: createExecutionUseCases({
      start: c.resolve(TOKENS.start),
      control: c.resolve(TOKENS.control),
      queries,
      follow: new FollowExecution({ index, wake: c.resolve(TOKENS.wake), queries, masks: c.resolve(TOKENS.masks) }),
      // Loaded when it is first asked for: few servers ever are, and it brings an engine of its own.
      test: async (asked) => (await import('../testing/test-workflow.ts')).testWorkflow(asked),
      reset: resetCallbacks({ engine: c.resolve(TOKENS.engine), index, wake: c.resolve(TOKENS.wake) }),
      blocked: new WaitUntilBlocked({ index, wake: c.resolve(TOKENS.wake), queries }),
      operate: operateExecution(c),
      remove: deleteExecution({
        engine: c.resolve(TOKENS.engine),
        cache: c.resolve(TOKENS.foldCache),
        wake: c.resolve(TOKENS.wake),
      }),
      replay: new ReplayExecution({
        evaluateScript: c.resolve(TOKENS.evaluateScript),
        retryBudgets: c.resolve(TOKENS.retryBudgets),
        callbackToken: c.resolve(TOKENS.callbacks).token,
        schemas: c.resolve(TOKENS.schemas),
        masks: c.resolve(TOKENS.masks),
        queries,
        plans: c.resolve(TOKENS.plans),
        definitions: c.resolve(TOKENS.definitions),
        resolveBundle: c.resolve(TOKENS.resolveBundle),
      }),
      again: runAgain({ index, start: c.resolve(TOKENS.start) }),
    }),
    workers: createWorkerUseCases({
      leases: c.resolve(TOKENS.leases),
      reports: c.resolve(TOKENS.reports),
      release: c.resolve(TOKENS.release),
      workers: c.resolve(TOKENS.workers),
      index,
    }),
    tasks: tasks(c),
    tags: createTagUseCases(c.resolve(TOKENS.tags)),
    payloads: createPayloadUseCases({
      store: c.resolve(TOKENS.payloads),
      seal: c.resolve(TOKENS.payloadSeal),
      clock: c.resolve(TOKENS.clock),
      ids: c.resolve(TOKENS.ids),
    }),
    doors: doors(c),
    outbox: createOutboxUseCases(c.resolve(TOKENS.engine), index, c.resolve(TOKENS.wake)),
    ...valueUseCases(c),
    semaphores: createSemaphoreUseCases(c.resolve(TOKENS.semaphores)),
    schedules: manageSchedules(c),
    eventHandlers: manageEventHandlers(c),
    access: createAccessUseCases({
      tokens: c.resolve(TOKENS.accessTokens),
      access: c.resolve(TOKENS.access),
      ids: c.resolve(TOKENS.ids),
      clock: c.resolve(TOKENS.clock),
      hasher: sha256KeyHasher,
    }),
    health: { problems: () => health.problems() },
  };
};
