import { hostname } from 'node:os';
import { merge, Subject } from 'rxjs';
import type { DependencyContainer } from 'tsyringe';
import { AdmitExecutions } from '../application/admit-executions.ts';
import { RunCalls } from '../application/calls/run-calls.ts';
import { CollectBlobs } from '../application/collect-blobs.ts';
import { POLL_NOTED_EVERY_MS } from '../application/domain-polls.ts';
import { EVALUATION_BATCH_MAX } from '../application/evaluate-executions.ts';
import { FireSchedules } from '../application/fire-schedules.ts';
import { Loop } from '../application/loop.ts';
import { PruneCaches } from '../application/prune-caches.ts';
import { RelayOutbox } from '../application/relay-outbox.ts';
import { RunSystemTasks } from '../application/run-system-tasks.ts';
import { STUCK_IDLE_MS, SweepStuck } from '../application/sweep-stuck.ts';
import { TasksOfOtherRuns } from '../application/tasks-of-other-runs.ts';
import { WakePolls } from '../application/wake-polls.ts';
import { FireTimers, ReclaimLeases } from '../application/watch-deadlines.ts';
import { WORKER_POLLS_KEPT_MS } from '../application/worker-registry.ts';
import type { EngineStore } from '../ports/engine-store.ts';
import { CALLS_TOPIC, SYSTEM_TOPIC } from '../ports/wake-signal.ts';
import type { Role } from './config.ts';
import { messageHandlers } from './message-handlers.ts';
import { TOKENS } from './tokens.ts';

/** Longest sleep of each loop when nothing wakes it: the backstop for lost hints. */
const IDLE_MS = {
  evaluate: 1_000,
  overflow: 30_000,
  relay: 1_000,
  deadlines: 1_000,
  schedules: 1_000,
  systemTasks: 1_000,
  calls: 1_000,
  admissions: 1_000,
  wakePolls: 500,
  workerPolls: 5_000,
  blobs: 10_000,
  sweep: 60_000,
  pruneCaches: 60_000,
  retryCounts: 5_000,
  pastLimits: 600_000,
  partitions: 3_600_000,
} as const;

/** The loops that a process with these roles runs. All are safe to run many times over one database. */
export const createLoops = (
  c: DependencyContainer,
  roles: ReadonlySet<Role>,
  ensurePartitions: () => Promise<unknown>,
): readonly Loop[] => [
  ...(roles.has('decider') ? deciderLoops(c) : []),
  ...(roles.has('poller') ? pollerLoops(c, ensurePartitions) : []),
  ...(roles.has('api') ? [wakePollsLoop(c), domainPollsLoop(c), workerPollsLoop(c)] : []),
];

const onError = (c: DependencyContainer) => {
  const log = c.resolve(TOKENS.log);
  return (loop: string, error: unknown): void => log.error({ loop, err: error }, 'a loop failed and goes on');
};

/** A pass that was not full took all there was; what has come since has woken the loop, so it need not look for nothing. */
const moreBehind = (claimed: number): number => (claimed < EVALUATION_BATCH_MAX ? 0 : claimed);

const deciderLoops = (c: DependencyContainer): readonly Loop[] => {
  const engine = c.resolve(TOKENS.engine);
  const wake = c.resolve(TOKENS.wake);
  const evaluator = c.resolve(TOKENS.evaluator);
  const log = c.resolve(TOKENS.log);
  const relay = new RelayOutbox(engine, messageHandlers(c), (messageId, reason, dead) =>
    log.warn({ messageId, reason, dead }, dead ? 'a message is a dead letter' : 'a delivery failed and is tried again'),
  );
  // A full batch says that there is more: then, and only then, a second pass decides while the first waits for its commit.
  const overflow = new Subject<void>();
  const evaluations = [
    new Loop({
      name: 'evaluate',
      runOnce: async () => moreBehind(await evaluator.runOnce(EVALUATION_BATCH_MAX, () => overflow.next())),
      idleMs: IDLE_MS.evaluate,
      wakes: wake.on('evaluations'),
      onError: onError(c),
    }),
    new Loop({
      name: 'evaluate-overflow',
      runOnce: async () => moreBehind(await evaluator.runOnce()),
      idleMs: IDLE_MS.overflow,
      wakes: overflow,
      onError: onError(c),
    }),
  ];
  const relayLoop = new Loop({
    name: 'relay-outbox',
    runOnce: () => relay.runOnce(),
    idleMs: IDLE_MS.relay,
    nextInMs: async () => (await engine.nextDueInMs()).message,
    wakes: wake.on('outbox'),
    onError: onError(c),
  });
  return [...evaluations, relayLoop, admissionLoop(c), retryCountsLoop(c)];
};

const admissionLoop = (c: DependencyContainer): Loop => {
  const log = c.resolve(TOKENS.log);
  const admissions = new AdmitExecutions(c.resolve(TOKENS.engine), c.resolve(TOKENS.evaluator), (executionId, error) =>
    log.error({ executionId, err: error }, 'a queued execution could not be admitted and is tried again'),
  );
  return new Loop({
    name: 'admit-executions',
    runOnce: () => admissions.runOnce(),
    idleMs: IDLE_MS.admissions,
    wakes: c.resolve(TOKENS.wake).on('admissions'),
    onError: onError(c),
  });
};

const pollerLoops = (c: DependencyContainer, ensurePartitions: () => Promise<unknown>): readonly Loop[] => {
  const engine = c.resolve(TOKENS.engine);
  const wake = c.resolve(TOKENS.wake);
  const log = c.resolve(TOKENS.log);
  const timers = new FireTimers(engine, c.resolve(TOKENS.evaluator), wake, (executionId, error) =>
    log.error({ executionId, err: error }, 'a deadline could not be handled and is tried again'),
  );
  const leases = new ReclaimLeases(engine, wake);
  const base = { onError: onError(c) };
  return [
    new Loop({
      ...base,
      name: 'deadlines',
      runOnce: async () => (await timers.runOnce()) + (await leases.runOnce()),
      idleMs: IDLE_MS.deadlines,
      nextInMs: async () => {
        const { timer, lease } = await engine.nextDueInMs();
        return timer === undefined || lease === undefined ? (timer ?? lease) : Math.min(timer, lease);
      },
      wakes: wake.on('timers'),
    }),
    schedulesLoop(c),
    systemTasksLoop(c),
    callsLoop(c),
    sweepLoop(c),
    pruneCachesLoop(c),
    blobsLoop(c),
    new Loop({
      ...base,
      name: 'past-limits',
      runOnce: async () =>
        (await engine.transaction((tx) => tx.forgetPastLimits())) +
        (await c.resolve(TOKENS.workerPolls).forget(WORKER_POLLS_KEPT_MS)),
      idleMs: IDLE_MS.pastLimits,
    }),
    new Loop({
      ...base,
      name: 'partitions',
      runOnce: async () => {
        await ensurePartitions();
        return 0;
      },
      idleMs: IDLE_MS.partitions,
    }),
  ];
};

/** What the server calls itself where it holds a lease. */
const SERVER_WORKER = `rondo@${hostname()}/${process.pid}`;

/** Fires what is due, over the stores of the container. */
export const createFireSchedules = (c: DependencyContainer): FireSchedules => {
  const log = c.resolve(TOKENS.log);
  return new FireSchedules({
    engine: c.resolve(TOKENS.engine),
    schedules: c.resolve(TOKENS.schedules),
    starts: c.resolve(TOKENS.startInTransaction),
    parseCron: c.resolve(TOKENS.parseCron),
    onBroken: ({ namespace, schedule }, error) =>
      log.error({ namespace, schedule: schedule.name, err: error }, 'a firing of a schedule broke and is tried again'),
  });
};

/** Without schedules it sends one query a second: the backstop for a change that no hint told of. */
const schedulesLoop = (c: DependencyContainer): Loop => {
  const schedules = createFireSchedules(c);
  return new Loop({
    name: 'fire-schedules',
    runOnce: () => schedules.runOnce(),
    idleMs: IDLE_MS.schedules,
    nextInMs: async () => schedules.nextInMs(),
    wakes: c.resolve(TOKENS.wake).on('schedules'),
    onError: onError(c),
  });
};

/** What runs the tasks that no worker is needed for, over the store it is given. */
export const createSystemTasks = (c: DependencyContainer, engine: EngineStore): RunSystemTasks =>
  new RunSystemTasks({
    engine,
    reports: c.resolve(TOKENS.reports),
    release: c.resolve(TOKENS.release),
    held: c.resolve(TOKENS.heldLeases),
    sandbox: c.resolve(TOKENS.sandbox),
    secrets: c.resolve(TOKENS.fillSecrets),
    others: new TasksOfOtherRuns({
      control: c.resolve(TOKENS.control),
      queries: c.resolve(TOKENS.queries),
      doors: c.resolve(TOKENS.doors),
    }),
    ids: c.resolve(TOKENS.ids),
    clock: c.resolve(TOKENS.clock),
    workerId: SERVER_WORKER,
  });

const systemTasksLoop = (c: DependencyContainer): Loop => {
  const runner = createSystemTasks(c, c.resolve(TOKENS.engine));
  return new Loop({
    name: 'system-tasks',
    runOnce: () => runner.runOnce(),
    idleMs: IDLE_MS.systemTasks,
    wakes: c.resolve(TOKENS.wake).on(SYSTEM_TOPIC),
    onError: onError(c),
  });
};

const callsLoop = (c: DependencyContainer): Loop => {
  const log = c.resolve(TOKENS.log);
  const { http, datasources, slots, drainMs } = c.resolve(TOKENS.outbound);
  const calls = new RunCalls({
    engine: c.resolve(TOKENS.engine),
    reports: c.resolve(TOKENS.reports),
    release: c.resolve(TOKENS.release),
    held: c.resolve(TOKENS.heldLeases),
    delayed: c.resolve(TOKENS.delayed),
    secrets: c.resolve(TOKENS.fillSecrets),
    http,
    datasources,
    index: c.resolve(TOKENS.index),
    sandbox: c.resolve(TOKENS.sandbox),
    breakers: c.resolve(TOKENS.breakers),
    slots,
    drainMs,
    ids: c.resolve(TOKENS.ids),
    clock: c.resolve(TOKENS.clock),
    workerId: SERVER_WORKER,
    onError: ({ taskId }, error) => log.error({ taskId, err: error }, 'a call could not be settled and is made again'),
  });
  return new Loop({
    name: 'calls',
    runOnce: () => calls.runOnce(),
    idleMs: IDLE_MS.calls,
    wakes: merge(c.resolve(TOKENS.wake).on(CALLS_TOPIC), calls.freed),
    onStop: () => calls.drain(),
    onError: onError(c),
  });
};

const sweepLoop = (c: DependencyContainer): Loop => {
  const log = c.resolve(TOKENS.log);
  const control = c.resolve(TOKENS.control);
  const sweeper = new SweepStuck({
    engine: c.resolve(TOKENS.engine),
    repair: async (executionId) => {
      await control.repairAnywhere(executionId);
    },
    onFound: (executionId) => log.error({ executionId }, 'a stuck execution was found: a promise was broken somewhere'),
    idleMs: STUCK_IDLE_MS,
  });
  return new Loop({
    name: 'sweep-stuck',
    runOnce: async () => {
      await sweeper.runOnce();
      return 0;
    },
    idleMs: IDLE_MS.sweep,
    onError: onError(c),
  });
};

/** Counted where runs are decided. Writes nothing as long as nothing was counted. */
const retryCountsLoop = (c: DependencyContainer): Loop =>
  new Loop({
    name: 'retry-counts',
    runOnce: async () => {
      await c.resolve(TOKENS.retryBudgets).flush(c.resolve(TOKENS.engine));
      return 0;
    },
    idleMs: IDLE_MS.retryCounts,
    onError: onError(c),
  });

const wakePollsLoop = (c: DependencyContainer): Loop => {
  const polls = new WakePolls(c.resolve(TOKENS.engine), c.resolve(TOKENS.parkedPolls), c.resolve(TOKENS.wake));
  return new Loop({
    name: 'wake-polls',
    runOnce: () => polls.runOnce(),
    nextInMs: async () => polls.nextInMs(),
    idleMs: IDLE_MS.wakePolls,
    onError: onError(c),
  });
};

const domainPollsLoop = (c: DependencyContainer): Loop => {
  const polls = c.resolve(TOKENS.domains);
  return new Loop({
    name: 'domain-polls',
    runOnce: () => polls.runOnce(),
    idleMs: POLL_NOTED_EVERY_MS,
    onError: onError(c),
  });
};

/** Writes nothing as long as nobody has polled. */
const workerPollsLoop = (c: DependencyContainer): Loop => {
  const workers = c.resolve(TOKENS.workers);
  return new Loop({
    name: 'worker-polls',
    runOnce: async () => {
      await workers.flush();
      return 0;
    },
    idleMs: IDLE_MS.workerPolls,
    onError: onError(c),
  });
};

/** One part of the values each turn: all of them in three quarters of an hour. */
const blobsLoop = (c: DependencyContainer): Loop => {
  const collect = new CollectBlobs(c.resolve(TOKENS.blobs));
  return new Loop({
    name: 'blob-collection',
    runOnce: () => collect.runOnce(),
    idleMs: IDLE_MS.blobs,
    onError: onError(c),
  });
};

const pruneCachesLoop = (c: DependencyContainer): Loop => {
  const prune = new PruneCaches(c.resolve(TOKENS.engine), c.resolve(TOKENS.payloads));
  return new Loop({
    name: 'prune-caches',
    runOnce: () => prune.runOnce(),
    idleMs: IDLE_MS.pruneCaches,
    onError: onError(c),
  });
};
